package mutation

// scriptMutants lose scripts, or run them as they should not.
var scriptMutants = []mutant{
	{
		name: "the script is not sent along",
		file: "worker/script.go",
		old:  "	return pipe.Prefix{Bytes: w.scratch, Commands: before.Commands + 1}\n",
		new:  "	return before\n",
		harm: "after a failover EVALSHA answers NOSCRIPT for scripts that the proxy knows",
	},
	{
		name: "the reply to SCRIPT LOAD is not swallowed",
		file: "worker/script.go",
		old:  "Commands: before.Commands + 1}",
		new:  "Commands: before.Commands}",
		harm: "a client gets a SHA1 for its result, and all behind it the reply to another request",
	},
	{
		name:  "a request overtakes others while its script is loaded",
		file:  "worker/script.go",
		old:   " || w.bounce(r.Owner, r.Seq) {",
		new:   " {",
		harm:  "pipelined requests take effect in another order",
		quick: true,
	},
	{
		name: "a script is loaded as often as the node misses it",
		file: "worker/script.go",
		old:  "r.Has(pipe.Loading|pipe.Passed)",
		new:  "r.Has(pipe.Passed)",
		harm: "a node that refuses the script keeps a request, and a core, busy for ever",
	},
	{
		name: "scripts of EVAL are not remembered",
		file: "worker/script.go",
		old:  "case command.ScriptBody:\n",
		new:  "case command.ScriptRole(99):\n",
		harm: "after a failover EVALSHA answers NOSCRIPT for scripts that the proxy has seen",
	},
}

package mutation

// largeMutants break what large requests and replies go through.
var largeMutants = []mutant{
	{
		name: "what follows a request that goes elsewhere does not wait",
		file: "worker/large.go",
		old:  "		c.Bounce(seq) // what follows it in its slot would take another way\n",
		new:  "",
		harm: "a read overtakes the large write before it",
		rare: true,
	},
	{
		name: "a large request is begun while others are open",
		file: "worker/large.go",
		old:  "	if c.Pending() > 0 {\n		c.HoldForOrder()\n		return\n	}\n	if in.Kind",
		new:  "	if in.Kind",
		harm: "it overtakes them",
	},
	{
		name: "a connection whose client has gone is not read on",
		file: "worker/client.go",
		old:  "	w.endDownload(c)\n",
		new:  "",
		harm: "others wait for ever behind a large reply that nobody takes",
	},
	{
		name: "a slow client's connection stays stopped",
		file: "worker/large.go",
		old:  "c.leaving() <= w.StreamWindow/2",
		new:  "c.leaving() < -1",
		harm: "a large reply never ends",
	},
	{
		name: "an early large reply waits for ever",
		file: "worker/large.go",
		old:  "w.now-b.stoppedAt >= earlyFor",
		new:  "w.now-b.stoppedAt >= 3600*second",
		harm: "two sessions wait for each other",
	},
	{
		name: "parts go out before earlier replies",
		file: "worker/large.go",
		old:  "	case c.IsNext(r.Seq):\n		b.TakeParts()\n",
		new:  "	case c.IsNext(r.Seq), !large:\n		b.TakeParts()\n",
		harm: "a client takes one reply for another",
	},
	{
		name: "redirected requests follow new ones",
		file: "worker/retry.go",
		old:  "	b := w.resendOn(c, n)\n",
		new:  "	key := w.keyOf(c)\n	key.Node = uint32(n.index)\n	b := w.pipeFor(n, key)\n",
		harm: "a read overtakes the write before it behind a redirect",
		test: "TestContract_PIPE4_ARedirectedReadFollowsItsWrite",
	},
}

// Package golden drives the machines of the proxy with text scripts and compares what they
// say with what the scripts say they do.
//
//	testdata/<machine>/<clause>_<what>.txt
//
// A script is a list of directives, which act on one machine, new for each script:
//
//	# A comment.
//	verb option=value word "a word\r\n"
//	an input line
//	----
//	what the machine says
//
// The directive ends with a blank line. Its input lines, which few verbs take, stand before
// the four dashes; its output, one line or more or none, behind them. Options come before
// words. In words and input lines \r, \n, \t, \\, \" and \xHH stand for bytes, and \{300}v
// for 300 times the byte that follows. Output is written in the same way, so it can be
// copied into a directive; requests to a node appear as their words where that says
// everything.
//
// After a change of behaviour the scripts are written again, and the difference is read:
//
//	make golden    (go test ./tests/golden -rewrite)
//
// A new script needs its directives only, with blank lines between them.
//
// Each machine has a driver, which is a table of verbs; what a verb does stands with its
// function:
//
//	resp_test.go      the scanners of requests and replies, cut at any byte
//	timer_test.go     the timer wheel
//	topology_test.go  the cluster map
//	refresh_test.go   when the map is fetched
//	redirect_test.go  MOVED and ASK read, and what follows
//	fanout_test.go    one request in parts, their replies joined
//	pipe_test.go      one connection to a node
//	session_test.go   one client
//	worker_test.go    a production worker between clients and nodes that the script plays
//
// A panic of a machine is output too: scripts show what its assertions refuse.
package golden

// Package harness runs the proxy for live tests: the program as users run it, in front
// of real servers on loopback.
//
//	Matrix -- one cluster and one lone node per server release, kept for the test process
//	   '---- Start -- bin/mithril, built once, on a free port
//	            '---- Dial -- testbed.Conn
//
// A proxy has a layout: 1, 2 or 4 workers, and backend-sharding no or yes. All that a client
// sees is the same with each. To run every test with every layout would take as many times
// as long, so the layouts take turns: the six cells of a test under Matrix, three servers with
// two engines, have the six layouts, and which cell has which depends on the test's name.
// So every test meets every layout, and a package every layout with every server and engine. What
// depends on the number of workers runs under EachLayout, which leaves none out, and what measures one worker
// asks for one in Options.
//
//	go test ./tests/live/... -layout 4-yes   every test with this layout
//	make contract                            every test with every layout
//
// The tests of a cell share a proxy until one of them disturbs the cluster (kills, restarts, pauses or
// replaces a node, moves a slot). To pause a primary without its replica taking over is Hold.
//
// A proxy that a test has started is stopped with it, and is judged then: it must end by
// itself with exit status 0, must have logged no panic and must have no client
// connection left. A test package whose tests call Matrix needs
//
//	func TestMain(m *testing.M) { harness.Main(m) }
//
// Tests talk to loopback alone. What needs another address, or no name server, is for
// InNamespace.
//
// $MITHRIL_BIN names a program to test instead of the one that is built.
package harness

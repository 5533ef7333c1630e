// Package harness runs the proxy for live tests: the program as users run it, in front
// of real servers on loopback.
//
//	Matrix -- one cluster and one lone node per server release, kept for the test process
//	   '---- Start -- bin/mithril, built once, on a free port
//	            '---- Dial -- testbed.Conn
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

package testbed

import "context"

// TB is the part of testing.TB that the helpers below need.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// RunCluster is Start for tests: it fails the test if the cluster does not
// start and stops it when the test ends.
func RunCluster(tb TB, options Options) *Cluster {
	tb.Helper()
	c, err := Start(context.Background(), options)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() { c.Stop() })
	return c
}

// RunNode is StartNode for tests.
func RunNode(tb TB, options NodeOptions) *Node {
	tb.Helper()
	n, err := StartNode(context.Background(), options)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() { n.Stop() })
	return n
}

// MustDial is Dial for tests; it closes the connection when the test ends.
func MustDial(tb TB, addr string) *Conn {
	tb.Helper()
	c, err := Dial(addr)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

package main

import (
	"context"
	"fmt"
	"io"

	"mithril/tools/testbed"
)

// measureIdle opens connections that have sent one command each and writes by how much every arm's resident
// memory grew.
func measureIdle(ctx context.Context, out io.Writer, count int, arms []*arm) error {
	fmt.Fprintf(out, "\n## Memory of %d idle connections\n\n", count)
	fmt.Fprintf(out, "| %-12s | RSS before MiB | RSS with them MiB | growth MiB | bytes/connection |\n", "arm")
	fmt.Fprintf(out, "|--------------|---------------:|------------------:|-----------:|-----------------:|\n")
	for _, a := range arms {
		if a.pid == 0 {
			continue
		}
		before, after, err := a.growth(ctx, count)
		if err != nil {
			return a.explain(err)
		}
		fmt.Fprintf(out, "| %-12s | %14.1f | %17.1f | %10.1f | %16d |\n", a.name, mib(before), mib(after), mib(after-before), (after-before)/int64(count))
	}
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// growth returns the resident memory before and with the connections, which it closes.
func (a *arm) growth(ctx context.Context, count int) (before, after int64, err error) {
	if before, err = readRSS(a.pid); err != nil {
		return 0, 0, err
	}
	for i := range count {
		conn, err := testbed.DialContext(ctx, a.addr)
		if err != nil {
			return 0, 0, fmt.Errorf("connection %d: %w", i, err)
		}
		defer conn.Close()
		if _, err := conn.Do("PING"); err != nil {
			return 0, 0, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	after, err = readRSS(a.pid)
	return before, after, err
}

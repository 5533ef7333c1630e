// Command servers fetches the servers that tests and benchmarks run against:
// Debian's valkey 9.1, redis 7.0 and redis 8.0, unpacked beside the system
// with their own loader and libraries. It says what it does and where the
// programs are; what is cached is only checked.
//
//	servers [engine ...]
//
// Without arguments it fetches every engine. The cache is servers under
// $MITHRIL_CACHE, by default under mithril in the user's cache directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"mithril/tools/testbed"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: servers [engine ...]\nengines: %s\n", strings.Join(testbed.Engines, ", "))
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, out io.Writer) error {
	if len(names) == 0 {
		names = testbed.Engines
	}
	for _, name := range names {
		engine, err := testbed.Fetch(ctx, name, func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) })
		if err != nil {
			return err
		}
		version, err := engine.Version(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", name, version)
		for _, path := range []string{engine.Server, engine.CLI, engine.Benchmark} {
			fmt.Fprintf(out, "  %s\n", path)
		}
	}
	return nil
}

// Mithril is a proxy in front of a Redis or Valkey cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"mithril/src/conf"
	"mithril/src/proxy"
	"mithril/src/version"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	c, err := conf.Parse(args, runtime.GOMAXPROCS(0), os.ReadFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch c.Action {
	case conf.ActionHelp:
		fmt.Print(conf.Usage())
		return 0
	case conf.ActionVersion:
		fmt.Println("mithril", version.Number)
		return 0
	case conf.ActionCheck:
		fmt.Println("the configuration is valid")
		return 0
	}
	log, err := proxy.OpenLog(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cut := watchSignals(log) // before a client can know that we run
	p, err := proxy.Start(c, log.Logger)
	if err != nil {
		if c.LogFile != "" { // where the reason is looked for when nobody has seen the start
			log.Warn("not started", "part", "proxy", "reason", err.Error())
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p.Run(ctx, cut)
	return 0
}

// watchSignals ends ctx at the first SIGTERM or SIGINT and closes cut at the second.
// SIGHUP opens the log file again.
func watchSignals(log *proxy.Log) (ctx context.Context, cut <-chan struct{}) {
	ctx, stop := context.WithCancel(context.Background())
	second := make(chan struct{})
	// Whoever reads the log from a pipe may go away.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for s := range signals {
			switch {
			case s == syscall.SIGHUP:
				if err := log.Reopen(); err != nil {
					log.Warn("log not opened again", "part", "proxy", "reason", err.Error())
				}
			case ctx.Err() == nil:
				stop()
			default:
				close(second)
				signal.Stop(signals)
				return
			}
		}
	}()
	return ctx, second
}

// Command load loads a RESP server with pipelined commands in a closed loop and prints commands per second and
// latencies as JSON.
//
//	load -addr 127.0.0.1:7979 -conns 50 -pipeline 16 -size 64 -keys 10000 -mix set,get -seconds 5
//
// The server may be a lone node, or a proxy in front of a cluster. The keys are set first unless -fill=false.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"mithril/bench/load/closedloop"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var config closedloop.Config
	flag.StringVar(&config.Addr, "addr", "127.0.0.1:7979", "server to load, host:port")
	flag.IntVar(&config.Conns, "conns", 50, "connections")
	flag.IntVar(&config.Pipeline, "pipeline", 1, "commands that a connection sends at once")
	flag.IntVar(&config.ValueBytes, "size", 64, "bytes of a value")
	flag.IntVar(&config.Keys, "keys", 10000, "size of the key space")
	flag.IntVar(&config.Threads, "threads", 1, "threads that serve the connections")
	mix := flag.String("mix", "set,get", "commands in turn: "+closedloop.Names())
	seconds := flag.Float64("seconds", 5, "length of the measured window")
	warmup := flag.Float64("warmup", 0.2, "seconds of load before it")
	fill := flag.Bool("fill", true, "set every key first")
	flag.Parse()

	var err error
	if config.Mix, err = closedloop.ParseMix(*mix); err != nil {
		return err
	}
	config.Window = time.Duration(*seconds * float64(time.Second))
	config.Warmup = time.Duration(*warmup * float64(time.Second))
	if *fill {
		if err := closedloop.Fill(config.Addr, config.Keys, config.ValueBytes); err != nil {
			return err
		}
	}
	result, err := closedloop.Run(ctx, config)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(result)
}

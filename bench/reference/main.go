// Command reference runs the goroutine-per-connection forwarder that the benchmarks compare Mithril with.
//
//	reference -port 7980 -bootstrap 127.0.0.1:7000,127.0.0.1:7001
//
// It ends on SIGINT and SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mithril/bench/reference/forwarder"
)

const connectTimeout = 5 * time.Second

func main() {
	bind := flag.String("bind", "127.0.0.1", "address to listen on")
	port := flag.Int("port", 7980, "port to listen on")
	bootstrap := flag.String("bootstrap", "", "comma-separated cluster nodes, host:port")
	flag.Parse()
	if err := run(net.JoinHostPort(*bind, strconv.Itoa(*port)), strings.Split(*bootstrap, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(addr string, seeds []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	f, err := forwarder.New(ctx, seeds)
	if err != nil {
		return err
	}
	// net listens for multipath TCP by default, whose sockets cost more for nothing here.
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- f.Serve(listener) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	select {
	case err := <-failed:
		return err
	case <-stop:
		return nil
	}
}

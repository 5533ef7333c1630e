package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mithril/bench/debs"
)

const haproxyConnsMax = 6000 // of clients; cells have up to 1000, and -idle is made for 5000

// haproxy relays bytes: a client's connection has one to a server of its own, dealt out in turn. It knows nothing of
// commands and keys, so this is what moving the bytes alone costs.
func haproxy(ctx context.Context, threads int) (program, error) {
	installed, err := debs.HAProxy.Ensure(ctx)
	if err != nil {
		return program{}, err
	}
	command := func(s site) ([]string, error) {
		conf, err := s.write(haproxyArm, haproxyConf(s.port, threads, s.servers.plainAddrs()))
		return append(installed.Command, "-db", "-f", conf), err
	}
	says := fmt.Sprintf("HAProxy %s, TCP mode, threads: %d", installed.Version, threads)
	return program{name: haproxyArm, says: says, fronts: threePlain, command: command}, nil
}

func haproxyConf(port, threads int, addrs []string) string {
	var conf strings.Builder
	fmt.Fprintf(&conf, "global\n  nbthread %d\n  maxconn %d\n", threads, haproxyConnsMax)
	fmt.Fprintf(&conf, "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n")
	fmt.Fprintf(&conf, "listen bench\n  bind 127.0.0.1:%d\n  balance roundrobin\n", port)
	for i, addr := range addrs {
		fmt.Fprintf(&conf, "  server s%d %s\n", i, addr)
	}
	return conf.String()
}

// nutcracker spreads keys over the plain servers with a hash of its own; it has one thread.
func nutcracker(ctx context.Context) (program, error) {
	installed, err := debs.Nutcracker.Ensure(ctx)
	if err != nil {
		return program{}, err
	}
	command := func(s site) ([]string, error) {
		conf, err := s.write(nutcrackerArm, nutcrackerConf(s.port, s.servers.plainAddrs()))
		return append(installed.Command, "-c", conf, "-o", "/dev/stderr", "-a", "127.0.0.1", "-s", strconv.Itoa(s.sparePort)), err
	}
	return program{name: nutcrackerArm, says: "nutcracker " + installed.Version, fronts: threePlain, command: command}, nil
}

func nutcrackerConf(port int, addrs []string) string {
	var conf strings.Builder
	fmt.Fprintf(&conf, "bench:\n  listen: 127.0.0.1:%d\n  redis: true\n  hash: fnv1a_64\n  distribution: modula\n  servers:\n", port)
	for _, addr := range addrs {
		fmt.Fprintf(&conf, "   - %s:1\n", addr)
	}
	return conf.String()
}

// write writes a configuration file that no other arm has.
func (s site) write(name, text string) (string, error) {
	path := filepath.Join(s.dir, name+"-"+strconv.Itoa(s.port)+".conf")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

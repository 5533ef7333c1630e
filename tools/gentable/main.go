// Command gentable writes the command tables of src/command: it starts each server that they describe, asks it COMMAND and
// COMMAND DOCS over RESP3, and keeps the answers, put in name order, in src/command/data.
//
//	go run ./tools/gentable [directory]
//
// Run it from the top of the repository after a new server release, look at the difference, and give new commands without keys a line in
// src/command/policy.go, which the tests ask for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"mithril/src/command"
	"mithril/src/resp"
	"mithril/tools/testbed"
)

// defaultDir is where the files are, seen from the top of the repository.
const defaultDir = "src/command/data"

func main() {
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: gentable [directory]\ndirectory: where the files go, %s by default\n", defaultDir)
	}
	flag.Parse()
	dir := defaultDir
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, v := range command.Versions {
		if err := generate(ctx, dir, v); err != nil {
			fmt.Fprintf(os.Stderr, "gentable: %v: %v\n", v, err)
			os.Exit(1)
		}
	}
}

// generate writes the two files of one version.
func generate(ctx context.Context, dir string, v command.Version) error {
	rows, docs, err := capture(ctx, v)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{v.RowsFile(): rows, v.DocsFile(): docs} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", path, len(data))
	}
	return nil
}

// capture starts a server of a version and returns its replies to COMMAND and COMMAND DOCS, in RESP3 and in canonical order.
func capture(ctx context.Context, v command.Version) (rows, docs []byte, err error) {
	engine := fmt.Sprintf("%s%d.%d", v.Engine, v.Major, v.Minor)
	node, err := testbed.StartNode(ctx, testbed.NodeOptions{Engine: engine})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, node.Stop()) }()
	conn, err := node.Dial()
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	if _, err := conn.Do("HELLO", 3); err != nil {
		return nil, nil, err
	}
	if rows, err = conn.DoRaw(resp.AppendCommand(nil, "COMMAND"), 1); err != nil {
		return nil, nil, err
	}
	if rows, err = command.CanonicalRows(rows); err != nil {
		return nil, nil, fmt.Errorf("reply to COMMAND: %w", err)
	}
	if docs, err = conn.DoRaw(resp.AppendCommand(nil, "COMMAND", "DOCS"), 1); err != nil {
		return nil, nil, err
	}
	if docs, err = command.CanonicalDocs(docs); err != nil {
		return nil, nil, fmt.Errorf("reply to COMMAND DOCS: %w", err)
	}
	return rows, docs, nil
}

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestMain(m *testing.M) { harness.Main(m) }

// ended is what a program that has ended leaves behind.
type ended struct {
	stdout, stderr string
	status         int
}

// run starts the program with arguments that make it end by itself.
func run(t *testing.T, args ...string) ended {
	t.Helper()
	path, err := harness.Binary(true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%v: %v\n%s%s", args, errors.Join(err, ctx.Err()), &stdout, &stderr)
	}
	return ended{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// through makes the harness start the program by a line of shell, for which $program and
// "$@" are the program and its arguments.
func through(t *testing.T, line string) {
	t.Helper()
	path, err := harness.Binary(true)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "mithril.sh")
	text := fmt.Sprintf("#!/bin/sh\nprogram='%s'\n%s\n", path, line)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MITHRIL_BIN", script)
}

// freePort takes a port for the time of the test.
func freePort(t *testing.T) int {
	t.Helper()
	ports, err := testbed.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ports.Release)
	return ports.Base
}

// nowhere is an address where nothing listens.
func nowhere(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
}

// alone starts a proxy whose cluster is not there, for what needs no node.
func alone(t *testing.T, engine string, args ...string) *harness.Proxy {
	t.Helper()
	return harness.StartAt(t, engine, nowhere(t), args...)
}

// eachEngineWithCluster is EachEngine with a cluster.
func eachEngineWithCluster(t *testing.T, test func(t *testing.T, e *harness.Env)) {
	t.Helper()
	harness.EachEngine(t, func(t *testing.T, engine string) { harness.One(t, testbed.Valkey91, engine, test) })
}

// readAll connects, writes, and reads everything until the other side closes.
func readAll(t *testing.T, addr, request string) string {
	t.Helper()
	c := testbed.MustDial(t, addr)
	if err := c.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	return rest(t, c)
}

// rest reads everything until the other side closes. What had been asked before has
// been answered.
func rest(t *testing.T, c *testbed.Conn) string {
	t.Helper()
	if err := c.NetConn().SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c.NetConn())
	if err != nil {
		t.Fatalf("%q, then %v, want the connection to be closed", text, err)
	}
	return string(text)
}

// halfClose ends the client's side of a connection.
func halfClose(t *testing.T, c *testbed.Conn) {
	t.Helper()
	if err := c.NetConn().(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// one is a cluster of one node, for what needs a node of its own.
func one(t *testing.T, options testbed.Options) *testbed.Cluster {
	t.Helper()
	options.Primaries, options.Replicas = 1, testbed.NoReplicas
	return testbed.RunCluster(t, options)
}

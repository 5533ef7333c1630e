package harness

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mithril/tools/testbed"
)

// script is a proxy that is a shell script in truth.
func script(t *testing.T, text string) *Proxy {
	t.Helper()
	ports, err := testbed.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spawn("/bin/sh", []string{"-c", text})
	if err != nil {
		t.Fatal(err)
	}
	return &Proxy{port: ports.Base, ports: ports, child: c, PID: c.pid()}
}

// trapped is a script that says that it runs and does what is given at SIGTERM.
func trapped(t *testing.T, atTerm string) *Proxy {
	t.Helper()
	p := script(t, "trap '"+atTerm+"' TERM; echo up; while :; do sleep 0.01; done")
	Eventually(t, 5*time.Second, "the script to run", func() error {
		if !strings.Contains(p.Log(), "up") {
			return net.ErrClosed
		}
		return nil
	})
	return p
}

func TestStopJudgesTheEnd(t *testing.T) {
	for _, tc := range []struct{ name, atTerm, want string }{
		{"good", "exit 0", ""},
		{"status", "exit 3", "ended with status 3"},
		{"panic", "echo panic: broken; exit 0", `logged "panic: broken`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := trapped(t, tc.atTerm).Stop()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("Stop: %v, want no error", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("Stop: %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestStopNoticesAnEarlyEnd(t *testing.T) {
	p := script(t, "exit 0")
	<-p.child.exited
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "had ended before") {
		t.Errorf("Stop: %v, want an error that says that it had ended before", err)
	}
}

func TestLaunchNoticesAnEarlyEnd(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mithril.sh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho out of luck\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MITHRIL_BIN", program)
	began := time.Now()
	p, err := launch(Options{Workers: 1, Sharding: "no"})
	if err == nil {
		p.Kill()
		t.Fatal("no error for a program that ends at once")
	}
	if took := time.Since(began); took > serveTimeout/3 {
		t.Errorf("that was noticed after %v", took)
	}
	for _, want := range []string{"exit status 3", "out of luck"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestEndKillsWhatDoesNotEnd(t *testing.T) {
	p := trapped(t, "echo no")
	defer p.ports.Release()
	if _, err := p.child.end(50 * time.Millisecond); err == nil {
		t.Error("no error for a process that ignored SIGTERM")
	}
	if p.Running() {
		t.Error("the process runs after end")
	}
}

func TestClientsCountsOpenAndHalfClosedConnections(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := &Proxy{port: listener.Addr().(*net.TCPAddr).Port}
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Clients(); n != 1 {
		t.Errorf("Clients = %d with one open connection", n)
	}
	client.Close()
	Eventually(t, 5*time.Second, "CLOSE_WAIT", func() error {
		if _, closeWait, err := openSockets(p.port); closeWait != 1 {
			return net.ErrClosed
		} else {
			return err
		}
	})
	if n := p.Clients(); n != 1 {
		t.Errorf("Clients = %d with one connection that only the client has closed", n)
	}
	server.Close()
	if err := p.AwaitNoClients(); err != nil {
		t.Error(err)
	}
}

func TestProcfs(t *testing.T) {
	p := trapped(t, "exit 0")
	defer p.Stop()
	if rss, peak := p.RSS(), p.PeakRSS(); rss < 100<<10 || rss > 64<<20 || peak < rss {
		t.Errorf("RSS = %d, PeakRSS = %d: not those of a shell", rss, peak)
	}
	if n := p.Descriptors(); n < 3 || n > 20 {
		t.Errorf("Descriptors = %d: not those of a shell", n)
	}
}

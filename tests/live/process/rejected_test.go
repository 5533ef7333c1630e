package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mithril/tests/harness"
)

// TestRejectedAreOnlyThoseWhoAreTold: clients that have reset their connections before they
// could be accepted have no address any more. They are not counted as strangers, nor are they
// served as though they were none: what they have sent can still be read.
func TestRejectedAreOnlyThoseWhoAreTold(t *testing.T) {
	const gone = 50
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := alone(t, engine)
		signal(t, p, syscall.SIGSTOP)
		harness.Eventually(t, harness.Patience, "all threads to stop", func() error { return allStopped(p.PID) })
		for range gone {
			c, err := net.Dial("tcp4", p.Addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("ECHO gone\r\n")); err != nil {
				t.Fatal(err)
			}
			c.(*net.TCPConn).SetLinger(0) // a reset
			c.Close()
		}
		signal(t, p, syscall.SIGCONT)
		c := p.Dial(t) // accepted behind them
		info, _ := harness.MustDo(t, c, "INFO", "stats").(string)
		if !strings.Contains(info, "\r\nrejected_connections:0\r\n") {
			t.Errorf("of %d clients that are gone INFO says\n%s", gone, info)
		}
		if stats, _ := harness.MustDo(t, c, "INFO", "commandstats").(string); strings.Contains(stats, "cmdstat_echo") {
			t.Errorf("requests of clients without an address were served:\n%s", stats)
		}
		c.Close()
		if err := p.AwaitNoClients(); err != nil {
			t.Error(err)
		}
	})
}

// allStopped returns nil if every thread of a process is in the state T (proc_pid_stat(5)).
func allStopped(pid int) error {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, stat := range stats {
		text, readErr := os.ReadFile(stat)
		if err = errors.Join(err, readErr); !strings.Contains(string(text), ") T ") {
			err = errors.Join(err, fmt.Errorf("%s: %s", stat, text))
		}
	}
	return err
}

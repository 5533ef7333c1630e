package harness

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// A test in a namespace sees nothing of the host's network.
func TestInNamespace(t *testing.T) {
	InNamespace(t, func(t *testing.T) {
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, a := range addrs {
			have[a.String()] = true
		}
		if !have["127.0.0.1/8"] || !have[Outside+"/32"] {
			t.Errorf("the addresses are %v, want 127.0.0.1/8 and %s/32 among them", addrs, Outside)
		}
		delete(have, "::1/128") // unless the kernel has no IPv6
		if len(have) != 2 {
			t.Errorf("the addresses are %v, want no other ones", addrs)
		}
		listener, err := net.Listen("tcp4", net.JoinHostPort(Outside, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		client, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if from := client.LocalAddr().(*net.TCPAddr).IP.String(); from != Outside {
			t.Errorf("the client has the address %s, want %s", from, Outside)
		}
	})
}

// TestNamespaceJudges looks from outside at ends of tests in a namespace. Inside it is the
// one that fails.
func TestNamespaceJudges(t *testing.T) {
	if os.Getenv(outerVar) != "" {
		t.Fatal("this failure is wanted")
	}
	output, err := runInNamespace("TestNamespaceJudges")
	if err == nil || !strings.Contains(output, "this failure is wanted") {
		t.Errorf("a test that fails: %v\n%s", err, output)
	}
	if output, err := runInNamespace("TestNoSuchTest"); err == nil {
		t.Errorf("no error for a test that does not exist\n%s", output)
	}
	outer, err := os.Readlink(ownNamespace)
	if err != nil {
		t.Fatal(err)
	}
	if err := furnishNamespace(outer); err == nil || fmt.Sprint(err) != "$MITHRIL_OUTER_NAMESPACE names "+outer+", which this process is in" {
		t.Errorf("the namespace of this process: %v", err)
	}
}

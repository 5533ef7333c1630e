package process

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestContract_SEC3(t *testing.T) {
	if _, err := testbed.Ensure(testbed.Redis80); err != nil { // inside it could not be fetched
		t.Fatal(err)
	}
	harness.InNamespace(t, testProtectedMode)
}

// testProtectedMode has clients that come from loopback and, within a namespace, from
// beyond. It is where a client comes from that counts, not the address that it connects to.
func testProtectedMode(t *testing.T) {
	const inside = "127.0.0.1"
	server := testbed.RunNode(t, testbed.NodeOptions{
		Engine: testbed.Redis80, Config: []string{"bind " + inside + " " + harness.Outside, "protected-mode yes"},
	})
	port := fmt.Sprint(server.Port)
	harness.MustDo(t, dialFrom(t, inside, harness.Outside, port), "PING")
	denied := rest(t, dialFrom(t, harness.Outside, harness.Outside, port))
	if !strings.HasPrefix(denied, "-DENIED ") {
		t.Fatalf("the server says %q", denied)
	}
	harness.EachEngine(t, func(t *testing.T, engine string) {
		proxy := func(args ...string) (port string) {
			p := alone(t, engine, append(args, "--bind", inside, harness.Outside)...)
			_, port, _ = net.SplitHostPort(p.Addr)
			return port
		}
		port := proxy()
		if got := rest(t, dialFrom(t, harness.Outside, harness.Outside, port)); got != denied {
			t.Errorf("from beyond loopback the proxy says\n%q, the server\n%q", got, denied)
		}
		harness.MustDo(t, dialFrom(t, inside, inside, port), "PING")
		harness.MustDo(t, dialFrom(t, inside, harness.Outside, port), "PING")

		port = proxy("--protected-mode", "no")
		harness.MustDo(t, dialFrom(t, harness.Outside, harness.Outside, port), "PING")

		c := dialFrom(t, harness.Outside, harness.Outside, proxy("--requirepass", "sesame"))
		harness.WantError(t, c, "NOAUTH Authentication required.", "GET", "a")
		harness.MustDo(t, c, "AUTH", "sesame")
		harness.MustDo(t, c, "PING")
	})
}

// dialFrom connects from one address of this host to another.
func dialFrom(t *testing.T, from, to, port string) *testbed.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: harness.Patience}
	conn, err := dialer.Dial("tcp4", net.JoinHostPort(to, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return testbed.NewConn(conn)
}

func TestBindSeveralAddresses(t *testing.T) {
	hosts := []string{"127.0.0.1", "127.0.0.2"}
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		hosts = append(hosts, "::1")
	}
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := alone(t, engine, append([]string{"--bind"}, hosts...)...)
		_, port, _ := net.SplitHostPort(p.Addr)
		for _, host := range hosts {
			for range 4 { // every worker has clients of each address
				harness.MustDo(t, testbed.MustDial(t, net.JoinHostPort(host, port)), "PING")
			}
		}
		if c, err := testbed.Dial(net.JoinHostPort("127.0.0.3", port)); err == nil {
			c.Close()
			t.Error("an address that was not named is served")
		}
	})
}

// Two proxies must never share a port.
func TestBusyPortIsNamed(t *testing.T) {
	p := alone(t, harness.Auto)
	_, port, _ := net.SplitHostPort(p.Addr)
	other, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, engine := range harness.IOEngines {
		for busy, bind := range map[string][]string{
			p.Addr:                {"--bind", "127.0.0.1"},
			other.Addr().String(): {"--bind", "127.0.0.3", "127.0.0.2"},
		} {
			got := run(t, append(bind, "--port", port, "--bootstrap", "127.0.0.1:1", "--io-engine", engine)...)
			if got.status != 1 || !strings.Contains(got.stderr, busy) || !strings.Contains(got.stderr, "in use") {
				t.Errorf("%s is busy: status %d, standard error %q", busy, got.status, got.stderr)
			}
		}
	}
	harness.MustDo(t, p.Dial(t), "PING")
}

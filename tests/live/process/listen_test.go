package process

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// beyondLoopback is an address of this host that is not a loopback one. Connections to it
// stay within the host, but come from beyond loopback for whom they reach.
func beyondLoopback(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatalf("this host has no address beyond loopback, only %v", addrs)
	return ""
}

func TestContract_SEC3(t *testing.T) {
	host := beyondLoopback(t)
	server := testbed.RunNode(t, testbed.NodeOptions{
		Engine: testbed.Redis80, Config: []string{"bind 127.0.0.1 " + host, "protected-mode yes"},
	})
	denied := readAll(t, net.JoinHostPort(host, fmt.Sprint(server.Port)), "")
	if !strings.HasPrefix(denied, "-DENIED ") {
		t.Fatalf("the server says %q", denied)
	}
	eachEngine(t, func(t *testing.T, engine string) {
		bind := []string{"--bind", "127.0.0.1", host}
		from := func(p *harness.Proxy) string {
			_, port, _ := net.SplitHostPort(p.Addr)
			return net.JoinHostPort(host, port)
		}
		p := alone(t, engine, bind...)
		if got := readAll(t, from(p), ""); got != denied {
			t.Errorf("from beyond loopback the proxy says\n%q, the server\n%q", got, denied)
		}
		mustDo(t, p.Dial(t), "PING")

		p = alone(t, engine, append(bind, "--protected-mode", "no")...)
		mustDo(t, testbed.MustDial(t, from(p)), "PING")

		p = alone(t, engine, append(bind, "--requirepass", "sesame")...)
		c := testbed.MustDial(t, from(p))
		wantError(t, c, "NOAUTH Authentication required.", "GET", "a")
		mustDo(t, c, "AUTH", "sesame")
		mustDo(t, c, "PING")
	})
}

func TestBindSeveralAddresses(t *testing.T) {
	hosts := []string{"127.0.0.1", "127.0.0.2"}
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		hosts = append(hosts, "::1")
	}
	eachEngine(t, func(t *testing.T, engine string) {
		p := alone(t, engine, append([]string{"--bind"}, hosts...)...)
		_, port, _ := net.SplitHostPort(p.Addr)
		for _, host := range hosts {
			for range 4 { // workers share each address
				mustDo(t, testbed.MustDial(t, net.JoinHostPort(host, port)), "PING")
			}
		}
		if c, err := testbed.Dial(net.JoinHostPort("127.0.0.3", port)); err == nil {
			c.Close()
			t.Error("an address that was not named is served")
		}
	})
}

// Two proxies must never share a port, although workers do.
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
	mustDo(t, p.Dial(t), "PING")
}

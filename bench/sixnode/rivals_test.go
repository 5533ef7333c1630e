package main

import (
	"strings"
	"testing"
)

func TestConfigurationsOfRivals(t *testing.T) {
	addrs := []string{"127.0.0.1:1", "127.0.0.1:2"}
	haproxy := haproxyConf(99, 2, addrs)
	for _, want := range []string{"nbthread 2\n", "bind 127.0.0.1:99\n", "server s0 127.0.0.1:1\n", "server s1 127.0.0.1:2\n"} {
		if !strings.Contains(haproxy, want) {
			t.Errorf("haproxy lacks %q:\n%s", want, haproxy)
		}
	}
	nutcracker := nutcrackerConf(99, addrs)
	for _, want := range []string{"listen: 127.0.0.1:99\n", "   - 127.0.0.1:1:1\n   - 127.0.0.1:2:1\n"} {
		if !strings.Contains(nutcracker, want) {
			t.Errorf("nutcracker lacks %q:\n%s", want, nutcracker)
		}
	}
}

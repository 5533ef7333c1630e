package admin

import (
	"fmt"
	"testing"
)

// TestContract_CONF3_GetAsOnServers compares the reply for a key that proxy and node
// share, and for patterns that match nothing.
func TestContract_CONF3_GetAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, request := range [][]string{
			{"CONFIG", "GET", "port"}, {"CONFIG", "GET", "PoRT"}, {"config", "get", "POR[st]"}, {"CONFIG", "GET", "Port", "port", "po?t"},
			{"CONFIG", "GET", "p?rt", "port", "Port"},
			{"CONFIG", "GET", "nosuch"}, {"CONFIG", "GET", ""}, {"CONFIG", "GET", "nosuch", "por\\t", "nosuch*"},
		} {
			equal(t, request, own.bytes(request...), real.bytes(request...))
		}
	})
}

// TestContract_CONF3_GetListsEveryKey: a star gives all, patterns add up, each key comes
// once, and no secret comes out.
func TestContract_CONF3_GetListsEveryKey(t *testing.T) {
	r := newRig(t, redis70, "--requirepass hidden --maxclients 77")
	all := pairs(parse(t, r.bytes("CONFIG", "GET", "*")))
	if want := len(r.Conf.Get("*")); want < 60 || len(all) != 2*want {
		t.Errorf("%d entries for %d keys", len(all), want)
	}
	for _, c := range []struct{ request, want string }{
		{"requirepass", "[requirepass (redacted)]"},
		{"maxclient* max* maxclients", "[maxclients 77 max-redirects 7]"},
		{"masteruser", "[]"},
		{"MaxClients maxclient? port", "[MaxClients 77 port 7979]"},
	} {
		request := append([]string{"CONFIG", "GET"}, fields(c.request)...)
		if got := fmt.Sprint(pairs(parse(t, r.bytes(request...)))); got != c.want {
			t.Errorf("%q: got %s, want %s", c.request, got, c.want)
		}
	}
}

package admin

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/session"
	"mithril/src/stats"
)

// TestEveryLocalCommandIsAnswered sends each RouteLocal row of every table through a
// session: it answers itself, or the Server has an answer.
func TestEveryLocalCommandIsAnswered(t *testing.T) {
	for _, v := range command.Versions {
		r := newRig(t, v, "")
		here, offered := 0, 0
		for id := range r.table.Len() {
			c := r.table.Row(uint16(id))
			if c.Route != command.RouteLocal || c.Subcommands() != nil && !c.Accepts(1) {
				continue // a container that needs a subcommand: its own row is never called
			}
			words := strings.Split(c.Name, "|")
			for !c.Accepts(len(words)) {
				words = append(words, "x")
			}
			local, reply := throughSession(t, r, words)
			if local {
				offered++
				reply = r.bytes(words...)
			} else {
				here++
			}
			if reply == "" || strings.Contains(reply, "is not supported by this proxy") {
				t.Errorf("%v: %q gets %q", v, words, reply)
			}
		}
		if here < 10 || offered < 12 {
			t.Errorf("%v: sessions answer %d commands, the Server %d", v, here, offered)
		}
	}
}

// throughSession gives a new session a request. It returns whether the request is offered
// as Local, else the session's own reply.
func throughSession(t *testing.T, r *rig, words []string) (local bool, reply string) {
	t.Helper()
	arena, err := buf.NewArena(make(buf.HeapMemory, 1<<16), 0)
	if err != nil {
		t.Fatal(err)
	}
	env := &session.Env{Arena: arena, Counters: &stats.Counters{}, Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated}
	env.UseTable(r.table)
	s := &session.Session{}
	s.Init(env, 0, 1, netip.MustParseAddrPort("127.0.0.1:50000"), 0)
	request, ok := arena.Copy(resp.AppendCommand(nil, words...))
	if !ok {
		t.Fatal("arena too small")
	}
	s.Put(env, request)
	if s.Next(env).Kind == session.Local {
		return true, ""
	}
	for _, part := range s.Out().Slices() {
		reply += string(arena.Bytes(part))
	}
	return false, reply
}

// TestAnswersNameRows: an answer under a name that no table has could never be given.
func TestAnswersNameRows(t *testing.T) {
	names := slices.Concat(slices.Collect(maps.Keys(answers)), slices.Collect(maps.Keys(surveys)))
	for _, name := range names {
		found := false
		for _, v := range command.Versions {
			found = found || command.ForEngine(v.Engine, v.Major, v.Minor).LookupFull([]byte(name)) != nil
		}
		if !found {
			t.Errorf("no table has %q", name)
		}
	}
}

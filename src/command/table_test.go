package command

import (
	"strings"
	"testing"
)

func TestForEngine(t *testing.T) {
	for _, test := range []struct {
		engine       string
		major, minor int
		want         string
	}{
		{"redis", 6, 2, "redis-7.0"},
		{"redis", 7, 0, "redis-7.0"},
		{"Redis", 7, 4, "redis-7.0"},
		{"redis", 8, 0, "redis-8.0"},
		{"redis", 9, 3, "redis-8.0"},
		{"valkey", 8, 1, "valkey-9.1"},
		{"valkey", 10, 0, "valkey-9.1"},
		{"keydb", 6, 3, "redis-7.0"},
	} {
		if got := ForEngine(test.engine, test.major, test.minor).Version().String(); got != test.want {
			t.Errorf("ForEngine(%q, %d, %d) is %s, want %s", test.engine, test.major, test.minor, got, test.want)
		}
	}
}

func TestLookup_findsEveryNameInAnyCase(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for id := range table.Len() {
			c := table.Row(uint16(id))
			if int(c.ID) != id {
				t.Fatalf("%s has ID %d at %d", c.Name, c.ID, id)
			}
			for _, name := range []string{strings.ToLower(c.Name), strings.ToUpper(c.Name), mixCase(c.Name)} {
				want := c
				if c.Route == RouteRefused {
					want = nil
				}
				if got := table.LookupFull([]byte(name)); got != want {
					t.Errorf("%q finds %v", name, got)
				}
			}
		}
	})
}

func mixCase(s string) string {
	b := []byte(strings.ToLower(s))
	for i := 0; i < len(b); i += 2 {
		b[i] = strings.ToUpper(string(b[i]))[0]
	}
	return string(b)
}

// A name that differs from a known one in a single bit, or is cut or prolonged, must not be found, unless the bit is a letter's case.
func TestLookup_findsNothingElse(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		known := map[string]bool{}
		for id := range table.Len() {
			known[strings.ToLower(table.Row(uint16(id)).Name)] = true
		}
		for name := range known {
			if strings.Contains(name, "|") {
				continue
			}
			for i := range name {
				for bit := range 8 {
					b := []byte(name)
					b[i] ^= 1 << bit
					if c := table.Lookup(b); c != nil && !strings.EqualFold(c.Name, string(b)) {
						t.Errorf("%q finds %s", b, c.Name)
					}
				}
				if c := table.Lookup([]byte(name[:i])); c != nil && !known[name[:i]] {
					t.Errorf("%q finds %s", name[:i], c.Name)
				}
			}
			if c := table.Lookup([]byte(name + "x")); c != nil && !known[name+"x"] {
				t.Errorf("%q finds %s", name+"x", c.Name)
			}
		}
		if c := table.Lookup(make([]byte, 1<<20)); c != nil {
			t.Errorf("a megabyte of NUL finds %s", c.Name)
		}
	})
}

func TestContract_ROUTE2_keyIndexOfSingleKeyCommands(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for name, want := range map[string]uint8{
			"get": 1, "set": 1, "hset": 1, "incr": 1, "object|encoding": 2, "memory|usage": 2, "xgroup|create": 2,
			"mget": 0, "eval": 0, "bitop": 0, "sort": 0, "sort_ro": 1, "xread": 0, "ping": 0, "rename": 0,
		} {
			if got := table.LookupFull([]byte(name)).KeyIndex; got != want {
				t.Errorf("%s: KeyIndex %d, want %d", name, got, want)
			}
		}
		// A session reads this argument without looking at their number.
		for id := range table.Len() {
			c := table.Row(uint16(id))
			if c.KeyIndex != 0 && c.Accepts(int(c.KeyIndex)) {
				t.Errorf("%s accepts %d arguments, its key is argument %d", c.Name, c.KeyIndex, c.KeyIndex)
			}
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	table := ForEngine("valkey", 9, 1)
	for _, name := range []string{"GET", "set", "HSET", "zremrangebyscore", "georadiusbymember_ro", "nosuchcommand"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(name)
			b.ReportAllocs()
			for b.Loop() {
				table.Lookup(text)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		if _, err := build(Versions[2]); err != nil {
			b.Fatal(err)
		}
	}
}

package invariant

import (
	"strings"
	"testing"
)

func TestAssertPanicsWithTheFact(t *testing.T) {
	defer func() {
		text, ok := recover().(string)
		if !ok || !strings.HasSuffix(text, "two is one") {
			t.Errorf("panic value %q does not end in the message", text)
		}
	}()
	Assert(2 == 1+1, "not reached")
	Assert(2 == 1, "two is one")
	t.Error("a false condition passed")
}

func TestAssertDoesNotAllocate(t *testing.T) {
	n := 0
	if got := testing.AllocsPerRun(100, func() { n++; Assert(n > 0, "count is positive") }); got != 0 {
		t.Errorf("Assert allocates %v times", got)
	}
}

func TestMangleFollowsTheTag(t *testing.T) {
	b := []byte("GET k")
	Mangle(b)
	if mangled := string(b) != "GET k"; mangled != Enabled {
		t.Errorf("with Enabled = %v the buffer reads %q", Enabled, b)
	}
	for i, c := range b {
		if Enabled && (c >= 0x20 && c < 0x7f || c == '\r' || c == '\n') {
			t.Errorf("mangled byte %d is %q, which a parser might accept", i, c)
		}
	}
}

package admin

import (
	"strconv"
	"testing"
	"time"
)

// TestContract_PROTO5_TimeAsOnServers: the shape is a server's, and so is the time.
func TestContract_PROTO5_TimeAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		own.Clock = func() int64 { return time.Now().UnixMicro() }
		before, now, after := timeOf(t, real.bytes("TIME")), timeOf(t, own.bytes("TIME")), timeOf(t, real.bytes("TIME"))
		if now < before || now > after {
			t.Errorf("it is %d, between %d and %d on the server", now, before, after)
		}
	})
}

// timeOf reads a reply to TIME, in microseconds.
func timeOf(t *testing.T, reply string) int64 {
	t.Helper()
	parts, ok := parse(t, reply).([]any)
	if !ok || len(parts) != 2 {
		t.Fatalf("TIME: %q", reply)
	}
	secs, err := strconv.ParseInt(parts[0].(string), 10, 64)
	micros, err2 := strconv.ParseInt(parts[1].(string), 10, 64)
	if err != nil || err2 != nil || micros < 0 || micros > 999_999 {
		t.Fatalf("TIME: %q", reply)
	}
	return secs*1_000_000 + micros
}

// TestTimeIsSplit: whole seconds, and the microseconds without leading zeros.
func TestTimeIsSplit(t *testing.T) {
	r := newRig(t, redis70, "")
	for now, want := range map[int64]string{
		1_700_000_000_000_042: "*2\r\n$10\r\n1700000000\r\n$2\r\n42\r\n", 999_999: "*2\r\n$1\r\n0\r\n$6\r\n999999\r\n", 2_000_000: "*2\r\n$1\r\n2\r\n$1\r\n0\r\n",
	} {
		r.Clock = func() int64 { return now }
		equal(t, []string{"TIME"}, r.bytes("TIME"), want)
	}
}

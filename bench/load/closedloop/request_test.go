package closedloop

import (
	"strings"
	"testing"
)

func TestRequestsAsTheyGoOut(t *testing.T) {
	f := newFormatter(&Config{Keys: 1, ValueBytes: 3}, 0)
	key := "$16\r\nkey:000000000000\r\n"
	for op, want := range map[Op]string{
		Set:    "*3\r\n$3\r\nSET\r\n" + key + "$3\r\nabc\r\n",
		Get:    "*2\r\n$3\r\nGET\r\n" + key,
		MGet10: "*11\r\n$4\r\nMGET\r\n" + strings.Repeat(key, 10),
	} {
		if got := string(f.append(nil, op)); got != want {
			t.Errorf("%s is %q, want %q", op, got, want)
		}
	}
	if got := string(f.appendKey(nil, 9_876_543_210)); got != "$16\r\nkey:009876543210\r\n" {
		t.Errorf("a key is %q", got)
	}
}

func TestKeysCoverTheKeySpaceAndRepeatBySeed(t *testing.T) {
	stream := func(seed uint64) string {
		f := newFormatter(&Config{Keys: 10, ValueBytes: 1}, seed)
		var out []byte
		for range 200 {
			out = f.append(out, Get)
		}
		return string(out)
	}
	first := stream(1)
	if first != stream(1) {
		t.Error("the same seed gives other keys")
	}
	if first == stream(2) {
		t.Error("another seed gives the same keys")
	}
	for number := range 10 {
		if key := string(newFormatter(&Config{Keys: 10}, 0).appendKey(nil, number)); !strings.Contains(first, key) {
			t.Errorf("key %d does not occur", number)
		}
	}
	if strings.Contains(first, "key:000000000010") {
		t.Error("a key beyond the key space occurs")
	}
}

func TestMixes(t *testing.T) {
	mix, err := ParseMix("set, mget10,set")
	if err != nil || len(mix) != 3 || mix[0] != Set || mix[1] != MGet10 || mix[2] != Set {
		t.Errorf("mix is %v, %v", mix, err)
	}
	for _, text := range []string{"", "set,", "SET", "incr"} {
		if mix, err := ParseMix(text); err == nil {
			t.Errorf("%q gives %v", text, mix)
		}
	}
}

package slot

import (
	"regexp"
	"strings"
	"testing"
)

// Cases A06 and A07. The slots were read off CLUSTER KEYSLOT of redis-server 7.0 and 8.0 and valkey-server
// 9.1.
func TestContract_ROUTE1_Slots(t *testing.T) {
	for key, want := range map[string]uint16{
		"{}": 15257, "foo{}{bar}": 8363, "foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061, "{": 4092, "{}a": 10875, "a{b": 13340, "": 0,
		"\x00\xff": 7920, "bar": 5061, "{bar": 4015, "foo": 12182, "{user1000}.following": 3443, "{user1000}.followers": 3443,
	} {
		if got := Of([]byte(key)); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

func TestContract_ROUTE1_Tags(t *testing.T) {
	for key, want := range map[string]string{
		"a}b{c}d": "c", "}{": "}{", "}x{y": "}x{y", "{}{a}": "{}{a}", "{a": "{a", "a}": "a}", "{\x00}\xff": "\x00", "{a}": "a", "{{}": "{",
		"k\r\n{\r\n}": "\r\n", "{ }": " ",
	} {
		if got := string(tag([]byte(key))); got != want {
			t.Errorf("%q: tag %q, want %q", key, got, want)
		}
	}
}

var tagRule = regexp.MustCompile(`^[^{]*\{([^}]+)\}`)

// twin reads the rule off a regular expression and the checksum off its definition.
func twin(key []byte) uint16 {
	latin := make([]rune, len(key)) // a rune for each byte, so that any bytes match
	for i, c := range key {
		latin[i] = rune(c)
	}
	if m := tagRule.FindStringSubmatch(string(latin)); m != nil {
		key = key[:0:0]
		for _, r := range m[1] {
			key = append(key, byte(r))
		}
	}
	crc := uint32(0)
	for _, c := range key {
		for bit := 7; bit >= 0; bit-- {
			crc <<= 1
			if crc>>16&1 != uint32(c)>>bit&1 {
				crc ^= 0x1021
			}
			crc &= 0xffff
		}
	}
	return uint16(crc % 16384)
}

func FuzzOf(f *testing.F) {
	for _, key := range []string{"", "{}", "foo{{bar}}zap", "a}b{c}d", "\x00\xff{\n}", strings.Repeat("{key}", 30)} {
		f.Add([]byte(key))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if got, want := Of(key), twin(key); got != want {
			t.Fatalf("%q: %d, want %d", key, got, want)
		}
	})
}

func TestOfDoesNotAllocate(t *testing.T) {
	keys := [][]byte{[]byte("key:000000012345"), []byte("{user1000}.following"), make([]byte, 100)}
	if n := testing.AllocsPerRun(100, func() {
		for _, key := range keys {
			Of(key)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOf(b *testing.B) {
	for name, key := range map[string]string{"16B": "key:000000012345", "tag": "{user1000}.following", "64B": strings.Repeat("k", 64)} {
		b.Run(name, func(b *testing.B) {
			data := []byte(key)
			for range b.N {
				Of(data)
			}
		})
	}
}

package resp

import (
	"math"
	"testing"
)

// PROTO4: the shapes of both protocols, read off redis-server 8.0 and valkey-server 9.1 with EVAL and
// redis.setresp(3).
func TestContract_PROTO4_Shapes(t *testing.T) {
	for _, c := range []struct {
		name         string
		write        func(dst []byte, p Proto) []byte
		resp2, resp3 string
	}{
		{
			"map",
			func(d []byte, p Proto) []byte { return AppendInt(AppendBulkString(AppendMap(d, p, 1), "a"), 1) },
			"*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n$1\r\na\r\n:1\r\n",
		},
		{
			"set", func(d []byte, p Proto) []byte { return AppendBulkString(AppendSet(d, p, 1), "a") },
			"*1\r\n$1\r\na\r\n", "~1\r\n$1\r\na\r\n",
		},
		{"push", func(d []byte, p Proto) []byte { return AppendPush(d, p, 3) }, "*3\r\n", ">3\r\n"},
		{"array", func(d []byte, _ Proto) []byte { return AppendArray(d, 0) }, "*0\r\n", "*0\r\n"},
		{"double", func(d []byte, p Proto) []byte { return AppendDouble(d, p, 1.5) }, "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"true", func(d []byte, p Proto) []byte { return AppendBool(d, p, true) }, ":1\r\n", "#t\r\n"},
		{"false", func(d []byte, p Proto) []byte { return AppendBool(d, p, false) }, ":0\r\n", "#f\r\n"},
		{
			"big number",
			func(d []byte, p Proto) []byte { return AppendBigNumber(d, p, "12345678901234567890123") },
			"$23\r\n12345678901234567890123\r\n", "(12345678901234567890123\r\n",
		},
		{
			"verbatim", func(d []byte, p Proto) []byte { return AppendVerbatim(d, p, "txt", "a b") },
			"$3\r\na b\r\n", "=7\r\ntxt:a b\r\n",
		},
		{"null", AppendNull, "$-1\r\n", "_\r\n"},
		{"null array", AppendNullArray, "*-1\r\n", "_\r\n"},
		{
			"integer", func(d []byte, _ Proto) []byte { return AppendInt(d, math.MinInt64) },
			":-9223372036854775808\r\n", ":-9223372036854775808\r\n",
		},
		{"status", func(d []byte, _ Proto) []byte { return AppendSimple(d, "a\rb\nc") }, "+a b c\r\n", "+a b c\r\n"},
		{
			"error", func(d []byte, _ Proto) []byte { return AppendError(d, "ERR a\r\n+OK") },
			"-ERR a  +OK\r\n", "-ERR a  +OK\r\n",
		},
		{
			"bulk", func(d []byte, _ Proto) []byte { return AppendBulk(d, []byte("\r\n")) }, "$2\r\n\r\n\r\n",
			"$2\r\n\r\n\r\n",
		},
	} {
		if got := string(c.write([]byte("x"), RESP2)); got != "x"+c.resp2 {
			t.Errorf("%s in RESP2: %q, want %q", c.name, got, c.resp2)
		}
		if got := string(c.write([]byte("x"), RESP3)); got != "x"+c.resp3 {
			t.Errorf("%s in RESP3: %q, want %q", c.name, got, c.resp3)
		}
	}
}

// J11: the frame of HELLO 3's reply; a wrong count would leave the client waiting.
func TestContract_PROTO3_HelloShape(t *testing.T) {
	reply := AppendBulkString(AppendBulkString(AppendMap(nil, RESP3, 7), "server"), "redis")
	reply = AppendInt(AppendBulkString(reply, "proto"), 3)
	reply = AppendInt(AppendBulkString(reply, "id"), 5)
	for _, pair := range [][2]string{{"version", "7.0.15"}, {"mode", "cluster"}, {"role", "master"}} {
		reply = AppendBulkString(AppendBulkString(reply, pair[0]), pair[1])
	}
	if n := NextElement(reply); n != 0 {
		t.Errorf("six pairs and no value are a whole reply of %d bytes", n)
	}
	reply = AppendArray(AppendBulkString(reply, "modules"), 0)
	if n := NextElement(reply); n != len(reply) || string(reply[:4]) != "%7\r\n" {
		t.Errorf("%q: %d of %d bytes", reply, n, len(reply))
	}
}

// The texts were read off redis-server 8.0 and valkey-server 9.1 with ZSCORE and EVAL.
func TestDoubleTexts(t *testing.T) {
	for v, want := range map[float64]string{
		0.1: "0.1", 3: "3", 1e30: "1e+30", 1234567: "1234567", 12345678901234567890: "12345678901234567000",
		1e-5: "0.00001", 1e-7: "1e-7",
		1.5e-10: "1.5e-10", math.Inf(1): "inf", math.Inf(-1): "-inf", 1e21: "1e+21",
		123456789e15: "1.23456789e+23", 0.0000123: "1.23e-5",
		math.MaxFloat64: "1.7976931348623157e+308", 5e-324: "5e-324", 1e5: "100000", 1e15: "1000000000000000",
		1e17: "100000000000000000",
		1e20: "1e+20", 0.001: "0.001", 0.000123456: "1.23456e-4", 1e100: "1e+100",
		12345.6789012: "1.23456789012e+4", 1234.56789012: "1234.56789012",
		3.14159265: "3.14159265", 4.6e18: "4600000000000000000", 4.7e18: "4.7e+18",
		-4.6e18: "-4600000000000000000", 123456.7: "123456.7", -1e-7: "-1e-7",
		1 << 62: "4611686018427387904", -1.5: "-1.5",
		1.11111111111e19: "1.11111111111e+19", 1.234567890123e19: "12345678901230000000",
	} {
		if got := string(AppendDouble(nil, RESP3, v)); got != ","+want+"\r\n" {
			t.Errorf("%v: %q, want %s", v, got, want)
		}
	}
	if got := string(AppendDouble(nil, RESP3, math.Copysign(0, -1))); got != ",-0\r\n" {
		t.Errorf("-0: %q", got)
	}
	if got := string(AppendDouble(nil, RESP2, math.NaN())); got != "$3\r\nnan\r\n" {
		t.Errorf("NaN: %q", got)
	}
}

func TestWritersDoNotAllocate(t *testing.T) {
	dst, value := make([]byte, 0, 1024), []byte("value")
	if n := testing.AllocsPerRun(100, func() {
		d := AppendBulk(AppendArray(dst, 3), value)
		d = AppendInt(AppendDouble(d, RESP2, 1234.5e-9), 1<<40)
		d = AppendError(AppendMap(d, RESP3, 2), "ERR no")
		AppendVerbatim(AppendNull(d, RESP3), RESP3, "txt", "text")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendCommand(t *testing.T) {
	if got := string(AppendCommand([]byte("x"), "SET", "k", "")); got != "x*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

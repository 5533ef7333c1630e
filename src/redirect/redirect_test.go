package redirect

import "testing"

func TestContract_REDIR1_ClassifyLooksAtTheErrorCode(t *testing.T) {
	for reply, want := range map[string]Kind{
		"-MOVED 3999 127.0.0.1:6381\r\n": Moved,
		"-ASK 3999 127.0.0.1:6381\r\n":   Ask,
		"-READONLY You can't write\r\n":  ReadOnly,
		"-READONLYX\r\n":                 None,
		"-MOVEDX 1 a:1\r\n":              None,
		"-ASKING 1 a:1\r\n":              None,
		"-TRYAGAIN later\r\n":            None,
		"-ERR MOVED 1 a:1\r\n":           None,
		"+MOVED 1 a:1\r\n":               None,
		"$9\r\n-MOVED 1 a\r\n":           None,
		"-\r\n":                          None,
		"-A\r\n":                         None,
	} {
		if got := Classify([]byte(reply)); got != want {
			t.Errorf("Classify(%q) = %d, want %d", reply, got, want)
		}
	}
}

func TestContract_REDIR1_ParseReadsEveryFormOfAddress(t *testing.T) {
	for reply, want := range map[string]struct {
		slot uint16
		host string
		port uint16
	}{
		"-MOVED 3999 127.0.0.1:6381\r\n":      {3999, "127.0.0.1", 6381},
		"-MOVED 0 node-1.example:7000\r\n":    {0, "node-1.example", 7000},
		"-MOVED 16383 2001:db8::1:6379\r\n":   {16383, "2001:db8::1", 6379},
		"-MOVED 16383 [2001:db8::1]:6379\r\n": {16383, "2001:db8::1", 6379},
		"-MOVED 3999 :6380\r\n":               {3999, "", 6380},
		"-MOVED 3999 ?:6380\r\n":              {3999, "", 6380},
		"-ASK 12182 10.0.0.1:65535\r\n":       {12182, "10.0.0.1", 65535},
	} {
		got, ok := Parse([]byte(reply))
		if !ok || got.Slot != want.slot || string(got.Host) != want.host || got.Port != want.port {
			t.Errorf("Parse(%q) = %d %q %d, %v; want %+v", reply, got.Slot, got.Host, got.Port, ok, want)
		}
	}
}

func TestContract_REDIR1_MalformedRedirectsFailClosed(t *testing.T) {
	for _, reply := range []string{
		"-MOVED 3999\r\n",
		"-MOVED 3999 \r\n",
		"-MOVED 3999 127.0.0.1\r\n",
		"-MOVED 16384 127.0.0.1:6379\r\n",
		"-MOVED -1 127.0.0.1:6379\r\n",
		"-MOVED x 127.0.0.1:6379\r\n",
		"-MOVED  127.0.0.1:6379\r\n",
		"-MOVED 1 127.0.0.1:0\r\n",
		"-MOVED 1 127.0.0.1:65536\r\n",
		"-MOVED 1 127.0.0.1:x\r\n",
		"-MOVED 1 a b:6379\r\n",
		"-MOVED 1 127.0.0.1:6379",
	} {
		if got, ok := Parse([]byte(reply)); ok {
			t.Errorf("Parse(%q) = %+v, want it refused", reply, got)
		}
	}
}

func TestContract_REDIR2_WaitsDoubleAndEnd(t *testing.T) {
	const most = 7
	if act, _ := Decide(0, most, true); act != Resend {
		t.Fatalf("first redirect of a followed request: %d, want an immediate resend", act)
	}
	if act, _ := Decide(1, most, true); act != TryAgain {
		t.Fatalf("second redirect of a followed request: %d, want TRYAGAIN", act)
	}
	wait := int64(2_000_000)
	for hops := 1; hops < most; hops++ {
		act, got := Decide(hops, most, false)
		if act != Wait || got != wait {
			t.Fatalf("redirect %d: action %d after %d ns, want a wait of %d ns", hops+1, act, got, wait)
		}
		wait *= 2
	}
	if act, _ := Decide(most, most, false); act != TryAgain {
		t.Fatalf("redirect after the last: %d, want TRYAGAIN", act)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("-MOVED 3999 127.0.0.1:6381\r\n"))
	f.Add([]byte("-ASK 1 [::1]:1\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		if Classify(reply) == None {
			return
		}
		if target, ok := Parse(reply); ok && (target.Slot > 16383 || target.Port == 0) {
			t.Fatalf("%q: accepted as %+v", reply, target)
		}
	})
}

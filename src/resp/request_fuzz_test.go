package resp

import (
	"slices"
	"testing"
)

func addRequestSeeds(f *testing.F) {
	for _, c := range requestCases {
		if len(c.in) < 1000 {
			f.Add([]byte(c.in), false, []byte{1})
			f.Add([]byte(c.in), true, []byte{3, 1, 7})
		}
	}
	f.Add([]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\nGET k\r\n*0\r\n\n*1\r\n$1000\r\n"), false, []byte{2, 5})
}

// Every frame is read as the slow twin reads it, whole and in pieces.
func FuzzRequestScanner(f *testing.F) {
	addRequestSeeds(f)
	f.Fuzz(func(t *testing.T, stream []byte, preAuth bool, sizes []byte) {
		lim := Authenticated
		if preAuth {
			lim = Unauthenticated
		}
		lim.MaxFrame = 1 << 16
		checkAgainstTwin(t, stream, lim)
		if len(sizes) > 0 {
			whole, pieces := readAll(stream, &lim), readSteps(t, stream, &lim, sizes)
			if !slices.Equal(whole, pieces) {
				t.Fatalf("%q read whole is %q, in pieces of %v %q", stream, whole, sizes, pieces)
			}
		}
	})
}

func checkAgainstTwin(t *testing.T, b []byte, lim RequestLimits) {
	var s RequestScanner
	for {
		args, n, st := s.Scan(b, &lim, nil)
		want := twinRequest(b, lim)
		if st != want.status || st != NeedMore && (n != want.n || s.Violation() != want.violation) {
			t.Fatalf("%q: status %d, %d bytes, %v; the twin says %d, %d, %v",
				b, st, n, s.Violation(), want.status, want.n, want.violation)
		}
		if st == Complete && !slices.Equal(wordsOf(b, args), want.args) {
			t.Fatalf("%q: arguments %v, the twin has %q", b, args, want.args)
		}
		if st != Complete && st != CompleteInline {
			return
		}
		b = b[n:]
	}
}

// What the writers make of any words is read back as those words.
func FuzzRequestRoundTrip(f *testing.F) {
	f.Add([]byte("SET"), []byte("key"), []byte("\r\n$3\r\n\x00"), uint8(3))
	f.Add([]byte(""), []byte(""), []byte(""), uint8(0))
	f.Fuzz(func(t *testing.T, a, b, c []byte, repeat uint8) {
		words := []string{string(a), string(b)}
		for range repeat {
			words = append(words, string(c))
		}
		frame := AppendArray(nil, len(words))
		for _, w := range words {
			frame = AppendBulk(frame, []byte(w))
		}
		var s RequestScanner
		args, n, st := s.Scan(append(frame, "*1\r\n"...), &Authenticated, nil)
		if st != Complete || n != len(frame) || !slices.Equal(wordsOf(frame, args), words) {
			t.Fatalf("%q reads as status %d, %d bytes, %v", frame, st, n, args)
		}
	})
}

// An inline line has the words that the slow twin finds, encoded so that the scanner reads them.
func FuzzAppendInline(f *testing.F) {
	for _, c := range inlineCases {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		out, argc, v := AppendInline([]byte("before"), line)
		words, ok := twinInline(line)
		if ok != (v == NoViolation) || argc != len(words) {
			t.Fatalf("%q: %d words, %v; the twin finds %q, %v", line, argc, v, words, ok)
		}
		frame := out[len("before"):]
		if argc == 0 {
			if len(frame) != 0 {
				t.Fatalf("%q: no words, but %q", line, frame)
			}
			return
		}
		var s RequestScanner
		args, n, st := s.Scan(frame, &Authenticated, nil)
		if st != Complete || n != len(frame) || !slices.Equal(wordsOf(frame, args), words) {
			t.Fatalf("%q encodes as %q, the twin finds %q", line, frame, words)
		}
	})
}

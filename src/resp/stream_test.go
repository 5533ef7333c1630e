package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A scanner whose frames are passed on while they arrive must cut the stream as one that is shown all of it:
// the tests here show it the stream in pieces, take away what is settled at any time and in any amount, and
// compare.

// plan turns the bytes of a fuzzer into decisions; it says 0 when they are used up.
type plan []byte

func (p *plan) next(below int) int {
	if len(*p) == 0 || below <= 1 {
		return 0
	}
	v := int((*p)[0]) % below
	if below > 256 {
		v = int((*p)[0]) * below / 256
	}
	*p = (*p)[1:]
	return v
}

// frameCut is one frame of a stream, or what ended it.
func frameCut(st Status, frame []byte, why string) string {
	return fmt.Sprintf("%d %q %s", st, frame, why)
}

// cutRequests cuts a stream into frames with all of it on view.
func cutRequests(b []byte) (got []string) {
	var s RequestScanner
	for {
		args, n, st := s.Scan(b, &Authenticated, nil)
		switch st {
		case NeedMore:
			return append(got, frameCut(st, b, ""))
		case Invalid:
			return append(got, frameCut(st, nil, s.Violation().String()))
		}
		got = append(got, frameCut(st, b[:n], fmt.Sprintf("%q", wordsOf(b, args))))
		b = b[n:]
	}
}

// scanner is what both scanners tell of an unfinished frame.
type scanner interface {
	Settled() int
	Need() int
	Announced() int
	Discard(n int)
}

// checkPart checks it, and returns how much of b is settled.
func checkPart(t *testing.T, s scanner, frame, b []byte, gone, announced int) (settled int) {
	settled = s.Settled()
	if settled < 0 || settled > len(b) || s.Need() < 1 || s.Announced() < len(b)+s.Need() {
		t.Fatalf("%q, of which %d bytes are gone: settled %d, need %d, announced %d", frame, gone, settled, s.Need(), s.Announced())
	}
	if gone+s.Announced() < announced {
		t.Fatalf("%q announces %d bytes, and %d before", frame, gone+s.Announced(), announced)
	}
	return settled
}

// discardSome takes some of what is settled away, and returns how much.
func discardSome(t *testing.T, s scanner, p plan) int {
	n, need := p.next(s.Settled()+1), s.Need()
	s.Discard(n)
	if s.Need() != need {
		t.Fatalf("need %d, and %d after %d bytes are gone", need, s.Need(), n)
	}
	return n
}

// streamRequests is cutRequests in pieces, with what is settled taken away.
func streamRequests(t *testing.T, stream []byte, p plan) (got []string) {
	var s RequestScanner
	start, gone, end := 0, 0, 0 // of the frame, of what is taken away of it, and of what has arrived
	announced := 0
	for {
		b := slices.Clone(stream[gone:end])
		args, n, st := s.Scan(b, &Authenticated, nil)
		switch st {
		case Invalid:
			return append(got, frameCut(st, nil, s.Violation().String()))
		case Complete, CompleteInline:
			frame := stream[start : gone+n]
			whole, _, _ := new(RequestScanner).Scan(frame, &Authenticated, nil)
			if len(args) > 0 && gone > start || gone == start && !slices.Equal(wordsOf(b, args), wordsOf(frame, whole)) {
				t.Fatalf("%q with %d bytes gone has the arguments %q", frame, gone-start, wordsOf(b, args))
			}
			if announced > len(frame) {
				t.Fatalf("%q announced %d bytes", frame, announced)
			}
			if s != (RequestScanner{}) {
				t.Fatalf("the scanner is not ready after %q: %+v", frame, s)
			}
			got = append(got, frameCut(st, frame, fmt.Sprintf("%q", wordsOf(frame, whole))))
			start, gone, announced = gone+n, gone+n, 0
			continue
		}
		checkRequestPart(t, &s, stream[start:end], b, gone-start, announced)
		announced = max(announced, gone-start+s.Announced())
		if end == len(stream) {
			return append(got, frameCut(st, stream[start:], ""))
		}
		gone += discardSome(t, &s, p)
		end = min(end+1+p.next(40), len(stream))
	}
}

// checkRequestPart checks what the scanner tells of an unfinished frame, of which the first bytes are gone.
func checkRequestPart(t *testing.T, s *RequestScanner, frame, b []byte, gone, announced int) {
	settled := checkPart(t, s, frame, b, gone, announced)
	if len(frame) > 0 && frame[0] == '*' && bytes.Contains(b[settled:], []byte("\r\n")) {
		t.Fatalf("%q is settled up to %d of %d, with a whole line behind", frame, gone+settled, len(frame))
	}
	if gone > 0 {
		return
	}
	args, count := s.Received(b, nil)
	for i, a := range args {
		if end := int(a.Off+a.Len) + len("\r\n"); end > settled || i >= int(count) {
			t.Fatalf("%q: argument %d of %d ends at %d, settled %d", frame, i, count, end, settled)
		}
	}
}

func compareRequests(t *testing.T, stream []byte, p plan) {
	if whole, parts := cutRequests(stream), streamRequests(t, stream, p); !slices.Equal(whole, parts) {
		t.Fatalf("%q is cut whole into\n%q, in parts by %v into\n%q", stream, whole, p, parts)
	}
}

// Requests end where they end however they are passed on.
func FuzzRequestStream(f *testing.F) {
	for _, c := range requestCases {
		if len(c.in) < 1000 {
			f.Add([]byte(c.in), []byte{0, 0})
			f.Add([]byte(c.in), []byte{255, 3, 255, 1, 255, 7, 255, 2})
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, decisions []byte) { compareRequests(t, stream, decisions) })
}

// cutReplies and streamReplies are the same for replies.
func cutReplies(b []byte) (got []string) {
	var s ReplyScanner
	for {
		n, st := s.Scan(b)
		switch st {
		case NeedMore:
			return append(got, frameCut(st, b, ""))
		case Invalid:
			return append(got, frameCut(st, nil, ""))
		}
		got = append(got, frameCut(st, b[:n], ""))
		b = b[n:]
	}
}

func streamReplies(t *testing.T, stream []byte, p plan) (got []string) {
	var s ReplyScanner
	start, gone, end := 0, 0, 0
	announced := 0
	for {
		b := slices.Clone(stream[gone:end])
		n, st := s.Scan(b)
		switch st {
		case Invalid:
			return append(got, frameCut(st, nil, ""))
		case Complete:
			frame := stream[start : gone+n]
			if announced > len(frame) {
				t.Fatalf("%q announced %d bytes", frame, announced)
			}
			if s != (ReplyScanner{}) {
				t.Fatalf("the scanner is not ready after %q: %+v", frame, s)
			}
			got = append(got, frameCut(st, frame, ""))
			start, gone, announced = gone+n, gone+n, 0
			continue
		}
		checkReplyPart(t, &s, stream[start:end], b, gone-start, announced)
		announced = max(announced, gone-start+s.Announced())
		if end == len(stream) {
			return append(got, frameCut(st, stream[start:], ""))
		}
		gone += discardSome(t, &s, p)
		end = min(end+1+p.next(40), len(stream))
	}
}

func checkReplyPart(t *testing.T, s *ReplyScanner, frame, b []byte, gone, announced int) {
	settled := checkPart(t, s, frame, b, gone, announced)
	if left := b[settled:]; len(left) >= len("_\r\n") && bytes.Contains(left, []byte("\r\n")) {
		t.Fatalf("%q is settled up to %d of %d, with a whole line behind", frame, gone+settled, len(frame))
	}
}

func compareReplies(t *testing.T, stream []byte, p plan) {
	if whole, parts := cutReplies(stream), streamReplies(t, stream, p); !slices.Equal(whole, parts) {
		t.Fatalf("%q is cut whole into\n%q, in parts by %v into\n%q", stream, whole, p, parts)
	}
}

// Replies end where they end however they are passed on.
func FuzzReplyStream(f *testing.F) {
	for i, frame := range slices.Concat(replyFrames, replyFaults) {
		if len(frame) < 1000 {
			f.Add([]byte(frame), []byte{0, byte(i)})
			f.Add([]byte(frame), []byte{255, byte(i), 255, 1, 255, 2})
		}
	}
	f.Add([]byte(strings.Join(replyFrames, "")), []byte{255, 1, 255, 2, 255, 3})
	f.Fuzz(func(t *testing.T, stream []byte, decisions []byte) { compareReplies(t, stream, decisions) })
}

// randomPlan makes as many decisions as a stream can take.
func randomPlan(r *rand.Rand, stream []byte) plan {
	p := make(plan, 2*len(stream))
	greedy := r.IntN(2) == 0
	for i := range p {
		p[i] = byte(r.IntN(256))
		if greedy && i%2 == 0 {
			p[i] = 255
		}
	}
	return p
}

// TestContract_PROTO7_FramesAreCutAlikeWholeAndInParts does by chance, and for frames of many shapes, what the
// fuzz targets do by search.
func TestContract_PROTO7_FramesAreCutAlikeWholeAndInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		var requests, replies []byte
		for range 1 + r.IntN(4) {
			words := []string{"SET"}
			for range r.IntN(6) {
				words = append(words, strings.Repeat(string([]byte("v\r\n$*"[r.IntN(5):][:1])), r.IntN(1<<r.IntN(11))))
			}
			requests = AppendCommand(requests, words...)
			shape := make([]byte, 30)
			for i := range shape {
				shape[i] = byte(r.IntN(256))
			}
			replies = appendTree(replies, Proto(2+r.IntN(2)), &shape, 0)
		}
		if r.IntN(4) == 0 { // one byte is not what it was
			requests[r.IntN(len(requests))] ^= byte(1 + r.IntN(255))
			replies[r.IntN(len(replies))] ^= byte(1 + r.IntN(255))
		}
		compareRequests(t, requests, randomPlan(r, requests))
		compareReplies(t, replies, randomPlan(r, replies))
	}
}

// TestDiscardTakesSettledBytesOnly: more, or less than nothing, is a mistake of the caller.
func TestDiscardTakesSettledBytesOnly(t *testing.T) {
	panics := func(f func()) (did bool) {
		defer func() { did = recover() != nil }()
		f()
		return false
	}
	for _, n := range []int{-1, 1} {
		var request RequestScanner
		var reply ReplyScanner
		request.Scan([]byte("*2\r\n$3\r\nGE"), &Authenticated, nil)
		reply.Scan([]byte("*2\r\n$3\r\nGE"))
		if n > 0 {
			n += request.Settled()
		}
		if !panics(func() { request.Discard(n) }) || !panics(func() { reply.Discard(n) }) {
			t.Errorf("%d bytes are discarded of %d", n, request.Settled())
		}
	}
	var s RequestScanner
	b := []byte("*2\r\n$3\r\nGE")
	s.Scan(b, &Authenticated, nil)
	s.Discard(1)
	if !panics(func() { s.Received(b, nil) }) {
		t.Error("arguments are listed of a frame whose beginning is gone")
	}
}

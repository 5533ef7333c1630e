package resp

import (
	"strings"
	"testing"
)

// batch is what one turn finds in a receive chunk: 16 pipelined requests, GET and SET in turn.
func batch(value string) (b []byte) {
	for range 8 {
		b = AppendCommand(b, "GET", "key:000000012345")
		b = AppendCommand(b, "SET", "key:000000012345", value)
	}
	return b
}

func scanBatch(tb testing.TB, s *RequestScanner, b []byte, args []Arg) {
	frames := 0
	for len(b) > 0 {
		out, n, st := s.Scan(b, &Authenticated, args)
		if st != Complete || len(out) != 2+frames%2 {
			tb.Fatalf("frame %d: status %d, %d arguments", frames, st, len(out))
		}
		b = b[n:]
		frames++
	}
	if frames != 16 {
		tb.Fatalf("%d frames", frames)
	}
}

func benchmarkRequests(b *testing.B, value string) {
	buf, args := batch(value), make([]Arg, 0, 16)
	var s RequestScanner
	if n := testing.AllocsPerRun(10, func() { scanBatch(b, &s, buf, args) }); n != 0 {
		b.Fatalf("%v allocations for a batch", n)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		scanBatch(b, &s, buf, args)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/frame")
}

func BenchmarkRequestBatch(b *testing.B) {
	b.Run("value=3B", func(b *testing.B) { benchmarkRequests(b, "abc") })
	b.Run("value=64B", func(b *testing.B) { benchmarkRequests(b, strings.Repeat("v", 64)) })
	b.Run("value=1000B", func(b *testing.B) { benchmarkRequests(b, strings.Repeat("v", 1000)) })
}

func replyBatch(value string) (b []byte) {
	for range 8 {
		b = AppendBulkString(b, value)
		b = AppendSimple(b, "OK")
	}
	return b
}

func scanReplies(tb testing.TB, s *ReplyScanner, b []byte) {
	frames := 0
	for len(b) > 0 {
		n, st := s.Scan(b)
		if st != Complete {
			tb.Fatalf("reply %d: status %d", frames, st)
		}
		b = b[n:]
		frames++
	}
	if frames != 16 {
		tb.Fatalf("%d replies", frames)
	}
}

func benchmarkReplies(b *testing.B, buf []byte) {
	var s ReplyScanner
	if n := testing.AllocsPerRun(10, func() { scanReplies(b, &s, buf) }); n != 0 {
		b.Fatalf("%v allocations for a batch", n)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		scanReplies(b, &s, buf)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/frame")
}

func BenchmarkReplyBatch(b *testing.B) {
	b.Run("value=3B", func(b *testing.B) { benchmarkReplies(b, replyBatch("abc")) })
	b.Run("value=64B", func(b *testing.B) { benchmarkReplies(b, replyBatch(strings.Repeat("v", 64))) })
	b.Run("value=1000B", func(b *testing.B) { benchmarkReplies(b, replyBatch(strings.Repeat("v", 1000))) })
	b.Run("integers", func(b *testing.B) { benchmarkReplies(b, []byte(strings.Repeat(":12345\r\n", 16))) })
}

// The gates hold in every test run, not only in benchmarks; frames that come in pieces count as well.
func TestScannersDoNotAllocate(t *testing.T) {
	requests, replies, args := batch(strings.Repeat("v", 500)), replyBatch("abc"), make([]Arg, 0, 16)
	var rs RequestScanner
	var ps ReplyScanner
	if n := testing.AllocsPerRun(100, func() {
		scanBatch(t, &rs, requests, args)
		scanReplies(t, &ps, replies)
		for cut := range 60 {
			rs.Scan(requests[:cut], &Authenticated, args)
		}
		rs.Scan(requests, &Authenticated, args)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/resp"
)

func TestResp(t *testing.T) {
	playAll(t, "resp", func(*testing.T) map[string]Verb {
		s := &stream{}
		return map[string]Verb{
			"requests": readRequests, "replies": readReplies, "inline": readInline,
			"begin": s.begin, "more": s.more, "discard": s.discard,
		}
	})
}

// limitsOf takes the option that says what a client may announce.
func limitsOf(d *Directive) *resp.RequestLimits {
	if d.Flag("fresh") {
		return &resp.Unauthenticated
	}
	return &resp.Authenticated
}

// readRequests reads the input, all lines in one stream, as a client's requests. With
// split=every it does so again, with the stream cut at every byte and coming byte by byte.
func readRequests(d *Directive) {
	limits := limitsOf(d)
	readEvery(d, func(pieces [][]byte) (lines []string) {
		var scan resp.RequestScanner
		return cut(pieces, func(b []byte) (string, int, resp.Status) {
			args, n, status := scan.Scan(b, limits, nil)
			switch status {
			case resp.Invalid:
				return "broken: " + Show([]byte(scan.Violation().String())), 0, status
			case resp.CompleteInline:
				return "inline: " + Show(b[:n]), n, resp.Complete
			}
			shown := []string{"request:"}
			for _, arg := range args {
				shown = append(shown, ShowWord(string(arg.Of(b))))
			}
			if len(args) == 0 {
				shown = []string{"empty request"}
			}
			return strings.Join(shown, " "), n, status
		})
	})
}

// readReplies reads the input as a node's replies.
func readReplies(d *Directive) {
	readEvery(d, func(pieces [][]byte) (lines []string) {
		var scan resp.ReplyScanner
		return cut(pieces, func(b []byte) (string, int, resp.Status) {
			n, status := scan.Scan(b)
			if status == resp.Invalid {
				return "broken", 0, status
			}
			return "reply: " + Show(b[:n]), n, status
		})
	})
}

// readEvery tells what is read from the input whole, and that it is the same however the
// input is cut.
func readEvery(d *Directive, read func(pieces [][]byte) []string) {
	every := d.Option("split", "")
	whole := bytes.Join(d.Input(), nil)
	lines := read([][]byte{whole})
	d.SayAll("", lines)
	switch every {
	case "":
		return
	case "every":
	default:
		d.Fail("split is %q, want every", every)
	}
	for at := range whole {
		if got := read([][]byte{whole[:at], whole[at:]}); !slices.Equal(got, lines) {
			d.Fail("cut after %d bytes it reads %q", at, got)
		}
	}
	if got := read(slices.Collect(slices.Chunk(whole, 1))); !slices.Equal(got, lines) {
		d.Fail("byte by byte it reads %q", got)
	}
	d.Say("the same when cut at any of %d bytes, and byte by byte", len(whole))
}

// cut takes frames off a stream that comes in pieces. What is not whole yet moves with each
// piece, as it does when a buffer grows.
func cut(pieces [][]byte, next func([]byte) (string, int, resp.Status)) (lines []string) {
	var b []byte
	for _, piece := range pieces {
		b = append(slices.Clone(b), piece...)
		for len(b) > 0 {
			line, n, status := next(b)
			if status == resp.NeedMore {
				break
			}
			lines = append(lines, line)
			if status == resp.Invalid {
				return lines
			}
			b = b[n:]
		}
	}
	if len(b) > 0 {
		lines = append(lines, fmt.Sprintf("%d bytes of the next", len(b)))
	}
	return lines
}

// readInline tells the words of each input line, an inline request.
func readInline(d *Directive) {
	for _, line := range d.Input() {
		array, argc, violation := resp.AppendInline(nil, line)
		switch {
		case violation != resp.NoViolation:
			d.Say("broken: %s", violation)
		case argc == 0:
			d.Say("nothing")
		default:
			d.Say("words: %s", ShowRequests(array)[0])
		}
	}
}

// stream is one scanner with what it is shown.
type stream struct {
	requests bool
	request  resp.RequestScanner
	reply    resp.ReplyScanner
	shown    []byte
}

// begin starts a stream of requests or of replies.
func (s *stream) begin(d *Directive) { *s = stream{requests: d.Word() == "requests"} }

// more shows the scanner further bytes, and tells what it knows then.
func (s *stream) more(d *Directive) {
	s.shown = append(s.shown, strings.Join(d.Rest(), "")...)
	var args []resp.Arg
	var n int
	var status resp.Status
	if s.requests {
		args, n, status = s.request.Scan(s.shown, &resp.Authenticated, nil)
	} else {
		n, status = s.reply.Scan(s.shown)
	}
	switch {
	case status == resp.Invalid:
		d.Say("broken")
	case status == resp.NeedMore && s.requests:
		d.Say("needs %d more, done with %d of %d", s.request.Need(), s.request.Settled(), len(s.shown))
	case status == resp.NeedMore:
		d.Say("needs %d more, done with %d of %d", s.reply.Need(), s.reply.Settled(), len(s.shown))
	default:
		d.Say("complete with %d of %d, %d words listed", n, len(s.shown), len(args))
		s.shown = s.shown[n:]
	}
}

// discard drops what the scanner is done with.
func (s *stream) discard(d *Directive) {
	n := s.reply.Settled()
	if s.requests {
		n = s.request.Settled()
		s.request.Discard(n)
	} else {
		s.reply.Discard(n)
	}
	s.shown = s.shown[n:]
	d.Say("dropped %d, holds %d", n, len(s.shown))
}

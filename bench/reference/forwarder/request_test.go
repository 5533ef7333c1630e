package forwarder

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readers gives a stream whole and byte by byte.
func readers(stream string) map[string]*bufio.Reader {
	return map[string]*bufio.Reader{
		"whole":        bufio.NewReader(strings.NewReader(stream)),
		"byte by byte": bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(stream)), 16),
	}
}

func TestRequestsAreReadWhole(t *testing.T) {
	first, second := "*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$0\r\n\r\n", "*1\r\n$4\r\nPING\r\n"
	for name, in := range readers(first + "*0\r\n" + second) {
		r := newRequest()
		if err := r.read(in); err != nil || string(r.frame) != first || len(r.args) != 3 || string(r.arg(1)) != "\r\n" || len(r.arg(2)) != 0 {
			t.Errorf("%s: first is %q, %v", name, r.frame, err)
		}
		r = &request{}
		if err := r.read(in); err != nil || len(r.args) != 0 {
			t.Errorf("%s: the empty request is %q, %v", name, r.frame, err)
		}
		r = &request{}
		if err := r.read(in); err != nil || string(r.frame) != second {
			t.Errorf("%s: the last is %q, %v", name, r.frame, err)
		}
		if err := r.read(in); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

func TestBadRequestsAreProtocolErrors(t *testing.T) {
	for _, stream := range []string{"PING\r\n", "*1\n$4\r\nPING\r\n", "*-1\r\n", "*1\r\n:4\r\n", "*1\r\n$-1\r\n", "*x\r\n", "*\r\n", "*1\r\n$536870913\r\n", "*99999999999999999999\r\n"} {
		if err := new(request).read(bufio.NewReader(strings.NewReader(stream))); !errors.Is(err, errProtocol) {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

func TestRepliesAreReadWhole(t *testing.T) {
	replies := []string{
		"+OK\r\n", "-ERR " + strings.Repeat("long ", 20) + "\r\n", ":-12\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n",
		"*-1\r\n", "*0\r\n", "*3\r\n*2\r\n$1\r\na\r\n:1\r\n*0\r\n+x\r\n",
	}
	for name, in := range readers(strings.Join(replies, "")) {
		for _, want := range replies {
			if got, err := appendReply(nil, in); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
			}
		}
	}
	for _, stream := range []string{"?\r\n", "\r\n", "$x\r\n"} {
		if _, err := appendReply(nil, bufio.NewReader(strings.NewReader(stream))); !errors.Is(err, errProtocol) {
			t.Errorf("%q: %v", stream, err)
		}
	}
	if _, err := appendReply(nil, bufio.NewReader(strings.NewReader("$5\r\nab"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut reply: %v", err)
	}
}

func TestReleasedRequestsKeepNothing(t *testing.T) {
	r := &request{done: make(chan struct{}, 1)}
	if err := r.read(bufio.NewReader(strings.NewReader("*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n"))); err != nil {
		t.Fatal(err)
	}
	r.split()
	part := r.parts[0]
	part.answer("*1\r\n$-1\r\n")
	<-part.done
	part.cursor = 4
	r.release()
	for _, r := range []*request{r, part} {
		if len(r.frame)+len(r.reply)+len(r.args)+len(r.parts)+len(r.owners)+r.count+r.cursor+len(r.done) != 0 {
			t.Errorf("a released request holds %+v", r)
		}
	}
}

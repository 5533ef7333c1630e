package closedloop

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// seen is a complete reply as the scanner reports it.
type seen struct {
	kind byte
	null bool
}

// scan feeds the parts and collects the complete replies.
func scan(parts ...string) ([]seen, error) {
	var s scanner
	var found []seen
	for _, part := range parts {
		for data := []byte(part); len(data) > 0; {
			rest, complete, err := s.next(data)
			if err != nil {
				return found, err
			}
			if !complete {
				break
			}
			found = append(found, seen{s.kind, s.null})
			data = rest
		}
	}
	return found, nil
}

func TestRepliesAreFoundHoweverTheyAreCut(t *testing.T) {
	stream := "+OK\r\n$-1\r\n$3\r\na\nb\r\n$0\r\n\r\n:7\r\n*0\r\n*3\r\n$1\r\nx\r\n$-1\r\n*2\r\n:1\r\n$2\r\nyz\r\n*1\r\n$0\r\n\r\n*-1\r\n+end\r\n"
	want := []seen{{'+', false}, {'$', true}, {'$', false}, {'$', false}, {':', false}, {'*', false}, {'*', true}, {'*', false}, {'*', true}, {'+', false}}
	for first := range len(stream) {
		for second := first; second < len(stream); second++ {
			found, err := scan(stream[:first], stream[first:second], stream[second:])
			if err != nil || !reflect.DeepEqual(found, want) {
				t.Fatalf("cut at %d and %d: %v, %v", first, second, found, err)
			}
		}
	}
	found, err := scan(strings.Split(stream, "")...)
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("byte by byte: %v, %v", found, err)
	}
}

func TestBadRepliesEndTheScan(t *testing.T) {
	for stream, want := range map[string]string{
		"+OK\r\n-ERR no\r\n":                    `error reply "-ERR no"`,
		"*2\r\n$1\r\na\r\n-MOVED 1 b:2\r\n":     `error reply "-MOVED 1 b:2"`,
		"?\r\n":                                 `the reply has a line "?", want one of + - : $ *`,
		"+OK\n":                                 `the reply has a line "+OK\n"`,
		"\r\n":                                  `the reply has a line "\r\n"`,
		"$1x\r\n":                               `the reply has a header "$1x"`,
		"*-2\r\n":                               `the reply has a header "*-2"`,
		"$999999999999\r\n":                     `the reply has a header "$999999999999"`,
		"+" + strings.Repeat("a", lineBytesMax): fmt.Sprintf("a line of the reply is longer than %d bytes", lineBytesMax),
	} {
		if _, err := scan(stream); err == nil || err.Error() != want {
			t.Errorf("%.20q: error %v, want %s", stream, err, want)
		}
	}
}

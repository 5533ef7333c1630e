package redirect

import (
	"bytes"
	"strconv"

	"mithril/src/slot"
)

// Kind is what an error asks for.
type Kind uint8

// The kinds.
const (
	None     Kind = iota // neither of these
	Moved                // the slot has another owner, for good
	Ask                  // this one request is for the node that imports the slot
	NoScript             // the node lacks the script that the request names
	ReadOnly             // the node is a replica by now: the map is old
)

// What servers say that lack a script. What a script itself throws has more behind it.
const (
	noScriptOfRedis  = "NOSCRIPT No matching script. Please use EVAL.\r\n"
	noScriptOfValkey = "NOSCRIPT No matching script.\r\n"
)

// MayQuote says that bytes of a script, or of its arguments, have what it takes to return
// an error that looks like NoScript.
func MayQuote(b []byte) bool { return bytes.Contains(b, noScriptCode) }

var noScriptCode = []byte("NOSCRIPT")

// Classify tells the errors that ask for something from other replies. Of redirects it
// looks at the first bytes only.
func Classify(reply []byte) Kind {
	if len(reply) < 5 || reply[0] != '-' {
		return None
	}
	switch {
	case reply[1] == 'M' && beginsWith(reply[1:], "MOVED"):
		return Moved
	case reply[1] == 'A' && beginsWith(reply[1:], "ASK"):
		return Ask
	case reply[1] == 'N' && (string(reply[1:]) == noScriptOfRedis || string(reply[1:]) == noScriptOfValkey):
		return NoScript
	case reply[1] == 'R' && beginsWith(reply[1:], "READONLY"):
		return ReadOnly
	}
	return None
}

// beginsWith says that the first word of an error is word, whether or not others follow.
func beginsWith(text []byte, word string) bool {
	return len(text) > len(word) && string(text[:len(word)]) == word && (text[len(word)] == ' ' || text[len(word)] == '\r')
}

// Target is where a redirect points.
type Target struct {
	Slot uint16
	Host []byte // part of the reply; empty: the host of the node that answered
	Port uint16
}

// Parse reads a redirect that Classify has recognised. ok is false when it is
// malformed: nothing must be dialed then.
//
// The host ends at the last colon, so that IPv6 addresses are understood. A host of
// "?" or none at all means the answering node's own. (Redis cluster specification,
// "cluster-preferred-endpoint-type")
func Parse(reply []byte) (t Target, ok bool) {
	line, found := bytes.CutSuffix(reply, []byte("\r\n"))
	if !found {
		return t, false
	}
	_, line, _ = bytes.Cut(line, []byte(" "))
	number, addr, found := bytes.Cut(line, []byte(" "))
	if !found {
		return t, false
	}
	n, ok := decimal(number, slot.Count-1)
	if !ok {
		return t, false
	}
	colon := bytes.LastIndexByte(addr, ':')
	if colon < 0 {
		return t, false
	}
	port, ok := decimal(addr[colon+1:], 65535)
	if !ok || port == 0 {
		return t, false
	}
	host := addr[:colon]
	if bytes.ContainsAny(host, " \t\r\n") {
		return t, false
	}
	if k := len(host); k >= 2 && host[0] == '[' && host[k-1] == ']' {
		host = host[1 : k-1]
	}
	if string(host) == "?" {
		host = nil
	}
	return Target{Slot: uint16(n), Host: host, Port: uint16(port)}, true
}

func decimal(b []byte, most int) (int, bool) {
	if len(b) == 0 || len(b) > 5 {
		return 0, false
	}
	v := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, v <= most
}

// Action is what becomes of a redirected request.
type Action uint8

// The actions.
const (
	Resend   Action = iota // to the target, at once
	Wait                   // then Resend
	TryAgain               // answer TRYAGAIN
)

// firstWait is the wait before the second try, in nanoseconds; it doubles.
const firstWait = int64(2_000_000)

// Decide says what becomes of a request that has followed hops redirects before this
// one, at most maxHops in all. followed says that later requests of the same session
// are in flight.
func Decide(hops, maxHops int, followed bool) (act Action, wait int64) {
	switch {
	case hops == 0 && maxHops > 0:
		return Resend, 0
	case followed || hops >= maxHops:
		return TryAgain, 0
	}
	return Wait, firstWait << min(hops-1, 16)
}

// AppendTryAgain writes the error a client gets when a redirect could not be
// followed to its end.
func AppendTryAgain(dst []byte, s uint16) []byte {
	dst = append(dst, "-TRYAGAIN slot "...)
	dst = strconv.AppendUint(dst, uint64(s), 10)
	return append(dst, " is being moved between nodes, the request could not be completed\r\n"...)
}

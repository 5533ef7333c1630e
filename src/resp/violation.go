package resp

// Violation names the protocol rule that a client broke. ExpectedDollar carries the offending byte in its
// upper eight bits.
type Violation uint16

const (
	NoViolation           Violation = iota
	InvalidCount                    // "*n" is no number, or above the server's limit
	InvalidLength                   // "$n" is no number, negative, or above the server's limit
	ExpectedDollar                  // an argument that is no bulk string
	InvalidLineEnd                  // CR without LF, or a body that is not followed by CRLF
	UnauthenticatedCount            // more arguments than are allowed before AUTH
	UnauthenticatedLength           // a longer argument than is allowed before AUTH
	TooBigCount                     // no end of the "*n" line in sight
	TooBigLength                    // no end of the "$n" line in sight
	TooBigInline                    // no end of an inline line in sight
	UnbalancedQuotes                // in an inline line
	TooBigRequest                   // more bytes than a request may have
)

const violationKind = 0xff // the bits of a Violation that hold its kind

// The servers' words, read off Redis 7.0, Redis 8.0 and Valkey 9.1. InvalidLineEnd is Valkey's alone, Redis
// does not look. A server closes the connection without a word where TooBigRequest is answered here.
var violationTexts = [...]string{
	InvalidCount:          "invalid multibulk length",
	InvalidLength:         "invalid bulk length",
	ExpectedDollar:        "expected '$', got '",
	InvalidLineEnd:        "invalid CRLF in request",
	UnauthenticatedCount:  "unauthenticated multibulk length",
	UnauthenticatedLength: "unauthenticated bulk length",
	TooBigCount:           "too big mbulk count string",
	TooBigLength:          "too big bulk count string",
	TooBigInline:          "too big inline request",
	UnbalancedQuotes:      "unbalanced quotes in request",
	TooBigRequest:         "too big request",
}

// String returns the rule in the server's words.
func (v Violation) String() string {
	text := violationTexts[v&violationKind]
	if v&violationKind == ExpectedDollar {
		return string(append([]byte(text), byte(v>>8), '\''))
	}
	return text
}

// AppendError appends the error line that a server sends before it closes the connection.
func (v Violation) AppendError(dst []byte) []byte {
	dst = append(dst, "-ERR Protocol error: "...)
	dst = append(dst, violationTexts[v&violationKind]...)
	if v&violationKind == ExpectedDollar {
		got := byte(v >> 8)
		if got == '\r' || got == '\n' {
			got = ' ' // as in every error line
		}
		dst = append(dst, got, '\'')
	}
	return append(dst, '\r', '\n')
}

// IsCrossProtocol tells whether a command name shows that an HTTP client is speaking: a browser was lured
// into posting to this port. A server closes such a connection without a reply.
func IsCrossProtocol(name []byte) bool {
	return EqualFold(name, "post") || EqualFold(name, "host:")
}

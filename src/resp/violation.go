package resp

// Violation names the protocol rule that a client broke. ExpectedDollar carries the offending byte.
type Violation uint16

// AppendError appends the error line that a server sends before it closes the connection.
func (v Violation) AppendError(dst []byte) []byte { return dst }

// AppendInline re-encodes an inline request line as a RESP array.
func AppendInline(dst, line []byte) (out []byte, argc int, v Violation) { return dst, 0, 0 }

// IsCrossProtocol tells whether a command name shows that an HTTP client is speaking.
func IsCrossProtocol(name []byte) bool { return EqualFold(name, "post") || EqualFold(name, "host:") }

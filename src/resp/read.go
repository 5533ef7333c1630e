package resp

// ArrayHeader reads the header of an aggregate.
func ArrayHeader(reply []byte) (count, headerLen int, ok bool) { return 0, 0, false }

// NextElement returns the length in bytes of the reply at the start of b, 0 when it is not whole and well formed.
func NextElement(b []byte) (n int) { return 0 }

// Integer reads an integer reply.
func Integer(reply []byte) (v int64, ok bool) { return 0, false }

// EqualFold tells whether name equals lower, which is in lower case, without regard to ASCII case.
func EqualFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

package resp

// The functions here look at one line of a reply, b being at least three bytes long and starting at its type
// byte. They answer the line's size in bytes, its end included; 0 when its end is not in sight, -1 when it is
// malformed.

// stringHeader reads "$n", "=n" or "!n". size is -1 for the null "$-1", whose line is all there is.
func stringHeader(b []byte) (size, line int) {
	if len(b) >= 5 {
		first, second := b[1]-'0', b[2]-'0'
		if first <= 9 && b[2] == '\r' && b[3] == '\n' {
			return int(first), 4
		}
		if first-1 <= 8 && second <= 9 && b[3] == '\r' && b[4] == '\n' {
			return int(first)*10 + int(second), 5
		}
	}
	n, line := headerNumber(b)
	if line > 0 && (n > replyStringBytesMax || n < 0 && b[0] != '$') {
		return 0, -1
	}
	return int(n), line
}

// aggregateHeader reads the header of an array, set, push, map or attribute and answers how many elements it
// adds to those owed, itself still counted among them. An attribute precedes the element that is owed, so it
// does not fulfil it.
func aggregateHeader(b []byte) (add uint64, line int) {
	var n int64
	if first := b[1] - '0'; len(b) >= 4 && first <= 9 && b[2] == '\r' && b[3] == '\n' {
		n, line = int64(first), 4
	} else if n, line = headerNumber(b); line <= 0 {
		return 0, line
	}
	if n > replyElementsMax || n < 0 && b[0] != '*' {
		return 0, -1
	}
	n = max(n, 0)
	switch b[0] {
	case '%':
		return uint64(2 * n), line
	case '|':
		return uint64(2*n) + 1, line
	}
	return uint64(n), line
}

// headerNumber reads the number of a header line: decimal without sign or leading zeros, or the -1 of a null.
func headerNumber(b []byte) (n int64, line int) {
	if b[1] == '-' {
		return -1, prefixLine(b, "-1\r\n")
	}
	i := 1
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if i > digitsMax || i == 2 && b[1] == '0' {
			return 0, -1
		}
		n = n*10 + int64(b[i]-'0')
	}
	if i == 1 {
		return 0, -1
	}
	return n, lineEnd(b, i)
}

// integerLine reads ":n".
func integerLine(b []byte) (line int) {
	i := 1
	if b[1] == '-' || b[1] == '+' {
		i = 2
	}
	start := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if i-start >= replyIntegerDigitsMax {
			return -1
		}
	}
	if i == start && i < len(b) {
		return -1
	}
	return lineEnd(b, i)
}

// constantLine reads the types that have few values: a null or a boolean. Any other type byte is malformed.
func constantLine(b []byte) (line int) {
	switch b[0] {
	case '_':
		return prefixLine(b, "\r\n")
	case '#':
		if b[1] == 't' || b[1] == 'f' {
			return lineEnd(b, 2)
		}
	}
	return -1
}

// prefixLine reads a line whose content after the type byte must be want.
func prefixLine(b []byte, want string) (line int) {
	have := min(len(b)-1, len(want))
	switch {
	case string(b[1:1+have]) != want[:have]:
		return -1
	case have < len(want):
		return 0
	}
	return 1 + have
}

// lineEnd reads the CRLF at offset i, which is at most len(b).
func lineEnd(b []byte, i int) (line int) {
	switch {
	case i >= len(b):
		return 0
	case b[i] != '\r':
		return -1
	case i+1 >= len(b):
		return 0
	case b[i+1] != '\n':
		return -1
	}
	return i + 2
}

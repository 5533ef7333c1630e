package conf

import "strings"

// splitWords cuts one line of the conf file into words as redis.conf does:
// blanks separate, "..." takes the escapes \n \r \t \b \a \xHH and \c for any
// other c, '...' takes only \', and a closing quote must end its word. ok is
// false when quotes are unbalanced; words then holds those before the fault.
func splitWords(line string) (words []string, ok bool) {
	rest := line
	for {
		rest = strings.TrimLeft(rest, blanks)
		if rest == "" {
			return words, true
		}
		var word string
		if word, rest, ok = nextWord(rest); !ok {
			return words, false
		}
		words = append(words, word)
	}
}

const blanks = " \t\n\v\f\r"

// wordEnds are the bytes that end an unquoted word. Redis ends words at fewer
// bytes than it skips between them, so "a\vb" is one word.
const wordEnds = " \t\n\r"

// nextWord takes one word from the front of rest, which does not start with a
// blank.
func nextWord(rest string) (word, after string, ok bool) {
	var b strings.Builder
	for rest != "" && strings.IndexByte(wordEnds, rest[0]) < 0 {
		c := rest[0]
		if c != '"' && c != '\'' {
			b.WriteByte(c)
			rest = rest[1:]
			continue
		}
		n := unquote(rest, &b)
		if n == 0 {
			return "", "", false
		}
		rest = rest[n:]
		if rest != "" && strings.IndexByte(blanks, rest[0]) < 0 {
			return "", "", false
		}
		break
	}
	return b.String(), rest, true
}

// unquote appends to b the content of the quoted text that s starts with and
// returns its length including both quotes, 0 when the closing one is missing.
func unquote(s string, b *strings.Builder) int {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote:
			return i + 1
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
		case quote == '\'':
			if s[i+1] == '\'' {
				c = '\''
				i++
			}
			b.WriteByte(c)
		case s[i+1] == 'x' && i+3 < len(s) && isHex(s[i+2]) && isHex(s[i+3]):
			b.WriteByte(hexValue(s[i+2])<<4 | hexValue(s[i+3]))
			i += 3
		default:
			i++
			b.WriteByte(unescape(s[i]))
		}
	}
	return 0
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// hexValue returns the value of a digit that isHex accepts.
func hexValue(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// quoteWord returns word in a form that splitWords reads back as that word:
// itself where possible, else in double quotes.
func quoteWord(word string) string {
	if word != "" && word[0] != '#' && strings.IndexFunc(word, needsQuotes) < 0 {
		return word
	}
	return quoteAlways(word)
}

// needsQuotes sees the replacement character for bytes that are not UTF-8, so
// everything outside printable ASCII answers true.
func needsQuotes(r rune) bool {
	return r <= ' ' || r >= 0x7f || r == '"' || r == '\''
}

func quoteAlways(word string) string {
	const hexDigits = "0123456789abcdef"
	b := []byte{'"'}
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ' || c >= 0x7f:
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// joinWords prints words on one line that splitWords reads back.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

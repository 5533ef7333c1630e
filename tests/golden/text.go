package golden

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"mithril/src/resp"
)

// runBytesMin is from how many equal bytes on Show writes their number instead.
const runBytesMin = 20

// repeatMax bounds \{n}: a slip of the pen shall not take the memory of the machine.
const repeatMax = 64 << 20

// Show writes bytes as scripts have them, on one line. Unescape is its inverse.
func Show(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); {
		run := 1
		for i+run < len(b) && b[i+run] == b[i] {
			run++
		}
		if run < runBytesMin {
			run = 1
		} else {
			fmt.Fprintf(&out, `\{%d}`, run)
		}
		edge := i == 0 || i+run == len(b)
		switch c := b[i]; {
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\\':
			out.WriteString(`\\`)
		case c < ' ' || c > '~' || c == ' ' && edge:
			fmt.Fprintf(&out, `\x%02x`, c)
		default:
			out.WriteByte(c)
		}
		i += run
	}
	return out.String()
}

// Unescape reads bytes as scripts have them.
func Unescape(text string) ([]byte, error) {
	var out []byte
	for text != "" {
		bytes, rest, err := unit(text)
		if err != nil {
			return nil, err
		}
		out, text = append(out, bytes...), rest
	}
	return out, nil
}

// unit reads one byte, or one escape with what it stands for.
func unit(text string) (b []byte, rest string, err error) {
	if text[0] != '\\' {
		return []byte{text[0]}, text[1:], nil
	}
	if len(text) < 2 {
		return nil, "", fmt.Errorf(`%q ends in a backslash, want \r, \n, \t, \\, \", \xHH or \{n}`, text)
	}
	rest = text[2:]
	switch text[1] {
	case 'r':
		return []byte{'\r'}, rest, nil
	case 'n':
		return []byte{'\n'}, rest, nil
	case 't':
		return []byte{'\t'}, rest, nil
	case '\\', '"':
		return []byte{text[1]}, rest, nil
	case 'x':
		if len(rest) >= 2 {
			if v, err := strconv.ParseUint(rest[:2], 16, 8); err == nil {
				return []byte{byte(v)}, rest[2:], nil
			}
		}
	case '{':
		count, after, found := strings.Cut(rest, "}")
		n, err := strconv.Atoi(count)
		if err == nil && found && n > 0 && n <= repeatMax && after != "" {
			b, rest, err = unit(after)
			return bytes.Repeat(b, n), rest, err
		}
	}
	return nil, "", fmt.Errorf(`bad escape at %q, want \r, \n, \t, \\, \", \xHH or \{n}`, text)
}

// words splits a line at its spaces. Within double quotes a space is part of the word.
func words(line string) (list []string, err error) {
	var word []byte
	inside, quoted := false, false
	for line != "" {
		switch c := line[0]; {
		case c == '"':
			inside, quoted, line = true, !quoted, line[1:]
		case c == ' ' && !quoted:
			if inside {
				list = append(list, string(word))
			}
			word, inside, line = nil, false, line[1:]
		default:
			var b []byte
			if b, line, err = unit(line); err != nil {
				return nil, err
			}
			word, inside = append(word, b...), true
		}
	}
	if quoted {
		return nil, fmt.Errorf("no closing quote")
	}
	if inside {
		list = append(list, string(word))
	}
	return list, nil
}

// ShowWord writes a word so that words reads it back.
func ShowWord(word string) string {
	text := strings.ReplaceAll(Show([]byte(word)), `"`, `\"`)
	if text == "" || strings.Contains(text, " ") {
		return `"` + text + `"`
	}
	return text
}

// ShowRequests writes each request in b as its words, and as bytes what is not written as
// clients of nodes usually write it.
func ShowRequests(b []byte) (lines []string) {
	for len(b) > 0 {
		var scan resp.RequestScanner
		args, n, status := scan.Scan(b, &resp.Authenticated, nil)
		if status != resp.Complete {
			return append(lines, Show(b))
		}
		var plain, shown []string
		for _, arg := range args {
			word := string(arg.Of(b))
			plain, shown = append(plain, word), append(shown, ShowWord(word))
		}
		if line := strings.Join(shown, " "); line != "" && bytes.Equal(resp.AppendCommand(nil, plain...), b[:n]) {
			lines = append(lines, line)
		} else {
			lines = append(lines, Show(b[:n]))
		}
		b = b[n:]
	}
	return lines
}

// ShowReplies writes each reply in b on a line of its own.
func ShowReplies(b []byte) (lines []string) {
	for len(b) > 0 {
		n := resp.NextElement(b)
		if n == 0 {
			n = len(b)
		}
		lines, b = append(lines, Show(b[:n])), b[n:]
	}
	return lines
}

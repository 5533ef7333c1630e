package metamorphic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"mithril/tools/testbed"
)

const (
	requestsMax   = 60
	keysOfType    = 4        // without a tag, and as many with the tag
	groupsMax     = 8        // keys of a command that takes any number
	largeBytesMax = 3 << 20  // of one value
	historyLarge  = 12 << 20 // of all values of a history together
	shortBytesMax = 40       // of a value that is not large
	inlineMax     = 32 << 10 // of one request in the inline form
)

// end is what a client does after its last request. The proxy closes then.
type end uint8

const (
	endLate      end = iota // closes its sending side when all is answered
	endSoon                 // closes its sending side at once
	endQuit                 // says QUIT
	endViolation            // breaks the protocol
	ends                    // how many there are
)

// request is one request as it is sent.
type request struct {
	text   string // for messages
	bytes  []byte
	silent bool // it has no reply
	hello  bool // its reply has the number of the connection
}

// history is what one client does.
type history struct {
	bursts [][]request // each is sent when all before it is answered
	end    end
	large  bool // some values may be large
}

// maker draws one history.
type maker struct {
	*rand.Rand
	prefix string
	inline bool // some requests are in the inline form
	large  int  // bytes that large values may still have
}

// newHistory makes a history whose keys begin with a prefix of its own. The first of a
// round has large values.
func newHistory(seed, number uint64) *history {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, number)), prefix: fmt.Sprintf("%d:%d:", seed, number)}
	m.inline = m.IntN(3) == 0
	if number == 0 {
		m.large = historyLarge
	}
	depth := []int{1, 4, 16, requestsMax}[m.IntN(4)]
	h := &history{end: end(m.IntN(int(ends))), large: m.large > 0}
	var all []request
	if m.IntN(2) == 0 {
		all = append(all, m.encode("HELLO", "3"))
	}
	for range 1 + m.IntN(requestsMax) {
		all = append(all, m.request())
	}
	switch h.end {
	case endQuit:
		all = append(all, m.encode("QUIT"))
	case endViolation:
		text := violations[m.IntN(len(violations))]
		all = append(all, request{text: fmt.Sprintf("%q", text), bytes: []byte(text)})
	}
	for len(all) > 0 {
		n := min(1+m.IntN(depth), len(all))
		h.bursts = append(h.bursts, all[:n])
		all = all[n:]
	}
	return h
}

func (m *maker) request() request {
	switch n := m.IntN(100); {
	case n < 2:
		return m.encode("HELLO", []string{"2", "3"}[m.IntN(2)])
	case n < 3:
		return m.encode("RESET")
	case n < 5:
		empty := []string{"\r\n", "*0\r\n", "*-1\r\n"}[m.IntN(3)]
		return request{text: fmt.Sprintf("%q", empty), bytes: []byte(empty), silent: true}
	case n < 30:
		r := repeated[m.IntN(len(repeated))]
		args := []string{r.name}
		for range 1 + m.IntN(groupsMax) {
			args = append(args, m.words(r.group)...)
		}
		return m.encode(args...)
	}
	if m.large > 0 && m.IntN(3) == 0 {
		return m.encode(m.words(large[m.IntN(len(large))])...)
	}
	return m.encode(m.words(templates[m.IntN(len(templates))])...)
}

// words draws the words of a template.
func (m *maker) words(template string) (args []string) {
	for word := range strings.FieldsSeq(template) {
		before, drawn, found := strings.Cut(word, "@")
		if found {
			word = before + m.draw(drawn[0]) + drawn[1:]
		}
		args = append(args, word)
	}
	return args
}

func (m *maker) draw(what byte) string {
	switch what {
	case 'v':
		return m.short()
	case 'V':
		return m.value()
	case 'f':
		return fmt.Sprint("f", m.IntN(6))
	case 'n':
		return fmt.Sprint(m.IntN(10))
	case 'i':
		return fmt.Sprint(m.IntN(13) - 6)
	case 'd':
		return fmt.Sprint(float64(m.IntN(80)) / 8)
	}
	types := "slhezxpg"
	tag := ""
	if what < 'a' {
		what |= 'a' - 'A'
		tag = "{t}"
	}
	if m.IntN(20) == 0 {
		what = types[m.IntN(len(types))]
	}
	return fmt.Sprintf("%s%s%c%d", m.prefix, tag, what, m.IntN(keysOfType))
}

// short is a value of a few bytes, any bytes.
func (m *maker) short() string {
	if m.IntN(3) == 0 {
		return fmt.Sprint(m.IntN(100))
	}
	return m.bytes(m.IntN(shortBytesMax))
}

// value is a value of any length up to largeBytesMax while the history may have large
// ones: often short, as likely of 10 to 20 bytes as of 10 to 20 KiB, and sometimes of
// megabytes, which do not fit in the buffers of sockets.
func (m *maker) value() string {
	size := 0
	switch m.IntN(6) {
	case 0:
		size = largeBytesMax/3 + m.IntN(largeBytesMax*2/3)
	case 1, 2, 3:
		size = int(math.Exp(m.Float64() * math.Log(largeBytesMax)))
	}
	if size <= shortBytesMax || size > m.large {
		return m.short()
	}
	m.large -= size
	return m.bytes(size)
}

// bytes are n bytes with line ends among them.
func (m *maker) bytes(n int) string {
	b := make([]byte, n)
	for i := range b {
		if b[i] = byte(m.Uint32()); b[i] < 16 {
			b[i] = "\r\n$*:-"[b[i]%6]
		}
	}
	return string(b)
}

// encode writes a request as an array, or now and then as a line.
func (m *maker) encode(args ...string) request {
	r := request{text: describe(args), hello: strings.EqualFold(args[0], "HELLO")}
	if m.inline && m.IntN(2) == 0 {
		if r.bytes = m.line(args); len(r.bytes) <= inlineMax {
			return r
		}
	}
	var all []any
	for _, arg := range args {
		all = append(all, arg)
	}
	r.bytes = testbed.AppendCommand(nil, all...)
	return r
}

// line is a request in the inline form.
func (m *maker) line(args []string) (line []byte) {
	for i, arg := range args {
		if i > 0 {
			line = append(line, "  "[:1+m.IntN(2)]...)
		}
		if plain := !strings.ContainsFunc(arg, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\'' }); plain && arg != "" {
			line = append(line, arg...)
			continue
		}
		line = append(line, '"')
		for j := range len(arg) {
			line = fmt.Appendf(line, `\x%02x`, arg[j])
		}
		line = append(line, '"')
	}
	return append(line, "\r\n"[m.IntN(2):]...)
}

// describe prints a request for a message.
func describe(args []string) string {
	var text strings.Builder
	for _, arg := range args {
		if len(arg) > 60 {
			fmt.Fprintf(&text, "<%d bytes> ", len(arg))
		} else {
			fmt.Fprintf(&text, "%q ", arg)
		}
	}
	return strings.TrimSpace(text.String())
}

package harness

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Canon makes two replies equal that differ only in what one server does not fix either.
type Canon func(reply []byte) string

// Exact leaves a reply as it is.
func Exact(reply []byte) string { return string(reply) }

// Unordered sorts the elements of the outermost array or set, and the pairs of the
// outermost map. The elements themselves stay as they are.
func Unordered(reply []byte) string {
	n, rest := readNode(reply)
	size := 1
	if n.head[0] == '%' {
		size = 2
	}
	var groups []string
	for group := range slices.Chunk(n.items, size) {
		var text strings.Builder
		for _, item := range group {
			text.WriteString(item.raw)
		}
		groups = append(groups, text.String())
	}
	slices.Sort(groups)
	if len(n.items) == 0 {
		return string(reply)
	}
	return n.head + strings.Join(groups, "") + string(rest)
}

// Shape keeps the types, the counts of aggregates and whole error lines, and forgets the
// values of strings and numbers.
func Shape(reply []byte) string {
	n, rest := readNode(reply)
	return n.shape() + string(rest)
}

// Kind keeps the type of a reply, and error lines, for replies in which the server rolls
// dice.
func Kind(reply []byte) string {
	if reply[0] == '-' {
		return string(reply)
	}
	return string(reply[:1])
}

// node is one frame taken apart.
type node struct {
	head  string // its first line with the line end
	raw   string // all of it
	items []node
}

func (n node) shape() string {
	switch n.head[0] {
	case '*', '~', '%', '>':
		text := n.head
		for _, item := range n.items {
			text += item.shape()
		}
		return text
	case '-', '_':
		return n.head
	case '$':
		if n.head == "$-1\r\n" {
			return n.head
		}
	}
	return n.head[:1] + " "
}

// readNode reads the first frame of a well-formed reply and returns what follows it. A
// testbed.Conn has read the reply before, so a malformed one does not come here.
func readNode(reply []byte) (n node, rest []byte) {
	end := bytes.IndexByte(reply, '\n') + 1
	n.head = string(reply[:end])
	size := end
	count, _ := strconv.Atoi(strings.TrimSpace(n.head[1:]))
	switch n.head[0] {
	case '$', '=', '!':
		if count >= 0 {
			size += count + 2
		}
	case '%', '*', '~', '>':
		if n.head[0] == '%' {
			count *= 2
		}
		for range count {
			item, _ := readNode(reply[size:])
			n.items = append(n.items, item)
			size += len(item.raw)
		}
	}
	n.raw = string(reply[:size])
	return n, reply[size:]
}

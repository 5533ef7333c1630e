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
func Unordered(reply []byte) string { return sorted(reply, 1) }

// Pairs is Unordered for a map that RESP2 writes as an array of keys and values in turn.
func Pairs(reply []byte) string { return sorted(reply, 2) }

// sorted sorts what the outermost aggregate holds, an array in groups of size.
func sorted(reply []byte, size int) string {
	n, rest := readNode(reply)
	if n.head[0] == '%' {
		size = 2
	}
	if len(n.items) == 0 {
		return string(reply)
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
	return n.head + strings.Join(groups, "") + string(rest)
}

// Page is for a page of SCAN and its like: a cursor, and elements in any order. A cursor of
// 0 says that the page has all; of another page neither cursor nor elements are fixed.
func Page(reply []byte) string {
	n, rest := readNode(reply)
	if len(n.items) != 2 {
		return string(reply)
	}
	cursor, elements := n.items[0], n.items[1]
	if cursor.raw == "$1\r\n0\r\n" {
		return n.head + cursor.raw + Unordered([]byte(elements.raw)) + string(rest)
	}
	return n.head + cursor.head[:1] + elements.head[:1] + string(rest)
}

// Positive forgets the values of positive integers, wherever they are: of times that pass.
// Zero and negative numbers say something else and stay.
func Positive(reply []byte) string {
	n, rest := readNode(reply)
	return n.positive() + string(rest)
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

func (n node) positive() string {
	if len(n.items) > 0 {
		text := n.head
		for _, item := range n.items {
			text += item.positive()
		}
		return text
	}
	if n.head[0] == ':' && n.head[1] != '-' && n.head != ":0\r\n" {
		return ":+ "
	}
	return n.raw
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

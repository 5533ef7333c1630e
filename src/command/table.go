package command

import (
	"embed"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Table holds the commands of one engine and version. It never changes.
type Table struct {
	version Version

	rows  []Command // every row, a container directly before its subcommands; ID is the position
	slots []uint16  // open-addressed: 1 + position of a top-level row that is not refused, 0 = empty
	shift uint8     // hash bits to drop
	count int       // top-level rows that are offered
}

//go:embed data
var dataFiles embed.FS

// Version is an engine and version that data/ describes.
type Version struct {
	Engine       string // "redis", "valkey"
	Major, Minor int
}

// String returns the engine and version as in "redis-7.0", with which the names of their files in data/ begin.
func (v Version) String() string { return fmt.Sprintf("%s-%d.%d", v.Engine, v.Major, v.Minor) }

// RowsFile returns the name of the file in data/ with the reply to COMMAND.
func (v Version) RowsFile() string { return v.String() + ".command.resp3" }

// DocsFile returns the name of the file in data/ with the reply to COMMAND DOCS.
func (v Version) DocsFile() string { return v.String() + ".docs.resp3" }

// Versions lists what data/ describes: per engine, the oldest version first.
var Versions = []Version{{"redis", 7, 0}, {"redis", 8, 0}, {"valkey", 9, 1}}

// tables holds, in the order of Versions, functions that build a table at the first call.
var tables = func() (list []func() *Table) {
	for _, v := range Versions {
		list = append(list, sync.OnceValue(func() *Table {
			t, err := build(v)
			if err != nil {
				panic(fmt.Sprintf("command: data of %v: %v", v, err)) // data/ is part of the program
			}
			return t
		}))
	}
	return list
}()

func build(v Version) (*Table, error) {
	rows, err := dataFiles.ReadFile("data/" + v.RowsFile())
	if err != nil {
		return nil, err
	}
	docs, err := dataFiles.ReadFile("data/" + v.DocsFile())
	if err != nil {
		return nil, err
	}
	parsed, err := parseRows(string(rows))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.RowsFile(), err)
	}
	t, err := newTable(parsed, mustDecide)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.RowsFile(), err)
	}
	if err := t.addDocs(string(docs)); err != nil {
		return nil, fmt.Errorf("%s: %w", v.DocsFile(), err)
	}
	t.version = v
	return t, nil
}

// ForEngine returns the table that fits servers of an engine ("redis", "valkey") and version: the newest one that is not newer than
// they are, else the oldest. An engine that is neither is taken for Redis, whose protocol it speaks.
func ForEngine(engine string, major, minor int) *Table {
	if !slices.ContainsFunc(Versions, func(v Version) bool { return strings.EqualFold(v.Engine, engine) }) {
		engine = "redis"
	}
	best := -1
	for i, v := range Versions {
		notNewer := v.Major < major || v.Major == major && v.Minor <= minor
		if strings.EqualFold(v.Engine, engine) && (best < 0 || notNewer) {
			best = i
		}
	}
	return tables[best]()
}

// Version returns which servers the table describes.
func (t *Table) Version() Version { return t.version }

// Len returns the number of rows, subcommands and refused rows included. IDs are below it.
func (t *Table) Len() int { return len(t.rows) }

// Row returns the row with an ID below Len, also a refused one.
func (t *Table) Row(id uint16) *Command { return &t.rows[id] }

// Extend returns a table that has the commands of lists besides its own; of two by one name the first counts. The IDs of the table's rows
// stay. It fails when they are too many.
func (t *Table) Extend(lists ...*Rows) (*Table, error) {
	known := map[string]bool{}
	var rows []parsedRow
	for i := range t.rows {
		if c := &t.rows[i]; c.parent == nil {
			rows = append(rows, parsedRow{*c, c.subs})
			known[c.pattern.name] = true
		}
	}
	own := len(rows)
	for _, list := range lists {
		for _, row := range list.rows {
			if !known[row.command.pattern.name] {
				rows = append(rows, row)
				known[row.command.pattern.name] = true
			}
		}
	}
	if len(rows) == own {
		return t, nil
	}
	extended, err := newTable(rows, openTo)
	if err != nil {
		return nil, err
	}
	extended.version = t.version
	return extended, nil
}

// newTable makes a table of parsed rows: it applies corrections and policy, and indexes what a client may call. Of what is neither in
// policy.go nor covered by a default rule, undecided says the route.
func newTable(parsed []parsedRow, undecided func(*Command) (Route, error)) (*Table, error) {
	t := &Table{}
	for i := range parsed {
		t.rows = append(t.rows, parsed[i].command)
		t.rows = append(t.rows, parsed[i].subs...)
	}
	if len(t.rows) > 1<<15 {
		return nil, fmt.Errorf("%d rows, at most %d fit", len(t.rows), 1<<15)
	}
	at := 0
	for i := range parsed {
		parent := &t.rows[at]
		parent.subs = t.rows[at+1 : at+1+len(parsed[i].subs) : at+1+len(parsed[i].subs)]
		for j := range parent.subs {
			parent.subs[j].parent = parent
		}
		at += 1 + len(parent.subs)
	}
	for i := range t.rows {
		c := &t.rows[i]
		c.ID = uint16(i)
		c.correct()
		c.setKeyIndex()
		if err := c.setPolicy(undecided); err != nil {
			return nil, err
		}
	}
	t.index()
	return t, nil
}

// index fills slots and count. The slots are at most a quarter full, so that a miss ends at the first or second look.
func (t *Table) index() {
	size := 1 << bits.Len(uint(4*len(t.rows)))
	t.slots = make([]uint16, size)
	t.shift = uint8(64 - bits.TrailingZeros(uint(size)))
	for i := range t.rows {
		c := &t.rows[i]
		if c.parent != nil {
			continue
		}
		if c.Offered() {
			t.count++
		}
		if c.Route == RouteRefused {
			continue
		}
		at := hash(len(c.pattern.name), c.pattern.head, c.pattern.tail) >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) % uint64(size)
		}
		t.slots[at] = uint16(i + 1)
	}
}

// Lookup returns the command of a name in any case, or nil. A container is found by its own name, its subcommands by Find.
func (t *Table) Lookup(name []byte) *Command {
	head, tail := edges(name)
	at := hash(len(name), head, tail) >> t.shift
	for {
		slot := t.slots[at&uint64(len(t.slots)-1)]
		if slot == 0 {
			return nil
		}
		if c := &t.rows[slot-1]; c.pattern.matches(name, head, tail) {
			return c
		}
		at++
	}
}

// sub returns a container's subcommand of a name in any case, or nil.
func (c *Command) sub(name []byte) *Command {
	head, tail := edges(name)
	for i := range c.subs {
		if s := &c.subs[i]; s.Route != RouteRefused && s.pattern.matches(name, head, tail) {
			return s
		}
	}
	return nil
}

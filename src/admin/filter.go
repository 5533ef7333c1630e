package admin

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"mithril/src/resp"
)

// test says whether a client is one of those asked for.
type test func(c *Client) bool

// filter is which clients CLIENT LIST is asked for: those that pass every test.
type filter struct {
	tests map[string]test // by option
	order []uint64        // ids, in which clients are listed, and as often; nil: as they came
}

func (f *filter) passes(c *Client) bool {
	for _, passes := range f.tests {
		if !passes(c) {
			return false
		}
	}
	return true
}

// idTest is a test for any of the ids, or for none of them.
func idTest(ids map[uint64]bool, not bool) test {
	return func(c *Client) bool { return ids[c.ID] != not }
}

// redisFilter reads the arguments of CLIENT LIST as Redis does: nothing, TYPE type, or ID id [id ...].
func redisFilter(q *Query) (f filter, problem string) {
	options := len(q.Args) - 2
	switch {
	case options == 0:
	case options == 2 && isOption(q.Arg(2), "type"):
		var ofType test
		if ofType, problem = typeTest(q, "", q.Arg(3)); problem == "" {
			f.tests = map[string]test{"type": ofType}
		}
	case options > 1 && isOption(q.Arg(2), "id"):
		ids := map[uint64]bool{}
		for _, arg := range q.rest(3) {
			id, ok := resp.ParseInt(arg)
			if !ok {
				return f, "ERR Invalid client ID"
			}
			f.order = append(f.order, uint64(id))
			ids[uint64(id)] = true
		}
		f.tests = map[string]test{"id": idTest(ids, false)}
	default:
		problem = errSyntax
	}
	return f, problem
}

// option is a filter of Valkey's CLIENT LIST that takes one value. Given twice, the last one counts.
type option struct {
	name    string
	negates bool // NOT-name is an option too
	read    func(q *Query, name string, arg []byte) (passes test, problem string)
}

var clientOptions = []option{
	{"type", true, typeTest},
	{"user", true, userTest},
	{"addr", true, func(_ *Query, _ string, arg []byte) (test, string) {
		return func(c *Client) bool { return bytes.Equal(appendAddr(nil, c.Addr), cBytes(arg)) }, ""
	}},
	{"laddr", true, func(_ *Query, _ string, arg []byte) (test, string) {
		return func(c *Client) bool { return bytes.Equal(appendAddr(nil, c.Local), cBytes(arg)) }, ""
	}},
	{"ip", true, func(_ *Query, _ string, arg []byte) (test, string) {
		return func(c *Client) bool { return c.Addr.Addr().Unmap().String() == cString(arg) }, ""
	}},
	{"name", true, func(_ *Query, _ string, arg []byte) (test, string) {
		return func(c *Client) bool { return len(c.Name) > 0 && bytes.Equal(cBytes(c.Name), cBytes(arg)) }, ""
	}},
	{"lib-name", true, func(_ *Query, _ string, arg []byte) (test, string) {
		return func(c *Client) bool { return len(c.LibName) > 0 && bytes.Equal(c.LibName, arg) }, ""
	}},
	{"lib-ver", true, func(_ *Query, _ string, arg []byte) (test, string) {
		return func(c *Client) bool { return len(c.LibVer) > 0 && bytes.Equal(c.LibVer, arg) }, ""
	}},
	{"flags", true, flagsTest},
	{"capa", true, capaTest},
	{"db", true, dbTest},
	{"skipme", false, skipTest},
	{"maxage", false, func(_ *Query, name string, arg []byte) (test, string) {
		secs, problem := positive(name, arg)
		return func(c *Client) bool { return c.Age >= secs }, problem
	}},
	{"idle", false, func(_ *Query, name string, arg []byte) (test, string) {
		secs, problem := positive(name, arg)
		return func(c *Client) bool { return c.Idle >= secs }, problem
	}},
}

// valkeyFilter reads the arguments of CLIENT LIST as Valkey does: any number of options.
func valkeyFilter(q *Query) (f filter, problem string) {
	if len(q.Args) == 3 {
		return f, errSyntax
	}
	f.tests = map[string]test{}
	ids, notIDs := map[uint64]bool{}, map[uint64]bool{}
	for i := 2; i < len(q.Args) && problem == ""; {
		name := strings.ToLower(cString(q.Arg(i)))
		i++
		switch name {
		case "id":
			f.tests[name] = idTest(ids, false)
			i, problem = takeIDs(q, i, ids)
		case "not-id":
			f.tests[name] = idTest(notIDs, true)
			i, problem = takeIDs(q, i, notIDs)
		default:
			if i == len(q.Args) {
				return f, errSyntax
			}
			problem = f.add(q, name, q.Arg(i))
			i++
		}
	}
	return f, problem
}

// takeIDs reads the ids from argument i on, up to one that is none, and tells its number.
func takeIDs(q *Query, i int, ids map[uint64]bool) (next int, problem string) {
	for ; i < len(q.Args); i++ {
		id, ok := resp.ParseInt(q.Arg(i))
		if !ok {
			break
		}
		if id < 1 {
			return i, "ERR client-id should be greater than 0"
		}
		ids[uint64(id)] = true
	}
	return i, ""
}

// add adds the test of an option, or its opposite.
func (f *filter) add(q *Query, name string, arg []byte) (problem string) {
	plain, not := strings.CutPrefix(name, "not-")
	at := slices.IndexFunc(clientOptions, func(o option) bool { return o.name == plain && (o.negates || !not) })
	if at < 0 {
		return errSyntax
	}
	passes, problem := clientOptions[at].read(q, name, bytes.Clone(arg)) // the request is gone when clients are looked at
	f.tests[name] = passes
	if not {
		f.tests[name] = func(c *Client) bool { return !passes(c) }
	}
	return problem
}

// isOption compares an argument with the name of an option as servers do: in any case, up to a NUL byte.
func isOption(arg []byte, name string) bool { return resp.EqualFold(cBytes(arg), name) }

// clientTypes are the types that can be asked for, and whether clients are of it. Subscriptions and
// replication are not carried.
var clientTypes = map[string]bool{"normal": true, "master": false, "replica": false, "slave": false, "pubsub": false}

func typeTest(q *Query, _ string, arg []byte) (test, string) {
	name := strings.ToLower(cString(arg))
	if name == "primary" && releaseOf(q.Table) == onValkey91 {
		name = "master"
	}
	is, known := clientTypes[name]
	if !known {
		return nil, "ERR Unknown client type '" + cString(arg) + "'"
	}
	return func(*Client) bool { return is }, ""
}

func userTest(_ *Query, _ string, arg []byte) (test, string) {
	if string(arg) != defaultUser {
		return nil, "ERR No such user '" + cString(arg) + "'"
	}
	return func(*Client) bool { return true }, ""
}

// flagLetters are the letters that Valkey's flags may have.
const flagLetters = "ABEIMNOPRSTUbcdeirtux"

func flagsTest(_ *Query, name string, arg []byte) (test, string) {
	asked := cString(arg)
	if strings.Trim(asked, flagLetters) != "" {
		return nil, unknownLetters("flags", name, asked)
	}
	return func(c *Client) bool { return strings.Trim(asked, string(c.Flags)) == "" }, ""
}

// capaTest knows that no client has declared a capability: CLIENT CAPA is not carried.
func capaTest(_ *Query, name string, arg []byte) (test, string) {
	asked := cString(arg)
	if strings.Trim(asked, "r") != "" {
		return nil, unknownLetters("capa", name, asked)
	}
	return func(*Client) bool { return asked == "" }, ""
}

func unknownLetters(what, option, letters string) (problem string) {
	where := "provided"
	if option != what {
		where = strings.ToUpper(option)
	}
	return "ERR Unknown " + what + " found in the " + where + " filter: " + letters
}

// dbTest knows that there is one database.
func dbTest(_ *Query, name string, arg []byte) (test, string) {
	name = strings.ToUpper(name)
	switch n, ok := resp.ParseInt(arg); {
	case !ok || n < math.MinInt32 || n > math.MaxInt32:
		return nil, "ERR " + name + " is not an integer or out of range"
	case n != 0:
		return nil, "ERR " + name + " number should be between 0 and 0"
	}
	return func(*Client) bool { return true }, ""
}

func skipTest(q *Query, _ string, arg []byte) (test, string) {
	self := q.Self.ID
	switch {
	case isOption(arg, "yes"):
		return func(c *Client) bool { return c.ID != self }, ""
	case isOption(arg, "no"):
		return func(*Client) bool { return true }, ""
	}
	return nil, errSyntax
}

// positive reads a number of seconds.
func positive(name string, arg []byte) (secs int64, problem string) {
	secs, ok := resp.ParseInt(arg)
	switch {
	case !ok:
		problem = "ERR " + name + " is not an integer or out of range"
	case secs < 1:
		problem = "ERR " + name + " should be greater than 0"
	}
	return secs, problem
}

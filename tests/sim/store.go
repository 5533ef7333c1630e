package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// store is the data of a node and what its commands do to it.
type store struct {
	values map[string]string // by key, never ranged over; put, drop and move change it
	lives  *lives
	sizes  []sizeAt
}

// shape is what a node has to know of a command to route it.
type shape struct {
	firstKey, step int // 0: no keys
	run            func(s *store, proto int, keys, args []string) []byte
}

// shapes are the commands that nodes know, by lower-case name. keys are stripped of
// their request numbers; args are as they came, with the name.
var shapes = map[string]shape{
	"get":     {1, 0, (*store).get},
	"set":     {1, 0, (*store).set},
	"incr":    {1, 0, (*store).incr},
	"append":  {1, 0, (*store).append},
	"rename":  {1, 1, (*store).rename},
	"del":     {1, 1, (*store).del},
	"exists":  {1, 1, (*store).exists},
	"mget":    {1, 1, (*store).mget},
	"mset":    {1, 2, (*store).mset},
	"eval":    {3, 0, (*store).incr},
	"evalsha": {3, 0, (*store).incr},
	"lolwut":  {0, 0, (*store).lolwut},
}

// keysOf lists the keys of a request.
func (c *shape) keysOf(args []string) (keys []string) {
	if c.firstKey == 0 {
		return nil
	}
	if c.step == 0 {
		return args[c.firstKey : c.firstKey+1]
	}
	for i := c.firstKey; i < len(args); i += c.step {
		keys = append(keys, args[i])
	}
	return keys
}

const replyOK = "+OK\r\n"

func (s *store) has(key string) bool {
	_, ok := s.values[key]
	return ok
}

func (s *store) get(proto int, keys, _ []string) []byte {
	if v, ok := s.values[keys[0]]; ok {
		return bulk(v)
	}
	return null(proto)
}

func (s *store) set(_ int, keys, args []string) []byte {
	s.put(keys[0], args[2])
	return []byte(replyOK)
}

func (s *store) incr(_ int, keys, _ []string) []byte {
	v := int64(0)
	if old, ok := s.values[keys[0]]; ok {
		var err error
		if v, err = strconv.ParseInt(old, 10, 64); err != nil {
			return []byte("-ERR value is not an integer or out of range\r\n")
		}
	}
	s.put(keys[0], strconv.FormatInt(v+1, 10))
	return number(v + 1)
}

func (s *store) append(_ int, keys, args []string) []byte {
	v := s.values[keys[0]] + args[2]
	if len(v) > 100_000 {
		v = args[2]
	}
	s.put(keys[0], v)
	return number(int64(len(v)))
}

func (s *store) rename(_ int, keys, _ []string) []byte {
	v, ok := s.values[keys[0]]
	if !ok {
		return []byte("-ERR no such key\r\n")
	}
	s.drop(keys[0])
	s.put(keys[1], v)
	return []byte(replyOK)
}

func (s *store) del(_ int, keys, _ []string) []byte {
	n := int64(0)
	for _, k := range keys {
		if s.has(k) {
			s.drop(k)
			n++
		}
	}
	return number(n)
}

func (s *store) exists(_ int, keys, _ []string) []byte {
	n := int64(0)
	for _, k := range keys {
		if s.has(k) {
			n++
		}
	}
	return number(n)
}

func (s *store) mget(proto int, keys, _ []string) []byte {
	reply := fmt.Appendf(nil, "*%d\r\n", len(keys))
	for _, k := range keys {
		reply = append(reply, s.get(proto, []string{k}, nil)...)
	}
	return reply
}

func (s *store) mset(_ int, keys, args []string) []byte {
	for i, k := range keys {
		s.put(k, args[2+2*i])
	}
	return []byte(replyOK)
}

// lolwut answers with its argument: a keyless command whose reply can be told apart.
func (s *store) lolwut(_ int, _, args []string) []byte { return bulk("art for " + args[1]) }

// mark is the number that a request carries in its keys: "#session.request.item".
type mark struct{ session, request, item int }

func (m mark) String() string {
	return "#" + strconv.Itoa(m.session) + "." + strconv.Itoa(m.request) + "." + strconv.Itoa(m.item)
}

// splitMark takes the mark off a key.
func splitMark(key string) (base string, m mark, ok bool) {
	i := strings.LastIndexByte(key, '#')
	if i < 0 {
		return key, m, false
	}
	session, rest, _ := strings.Cut(key[i+1:], ".")
	request, item, _ := strings.Cut(rest, ".")
	m.session, _ = strconv.Atoi(session)
	m.request, _ = strconv.Atoi(request)
	m.item, _ = strconv.Atoi(item)
	return key[:i], m, m.String() == key[i:] // and so all of it was numbers
}

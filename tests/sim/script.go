package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// op is what a request does.
type op uint8

const (
	opGet op = iota
	opSet
	opIncr
	opAppend
	opRename
	opDel
	opExists
	opMget
	opMset
	opEval
	opEvalsha
	opLolwut
	opKeys // from here on those on the whole keyspace
	opFlushall
	opDbsize
	opRandomkey
	opScan
	opLocal // answered by the proxy itself
	opKinds
)

// opNames are the commands; those that nodes see are in store.go.
var opNames = [opKinds]string{"get", "set", "incr", "append", "rename", "del", "exists", "mget", "mset", "eval", "evalsha", "lolwut",
	"keys", "flushall", "dbsize", "randomkey", "scan", "local"}

// opSplit are those that the proxy may split.
var opSplit = [opKinds]bool{opDel: true, opExists: true, opMget: true, opMset: true}

// script writes the requests of one session.
type script struct {
	world    *World
	crowd    *[]*client
	config   *Config
	tags     []string
	session  int
	requests []*request
	proto    int
	name     string
	id       int64 // CLIENT ID once it is known
	walk     walk  // its way through all keys
	alone    bool  // one request at a time
}

func (s *script) add(q *request) {
	q.session, q.number, q.alone, q.proto = s.session, len(s.requests), s.alone, s.proto
	s.requests = append(s.requests, q)
}

// body adds requests of random kinds.
func (s *script) body(n int) {
	if s.config.Password {
		if s.world.chance(0.3) {
			s.exact(wireOf("GET", "early"), "-NOAUTH Authentication required.\r\n")
		}
		s.login()
	}
	s.exact(wireOf("PING"), "+PONG\r\n")
	total := 0
	for _, weight := range s.config.Weights {
		total += weight
	}
	for range n {
		at := s.world.rng.IntN(total)
		kind := op(0)
		for ; at >= s.config.Weights[kind]; kind++ {
			at -= s.config.Weights[kind]
		}
		next := len(s.requests)
		s.one(kind)
		if w := s.world; next < len(s.requests) && !s.alone && w.chance(s.config.F.Silence) {
			s.silence(next)
		}
	}
	if last := s.requests[len(s.requests)-1]; last.silent {
		s.exact(wireOf("PING"), "+PONG\r\n") // to see that nothing else comes
	}
}

// silence makes a request silent, or all from there on until replies are wanted again.
func (s *script) silence(from int) {
	q := s.requests[from]
	q.silent = true
	if isReset := bytes.Contains(q.wire, []byte("RESET")); isReset || s.world.chance(0.5) {
		q.before = wireOf("CLIENT", "REPLY", "SKIP")
		return
	}
	q.before = wireOf("CLIENT", "REPLY", "OFF")
	for _, q := range s.requests[from:] {
		q.silent = true
	}
	s.exact(wireOf("CLIENT", "REPLY", "ON"), replyOK)
}

const clientPassword = "client secret"

func (s *script) login() {
	if s.world.chance(0.5) {
		s.exact(wireOf("AUTH", clientPassword), replyOK)
		return
	}
	s.hello(3, "AUTH", "default", clientPassword)
}

// one adds a request of a kind.
func (s *script) one(kind op) {
	w := s.world
	switch kind {
	case opLocal:
		s.oneLocal()
	case opKeys, opFlushall, opDbsize, opRandomkey, opScan:
		s.oneWhole(kind)
	case opLolwut:
		s.add(&request{op: kind, wire: wireOf("LOLWUT", mark{s.session, len(s.requests), 0}.String())})
	case opRename:
		tag := s.tag()
		keys := []string{keyOf(tag, "k0"), keyOf(tag, "k1")}
		if w.chance(0.1) {
			keys[1] = keyOf(s.tag(), "k1")
		}
		if slotOf(keys[0]) != slotOf(keys[1]) {
			s.exact(wireOf("RENAME", keys[0], keys[1]), "-CROSSSLOT Keys in request don't hash to the same slot\r\n")
			return
		}
		s.keyed(kind, keys, nil)
	case opDel, opExists, opMget, opMset:
		keys := make([]string, 1+w.rng.IntN(6))
		tag := s.tag()
		spread := w.chance(0.8)
		for i := range keys {
			if spread {
				tag = s.tag()
			}
			keys[i] = keyOf(tag, bases[w.rng.IntN(len(bases))])
		}
		s.keyed(kind, keys, nil)
	case opEval, opEvalsha:
		s.keyed(kind, []string{keyOf(s.tag(), "n0")}, nil)
	case opIncr:
		s.keyed(kind, []string{keyOf(s.tag(), "n0")}, nil)
	case opAppend:
		s.keyed(kind, []string{keyOf(s.tag(), "s0")}, []string{s.value()})
	case opSet:
		s.keyed(kind, []string{keyOf(s.tag(), bases[w.rng.IntN(3)])}, []string{s.value()})
	case opGet:
		s.keyed(kind, []string{keyOf(s.tag(), bases[w.rng.IntN(len(bases))])}, nil)
	}
}

func (s *script) tag() string { return s.tags[s.world.rng.IntN(len(s.tags))] }

// value is unlike any other, and may hold anything.
func (s *script) value() string {
	w := s.world
	head := fmt.Sprintf("v%d.%d\r\n$3\r\n", s.session, len(s.requests))
	most := 24
	if w.chance(0.2) || s.config.Bulky {
		most = s.config.ValueBytes
	}
	size := w.rng.IntN(most + 1)
	return head + strings.Repeat(string(rune('a'+w.rng.IntN(26))), size)
}

// keyed adds a request with keys, each marked with its number, in some spelling.
func (s *script) keyed(kind op, keys, rest []string) {
	w := s.world
	q := &request{op: kind, keys: keys}
	words := []string{opNames[kind]}
	if w.chance(0.5) {
		words[0] = strings.ToUpper(words[0])
	}
	plain := true
	switch kind {
	case opEval:
		words, plain = append(words, bodies[w.rng.IntN(len(bodies))], "1"), false
	case opEvalsha:
		words = append(words, shaOf(bodies[w.rng.IntN(len(bodies))]), "1")
	}
	for i, key := range keys {
		q.slots = append(q.slots, slotOf(key))
		words = append(words, key+mark{s.session, len(s.requests), i}.String())
		if kind == opMset {
			words = append(words, s.value())
			plain = false
		}
	}
	words = append(words, rest...)
	if plain && len(rest) == 0 && w.chance(0.05) {
		q.wire = []byte(strings.Join(words, " ") + "\r\n")
	} else {
		q.wire = wireOf(words...)
	}
	s.add(q)
}

// exact adds a request that the proxy answers itself, with these very bytes.
func (s *script) exact(wire []byte, want string) {
	s.add(&request{op: opLocal, wire: wire, local: func(reply []byte) string {
		if string(reply) != want {
			return "expected " + clip([]byte(want))
		}
		return ""
	}})
}

func (s *script) prefixed(wire []byte, want string) {
	s.add(&request{op: opLocal, wire: wire, local: func(reply []byte) string {
		if !bytes.HasPrefix(reply, []byte(want)) {
			return "expected something that begins with " + clip([]byte(want))
		}
		return ""
	}})
}

func (s *script) hello(proto int, more ...string) {
	s.proto = proto
	want := "*14\r\n"
	if proto == 3 {
		want = "%7\r\n"
	}
	s.prefixed(wireOf(append([]string{"HELLO", strconv.Itoa(proto)}, more...)...), want)
}

func (s *script) oneLocal() {
	w := s.world
	switch w.rng.IntN(15) {
	case 0, 1, 2:
		s.exact(wireOf("PING"), "+PONG\r\n")
	case 3:
		v := s.value()
		s.exact(wireOf("ECHO", v), string(bulk(v)))
	case 4:
		s.exact([]byte("PING \"in line\"\r\n"), string(bulk("in line")))
	case 5:
		s.hello(2 + w.rng.IntN(2))
	case 6:
		s.name = fmt.Sprintf("name%d", len(s.requests))
		s.exact(wireOf("CLIENT", "SETNAME", s.name), replyOK)
	case 7:
		want := null(s.proto)
		if s.name != "" {
			want = bulk(s.name)
		}
		s.exact(wireOf("CLIENT", "GETNAME"), string(want))
	case 8:
		s.exact(wireOf("SELECT", "0"), replyOK)
	case 9:
		s.prefixed(wireOf("NOSUCH", "a\r\nb"), "-ERR unknown command 'NOSUCH', with args beginning with: 'a  b'")
	case 10:
		s.exact(wireOf("GET"), "-ERR wrong number of arguments for 'get' command\r\n")
	case 11:
		s.add(&request{op: opLocal, wire: wireOf("CLIENT", "ID"), local: s.clientID})
	case 12:
		s.exact(wireOf("RESET"), "+RESET\r\n")
		s.proto, s.name = 2, ""
		if s.config.Password {
			s.login()
		}
	case 13:
		s.listClients()
	case 14: // nothing to do, and no reply
		if k := len(s.requests); k > 0 {
			s.requests[k-1].wire = append(s.requests[k-1].wire, "\r\n*0\r\n"...)
		}
	}
}

func (s *script) clientID(reply []byte) string {
	var id int64
	if n, _ := fmt.Sscanf(string(reply), ":%d\r\n", &id); n != 1 || id <= 0 {
		return "expected a client id"
	}
	if s.id != 0 && s.id != id {
		return fmt.Sprintf("it was %d before", s.id)
	}
	s.id = id
	return ""
}

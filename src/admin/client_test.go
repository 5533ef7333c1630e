package admin

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mithril/src/command"
	"mithril/src/resp"
	"mithril/tools/testbed"
)

// keysOf are the names in front of the values of a client's line.
func keysOf(t *testing.T, line string) (keys []string) {
	t.Helper()
	if !strings.HasSuffix(line, "\n") || strings.Count(line, "\n") != 1 {
		t.Fatalf("not a line: %q", line)
	}
	for _, word := range strings.Split(strings.TrimSuffix(line, "\n"), " ") {
		key, _, found := strings.Cut(word, "=")
		if !found {
			t.Fatalf("no = in %q", word)
		}
		keys = append(keys, key)
	}
	return keys
}

// TestContract_OBS2_LineAsOnServers: the fields of a line are those of a server of that version, in their order.
func TestContract_OBS2_LineAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		ours, theirs := infoText(t, own.bytes("CLIENT", "INFO")), infoText(t, real.bytes("CLIENT", "INFO"))
		if got, want := keysOf(t, ours), keysOf(t, theirs); !slices.Equal(got, want) {
			t.Errorf("CLIENT INFO has\n%q, want\n%q", got, want)
		}
		own.workers[0].clients = []Client{own.self}
		if list := infoText(t, own.bytes("CLIENT", "LIST")); list != ours {
			t.Errorf("CLIENT LIST has %q, CLIENT INFO %q", list, ours)
		}
		own.workers[0].clients = nil
		if own.bytes("CLIENT", "LIST") != real.bytes("CLIENT", "LIST", "TYPE", "pubsub") {
			t.Errorf("a list of nobody is %q", own.bytes("CLIENT", "LIST"))
		}
	})
}

// TestContract_OBS2_Values: what is known of a client stands in its line.
func TestContract_OBS2_Values(t *testing.T) {
	get := command.ForEngine("valkey", 9, 1).LookupFull([]byte("client|getname"))
	c := Client{
		ID: 7, Addr: netip.MustParseAddrPort("[::ffff:10.0.0.1]:5000"), Local: netip.MustParseAddrPort("[2001:db8::1]:7979"), Socket: 12,
		Name: []byte("n\x00a"), LibName: []byte("l\x00"), LibVer: []byte("1.2"), Flags: []byte("re"), Command: get, Proto: resp.RESP3, Worker: 3,
		Age: 100, Idle: 9, Unread: 11, Waiting: 222, Pieces: 4, Memory: 5555, Receiving: true, Sending: true, BytesIn: 66, BytesOut: 77, Commands: 88,
	}
	for v, want := range map[command.Version]string{
		valkey91: "id=7 addr=10.0.0.1:5000 laddr=[2001:db8::1]:7979 fd=12 name=n age=100 idle=9 flags=re capa= db=0 sub=0 psub=0 ssub=0 multi=-1 " +
			"watch=0 qbuf=11 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=4 omem=222 tot-mem=5555 events=rw cmd=client|getname " +
			"user=default redir=-1 resp=3 lib-name=l lib-ver=1.2 tot-net-in=66 tot-net-out=77 tot-cmds=88\n",
		redis80: "id=7 addr=10.0.0.1:5000 laddr=[2001:db8::1]:7979 fd=12 name=n age=100 idle=9 flags=re db=0 sub=0 psub=0 ssub=0 multi=-1 " +
			"watch=0 qbuf=11 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=4 omem=222 tot-mem=5555 events=rw cmd=client|getname " +
			"user=default redir=-1 resp=3 lib-name=l lib-ver=1.2 io-thread=3\n",
		redis70: "id=7 addr=10.0.0.1:5000 laddr=[2001:db8::1]:7979 fd=12 name=n age=100 idle=9 flags=re db=0 sub=0 psub=0 ssub=0 multi=-1 " +
			"qbuf=11 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=4 omem=222 tot-mem=5555 events=rw cmd=client|getname " +
			"user=default redir=-1 resp=3\n",
	} {
		r := newRig(t, v, "")
		r.self = c
		if got := bulk(t, r.bytes("CLIENT", "INFO")); got != want {
			t.Errorf("%v: got\n%swant\n%s", v, got, want)
		}
	}
	r := newRig(t, redis70, "")
	r.self = Client{}
	if line := bulk(t, r.bytes("CLIENT", "INFO")); !strings.Contains(line, " addr=?:0 laddr=?:0 ") || !strings.Contains(line, " events= cmd=NULL ") {
		t.Errorf("of a client that is gone: %q", line)
	}
}

// refusals are arguments of CLIENT LIST that some server refuses, or that find nobody.
var refusals = []string{
	"TYPE", "TYPE x", "TYPE \\e", "TYPE a\\r\\nb", "TYPE x\\0y", "TYPE normal x", "TYPE pubsub\\0x", "TYPE master", "TYPE primary", "TYPE replica", "TYPE slave",
	"TYPE PubSub", "type pubsub type", "TYPE pubsub ID 1", "TYPE pubsub ID", "TYPE pubsub TYPE x", "TYPE x ID y", "TYPE " + strings.Repeat("x", 300),
	"ID", "ID x", "ID 0", "ID -1", "ID 01", "ID +1", "ID \\e", "ID 999999 x", "ID 999999 \\e", "ID 999999 999998 0", "ID 999999 x 0", "ID 999999",
	"ID 9223372036854775807", "ID 9223372036854775808", "ID 99999999999999999999", "ID 999999 TYPE pubsub", "ID TYPE normal", "ID TYPE x", "ID 999999 ID",
	"ID 999999 MAXAGE x", "ID y TYPE x", "NOT-ID", "NOT-ID x", "NOT-ID 0", "NOT-ID 1 0", "NOT-ID 1 x", "TYPE pubsub NOT-ID",
	"FOO", "FOO bar", "FOO bar baz", "\\e", "\\e x", "NOT-", "NOT- x", "NOT-NOT-ID 1",
	"USER", "USER nosuch", "USER DEFAULT", "USER default\\0x", "USER a\\r\\nb", "USER \\e", "USER nosuch TYPE x", "USER default USER nosuch", "NOT-USER nosuch",
	"NOT-USER default", "USER default FOO", "USER default FOO bar", "USER default user",
	"ADDR", "ADDR x", "ADDR \\e", "ADDR 127.0.0.1:1 LADDR", "LADDR", "LADDR x", "IP", "IP x", "IP \\e", "IP ::1", "IP 127.0.0", "NOT-IP 127.0.0.1",
	"SKIPME", "SKIPME x", "SKIPME \\e", "SKIPME yes x", "SKIPME yes", "SKIPME YES\\0x", "SKIPME no SKIPME yes", "NOT-SKIPME yes", "TYPE pubsub SKIPME",
	"MAXAGE", "MAXAGE 0", "MAXAGE -1", "MAXAGE x", "MAXAGE +1", "MAXAGE 01", "MAXAGE \\e", "MAXAGE 99999999999999999999", "MAXAGE 9223372036854775807",
	"NOT-MAXAGE 1", "IDLE", "IDLE 0", "IDLE x", "IDLE 99999999999999999999", "IDLE 9223372036854775807", "NOT-IDLE 1",
	"FLAGS", "FLAGS Z", "FLAGS NZ", "FLAGS n", "FLAGS a\\r\\nb", "FLAGS a\\0b", "FLAGS x", "FLAGS PP", "FLAGS Nx", "FLAGS Z TYPE x", "FLAGS Z FOO", "NOT-FLAGS Z",
	"NOT-FLAGS N", "NOT-FLAGS \\e", "FLAGS " + strings.Repeat("Y", 300),
	"NAME", "NAME x", "NAME \\e", "LIB-NAME", "LIB-NAME x", "LIB-NAME \\e", "LIB-VER x", "LIB-VER \\e",
	"DB", "DB x", "DB -1", "DB 1", "DB 16", "DB 00", "DB \\e", "DB 2147483648", "DB 99999999999999999999", "NOT-DB x", "NOT-DB 1", "NOT-DB 0", "DB 0 NOT-DB 0",
	"DB 0 FOO", "CAPA", "CAPA x", "CAPA r", "CAPA rr", "CAPA redirect", "CAPA a\\r\\nb", "NOT-CAPA x", "NOT-CAPA \\e",
}

// words are those of a line, which are separated by spaces and have the escapes \e (nothing), \0, \r and \n.
func words(line string) []string {
	list := strings.Fields(line)
	for i := range list {
		list[i] = strings.NewReplacer(`\e`, "", `\0`, "\x00", `\r`, "\r", `\n`, "\n").Replace(list[i])
	}
	return list
}

// TestContract_OBS2_FiltersAsOnServers: what a server says to arguments that are wrong, and to those that nobody passes.
func TestContract_OBS2_FiltersAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		self, err := strconv.ParseUint(strings.Trim(real.bytes("CLIENT", "ID"), ":\r\n"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		own.self = Client{ID: self, Addr: netip.MustParseAddrPort("127.0.0.1:50000"), Local: netip.MustParseAddrPort("127.0.0.1:1"), Flags: []byte("N")}
		own.workers[0].clients = []Client{own.self}
		real.awaitAlone()
		for _, line := range refusals {
			request := append([]string{"CLIENT", "LIST"}, words(line)...)
			ours, theirs := own.bytes(request...), real.bytes(request...)
			if theirs[0] != '-' {
				// Of one client there are its line, or nothing.
				ours, theirs = fmt.Sprint(strings.Contains(ours, "id=")), fmt.Sprint(strings.Contains(theirs, "id="))
			}
			equal(t, request, ours, theirs)
		}
	})
}

// awaitAlone waits until the node has closed the connections of earlier tests.
func (p *peer) awaitAlone() {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		list := p.bytes("CLIENT", "LIST")
		if strings.Count(list, "id=") == 1 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the node still has other clients: %s", list)
		}
	}
}

// crowd are clients that a filter has something to choose among, and how to make them at a server.
var crowd = []struct {
	does []string
	as   Client
}{
	{nil, Client{Flags: []byte("N"), Proto: resp.RESP2}},
	{[]string{"CLIENT SETNAME a", "READONLY"}, Client{Name: []byte("a"), Flags: []byte("r"), Proto: resp.RESP2}},
	{[]string{"CLIENT SETNAME b", "CLIENT NO-EVICT on", "READONLY", "CLIENT SETINFO lib-name L"}, Client{Name: []byte("b"), Flags: []byte("re"), LibName: []byte("L")}},
	{[]string{"CLIENT SETINFO lib-name L", "CLIENT SETINFO lib-ver 1.0", "HELLO 3"}, Client{Flags: []byte("N"), LibName: []byte("L"), LibVer: []byte("1.0")}},
	{[]string{"CLIENT SETNAME B", "CLIENT NO-EVICT on"}, Client{Name: []byte("B"), Flags: []byte("e")}},
}

// choices choose among the crowd. %d is the id of client 1, 2 and so on.
var choices = []string{
	"TYPE normal", "TYPE NORMAL", "TYPE normal\\0x", "NOT-TYPE normal", "NOT-TYPE primary NOT-TYPE pubsub", "TYPE pubsub TYPE normal", "TYPE normal TYPE pubsub",
	"TYPE normal NOT-TYPE normal", "NOT-TYPE \\e",
	"ID 2", "ID 3 1 2", "ID 3 1 3", "ID 3 999999 1", "ID -5 2", "ID 1 ID 4", "ID 1 TYPE normal ID 4", "ID 1 2 NOT-ID 2", "NOT-ID 2", "NOT-ID 2 NOT-ID 3", "NOT-ID 2 3 4",
	"NOT-ID TYPE normal", "TYPE normal NOT-ID", "id 2 not-id 3",
	"FLAGS r", "FLAGS e", "FLAGS re", "FLAGS er", "FLAGS N", "FLAGS Nr", "FLAGS \\e", "NOT-FLAGS r", "NOT-FLAGS re", "NOT-FLAGS N", "NOT-FLAGS Nr", "NOT-FLAGS \\e",
	"FLAGS N FLAGS r", "FLAGS rr", "FLAGS r NOT-FLAGS e", "FLAGS r\\0Z",
	"NAME a", "NAME A", "NAME b", "NAME \\e", "NOT-NAME a", "NOT-NAME \\e", "NAME a NAME b", "NAME a\\0x", "NOT-NAME a\\0x", "NAME a NOT-NAME a",
	"LIB-NAME L", "LIB-NAME l", "LIB-NAME \\e", "NOT-LIB-NAME L", "NOT-LIB-NAME \\e", "LIB-NAME L LIB-VER 1.0", "LIB-VER 1.0", "NOT-LIB-VER 1.0", "LIB-NAME L\\0x",
	"LIB-NAME L NOT-LIB-VER 1.0",
	"USER default", "USER default USER default", "USER default NOT-USER default", "IP 127.0.0.1", "IP 127.0.0.1\\0x", "NOT-IP 127.0.0.1", "NOT-IP ::1", "NOT-IP \\e",
	"NOT-ADDR x", "NOT-ADDR \\e", "NOT-LADDR x", "CAPA \\e", "CAPA r", "NOT-CAPA r", "NOT-CAPA \\e", "DB 0", "DB 0 DB 0", "NOT-DB 0",
	"SKIPME no", "SKIPME yes", "SKIPME YES SKIPME no", "SKIPME yes NAME a", "skipme no id 1",
}

// TestContract_OBS2_ChoicesAsOnServers: filters choose the clients that a server chooses, whichever worker they are with. Servers
// turn their lists around, so only Redis' ID, which asks for an order, has one.
func TestContract_OBS2_ChoicesAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		asker := strings.Trim(real.bytes("CLIENT", "ID"), ":\r\n")
		ids := map[string]string{asker: "0"}
		own.workers = make([]tellingWorker, 3)
		node := real.conn.NetConn().RemoteAddr().String()
		for i, member := range crowd {
			conn := testbed.MustDial(t, node)
			p := &peer{t: t, conn: conn}
			for _, request := range member.does {
				p.bytes(fields(request)...) // Redis 7.0 lacks some
			}
			ids[strings.Trim(p.bytes("CLIENT", "ID"), ":\r\n")] = strconv.Itoa(i + 1)
			c := member.as
			c.ID = uint64(i + 1)
			c.Addr, c.Local = netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.1:7979")
			w := &own.workers[(i+1)%3]
			w.clients = append([]Client{c}, w.clients...)
		}
		own.self = Client{Flags: []byte("N"), Addr: netip.MustParseAddrPort("127.0.0.1:50000")}
		own.workers[2].clients = append(own.workers[2].clients, own.self)
		for _, line := range append(choices, "") {
			ours, theirs := []string{"CLIENT", "LIST"}, []string{"CLIENT", "LIST"}
			for _, word := range words(line) {
				ours, theirs = append(ours, word), append(theirs, real.idOf(ids, word))
			}
			got, want := chosen(own.bytes(ours...), nil), chosen(real.bytes(theirs...), ids)
			if inOrder := own.table.Version().Engine == "redis" && strings.HasPrefix(line, "ID "); !inOrder {
				got, want = inAnyOrder(got), inAnyOrder(want)
			}
			equal(t, ours, got, want)
		}
	})
}

// inAnyOrder is a list whose order does not count.
func inAnyOrder(list string) string {
	words := strings.Fields(list)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// idOf is the id at the server of a client that a word names.
func (p *peer) idOf(ids map[string]string, word string) string {
	for id, number := range ids {
		if number == word && number != "0" {
			return id
		}
	}
	return word
}

// chosen lists the ids of a reply, under the names that ids gives them, or is the error.
func chosen(reply string, ids map[string]string) string {
	if reply[0] == '-' {
		return reply
	}
	var list []string
	for _, found := range regexp.MustCompile(`(?m)(?:^|:)id=(\d+) `).FindAllStringSubmatch(reply, -1) {
		id := found[1]
		if name, known := ids[id]; known {
			id = name
		} else if ids != nil {
			continue // a connection of another test
		}
		list = append(list, id)
	}
	return strings.Join(list, " ")
}

// TestContract_OBS2_FiltersOfAges: what no server can be made to have at once.
func TestContract_OBS2_FiltersOfAges(t *testing.T) {
	r := newRig(t, valkey91, "")
	r.workers[0].clients = []Client{
		{ID: 1, Age: 0, Idle: 0, Addr: netip.MustParseAddrPort("[2001:db8::1]:1")},
		{ID: 2, Age: 5, Idle: 4, Addr: netip.MustParseAddrPort("[::ffff:10.0.0.1]:2"), Local: netip.MustParseAddrPort("10.0.0.2:7979")},
		{ID: 3, Age: 6, Idle: 6, Addr: netip.MustParseAddrPort("10.0.0.1:3"), Local: netip.MustParseAddrPort("10.0.0.3:7979")},
	}
	for line, want := range map[string]string{
		"MAXAGE 5": "2 3", "MAXAGE 6": "3", "MAXAGE 7": "", "IDLE 4": "2 3", "IDLE 5": "3", "MAXAGE 5 IDLE 5": "3", "MAXAGE 1 MAXAGE 6": "3",
		"ADDR 10.0.0.1:2": "2", "ADDR 10.0.0.1:2\\0x": "2", "NOT-ADDR 10.0.0.1:2": "1 3", "LADDR 10.0.0.3:7979": "3", "NOT-LADDR 10.0.0.3:7979": "1 2",
		"IP 10.0.0.1": "2 3", "NOT-IP 10.0.0.1": "1", "IP 2001:db8::1": "1", "ADDR [2001:db8::1]:1": "1", "NOT-IP 10.0.0.1 NOT-ID 1": "",
	} {
		request := append([]string{"CLIENT", "LIST"}, words(line)...)
		equal(t, request, chosen(r.bytes(request...), nil), want)
	}
}

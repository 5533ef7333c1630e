package session

import (
	"bytes"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/stats"
	"mithril/tools/testbed"
)

const testPassword = "pw"

// conversations are held with a server and with a session, which must say the same. A
// line is a conversation on a connection of its own: requests between semicolons, words
// between spaces, with the escapes of unescape. Those of a server with a password begin
// before the login.
var conversations = map[bool][]string{
	false: {
		`HELLO;PING`,
		`HELLO 2;CLIENT GETNAME`,
		`HELLO 3;CLIENT GETNAME;HELLO 2;CLIENT GETNAME;HELLO`,
		`HELLO 4;HELLO -3;HELLO abc;HELLO 03;HELLO +3;HELLO \e;HELLO 99999999999999999999;CLIENT GETNAME`,
		`HELLO 3 AUTH;HELLO 3 AUTH a;CLIENT GETNAME`,
		`HELLO 3 AUTH default x;CLIENT GETNAME`,
		`HELLO 3 auth default x setname n;CLIENT GETNAME`,
		`HELLO 3 SETNAME;HELLO 3 SETNAME a b;CLIENT GETNAME`,
		`HELLO 3 SETNAME a;CLIENT GETNAME;HELLO 3 SETNAME \e;CLIENT GETNAME`,
		`HELLO 3 SETNAME a SETNAME b;CLIENT GETNAME`,
		`HELLO 3 SETNAME a SETNAME b\s;CLIENT GETNAME`,
		`HELLO 3 foo\r\nbar;HELLO 3 a\0b;HELLO 3 ` + strings.Repeat("x", 300) + `;CLIENT GETNAME`,
		`HELLO 3 AUTH nosuch x;CLIENT GETNAME`,
		`HELLO 3 AUTH nosuch x SETNAME a\sb;CLIENT GETNAME`,
		`HELLO 3 AUTH nosuch x SETNAME n;CLIENT GETNAME`,
		`HELLO 3 SETNAME n AUTH nosuch x;CLIENT GETNAME`,
		`HELLO 3 SETNAME a\sb AUTH nosuch x;CLIENT GETNAME`,
		`HELLO 3 SETNAME n foo;CLIENT GETNAME`,
		`HELLO 3 AUTH nosuch x foo;CLIENT GETNAME`,
		`HELLO AUTH default x;HELLO SETNAME n`,
		`AUTH x;AUTH default x;AUTH nosuch x;AUTH DEFAULT x;AUTH a b c;AUTH;AUTH \e;PING`,
		`SELECT 0;SELECT 1;SELECT -1;SELECT 16;SELECT abc;SELECT 00;SELECT +0;SELECT -0;SELECT \e;SELECT;SELECT 0 1`,
		`SELECT 2147483647;SELECT 2147483648;SELECT -2147483648;SELECT -2147483649;SELECT 9223372036854775807`,
		`SELECT 9223372036854775808;SELECT 99999999999999999999;SELECT 4294967296`,
		`CLIENT GETNAME;CLIENT SETNAME a;CLIENT GETNAME;CLIENT SETNAME a\sb;CLIENT GETNAME;CLIENT SETNAME \e;CLIENT GETNAME`,
		`CLIENT SETNAME ~!;CLIENT GETNAME;CLIENT SETNAME a\nb;CLIENT SETNAME é;CLIENT SETNAME \x7f`,
		`CLIENT SETNAME a\0\n;CLIENT GETNAME;CLIENT SETNAME \0;CLIENT GETNAME;CLIENT SETINFO lib-name a\0\n;HELLO 2 SETNAME a\0\nb;CLIENT GETNAME`,
		`CLIENT SETNAME;CLIENT SETNAME a b;CLIENT GETNAME x;CLIENT ID x;client setname A;cLiEnT gEtNaMe`,
		`HELLO 3;CLIENT GETNAME;CLIENT SETNAME a;CLIENT GETNAME`,
		`CLIENT SETINFO lib-name foo;CLIENT SETINFO LIB-VER 1;CLIENT SETINFO lib-name \e;CLIENT SETINFO lib-name`,
		`CLIENT SETINFO lib-name a\sb;CLIENT SETINFO LIB-Name a\nb;CLIENT SETINFO lib-ver a b`,
		`CLIENT SETINFO foo bar;CLIENT SETINFO a\r\nb bar;CLIENT SETINFO a\0b c;CLIENT SETINFO \e x`,
		`CLIENT NO-EVICT on;CLIENT NO-EVICT OFF;CLIENT NO-EVICT x;CLIENT NO-EVICT;CLIENT NO-EVICT on off`,
		`CLIENT NO-TOUCH off;CLIENT NO-TOUCH x;CLIENT NO-TOUCH;CLIENT NO-TOUCH off on`,
		`PING;ping;PING x;PING \e;PING x y;ECHO;ECHO x;ECHO \e;ECHO a\r\n\0b;ECHO x y`,
		`HELLO 3;PING;PING x;PING x y;ECHO x`,
		`READONLY;READWRITE;ASKING;READONLY x;READWRITE x;ASKING x`,
		`RESET;RESET x;CLIENT SETNAME a;HELLO 3;RESET;CLIENT GETNAME;PING`,
		`QUIT`, `QUIT x`, `HELLO 3;QUIT`,
	},
	true: {
		`HELLO;HELLO 2;HELLO 3;HELLO 4;HELLO abc;CLIENT GETNAME`,
		`HELLO 3 foo;HELLO 3 AUTH;HELLO 3 SETNAME;HELLO 3 SETNAME a\sb`,
		`HELLO 3 SETNAME n;AUTH pw;CLIENT GETNAME`,
		`HELLO 3 SETNAME n foo;AUTH pw;CLIENT GETNAME`,
		`HELLO 3 AUTH default pw foo;PING`,
		`HELLO 3 AUTH default pw SETNAME a\sb;PING`,
		`HELLO 3 AUTH default pw AUTH default bad;PING`,
		`HELLO 3 AUTH default bad AUTH default pw;PING`,
		`HELLO 3 AUTH default bad;CLIENT GETNAME;HELLO 3 AUTH nosuch pw;HELLO 3 AUTH DEFAULT pw;CLIENT GETNAME`,
		`HELLO 2 SETNAME x AUTH default pw;CLIENT GETNAME`,
		`HELLO 3 AUTH default pw SETNAME n;CLIENT GETNAME;RESET;PING;HELLO 3;AUTH pw;CLIENT GETNAME`,
		`AUTH bad;AUTH default bad;AUTH nosuch pw;AUTH;AUTH a b c;AUTH \e;AUTH default;PING;AUTH pw;PING;AUTH bad;PING`,
		`AUTH default pw;PING;HELLO;HELLO 3 AUTH default bad;CLIENT GETNAME;RESET;CLIENT GETNAME`,
		`AUTH pw\0;AUTH pwx;AUTH p;AUTH PW;PING`,
		`PING;PING x;ECHO x;SELECT 0;SELECT 1;READONLY;CLIENT ID;CLIENT SETNAME a;GET a;RESET;RESET x`,
		`QUIT`,
	},
}

// TestContract_PROTO3_LocalCommandsAsOnServers holds the conversations with every server.
func TestContract_PROTO3_LocalCommandsAsOnServers(t *testing.T) {
	for _, v := range command.Versions {
		engine := strings.Replace(v.String(), "-", "", 1)
		for _, needsLogin := range []bool{false, true} {
			name := engine + "/open"
			password := ""
			if needsLogin {
				name, password = engine+"/password", testPassword
			}
			t.Run(name, func(t *testing.T) {
				node := testbed.RunNode(t, testbed.NodeOptions{
					Engine: engine, Password: password, Config: []string{"cluster-enabled yes", "cluster-config-file nodes.conf"},
				})
				env := testEnv(t, v, password)
				env.Server.Version = versionOf(t, node)
				for _, line := range conversations[needsLogin] {
					compareConversation(t, env, node, line)
				}
			})
		}
	}
}

// versionOf is the version that a node tells in HELLO.
func versionOf(t *testing.T, node *testbed.Node) string {
	t.Helper()
	conn, err := node.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Do("HELLO", "3")
	if err != nil {
		t.Fatal(err)
	}
	return reply.(testbed.Map).Get("version").(string)
}

func compareConversation(t *testing.T, env *Env, node *testbed.Node, line string) {
	t.Helper()
	conn, err := testbed.Dial(node.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := newTestSession(env)
	defer s.Free(env)
	for request := range strings.SplitSeq(line, ";") {
		frame := resp.AppendCommand(nil, words(request)...)
		want, err := conn.DoRaw(frame, 1)
		if err != nil {
			t.Fatalf("%q: %q: server: %v", line, request, err)
		}
		got := say(env, s, frame)
		if g, w := canonicalHello(got), canonicalHello(string(want)); g != w {
			t.Errorf("%q: %q:\n got %q\nwant %q", line, request, g, w)
		}
	}
}

var unescape = strings.NewReplacer(`\s`, " ", `\r`, "\r", `\n`, "\n", `\0`, "\x00", `\x7f`, "\x7f", `\e`, "")

func words(request string) []string {
	list := strings.Split(request, " ")
	for i := range list {
		list[i] = unescape.Replace(list[i])
	}
	return list
}

// What HELLO tells differs in the id of the connection and in the modules, of which the
// proxy has none.
var (
	helloID      = regexp.MustCompile(`\$2\r\nid\r\n:[1-9][0-9]*\r\n`)
	helloModules = regexp.MustCompile(`(?s)\$7\r\nmodules\r\n\*.*`)
)

func canonicalHello(reply string) string {
	if !helloID.MatchString(reply) {
		return reply
	}
	return helloModules.ReplaceAllString(helloID.ReplaceAllString(reply, "id"), "modules")
}

// TestCanonicalHelloKeepsTheRest shows that nothing but id and modules is hidden.
func TestCanonicalHelloKeepsTheRest(t *testing.T) {
	hello := "%7\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:17\r\n$7\r\nmodules\r\n*0\r\n"
	for _, same := range [][2]string{{":17", ":4"}, {"*0\r\n", "*1\r\n*0\r\n"}} {
		if canonicalHello(hello) != canonicalHello(strings.Replace(hello, same[0], same[1], 1)) {
			t.Errorf("%q in place of %q makes a difference", same[1], same[0])
		}
	}
	for _, other := range [][2]string{{":17", ":0"}, {":17", "$2\r\n17"}, {":3", ":2"}, {"proto", "propo"}, {"*0", "$0"}} {
		if canonicalHello(hello) == canonicalHello(strings.Replace(hello, other[0], other[1], 1)) {
			t.Errorf("%q in place of %q makes no difference", other[1], other[0])
		}
	}
}

// TestHelloDescribesTheProxy checks what the comparison with servers leaves out.
func TestHelloDescribesTheProxy(t *testing.T) {
	env := testEnv(t, command.Versions[0], "")
	s := newTestSession(env)
	s.ID = 4711
	for proto, want := range map[string]string{
		"2": "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.1\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:4711\r\n" +
			"$4\r\nmode\r\n$7\r\ncluster\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
		"3": "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.1\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:4711\r\n" +
			"$4\r\nmode\r\n$7\r\ncluster\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
	} {
		if got := say(env, s, resp.AppendCommand(nil, "HELLO", proto)); got != want {
			t.Errorf("HELLO %s:\n got %q\nwant %q", proto, got, want)
		}
	}
	if got := say(env, s, resp.AppendCommand(nil, "CLIENT", "ID")); got != ":4711\r\n" {
		t.Errorf("CLIENT ID: got %q", got)
	}
}

// TestNoTouchOnIsRefused: it would be accepted and ignored otherwise.
func TestNoTouchOnIsRefused(t *testing.T) {
	env := testEnv(t, command.Version{Engine: "valkey", Major: 9, Minor: 1}, "")
	s := newTestSession(env)
	if got := say(env, s, resp.AppendCommand(nil, "CLIENT", "NO-TOUCH", "ON")); got != "-ERR 'client|no-touch' is not supported by this proxy\r\n" {
		t.Errorf("got %q", got)
	}
}

// TestSessionKeepsWhatClientsTell: names and library of CLIENT SETNAME, HELLO and CLIENT
// SETINFO; RESET takes the name and leaves the library, as servers do.
func TestSessionKeepsWhatClientsTell(t *testing.T) {
	env := testEnv(t, command.Version{Engine: "valkey", Major: 9, Minor: 1}, "")
	s := newTestSession(env)
	expect := func(name, lib, ver string) {
		t.Helper()
		gotLib, gotVer := s.Lib()
		if string(s.Name()) != name || string(gotLib) != lib || string(gotVer) != ver {
			t.Errorf("got name %q, library %q %q, want %q, %q %q", s.Name(), gotLib, gotVer, name, lib, ver)
		}
	}
	say(env, s, resp.AppendCommand(nil, "CLIENT", "SETINFO", "LIB-NAME", "rueidis"))
	say(env, s, resp.AppendCommand(nil, "CLIENT", "SETINFO", "lib-ver", "1.2"))
	say(env, s, resp.AppendCommand(nil, "HELLO", "3", "SETNAME", "first"))
	expect("first", "rueidis", "1.2")
	say(env, s, resp.AppendCommand(nil, "CLIENT", "SETNAME", "second"))
	say(env, s, resp.AppendCommand(nil, "CLIENT", "SETINFO", "lib-ver", "not plain"))
	expect("second", "rueidis", "1.2")
	say(env, s, resp.AppendCommand(nil, "RESET"))
	expect("", "rueidis", "1.2")
	if s.Proto() != resp.RESP2 {
		t.Errorf("RESP%d after RESET", s.Proto())
	}
}

// TestFlagsFollowTheClient: what CLIENT LIST shows, and what RESET leaves of it.
func TestFlagsFollowTheClient(t *testing.T) {
	for _, v := range command.Versions {
		env := testEnv(t, v, "")
		s := newTestSession(env)
		left := "N"
		if v == redis70 {
			left = "e"
		}
		for _, step := range []struct{ request, flags string }{
			{"PING", "N"}, {"READONLY", "r"}, {"CLIENT NO-EVICT on", "re"}, {"READWRITE", "e"}, {"CLIENT NO-EVICT OFF", "N"}, {"READONLY", "r"},
			{"CLIENT NO-EVICT ON", "re"}, {"RESET", left}, {"CLIENT NO-EVICT OFF", "N"}, {"QUIT", "c"},
		} {
			say(env, s, resp.AppendCommand(nil, strings.Fields(step.request)...))
			if got := string(s.AppendFlags(nil)); got != step.flags {
				t.Errorf("%v: %q after %s, want %q", v, got, step.request, step.flags)
			}
		}
	}
}

// TestContract_OBS1_CallsFollowTheNames: another table has other numbers for commands. What was called keeps its count.
func TestContract_OBS1_CallsFollowTheNames(t *testing.T) {
	env := testEnv(t, command.Version{Engine: "valkey", Major: 9, Minor: 1}, "")
	s := newTestSession(env)
	for _, request := range []string{"PING", "CLIENT ID", "PING", "PING x y", "NONESUCH", "PING", "CLIENT GETNAME x", "TIME x"} {
		say(env, s, resp.AppendCommand(nil, strings.Fields(request)...))
	}
	for range 2 {
		calls := map[string]uint64{}
		env.EachCommand(func(name string, n uint64) { calls[name] += n })
		if len(calls) != 2 || calls["ping"] != 4 || calls["client|id"] != 1 {
			t.Errorf("%v", calls)
		}
		if s.Rejected() != 3 {
			t.Errorf("%d requests rejected, want 3", s.Rejected())
		}
		env.UseTable(command.ForEngine("redis", 7, 0))
	}
}

// TestNothingIsReadAfterQuit: a pipelined request behind QUIT gets no reply.
func TestNothingIsReadAfterQuit(t *testing.T) {
	env := testEnv(t, command.Versions[0], "")
	s := newTestSession(env)
	frame := resp.AppendCommand(nil, "PING")
	frame = resp.AppendCommand(frame, "QUIT")
	frame = resp.AppendCommand(frame, "PING")
	if got := say(env, s, frame); got != "+PONG\r\n+OK\r\n" {
		t.Errorf("got %q", got)
	}
	if !s.Done() {
		t.Errorf("session is %v after QUIT", s.State())
	}
}

// TestLoginOutlivesAFailedOne: AUTH with a wrong password leaves the session logged in.
func TestLoginOutlivesAFailedOne(t *testing.T) {
	env := testEnv(t, command.Versions[0], testPassword)
	s := newTestSession(env)
	if s.State() != Fresh {
		t.Fatalf("a new session is %v", s.State())
	}
	for _, step := range []struct {
		request string
		want    State
	}{{"AUTH bad", Fresh}, {"AUTH pw", Plain}, {"AUTH bad", Plain}, {"HELLO 3 AUTH default bad", Plain}, {"RESET", Fresh}} {
		say(env, s, resp.AppendCommand(nil, strings.Fields(step.request)...))
		if s.State() != step.want {
			t.Errorf("%v after %q, want %v", s.State(), step.request, step.want)
		}
	}
}

// testEnv is the environment of sessions that speak for a server of version v.
func testEnv(t *testing.T, v command.Version, password string) *Env {
	t.Helper()
	arena, err := buf.NewArena(make(buf.HeapMemory, 1<<20), 0)
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{
		Arena: arena, Counters: &stats.Counters{}, Password: password, Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated,
		Server: Server{Name: v.Engine, Version: "7.0.1"},
	}
	env.UseTable(command.ForEngine(v.Engine, v.Major, v.Minor))
	return env
}

func newTestSession(env *Env) *Session {
	s := &Session{}
	s.Init(env, ring.MakeToken(ring.KindSession, 0, 0), 1, netip.MustParseAddrPort("127.0.0.1:50000"), 0)
	return s
}

// say gives a session bytes and returns what it answers at once.
func say(env *Env, s *Session, request []byte) string {
	block, ok := env.Arena.Copy(request)
	if !ok {
		panic("the arena of the test is too small")
	}
	s.Put(env, block)
	if in := s.Next(env); in.Kind != Nothing {
		return "offered to the worker: " + in.Command.Name
	}
	var out bytes.Buffer
	for _, part := range s.Out().Slices() {
		out.Write(env.Arena.Bytes(part))
	}
	s.Out().Sent(env.Arena, out.Len())
	s.Sent(env, out.Len())
	return out.String()
}

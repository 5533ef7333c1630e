package command

import (
	"strings"
	"testing"

	"mithril/src/resp"
)

// problemRequests are requests that no server accepts, with what is wrong with them.
var problemRequests = []struct {
	problem Problem
	words   []string
}{
	{UnknownCommand, []string{"nosuch"}},
	{UnknownCommand, []string{""}},
	{UnknownCommand, []string{"", ""}},
	{UnknownCommand, []string{"NoSuch", "a", "", "b"}},
	{UnknownCommand, []string{"get|x"}},
	{UnknownCommand, []string{"client|list"}},
	{UnknownCommand, []string{"fo o", "it's"}},
	{UnknownCommand, []string{strings.Repeat("n", 127), "a"}},
	{UnknownCommand, []string{strings.Repeat("n", 128), "a"}},
	{UnknownCommand, []string{strings.Repeat("n", 300), strings.Repeat("a", 300), "b"}},
	{UnknownCommand, []string{"nosuch", strings.Repeat("a", 123), "bcd", "e"}},
	{UnknownCommand, []string{"nosuch", strings.Repeat("a", 124), "bcd", "e"}},
	{UnknownCommand, []string{"nosuch", strings.Repeat("a", 125), "bcd", "e"}},
	{UnknownCommand, append([]string{"nosuch"}, strings.Split(strings.Repeat("xy ", 100), " ")...)},
	{UnknownCommand, []string{"nosuch", "a\r\n+OK", "b"}},
	{UnknownCommand, []string{"\r\n+OK\r\n"}},
	{UnknownCommand, []string{"no\x00such", "a\x00b", "\x00", "c"}},
	{UnknownCommand, []string{"nosuch\xff\x01\x7f", "\x80"}},
	{UnknownSubcommand, []string{"CLIENT", "nosuch"}},
	{UnknownSubcommand, []string{"Client", "NoSuch", "a"}},
	{UnknownSubcommand, []string{"cluster", ""}},
	{UnknownSubcommand, []string{"config", strings.Repeat("s", 127)}},
	{UnknownSubcommand, []string{"config", strings.Repeat("s", 300)}},
	{UnknownSubcommand, []string{"acl", "log\r\n+OK"}},
	{UnknownSubcommand, []string{"object", "enc\x00oding", "k"}},
	{WrongArity, []string{"GET"}},
	{WrongArity, []string{"get", "a", "b"}},
	{WrongArity, []string{"MGET"}},
	{WrongArity, []string{"mset", "a"}},
	{WrongArity, []string{"client"}},
	{WrongArity, []string{"Config"}},
	{WrongArity, []string{"CONFIG", "GET"}},
	{WrongArity, []string{"client", "KILL"}},
	{WrongArity, []string{"object", "encoding"}},
	{WrongArity, []string{"xgroup", "create", "s"}},
	{WrongArity, []string{"Exec", "now"}},
	{WrongArity, []string{"ZUNIONSTORE", "d", "0"}},
}

func TestContract_ROUTE2_problemsInTheServersWording(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		conn := dialLive(t, table, resp.RESP2)
		for _, test := range problemRequests {
			frame, args := request(test.words...)
			c, problem := table.Find(frame, args)
			if problem != test.problem {
				t.Errorf("%.60q: problem %d, want %d", test.words, problem, test.problem)
				continue
			}
			got := string(AppendProblem(nil, problem, c, frame, args))
			if want := rawReply(t, conn, test.words...); got != want {
				t.Errorf("%.60q:\n got %q\nwant %q", test.words, got, want)
			}
		}
	})
}

// Every row's arity error, in the server's wording. A row of arity -1 accepts everything; those of modules and those that a lone server
// handles before it looks at the arity are not asked.
func TestContract_ROUTE2_arityOfEveryRow(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		conn := dialLive(t, table, resp.RESP2)
		for id := range table.Len() {
			c := table.Row(uint16(id))
			words := strings.Split(c.Name, "|")
			n := int(max(c.Arity, -c.Arity)) - 1
			if c.Route == RouteRefused || n < len(words) {
				continue
			}
			for len(words) < n {
				words = append(words, "1")
			}
			frame, args := request(words...)
			found, problem := table.Find(frame, args)
			if found != c || problem != WrongArity {
				t.Errorf("%q: %v, problem %d", words, found, problem)
				continue
			}
			got := string(AppendProblem(nil, problem, found, frame, args))
			if want := rawReply(t, conn, words...); got != want {
				t.Errorf("%q:\n got %q\nwant %q", words, got, want)
			}
		}
	})
}

func TestFind_resolvesSubcommandsAndArity(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for _, test := range []struct {
			line string
			want string
		}{
			{"get k", "get"}, {"SET k v", "set"}, {"set k v ex 10", "set"}, {"client id", "client|id"}, {"CLIENT SetName n", "client|setname"},
			{"command", "command"}, {"COMMAND COUNT", "command|count"}, {"cluster keyslot k", "cluster|keyslot"}, {"ping", "ping"}, {"ping x", "ping"},
			{"object encoding k", "object|encoding"}, {"object help", "object|help"},
		} {
			frame, args := request(strings.Fields(test.line)...)
			c, problem := table.Find(frame, args)
			if problem != OK || c.Name != test.want {
				t.Errorf("%q: %v, problem %d", test.line, c, problem)
			}
		}
	})
}

// A refused command is answered as one that the server never heard of, whatever its arguments.
func TestContract_ROUTE8_refusedCommandsDoNotExist(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for _, test := range []struct{ line, want string }{
			{"SHUTDOWN NOSAVE", "-ERR unknown command 'SHUTDOWN', with args beginning with: 'NOSAVE' \r\n"},
			{"monitor", "-ERR unknown command 'monitor', with args beginning with: \r\n"},
			{"DEBUG SLEEP 1", "-ERR unknown command 'DEBUG', with args beginning with: 'SLEEP' '1' \r\n"},
			{"slaveof", "-ERR unknown command 'slaveof', with args beginning with: \r\n"},
			{"cluster meet h 1", "-ERR unknown subcommand 'meet'. Try CLUSTER HELP.\r\n"},
			{"ACL SAVE", "-ERR unknown subcommand 'SAVE'. Try ACL HELP.\r\n"},
		} {
			frame, args := request(strings.Fields(test.line)...)
			c, problem := table.Find(frame, args)
			if problem != UnknownCommand && problem != UnknownSubcommand {
				t.Errorf("%q: problem %d", test.line, problem)
				continue
			}
			if got := string(AppendProblem(nil, problem, c, frame, args)); got != test.want {
				t.Errorf("%q:\n got %q\nwant %q", test.line, got, test.want)
			}
		}
	})
}

func TestAppendUnsupported(t *testing.T) {
	c := ForEngine("valkey", 9, 1).LookupFull([]byte("CLIENT|TRACKING"))
	if got, want := string(AppendUnsupported([]byte("x"), c)), "x-ERR 'client|tracking' is not supported by this proxy\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

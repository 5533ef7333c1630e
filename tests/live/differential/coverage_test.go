package differential

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_PROTO5_EveryCommandIsHeldOrRefused goes through the engine's own COMMAND: each
// command and subcommand is called in the corpus, or is in a list of the top README and is
// refused in the words that the list says.
func TestContract_PROTO5_EveryCommandIsHeldOrRefused(t *testing.T) {
	corpus := readCorpus(t)
	later, never := readmeList(t, "Not carried yet"), readmeList(t, "Never carried")
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		g := newRig(t, e)
		held := g.held(t, corpus)
		for _, name := range g.commandNames(t) {
			row := g.commands[name]
			switch {
			case row == nil:
				t.Errorf("%s: the proxy has no row for it", name)
			case row.Route == command.RouteLater:
				g.refused(t, row, later, unsupported)
			case row.Route == command.RouteRefused:
				g.refused(t, row, never, unknown)
			case !held[name]:
				t.Errorf("%s: no line of the corpus calls it", name)
			}
		}
	})
}

// commandNames are the full names of the engine's commands and subcommands, without the
// containers.
func (g *rig) commandNames(t *testing.T) (names []string) {
	t.Helper()
	reply := harness.MustDo(t, testbed.MustDial(t, g.Lone.Addr()), "COMMAND").([]any)
	const subcommands = 9 // position in a row
	for _, row := range reply {
		subs := row.([]any)[subcommands].([]any)
		if len(subs) == 0 {
			names = append(names, strings.ToLower(row.([]any)[0].(string)))
		}
		for _, sub := range subs {
			names = append(names, strings.ToLower(sub.([]any)[0].(string)))
		}
	}
	if len(names) < 300 {
		t.Fatalf("COMMAND has %d commands and subcommands: that is not all", len(names))
	}
	slices.Sort(names)
	return names
}

// held are the full names of what the corpus, or a stream, calls with a number of arguments
// that the command takes.
func (g *rig) held(t *testing.T, corpus map[string][]request) map[string]bool {
	t.Helper()
	held := map[string]bool{}
	hold := func(args []string) {
		if row := g.row(args); row != nil && row.Accepts(len(args)) {
			held[strings.ToLower(row.Name)] = true
		}
	}
	for _, requests := range corpus {
		for _, r := range requests {
			hold(r.args)
		}
	}
	for _, lines := range streams {
		for _, line := range lines {
			args, err := splitWords(line)
			if err != nil {
				t.Fatal(err)
			}
			hold(args)
		}
	}
	return held
}

// refused calls a command that a list has, with arguments that it would take, and expects
// to be refused. Each call has a connection of its own, since behind a refused MULTI all
// else is refused too.
func (g *rig) refused(t *testing.T, row *command.Command, list []string, want func(row *command.Command, args []string) string) {
	t.Helper()
	args := strings.Split(row.Name, "|")
	name := strings.ToUpper(strings.Join(args, " "))
	if !slices.Contains(list, name) && !slices.Contains(list, strings.ToUpper(args[0])) {
		t.Errorf("%s is refused, but the list in README.md does not name it", name)
	}
	for !row.Accepts(len(args)) || len(args) < 3 && row.Accepts(len(args)+1) {
		args = append(args, "1")
	}
	harness.Expect(t, g.Proxy.Dial(t), string(request{args: args}.bytes()), want(row, args))
}

// unsupported is the answer to what the proxy does not carry yet.
func unsupported(row *command.Command, _ []string) string {
	return fmt.Sprintf("-ERR '%s' is not supported by this proxy\r\n", row.Name)
}

// unknown is how a server speaks of a command that it has never heard of.
func unknown(row *command.Command, args []string) string {
	if p := row.Parent(); p != nil && p.Route != command.RouteRefused {
		return fmt.Sprintf("-ERR unknown subcommand '%s'. Try %s HELP.\r\n", args[1], strings.ToUpper(args[0]))
	}
	text := fmt.Sprintf("-ERR unknown command '%s', with args beginning with: ", args[0])
	for _, arg := range args[1:] {
		text += "'" + arg + "' "
	}
	return text + "\r\n"
}

// readmeList are the commands that a section of the top README names. `A B|C` names A B and
// A C.
func readmeList(t *testing.T, title string) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n### "+title+"\n")
	part, _, _ = strings.Cut(part, "\n##")
	for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(part, -1) {
		container, subs, ok := strings.Cut(quoted[1], " ")
		if !ok {
			names = append(names, container)
		}
		for sub := range strings.SplitSeq(subs, "|") {
			if ok {
				names = append(names, container+" "+sub)
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("README.md names %d commands below %q", len(names), title)
	}
	return names
}

package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/slot"
	"mithril/tests/harness"
)

// rig is a cell of the matrix with what is known of its commands.
type rig struct {
	*harness.Env
	version  command.Version
	table    *command.Table
	commands map[string]*command.Command
	results  int // replies of the lone node that are no errors
}

func newRig(t *testing.T, e *harness.Env) *rig {
	t.Helper()
	for _, v := range command.Versions {
		if e.Server == fmt.Sprintf("%s%d.%d", v.Engine, v.Major, v.Minor) {
			return &rig{Env: e, version: v, table: command.ForEngine(v.Engine, v.Major, v.Minor), commands: rowsOf(v)}
		}
	}
	t.Fatalf("no command table for %s", e.Server)
	return nil
}

// rowsOf are all rows of a version's table, refused ones included, by their full names in
// lower case.
func rowsOf(v command.Version) map[string]*command.Command {
	table := command.ForEngine(v.Engine, v.Major, v.Minor)
	rows := map[string]*command.Command{}
	for id := range table.Len() {
		row := table.Row(uint16(id))
		rows[strings.ToLower(row.Name)] = row
	}
	return rows
}

// row is the command or subcommand that a request calls, nil if there is none. With a
// subcommand that does not exist it is the container.
func (g *rig) row(args []string) *command.Command {
	name := strings.ToLower(args[0])
	if len(args) > 1 {
		if sub := g.commands[name+"|"+strings.ToLower(args[1])]; sub != nil {
			return sub
		}
	}
	return g.commands[name]
}

// name is the full name of what a request calls, "" if there is no such command.
func (g *rig) name(args []string) string {
	if row := g.row(args); row != nil {
		return strings.ToLower(row.Name)
	}
	return ""
}

// apart are commands that have no place in the middle of a batch: streams has them.
var apart = []string{"quit", "client|reply"}

// comparable says that a lone node may be asked: that the proxy carries the command, or
// refuses the request for the same reason as the node.
func (g *rig) comparable(args []string) bool {
	row := g.row(args)
	switch {
	case row == nil:
		return true
	case slices.Contains(apart, g.name(args)), g.isLost(args):
		return false
	case row.Route == command.RouteRefused, row.Parent() != nil && row.Parent().Route == command.RouteRefused:
		return false
	case len(row.Subcommands()) > 0:
		return true
	case row.Route == command.RouteLater:
		return !row.Accepts(len(args))
	}
	return !row.Blocks(frame(args))
}

// isLost says that the lone node does not answer with one reply: Redis 8.0.2 forgets the
// error for a wrong user or password unless it is a connection's first reply, and FUNCTION
// LIST repeats line ends in its error.
func (g *rig) isLost(args []string) bool {
	switch g.name(args) {
	case "auth":
		return g.version.Major == 8 && len(args) == 3
	case "hello":
		return g.version.Major == 8 && with("auth")(args)
	case "function|list":
		return slices.ContainsFunc(args, func(arg string) bool { return strings.ContainsAny(arg, "\r\n") })
	}
	return false
}

func frame(args []string) ([]byte, []resp.Arg) {
	bytes := resp.AppendCommand(nil, args...)
	var scan resp.RequestScanner
	parsed, _, _ := scan.Scan(bytes, &resp.Authenticated, nil)
	return bytes, parsed
}

// keys are those that a request has according to its command's key specs.
func (g *rig) keys(args []string) (keys []string) {
	row := g.row(args)
	if row == nil || !row.Accepts(len(args)) {
		return nil
	}
	bytes, parsed := frame(args)
	for _, ref := range row.Keys(bytes, parsed, nil) {
		keys = append(keys, args[ref.Arg])
	}
	return keys
}

// spansSlots says that a request's keys lie in more slots than one.
func (g *rig) spansSlots(args []string) bool {
	keys := g.keys(args)
	return slices.ContainsFunc(keys, func(key string) bool { return slot.Of([]byte(key)) != slot.Of([]byte(keys[0])) })
}

// behind is what has to follow a request so that proxy and lone node have the same keys
// again, if it may leave other ones.
func (g *rig) behind(r request) (follow []request) {
	row := g.row(r.args)
	if row == nil {
		return nil
	}
	_, leaves := canonOf(g.name(r.args), r)
	differences := g.differences(r.args)
	for _, d := range differences {
		if d.behind != nil {
			follow = append(follow, request{args: d.behind(r.args)})
		}
	}
	if keys := g.keys(r.args); len(keys) > 0 && (leaves || len(differences) > 0) {
		follow = append(follow, request{args: append([]string{"DEL"}, keys...), canon: "shape"})
	}
	return follow
}

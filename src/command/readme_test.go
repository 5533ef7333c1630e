package command

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmeNamesWhatIsNotCarried compares two lists of the top README with the tables. A container's
// name stands for all its subcommands if the proxy carries none of them but HELP.
func TestReadmeNamesWhatIsNotCarried(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for title, route := range map[string]Route{"Not carried yet": RouteLater, "Never carried": RouteRefused} {
		named, want := namedIn(string(text), title), map[string]bool{}
		eachTable(t, func(_ *testing.T, table *Table) {
			for id := range table.Len() {
				if c := table.Row(uint16(id)); c.Route == route && len(c.subs) == 0 {
					want[nameOf(c)] = true
				}
			}
		})
		for name := range want {
			if !slices.Contains(named, name) {
				t.Errorf("%s: README.md does not name %s", title, name)
			}
		}
		for i, name := range named {
			if !want[name] || slices.Contains(named[:i], name) {
				t.Errorf("%s: README.md names %s, which is carried, or twice there", title, name)
			}
		}
	}
}

// nameOf is how README.md names a command: in upper case, and by its container where that says as much.
func nameOf(c *Command) string {
	of := func(s Command) bool { return s.Offered() && s.ShortName != "help" }
	if p := c.parent; p != nil && c.Route == RouteLater && !slices.ContainsFunc(p.subs, of) {
		return strings.ToUpper(p.Name)
	}
	return strings.ToUpper(strings.ReplaceAll(c.Name, "|", " "))
}

// namedIn are the commands in the list below a title. `A B|C` names A B and A C.
func namedIn(text, title string) (names []string) {
	_, part, _ := strings.Cut(text, "\n### "+title+"\n")
	part, _, _ = strings.Cut(part, "\n##")
	_, list, _ := strings.Cut(part, "\n- ") // behind what is said of all of them
	for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1) {
		container, subs, ok := strings.Cut(quoted[1], " ")
		if !ok {
			names = append(names, container)
			continue
		}
		for sub := range strings.SplitSeq(subs, "|") {
			names = append(names, container+" "+sub)
		}
	}
	return names
}

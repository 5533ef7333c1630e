package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mithril/src/worker"
)

// readmeTable returns the cells in quotes of a table's first column, by the title of its section.
func readmeTable(t *testing.T, title string) (cells []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## "+title+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(part, -1) {
		cells = append(cells, row[1])
	}
	if len(cells) == 0 {
		t.Fatalf("README.md has no table %q", title)
	}
	return cells
}

// literals calls f with every string in the code of src.
func literals(t *testing.T, f func(s *source, text string, at ast.Node)) {
	for _, s := range sources(t) {
		if !s.under("src") || s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					f(s, text, lit)
				}
			}
			return true
		})
	}
}

// asOnServers are the beginnings of errors that the proxy has from the servers; the tests compare
// them with real ones.
var asOnServers = []string{
	"-CROSSSLOT ", "-DENIED ", "-ERR ", "-EXECABORT ", "-NOAUTH ", "-NOPROTO ", "-NOTBUSY ", "-WRONGPASS ",
	"-ERR AUTH <password> called without any password", "-ERR Client names cannot contain", "-ERR DB index is out of range",
	"-ERR Invalid arguments specified", "-ERR Invalid command specified", "-ERR Invalid number of arguments", "-ERR Invalid slot",
	"-ERR Protocol error: ", "-ERR Protocol version is not an integer", "-ERR SELECT is not allowed", "-ERR Syntax error in HELLO",
	"-ERR The command has no key arguments", "-ERR Unrecognized option", "-ERR max number of clients reached", "-ERR syntax error", "-ERR unknown command", "-ERR unknown subcommand",
	"-ERR value is not an integer", "-ERR value is out of range", "-ERR wrong number of arguments for 'ping'",
}

// isAsOnServers goes by the longest beginning that is more than an error's code.
func isAsOnServers(text string) bool {
	return slices.ContainsFunc(asOnServers, func(known string) bool {
		return known == text || strings.HasPrefix(text, known) && known != "-ERR "
	})
}

var errorLine = regexp.MustCompile(`^-[A-Z]+ `)

// TestReadmeHasEveryErrorOfTheProxy: an error that no server has is in the table, and the table has
// none that is no more.
func TestReadmeHasEveryErrorOfTheProxy(t *testing.T) {
	table := readmeTable(t, "Errors of the proxy itself")
	var all []string
	literals(t, func(s *source, text string, at ast.Node) {
		all = append(all, text)
		text = strings.TrimSuffix(text, "\r\n")
		if !errorLine.MatchString(text) || isAsOnServers(text) {
			return
		}
		if !slices.ContainsFunc(table, func(reply string) bool { return strings.HasPrefix(reply, text) }) {
			t.Error(s.complain(at, "README.md does not explain %q", text))
		}
	})
	for _, reply := range table {
		for part := range strings.SplitSeq(strings.TrimSuffix(reply, " 1024"), "...") {
			if part = strings.TrimPrefix(part, "-ERR Protocol error: "); !slices.ContainsFunc(all, func(text string) bool { return strings.Contains(text, part) }) {
				t.Errorf("README.md explains %q, but nothing says %q", reply, part)
			}
		}
	}
}

// TestReadmeHasEveryReasonOfAClosing: what the log may say when it closes a client is in the table.
func TestReadmeHasEveryReasonOfAClosing(t *testing.T) {
	table := readmeTable(t, "Why a client was closed")
	var all []string
	literals(t, func(_ *source, text string, _ ast.Node) { all = append(all, text) })
	for _, reason := range table {
		if !slices.Contains(all, reason) {
			t.Errorf("README.md explains the reason %q, which nothing gives", reason)
		}
	}
	given := 0
	for _, s := range sources(t) {
		if !s.under("src") || s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Kill" {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			given++
			if reason, _ := strconv.Unquote(lit.Value); reason != "" && !slices.Contains(table, reason) {
				t.Error(s.complain(call, "README.md does not explain the reason %q", reason))
			}
			return true
		})
	}
	if given < 10 {
		t.Errorf("%d reasons are given: the search does not find them", given)
	}
}

// TestSizesAreThoseInForce: what the README, the sample and the help say of large requests and
// replies is what the workers go by.
func TestSizesAreThoseInForce(t *testing.T) {
	kib := func(bytes int) string { return fmt.Sprintf("%d KiB", bytes>>10) }
	mib := func(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }
	sizes := worker.LargeSizes
	for name, texts := range map[string][]string{
		"README.md": {
			"for requests above " + kib(sizes.LargeRequestFrom) + " and sessions with replies above " + kib(sizes.HeavyFrom),
			"requests above " + mib(worker.StreamFrom) + " get an error", "a reply above " + mib(sizes.LargeReplyFrom) + " that a client takes slowly",
		},
		"conf/mithril.conf": {
			"# requests above " + kib(sizes.LargeRequestFrom) + ", of which those above " + mib(worker.StreamFrom) + " are passed on",
			"sessions whose replies are above " + kib(sizes.HeavyFrom),
		},
	} {
		bytes, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(bytes), text) {
				t.Errorf("%s does not say %q", name, text)
			}
		}
	}
}

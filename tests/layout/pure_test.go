package layout

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// importers are the packages that only some directories may import. The data path asks
// the kernel, the processor and raw memory through one package each.
var importers = map[string][]string{
	"syscall": {
		"src/sys",
		"cmd/mithril", // numbers of signals
		"bench", "tests", "tools",
	},
	"golang.org/x/sys/unix":                   {"src/sys", "bench", "tests", "tools"},
	"github.com/pawelgaczynski/giouring":      {"tests/uringabi"},
	"unsafe":                                  {"src/sys", "asm", "tests"},
	"github.com/klauspost/cpuid/v2":           {"asm/cpu"},
	"os/signal":                               {"cmd/mithril", "bench", "tests", "tools"},
	"github.com/redis/go-redis/v9":            {"tests/clients"},
	"github.com/redis/rueidis":                {"tests/clients"},
	"github.com/HdrHistogram/hdrhistogram-go": {"bench", "src/stats"},
}

var importersRule = rule{
	name:    "one package knows the kernel",
	applies: everyFile,
	check: func(s *source) (complaints []string) {
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if dirs, limited := importers[name]; limited && !slices.ContainsFunc(dirs, s.under) {
				complaints = append(complaints, s.complain(spec, "%s imports %s, which is for %v", s.dir, name, dirs))
			}
		}
		return complaints
	},
	bad: []example{
		{"src/worker/x.go", `package worker; import "golang.org/x/sys/unix"`},
		{"src/proxy/x.go", `package proxy; import "syscall"`},
		{"src/resp/x_test.go", `package resp; import _ "unsafe"`},
	},
}

func isMachine(s *source) bool {
	layer := layerOf(s.dir)
	return layer >= 0 && layer <= machineLayers && !s.isTest()
}

// impure are what reads a clock, waits, or takes part in concurrency, by package. An
// empty list is the whole package.
var impure = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"sync": {}, "os": {}, "net": {}, "log": {}, "context": {}, "crypto/rand": {},
}

// pureExceptions are the few places in the machines' layers that may do what the machines
// may not, and what that is.
var pureExceptions = map[string][]string{
	"src/stats/stats.go":    {"sync", "defer"}, // the board that others read
	"src/worker/survey.go":  {"sync", "defer"}, // commands about the proxy itself
	"src/script/library.go": {"sync"},          // what all workers have seen
	"src/command/table.go":  {"sync"},          // each version's table is built once in the process
}

var pureRule = rule{
	name:    "machines read no clock, start no goroutine, take no lock and do no I/O",
	applies: isMachine,
	check: func(s *source) (complaints []string) {
		excepted := func(what string) bool { return slices.Contains(pureExceptions[s.path], what) }
		packages := map[string]string{} // name in the file -> import path
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			members, known := impure[name]
			if !known || excepted(name) {
				continue
			}
			if len(members) == 0 {
				complaints = append(complaints, s.complain(spec, "import of %s", name))
			}
			local := name
			if spec.Name != nil {
				local = spec.Name.Name
			}
			packages[local] = name
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				what = "go"
			case *ast.DeferStmt:
				what = "defer"
			case *ast.SelectStmt:
				what = "select"
			case *ast.ChanType, *ast.SendStmt:
				what = "chan"
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					what = "chan"
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[packages[x.Name]], n.Sel.Name) {
					what = x.Name + "." + n.Sel.Name
				}
			}
			if what != "" && !excepted(what) {
				complaints = append(complaints, s.complain(n, "%s", what))
			}
			return true
		})
		return complaints
	},
	bad: []example{
		{"src/pipe/x.go", `package pipe; import "time"; var t = time.Now()`},
		{"src/pipe/x.go", `package pipe; import clock "time"; func f() { clock.Sleep(1) }`},
		{"src/slot/x.go", `package slot; func f() { go f() }`},
		{"src/buf/x.go", `package buf; var c chan int`},
		{"src/buf/x.go", `package buf; func f(c any) { <-c }`},
		{"src/worker/x.go", `package worker; import "sync"; var mu sync.Mutex`},
		{"src/worker/x.go", `package worker; import "net"; var a net.Conn`},
		{"src/session/x.go", `package session; func f() { defer f() }`},
	},
}

// formatters are the files of the machines' layers that may import fmt: what they do
// happens at start, when a map is read, or on the way to a panic.
var formatters = []string{
	"src/buf/arena.go", "src/ring/token.go", "src/command/extra.go", "src/command/parse.go", "src/command/reader.go",
	"src/command/table.go",
}

// formatterPackages have no part in serving a request, or only in those about the proxy
// itself.
var formatterPackages = []string{"src/admin", "src/conf", "src/topology"}

var formatRule = rule{
	name: "the data path does not format",
	applies: func(s *source) bool {
		return isMachine(s) && !slices.Contains(formatterPackages, s.dir) && !slices.Contains(formatters, s.path)
	},
	check: func(s *source) (complaints []string) {
		for _, spec := range s.file.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); name == "fmt" {
				complaints = append(complaints, s.complain(spec, "import of fmt"))
			}
		}
		return complaints
	},
	bad: []example{{"src/session/x.go", `package session; import "fmt"`}},
}

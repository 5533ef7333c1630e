package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// dataPath are the functions in which every request is served: a worker's turn, and the
// engines below it.
var dataPath = []string{"worker.Worker.Turn", "sys.Uring.Turn", "sys.Epoll.Turn"}

// exemption names functions that the data path leads to and that may do what it may not.
type exemption struct {
	why       string
	may       string // the one thing; "" is everything, in what they call too
	functions []string
}

var exemptions = []exemption{
	{"once per map of the cluster", "", []string{"worker.Worker.apply"}},
	{"commands about the proxy itself", "", []string{
		"worker.Worker.answerLocal", "worker.Worker.visited", "worker.Worker.told",
	}},
	{"once per connection of a client", "", []string{
		"worker.Worker.accepted", "worker.Worker.acceptEnded", "worker.Worker.serve", "worker.Worker.closeClient", "session.Session.login",
	}},
	{"once per connection to a node", "", []string{
		"sys.Uring.connect", "sys.Epoll.connect", "pipe.Pipe.Connected", "pipe.Pipe.greeted", "worker.Worker.greeted", "worker.Worker.pipeFailed",
		"worker.Worker.tellWhy", "worker.peer.why",
	}},
	{"once per node that a redirect or the map brings", "", []string{"worker.Worker.nodeAt"}},
	{"once per script that is new or that a node lacks", "", []string{
		"script.Library.Remember", "script.Library.AppendBody", "script.Library.Forget",
	}},
	{"once a second", "", []string{"worker.Worker.sweep"}},
	{"once a turn", "call of time.Since", []string{"sys.Now"}},
	{"for megabytes at once", "call of os.Getpagesize", []string{"sys.Region.Discard"}},
	{"doubles, up to a limit, and stays", "make", []string{"session.window.grow", "pipe.Pipe.grow", "sys.Uring.at", "sys.Epoll.at"}},
	{"a page of cells, which stays", "new", []string{"worker.slab.take"}},
	{"twice in a worker's life", "make", []string{"script.generation.add"}},
	{"an error of the proxy's own", "conversion", []string{
		"worker.Worker.answerError", "worker.Worker.answerLost", "worker.Worker.failRedirect", "worker.Worker.step",
		"fanout.refuse",
	}},
	{"a node that breaks the protocol", "concatenation", []string{"worker.Worker.redirected"}},
	{"a node that breaks the protocol, a few times a second at most", "", []string{"worker.node.warnMalformed"}},
}

// slowCalls are packages that the data path does not call at all, or not these functions
// of theirs: they format, lock, ask the system for the time, or make strings.
var slowCalls = map[string][]string{
	"context": {}, "errors": {}, "fmt": {}, "log": {}, "log/slog": {}, "net": {}, "os": {}, "reflect": {}, "regexp": {}, "sort": {}, "sync": {},
	"time":    impure["time"],
	"bytes":   {"Clone", "Fields", "Join", "Map", "Repeat", "Replace", "ReplaceAll", "Split", "ToLower", "ToUpper"},
	"strings": {"Clone", "Fields", "Join", "Map", "Repeat", "Replace", "ReplaceAll", "Split", "ToLower", "ToUpper", "WriteString"},
	"strconv": {"FormatFloat", "FormatInt", "FormatUint", "Itoa", "Quote"},
	"slices":  {"Clone", "Collect", "Concat", "Repeat", "Sorted"},
	"maps":    {"Clone", "Collect"},
}

// find is something in a function that the data path does not do.
type find struct {
	at   token.Position
	what string
}

// slow lists what a function does that the data path does not.
func (p *program) slow(f *types.Func) (finds []find) {
	s := search{program: p, passed: map[ast.Expr]bool{}, compared: map[ast.Expr]bool{}}
	p.inspect(p.bodies[f].Body, func(n ast.Node) {
		if what := s.slow(n); what != "" {
			finds = append(finds, find{p.fset.Position(n.Pos()), what})
		}
	})
	return finds
}

// search looks through one function. It comes to an expression after what that is part of.
type search struct {
	*program
	passed   map[ast.Expr]bool // as arguments
	compared map[ast.Expr]bool // or looked up
}

func (s *search) slow(n ast.Node) string {
	switch n := n.(type) {
	case *ast.DeferStmt:
		return "defer"
	case *ast.GoStmt:
		return "go"
	case *ast.SelectStmt, *ast.SendStmt:
		return "channel"
	case *ast.UnaryExpr:
		if _, ok := n.X.(*ast.CompositeLit); ok && n.Op == token.AND {
			return "new"
		}
		if n.Op == token.ARROW {
			return "channel"
		}
	case *ast.CompositeLit:
		switch s.typeOf(n).(type) {
		case *types.Slice, *types.Map:
			return "make"
		}
	case *ast.FuncLit:
		if !s.passed[n] { // one that is only passed on stays on the stack
			return "closure"
		}
	case *ast.IndexExpr:
		s.compared[n.Index] = true
		return s.slowMap(n.X)
	case *ast.RangeStmt:
		return s.slowMap(n.X)
	case *ast.SwitchStmt:
		s.compared[n.Tag] = true
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			s.compared[n.X], s.compared[n.Y] = true, true
		} else if s.info.Types[n].Value == nil && isString(s.typeOf(n)) {
			return "concatenation"
		}
	case *ast.CallExpr:
		return s.slowCall(n)
	case *ast.Ident:
		return s.slowName(n)
	}
	return ""
}

// slowMap: the key of such a map is hashed byte by byte.
func (s *search) slowMap(x ast.Expr) string {
	if m, ok := s.typeOf(x).(*types.Map); ok && isString(m.Key().Underlying()) {
		return "map of strings"
	}
	return ""
}

func (s *search) slowCall(call *ast.CallExpr) string {
	for _, argument := range call.Args {
		s.passed[argument] = true
	}
	switch {
	case s.isBuiltin(call.Fun, "make"):
		return "make"
	case s.isBuiltin(call.Fun, "new"):
		return "new"
	case s.isBuiltin(call.Fun, "append"):
		if first := s.info.Types[call.Args[0]]; first.IsNil() || s.isConversion(call.Args[0]) {
			return "make"
		}
	case s.isConversion(call):
		from := s.info.Types[call.Args[0]]
		copies := isString(s.typeOf(call)) != isString(s.typeOf(call.Args[0]))
		if copies && from.Value == nil && !s.compared[call] { // what is compared is not copied
			return "conversion"
		}
	}
	return ""
}

// slowName finds a function also where it is not called but passed on.
func (s *search) slowName(id *ast.Ident) string {
	if f, ok := s.info.Uses[id].(*types.Func); ok && f.Pkg() != nil {
		names, listed := slowCalls[f.Pkg().Path()]
		if listed && (len(names) == 0 || slices.Contains(names, f.Name())) {
			return "call of " + name(f)
		}
	}
	return ""
}

func (s *search) isConversion(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	return ok && s.info.Types[call.Fun].IsType()
}

func (s *search) typeOf(x ast.Expr) types.Type { return s.info.Types[x].Type.Underlying() }

func isString(t types.Type) bool {
	basic, ok := t.(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// complaints are the finds in all that the roots lead to, each with the way there, and the
// exemptions that nothing needs.
func (p *program) complaints(roots []string, exemptions []exemption) (all []string) {
	needed := map[string]bool{}
	exempt := func(function, what string) bool {
		found := slices.ContainsFunc(exemptions, func(e exemption) bool { return e.may == what && slices.Contains(e.functions, function) })
		needed[what+function] = needed[what+function] || found
		return found
	}
	from := p.reach(roots, func(function string) bool { return exempt(function, "") })
	for f := range from {
		for _, find := range p.slow(f) {
			if exempt(name(f), find.what) {
				continue
			}
			way := name(f)
			for caller := from[f]; caller != nil; caller = from[caller] {
				way = name(caller) + " > " + way
			}
			all = append(all, fmt.Sprintf("%s:%d: %s (%s)", find.at.Filename, find.at.Line, find.what, way))
		}
	}
	for _, e := range exemptions {
		for _, function := range e.functions {
			if !needed[e.may+function] {
				all = append(all, fmt.Sprintf("%s needs no exemption (%s)", function, e.why))
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestDataPath(t *testing.T) {
	p, err := loadProgram("src/worker", "src/sys")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.reach(dataPath, func(string) bool { return false })); n < 300 {
		t.Errorf("only %d functions found: the data path begins elsewhere", n)
	}
	for _, complaint := range p.complaints(dataPath, exemptions) {
		t.Error(complaint)
	}
}

// TestDataPathFinds shows that everything forbidden is found, on every kind of way, and
// nothing else.
func TestDataPathFinds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`func Turn() { defer Turn() }`, "defer"},
		{`func Turn() { go Turn() }`, "go"},
		{`func Turn() { select {} }`, "channel"},
		{`func Turn() { c <- 1 }; var c chan int`, "channel"},
		{`func Turn() { <-c }; var c chan int`, "channel"},
		{`func Turn() { _ = make([]byte, 1) }`, "make"},
		{`func Turn() { _ = []int{1} }`, "make"},
		{`func Turn() { _ = append([]byte(nil), 1) }`, "make"},
		{`func Turn() { _ = new(int) }`, "new"},
		{`type t struct{}; func Turn() { _ = &t{} }`, "new"},
		{`var f func(); func Turn() { f = func() {} }`, "closure"},
		{`var m map[string]int; func Turn() { _ = m["a"] }`, "map of strings"},
		{`type key string; var m map[key]int; func Turn() { for range m {} }`, "map of strings"},
		{`func Turn(a, b string) { _ = a + b }`, "concatenation"},
		{`func Turn(a []byte) { _ = string(a) }`, "conversion"},
		{`func Turn(a string) { _ = []byte(a) }`, "conversion"},
		{`import "fmt"; func Turn() { fmt.Println() }`, "call of fmt.Println"},
		{`import "time"; func Turn() { _ = time.Now() }`, "call of time.Now"},
		{`import "sync"; var mu sync.Mutex; func Turn() { mu.Lock() }`, "call of sync.Mutex.Lock"},
		{`import "strings"; func Turn() { _ = strings.ToLower("A") }`, "call of strings.ToLower"},
		{`import "log/slog"; func Turn(l *slog.Logger) { f := l.Warn; f("") }`, "call of slog.Logger.Warn"},

		{`func Turn() { f() }; func f() { go f() }`, "x.Turn > x.f"},
		{`type t[E any] struct{}; func (t[E]) f() { go Turn() }; func Turn() { t[int]{}.f() }`, "x.Turn > x.t.f"},
		{`type i interface { f() }; type t struct{}; func (*t) f() { go Turn() }; func Turn() { var v i; v.f() }`, "x.Turn > x.t.f"},
		{`var table = []func(){f}; func Turn() { table[0]() }; func f() { go f() }`, "x.Turn > x.f"},
		{`type t struct{}; var table = []func(t){t.f}; func Turn() { table[0](t{}) }; func (t) f() { go g() }; func g() {}`, "x.Turn > x.t.f"},

		{`func f() { go f() }; func Turn() {}`, ""},
		{`func Turn(a string) { panic("not " + a) }`, ""},
		{`type t struct{ a [2]int }; func Turn() { _ = t{[2]int{1, 2}} }`, ""},
		{`import "slices"; func Turn(a []int) { _ = slices.ContainsFunc(a, func(int) bool { return true }) }`, ""},
		{`var m [9]int; var n map[int]int; func Turn(i int) { _ = m[i] + n[i] }`, ""},
		{`func Turn(a []byte) bool { switch string(a) { case "b": }; return string(a) == "c" }`, ""},
		{`import "time"; func Turn(d time.Duration) { _ = d.Seconds() }`, ""},
		{`func Turn() { off() }; func off() { make_() }; func make_() { go off() }`, ""},
		{`func Turn() { maker(); off() }; func maker() { _ = make([]int, 1) }; func off() {}`, ""},
		{`func Turn() { maker(); off() }; func maker() { _ = new(int) }; func off() {}`, "new"},
		{`func Turn() { maker() }; func maker() { _ = make([]int, 1) }`, "x.off needs no exemption"},
	} {
		t.Run(c.text, func(t *testing.T) {
			p, err := parseProgram("package x; " + c.text)
			if err != nil {
				t.Fatal(err)
			}
			var exempt []exemption
			if strings.Contains(c.text, "off()") || strings.Contains(c.text, "maker()") {
				exempt = []exemption{{"never", "", []string{"x.off"}}}
			}
			if strings.Contains(c.text, "maker()") {
				exempt = append(exempt, exemption{"grows", "make", []string{"x.maker"}})
			}
			got := p.complaints([]string{"x.Turn"}, exempt)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, ""), c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

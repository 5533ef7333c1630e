package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the machines say into the scripts")

// changed counts the scripts that -rewrite has changed.
var changed int

func TestMain(m *testing.M) {
	code := m.Run()
	if *rewrite {
		fmt.Printf("%d scripts have changed\n", changed)
	}
	os.Exit(code)
}

// playAll plays every script of testdata/dir on a new machine each.
func playAll(t *testing.T, dir string, machine func(t *testing.T) map[string]Verb) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("testdata/%s has no scripts: %v", dir, err)
	}
	used := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		verbs := machine(t)
		for verb, do := range verbs {
			verbs[verb] = func(d *Directive) {
				used[verb] = true
				do(d)
			}
		}
		anew, problems := Play(name, string(text), verbs)
		if len(problems) == 0 && anew != string(text) {
			problems = []string{name + " has spaces or lines that -rewrite takes away"}
		}
		if *rewrite {
			if anew != string(text) {
				if err := os.WriteFile(name, []byte(anew), 0o644); err != nil {
					t.Fatal(err)
				}
				fmt.Println("changed:", name)
				changed++
			}
			_, problems = Play(name, anew, machine(t)) // those that no rewriting mends
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			for _, problem := range problems {
				t.Error(problem)
			}
		})
	}
	for verb := range machine(t) {
		if !used[verb] {
			t.Errorf("no script of testdata/%s uses the verb %s", dir, verb)
		}
	}
}

// TestEveryScriptIsPlayed finds scripts that no test knows.
func TestEveryScriptIsPlayed(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, e.Name())
	}
	want := []string{"fanout", "pipe", "redirect", "refresh", "resp", "session", "timer", "topology", "worker"}
	if !slices.Equal(dirs, want) {
		t.Errorf("testdata holds %v, the tests play %v", dirs, want)
	}
}

// toy is a machine that repeats what it is told.
func toy() map[string]Verb {
	return map[string]Verb{
		"echo": func(d *Directive) {
			line := strings.Join(d.Rest(), " ")
			for range d.Number("times", 1) {
				if line != "" {
					d.Say("%s", line)
				}
			}
			for _, line := range d.Input() {
				d.Say("input %s", Show(line))
			}
		},
		"assert": func(d *Directive) { panic("invariant broken: " + d.Word()) },
		"break":  func(d *Directive) { panic(os.ErrInvalid) },
		"blank":  func(d *Directive) { d.Say("%s", "") },
	}
}

const rightScript = `# A script.

echo times=2 a "b  c" \x41
----
a b  c A
a b  c A

# Input and no output.

echo
\{30}v\r\n
----
input \{30}v\r\n

echo times=0
----

assert "it holds"
----
panic: invariant broken: it holds
`

func TestRightScriptsHaveNoProblems(t *testing.T) {
	rewritten, problems := Play("right.txt", rightScript, toy())
	if len(problems) > 0 || rewritten != rightScript {
		t.Errorf("problems %q, rewritten as\n%s", problems, rewritten)
	}
}

// TestWrongScriptsAreReported shows that the scripts can fail, and that the complaint says
// where.
func TestWrongScriptsAreReported(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo a\n----\nb\n", "x.txt:1: echo a\n\ta\nwant\n\tb"},
		{"# one\n\necho a\n----\na\n\necho b\n----\n", "x.txt:7: echo b\n\tb\nwant\n\t"},
		{"echo times=0\n----\na\n", "x.txt:1: echo times=0\n\t\nwant\n\ta"},
		{"echo a\n", "x.txt:1: echo a\nhas no output yet"},
		{"eho a\n----\na\n", "x.txt:1: eho a: there is no verb eho"},
		{"----\na\n", "x.txt:1: ----: output without a directive"},
		{"echo times=x\n----\n", `x.txt:1: echo times=x: "x" is no whole number`},
		{"echo time=2 a\n----\na\n", "x.txt:1: echo time=2 a: the verb has no option time"},
		{"assert a b\n----\n", "x.txt:1: assert a b\n\tpanic: invariant broken: a\nwant\n\t"},
		{"assert\n----\n", "x.txt:1: assert: a word is missing"},
		{"blank\n----\n", `x.txt:1: blank: the verb says "", which is not a line of output`},
		{`echo "a` + "\n----\n", `x.txt:1: echo "a: no closing quote`},
		{`echo \q` + "\n----\n", `x.txt:1: echo \q: bad escape at "\\q", want \r, \n, \t, \\, \", \xHH or \{n}`},
	} {
		if _, problems := Play("x.txt", c.script, toy()); len(problems) != 1 || problems[0] != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.script, problems, c.want)
		}
	}
}

func TestVerbsTakeEverything(t *testing.T) {
	verbs := map[string]Verb{"none": func(*Directive) {}}
	for _, script := range []string{"none a\n----\n", "none a=1\n----\n", "none\ninput\n----\n"} {
		if _, problems := Play("x.txt", script, verbs); len(problems) != 1 {
			t.Errorf("%q: problems %q", script, problems)
		}
	}
}

// TestRewriteIsIdempotent writes a sloppy script anew, and that one again.
func TestRewriteIsIdempotent(t *testing.T) {
	sloppy := "\n# text   \necho a\n\necho b \n----\nc\n\n\n# end of it\necho\nin\n----\n\n\n"
	want := "\n# text\necho a\n----\na\n\necho b\n----\nb\n\n\n# end of it\necho\nin\n----\ninput in\n"
	once, problems := Play("x.txt", sloppy, toy())
	if len(problems) != 3 {
		t.Errorf("problems %q", problems)
	}
	twice, problems := Play("x.txt", once, toy())
	if len(problems) > 0 || twice != once || once != want {
		t.Errorf("problems %q, written first as\n%q, then as\n%q, want\n%q", problems, once, twice, want)
	}
}

// TestMistakesEndTheScript: a directive that cannot be carried out costs neither its output
// nor what follows, and is the only complaint.
func TestMistakesEndTheScript(t *testing.T) {
	for _, verb := range []string{"eho", "break"} {
		script := verb + " a\n----\na\n\necho b\n----\nwrong\n"
		rewritten, problems := Play("x.txt", script, toy())
		if rewritten != script || len(problems) != 1 || !strings.HasPrefix(problems[0], "x.txt:1: "+verb+" a: ") {
			t.Errorf("problems %q, rewritten as\n%s", problems, rewritten)
		}
	}
}

func TestShownBytesReadBack(t *testing.T) {
	for _, b := range []string{
		"", "a", " a ", "\r\n\t\\\"\x00\xff~", strings.Repeat("v", 19), strings.Repeat("v", 20), strings.Repeat(" ", 50),
		"a" + strings.Repeat("\r", 3000) + "b", `\{5}x`, "{5}x", "# x", "a  b",
	} {
		shown := Show([]byte(b))
		if got, err := Unescape(shown); err != nil || string(got) != b {
			t.Errorf("%q is shown as %s, which is %q, %v", b, shown, got, err)
		}
		if got, err := words("verb " + ShowWord(b)); err != nil || len(got) != 2 || got[1] != b {
			t.Errorf("the word %q is shown as %s, which is %q, %v", b, ShowWord(b), got, err)
		}
		if len(shown) > 40 {
			t.Errorf("%q is shown at length: %s", b, shown)
		}
	}
	for _, bad := range []string{`\`, `\x4`, `\xgg`, `\{}a`, `\{0}a`, `\{3}`, `\{9999999999}a`, `\{3a`, `\q`} {
		if b, err := Unescape(bad); err == nil {
			t.Errorf("%s is read as %q", bad, b)
		}
	}
}

func TestRequestsAreShownAsWords(t *testing.T) {
	for in, want := range map[string]string{
		"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n": "GET a|PING",
		"*2\r\n$3\r\nSET\r\n$3\r\na b\r\n":                   `SET "a b"`,
		"*2\r\n$3\r\nGET\r\n$0\r\n\r\n":                      `GET ""`,
		"*0\r\n*1\r\n$4\r\nPING\r\n":                         `*0\r\n|PING`,
		"PING\r\n":                                           `PING\r\n`,
		"*2\r\n$3\r\nGET\r\n":                                `*2\r\n$3\r\nGET\r\n`,
	} {
		if got := strings.Join(ShowRequests([]byte(in)), "|"); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
	if got := strings.Join(ShowReplies([]byte("+OK\r\n*1\r\n:1\r\n$3\r\nab")), "|"); got != `+OK\r\n|*1\r\n:1\r\n|$3\r\nab` {
		t.Errorf("replies are shown as %s", got)
	}
}

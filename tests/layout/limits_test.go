package layout

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// limitPackages are those whose exported constants with a name in Max are limits that somebody
// outside can reach.
var limitPackages = []string{"src/session", "src/pipe", "src/worker", "src/script"}

// notLimits are such constants that nobody is held to.
var notLimits = []string{"session.ScratchBytesMax"}

// TestLimitsAreThoseInForce: the figures of the README's limits are those of the constants that
// it names, and no limit is missing.
func TestLimitsAreThoseInForce(t *testing.T) {
	constants := constantsOf(t)
	named := map[string]bool{}
	for _, row := range limitRows(t) {
		place := row[len(row)-1]
		pkg, rest, _ := strings.Cut(strings.TrimPrefix(place, "`"), "`")
		var names []string
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(rest, -1) {
			names = append(names, name[1])
		}
		for _, name := range names {
			full := pkg + "." + name
			value, known := constants[full]
			if !known {
				t.Errorf("README.md names the limit %s, which is no constant", full)
				continue
			}
			named[full] = true
			if text := strings.Join(row[:3], " "); !slices.ContainsFunc(writings(value), func(w string) bool { return hasFigure(text, w) }) {
				t.Errorf("README.md does not say that %s is one of %q: %s", full, writings(value), text)
			}
		}
		if len(names) == 0 && !strings.HasPrefix(place, "`worker`,") {
			for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(place, -1) {
				if !hasKey(t, key[1]) {
					t.Errorf("README.md says that %s sets a limit, which is no key", key[1])
				}
			}
		}
	}
	for full := range constants {
		pkg, name, _ := strings.Cut(full, ".")
		if slices.Contains(limitPackages, "src/"+pkg) && token.IsExported(name) && strings.HasSuffix(name, "Max") && !named[full] && !slices.Contains(notLimits, full) {
			t.Errorf("README.md lacks the limit %s", full)
		}
	}
}

// limitRows are the cells of the table of limits.
func limitRows(t *testing.T) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## Limits\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for line := range strings.Lines(part) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "/"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		if len(row) != 4 {
			t.Fatalf("README.md: %d cells in %s", len(row), line)
		}
		rows = append(rows, row)
	}
	if len(rows) < 20 {
		t.Fatalf("README.md has %d limits: the table is not found", len(rows))
	}
	return rows
}

// constantsOf are the whole numbers among the constants of src's packages, as package.Name, that
// need nothing but their text and the units of time.
func constantsOf(t *testing.T) map[string]int64 {
	t.Helper()
	units := types.NewPackage("units", "units")
	for name, value := range map[string]int64{"second": 1e9, "millisecond": 1e6} {
		units.Scope().Insert(types.NewConst(token.NoPos, units, name, types.Typ[types.Int64], constant.MakeInt64(value)))
	}
	all := map[string]int64{}
	for _, s := range sources(t) {
		if !s.under("src") || s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				from, to := s.fset.Position(spec.Values[i].Pos()).Offset, s.fset.Position(spec.Values[i].End()).Offset
				got, err := types.Eval(token.NewFileSet(), units, token.NoPos, string(s.text[from:to]))
				if err != nil || got.Value == nil {
					continue
				}
				if value, exact := constant.Int64Val(constant.ToInt(got.Value)); exact {
					all[filepath.Base(s.dir)+"."+name.Name] = value
				}
			}
			return true
		})
	}
	return all
}

// writings are the ways in which a table may write a number.
func writings(value int64) (list []string) {
	digits := fmt.Sprint(value)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	list = append(list, digits)
	for _, unit := range []struct {
		size int64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if value%unit.size == 0 {
			list = append(list, fmt.Sprintf("%d %s", value/unit.size, unit.name))
		}
	}
	return list
}

// hasFigure finds a number that is no part of another one.
func hasFigure(text, figure string) bool {
	return regexp.MustCompile(`(^|[^\d,])` + regexp.QuoteMeta(figure) + `($|[^\w,]|,\D)`).MatchString(text)
}

// hasKey says that the sample configuration explains a key.
func hasKey(t *testing.T, key string) bool {
	t.Helper()
	sample, err := os.ReadFile(filepath.Join(root, "conf/mithril.conf"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^#? ?` + regexp.QuoteMeta(key) + ` `).Match(sample)
}

package layout

import (
	"testing"
)

// rule is one rule about Go files.
type rule struct {
	name    string
	applies func(*source) bool
	check   func(*source) []string
	bad     []example // files that the rule must complain about
}

type example struct{ path, text string }

var rules = []rule{
	layersRule, importersRule, pureRule, formatRule, fileLengthRule, functionLengthRule, skipRule, exportedRule, gofmtRule,
}

func everyFile(*source) bool { return true }

func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, s := range sources(t) {
				if !r.applies(s) {
					continue
				}
				for _, complaint := range r.check(s) {
					t.Error(complaint)
				}
			}
		})
	}
}

// TestRulesFind shows that every rule can fail.
func TestRulesFind(t *testing.T) {
	for _, r := range rules {
		if len(r.bad) == 0 {
			t.Errorf("the rule %q has no example of what it forbids", r.name)
		}
		for _, e := range r.bad {
			s, err := parse(e.path, []byte(e.text))
			if err != nil {
				t.Fatal(err)
			}
			if !r.applies(s) || len(r.check(s)) == 0 {
				t.Errorf("the rule %q accepts\n%s", r.name, e.text)
			}
		}
	}
}

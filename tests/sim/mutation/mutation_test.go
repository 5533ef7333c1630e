package mutation

import (
	"flag"
	"strings"
	"testing"
)

var all = flag.Bool("all", false, "try all mutants, not only the quick ones")

// TestMutantsAreNoticed expects each mutant to be noticed by the simulator.
func TestMutantsAreNoticed(t *testing.T) {
	const quickMin, allMin = 8, 16
	quick := 0
	for _, m := range mutants {
		if m.quick {
			quick++
		}
		if !*all && !m.quick {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			noticed := m.try(t)
			if noticed == "" {
				t.Fatalf("survives in src/%s: %s", m.file, m.harm)
			}
			t.Log(noticed)
		})
	}
	if quick < quickMin || len(mutants) < allMin {
		t.Errorf("%d mutants, %d quick ones: that proves little", len(mutants), quick)
	}
}

// TestMutantsFit expects the old text of every mutant in its file, the slow ones included.
func TestMutantsFit(t *testing.T) {
	names := map[string]bool{}
	for i := range mutants {
		m := &mutants[i]
		if _, err := m.mutated(); err != nil {
			t.Error(err)
		}
		if names[m.name] || m.harm == "" || m.old == m.new {
			t.Errorf("the mutant %q has the name of another one, no harm or no change", m.name)
		}
		names[m.name] = true
	}
}

// TestWhatIsNoDefectSurvives shows that a build is not taken for a mutant merely because
// it is built this way, and that mutants without a place are told.
func TestWhatIsNoDefectSurvives(t *testing.T) {
	same := mutant{name: "another word", file: "worker/worker.go", old: "// Turn waits", new: "// Turn lingers"}
	if noticed := same.try(t); noticed != "" {
		t.Errorf("a changed comment was noticed: %s", noticed)
	}
	for old, want := range map[string]string{"no such text": "no longer in src/worker/worker.go", "func": "times in src/worker/worker.go"} {
		lost := mutant{name: "lost", file: "worker/worker.go", old: old}
		if _, err := lost.mutated(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("old text %q: error %v", old, err)
		}
	}
	broken := mutant{name: "broken", file: "worker/worker.go", old: "package worker", new: "package"}
	if _, err := broken.build(t.TempDir()); err == nil || !strings.Contains(err.Error(), "does not build") {
		t.Errorf("a mutant that is no program: error %v", err)
	}
}

package sim

import (
	"strings"
	"testing"
)

// judged runs finish over one session and returns what it says.
func judged(requests ...*request) (verdict string) {
	defer func() {
		if f, ok := recover().(Failure); ok {
			verdict = f.Text
		}
	}()
	j := &judge{world: newWorld(1, nil), config: &Config{}, sessions: [][]*request{requests}}
	j.finish()
	return ""
}

func TestOrderIsJudged(t *testing.T) {
	set := func(key string, order int, asking bool, o outcome) *request {
		return &request{
			op: opSet, keys: []string{key}, slots: []uint16{slotOf(key)}, outcome: o,
			executions: []execution{{order: order, items: []int{0}, asking: asking}},
		}
	}
	for _, test := range []struct {
		name          string
		first, second *request
		right         bool
	}{
		{"in order", set("{a}1", 1, false, answered), set("{a}1", 2, false, answered), true},
		{"one key", set("{a}1", 2, false, answered), set("{a}1", 1, false, answered), false},
		{"one slot", set("{a}1", 2, false, answered), set("{a}2", 1, false, answered), false},
		{"two slots", set("{a}1", 2, false, answered), set("{b}1", 1, false, answered), true},
		{"one slot, after ASK", set("{a}1", 2, true, answered), set("{a}2", 1, false, answered), true},
		{"one key, after ASK", set("{a}1", 2, true, answered), set("{a}1", 1, false, answered), false},
		{"the first is lost", set("{a}1", 2, false, unknown), set("{a}1", 1, false, answered), true},
		{"the second is lost", set("{a}1", 2, false, answered), set("{a}1", 1, false, unknown), false},
	} {
		if verdict := judged(test.first, test.second); (verdict == "") != test.right || verdict != "" && !strings.Contains(verdict, "after") {
			t.Errorf("%s: %q", test.name, verdict)
		}
	}
}

package golden

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mithril/src/timer"
)

func TestTimer(t *testing.T) {
	playAll(t, "timer", func(*testing.T) map[string]Verb {
		w := &wheel{handles: map[string]timer.Handle{}}
		w.now = int64(time.Hour)
		w.Wheel = timer.New(w.now, 0)
		return map[string]Verb{"arm": w.arm, "cancel": w.cancel, "expire": w.expire, "follow": w.follow}
	})
}

// wheel is a timer wheel whose timers have names.
type wheel struct {
	*timer.Wheel
	now     int64
	names   []string // by payload
	handles map[string]timer.Handle
}

// arm sets a timer: its name, and how far ahead.
func (w *wheel) arm(d *Directive) {
	name := d.Word()
	w.handles[name] = w.Arm(w.now+int64(d.Duration()), uint64(len(w.names)))
	w.names = append(w.names, name)
}

// cancel takes timers back by their names. The handle of one that has fired is stale.
func (w *wheel) cancel(d *Directive) {
	for _, name := range d.Rest() {
		d.Say("%s was armed: %v", name, w.Cancel(w.handles[name]))
	}
}

// expire lets time pass at a stroke.
func (w *wheel) expire(d *Directive) {
	w.now += int64(d.Duration())
	w.fire(d, "fired")
}

// follow lets time pass as a worker does: it wakes when the wheel says, at the latest at the
// end.
func (w *wheel) follow(d *Directive) {
	start, end := w.now, w.now+int64(d.Duration())
	for w.now < end {
		at, ok := w.Next()
		if !ok || at > end {
			at = end
		}
		w.now = max(w.now, at)
		w.fire(d, "at "+time.Duration(w.now-start).String())
	}
}

// fire names the timers that are due. Those of one tick fire in no promised order.
func (w *wheel) fire(d *Directive, what string) {
	var names []string
	for _, payload := range w.Expire(w.now, nil) {
		names = append(names, w.names[payload])
	}
	slices.Sort(names)
	if len(names) == 0 {
		names = []string{"nothing"}
	}
	d.Say("%s: %s, %d armed", what, strings.Join(names, " "), w.Len())
}

//go:build giouring

package uringabi

import (
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// alias has the witness's names for our constants that it does not call the same, but for
// upper and lower case.
var alias = map[string]string{
	"cancelAll":        "AsyncCancelAll",
	"cancelAny":        "AsyncCancelAny",
	"cqeBuffer":        "CQEFBuffer",
	"cqeMore":          "CQEFMore",
	"probeOpSupported": "opSupported",
}

// younger are constants that Linux has had only since giouring was last changed. The
// engine tests of src/sys try what they stand for.
var younger = []string{
	"featMinTimeout", // 6.12
	"setupNoSQArray", // 6.6
}

func TestConstants(t *testing.T) {
	our, their := ours(t), giouring(t)
	if len(our.constants) < 30 {
		t.Errorf("found %d constants of ours: the source has moved", len(our.constants))
	}
	for _, name := range slices.Sorted(maps.Keys(our.constants)) {
		witness := find(their.constants, name, alias)
		unknown := slices.Contains(younger, name)
		switch {
		case len(witness) > 1:
			t.Errorf("%s could be any of %v", name, witness)
		case len(witness) == 1 && unknown:
			t.Errorf("%s is %s there: it is not younger", name, witness[0])
		case len(witness) == 0 && !unknown:
			t.Errorf("%s has no witness", name)
		case len(witness) == 1:
			if got, want := our.constants[name], their.constants[witness[0]]; !constant.Compare(got, token.EQL, want) {
				t.Errorf("%s is %v, %s.%s is %v", name, got, their.name, witness[0], want)
			}
		}
	}
	for _, name := range younger {
		if our.constants[name] == nil {
			t.Errorf("%s is no constant of ours any more", name)
		}
	}
}

// find returns the names in a set that may stand for ours.
func find[V any](in map[string]V, name string, alias map[string]string) (found []string) {
	if other := alias[name]; other != "" {
		name = other
	}
	for candidate := range in {
		if strings.EqualFold(candidate, name) {
			found = append(found, candidate)
		}
	}
	return found
}

// layout is a structure and its witness.
type layout struct {
	ours    string
	witness func(*testing.T) binding
	theirs  string
	alias   map[string]string // fields that are called otherwise there
}

var layouts = []layout{
	{"sqe", giouring, "SubmissionQueueEntry", map[string]string{"opFlags": "OpcodeFlags", "bufGroup": "BufIG", "fileIndex": "SpliceFdIn"}},
	{"cqe", giouring, "CompletionQueueEvent", nil},
	{"setupParams", giouring, "Params", map[string]string{"sq": "sqOff", "cq": "cqOff"}},
	{"sqOffsets", giouring, "SQRingOffsets", nil},
	{"cqOffsets", giouring, "CQRingOffsets", nil},
	{"eventsArg", giouring, "GetEventsArg", map[string]string{"sigmaskSize": "sigMaskSz", "minWaitUsec": "pad"}}, // 6.12
	{"bufRingEntry", giouring, "BufAndRing", nil},
	{"bufRingReg", giouring, "BufReg", map[string]string{"group": "Bgid", "flags": "Pad"}}, // 6.4
	{"probeOp", giouring, "ProbeOp", nil},
	{"probeSet", giouring, "Probe", nil},
	{"timespec", libc, "Timespec", nil},
	{"iovec", libc, "Iovec", nil},
	{"msghdr", libc, "Msghdr", nil},
}

func TestLayouts(t *testing.T) {
	our := ours(t)
	for name := range our.structs {
		if !slices.ContainsFunc(layouts, func(l layout) bool { return l.ours == name }) {
			t.Errorf("%s has no witness", name)
		}
	}
	for _, l := range layouts {
		t.Run(l.ours, func(t *testing.T) {
			got, want := our.structs[l.ours], l.witness(t).structs[l.theirs]
			if got == nil || want == nil {
				t.Fatalf("%s or its witness %s is gone", l.ours, l.theirs)
			}
			if got, want := sizes.Sizeof(got), sizes.Sizeof(want); got != want {
				t.Errorf("it has %d bytes, %s has %d", got, l.theirs, want)
			}
			places := fields(want)
			for name, got := range fields(got) {
				witness := find(places, name, l.alias)
				if len(witness) != 1 {
					t.Errorf("%s could be any of %v", name, witness)
				} else if want := places[witness[0]]; got != want {
					t.Errorf("%s is at %v, %s.%s at %v", name, got, l.theirs, witness[0], want)
				}
			}
		})
	}
}

// place is where a field lies in its structure, in bytes.
type place struct{ offset, size int64 }

// fields are the places of the fields that have names.
func fields(s *types.Struct) map[string]place {
	var all []*types.Var
	for i := range s.NumFields() {
		all = append(all, s.Field(i))
	}
	places := map[string]place{}
	for i, offset := range sizes.Offsetsof(all) {
		if name := all[i].Name(); name != "_" {
			places[name] = place{offset, sizes.Sizeof(all[i].Type())}
		}
	}
	return places
}

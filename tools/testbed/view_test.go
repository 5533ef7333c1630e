package testbed

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseView(t *testing.T) {
	const text = `bbb 127.0.0.1:7001@17001,host myself,master - 0 0 2 connected 5-9 12 [93->-ccc] [94-<-aaa]
aaa 127.0.0.1:7000@17000 slave,fail? bbb 0 1 2 connected
ccc :0@0 master,noaddr - 0 0 3 disconnected
`
	got, err := parseView(text)
	want := view{
		{id: "aaa", role: Replica, primary: "bbb", epoch: 2, failing: true},
		{id: "bbb", role: Primary, epoch: 2, slots: []SlotRange{{5, 9}, {12, 12}}, myself: true},
		{id: "ccc", role: Primary, epoch: 3, joining: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	if owner := got.owner(12); owner != "bbb" {
		t.Errorf("owner of slot 12 is %q, want bbb", owner)
	}
	if owner := got.owner(10); owner != "" {
		t.Errorf("owner of slot 10 is %q, want none", owner)
	}
	moved, err := parseView(strings.Replace(text, "5-9 12", "5-9", 1))
	if err != nil || moved.signature() == got.signature() {
		t.Errorf("views with different slots have the same signature %q, %v", got.signature(), err)
	}
}

func TestParseViewMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"aaa master":                   `CLUSTER NODES line "aaa master" has 2 fields, want 8 or more`,
		"a b master - 0 0 x connected": "configuration epoch",
		"a b master - 0 0 1 c 9-5":     `slot range "9-5" is not FIRST-LAST within 0..16383`,
		"a b master - 0 0 1 c 0-16384": `slot range "0-16384" is not FIRST-LAST within 0..16383`,
	} {
		if v, err := parseView(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want an error with %q", text, v, err, want)
		}
	}
}

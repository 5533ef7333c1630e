package conf

import (
	"reflect"
	"testing"
)

// TestContract_CONF2_ExtraCommands: a line is one command, its words in one or one by one; names are in lower case.
func TestContract_CONF2_ExtraCommands(t *testing.T) {
	get := Named{"m.get", []string{"-2", "readonly,fast", "1", "1", "1"}}
	size := Named{"m.size", []string{"1", "-", "0", "0", "0", "request_policy:all_shards", "response_policy:agg_sum"}}
	const sizeWords = "m.size 1 - 0 0 0 request_policy:all_shards response_policy:agg_sum"
	c := mustParse(t, boot+"extra-commands \"M.get -2  readonly,fast 1 1 1\"\nextra-commands "+sizeWords+"\n")
	if want := []Named{get, size}; !reflect.DeepEqual(c.ExtraCommands, want) {
		t.Errorf("read as %q, want %q", c.ExtraCommands, want)
	}
	if got, want := c.Get("extra-commands")[0].Value, "m.get -2 readonly,fast 1 1 1\n"+sizeWords; got != want {
		t.Errorf("shown as %q, want %q", got, want)
	}
	if again := mustParse(t, asFile(c)); !reflect.DeepEqual(again.ExtraCommands, c.ExtraCommands) {
		t.Errorf("read back as %q", again.ExtraCommands)
	}
	c = mustParse(t, boot+"extra-commands "+sizeWords, "--extra-commands", "m.get", "-2", "readonly,fast", "1", "1", "1")
	if want := []Named{get}; !reflect.DeepEqual(c.ExtraCommands, want) {
		t.Errorf("the command line's replace the file's: %q", c.ExtraCommands)
	}
	if c = mustParse(t, boot+"extra-commands "+sizeWords, "--extra-commands", ""); c.ExtraCommands != nil {
		t.Errorf("the command line takes the file's away: %q", c.ExtraCommands)
	}
}

func TestContract_CONF1_BadExtraCommands(t *testing.T) {
	const form = "expected name, arity, flags, first key, last key, step and tips of a command, in the order and with the words of COMMAND"
	runFaults(t, files{}, []faultTest{
		{text: boot + "extra-commands", want: "mithril.conf:2: extra-commands: no value; " + form},
		{text: boot + "extra-commands m.get -2", want: `mithril.conf:2: extra-commands "m.get -2": ` + form},
		{text: boot + "extra-commands get 2 - 1 1 1", want: `mithril.conf:2: extra-commands "get 2 - 1 1 1": expected a command that is not built in, not "get"`},
		{text: boot + `extra-commands "m.get x - 1 1 1"`, want: `mithril.conf:2: extra-commands "m.get x - 1 1 1": expected as arity an integer from -32768 to 32767, but not 0, instead of "x"`},
		{text: boot + "extra-commands m.get 2 - 1 1 1\nextra-commands M.GET 3 - 1 1 1", want: `mithril.conf:3: extra-commands "M.GET 3 - 1 1 1": expected each name once: m.get is already there`},
		{args: []string{"--bootstrap", "a:1", "--extra-commands", "m.get 2 - 2 1 1"}, want: `command line: --extra-commands "m.get 2 - 2 1 1": ` +
			`expected 0 0 0, or a first key from 1 on, a last one not before it or negative, and a step from 1 on; not "2 1 1"`},
	})
}

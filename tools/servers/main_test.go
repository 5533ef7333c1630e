package main

import (
	"strings"
	"testing"

	"mithril/tools/testbed"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range testbed.Engines {
		engine, err := testbed.Ensure(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{name + ": ", engine.Server, engine.CLI, engine.Benchmark} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the output lacks %q:\n%s", want, out.String())
			}
		}
	}
	const want = `unknown engine "redis6": known are valkey9.1, redis7.0, redis8.0`
	if err := run(t.Context(), []string{"redis6"}, &out); err == nil || err.Error() != want {
		t.Errorf("unknown engine: %v, want %q", err, want)
	}
}

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeModule makes a module with a target that holds, one that does not, and one in a
// package's external tests.
func writeModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n",
		"a/a.go": "package a\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc FuzzHolds(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }\n\n" +
			"func FuzzBreaks(f *testing.F) {\n\tf.Add([]byte(\"seed\"))\n" +
			"\tf.Fuzz(func(t *testing.T, b []byte) { t.Fatalf(\"broken by %q\", b) })\n}\n",
		"b/b.go":      "package b\n",
		"b/b_test.go": "package b_test\n\nimport \"testing\"\n\nfunc FuzzOutside(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }\n",
		"c/c.go":      "package c\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := writeModule(t)
	var out strings.Builder
	err := run(context.Background(), dir, []string{"./..."}, time.Second, &out)
	if err == nil || err.Error() != "1 of 3 targets failed: example/a.FuzzBreaks" {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"ok   example/a", "ok   example/b", "FAIL example/a", `broken by "seed"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestRunRefuses(t *testing.T) {
	dir := writeModule(t)
	for pattern, want := range map[string]string{"./c": "no fuzz targets in ./c", "./none": "go list ./none"} {
		err := run(context.Background(), dir, []string{pattern}, time.Millisecond, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", pattern, err, want)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(cancelled, dir, []string{"./..."}, time.Millisecond, &strings.Builder{}); err == nil {
		t.Error("a cancelled run succeeds")
	}
}

func TestArgs(t *testing.T) {
	if each, packages, err := parseArgs([]string{"-time", "5m", "./a", "./b"}); each != 5*time.Minute || len(packages) != 2 || err != nil {
		t.Errorf("%v, %v, %v", each, packages, err)
	}
	if each, packages, err := parseArgs(nil); each != 30*time.Second || len(packages) != 1 || err != nil {
		t.Errorf("without arguments: %v, %v, %v", each, packages, err)
	}
	for _, text := range []string{"abc", "30", "0s", "-1s"} {
		want := "time \"" + text + "\": expected a duration such as 30s or 5m"
		if _, _, err := parseArgs([]string{"-time", text}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

package conf

import (
	"io/fs"
	"strings"
	"testing"
)

// testCPUs is the number of CPUs of every test's machine.
const testCPUs = 4

// files is what read serves: path to content.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	content, found := f[path]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}

// parseFile parses text as mithril.conf with further arguments.
func parseFile(text string, args ...string) (*Config, error) {
	return Parse(append([]string{"mithril.conf"}, args...), testCPUs, files{"mithril.conf": text}.read)
}

func mustParse(t *testing.T, text string, args ...string) *Config {
	t.Helper()
	c, err := parseFile(text, args...)
	if err != nil {
		t.Fatalf("%s\n%s\n%v", text, args, err)
	}
	return c
}

// allAvailable lifts the limits of this build for one test, so that rules for
// keys that it refuses can be tested as well.
func allAvailable(t testing.TB) {
	saved := unavailable
	unavailable = nil
	t.Cleanup(func() { unavailable = saved })
}

// asFile writes c as a conf file that is read back to an equal Config. A secret
// that came from a file is left to its file.
func asFile(c *Config) string {
	var b strings.Builder
	for i := range keys {
		k := &keys[i]
		if fileKey := lookup(k.name + "-file"); k.secret && fileKey != nil && fileKey.kind.value(c) != "" {
			continue
		}
		for _, words := range k.kind.lines(c) {
			b.WriteString(k.name + " " + joinWords(words) + "\n")
		}
	}
	return b.String()
}

package debian

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is one package source of the machine: the part of a deb822 stanza
// or of a one-line entry (sources.list(5)) that says where a mirror is and
// how it is trusted.
type source struct {
	uri        string
	suites     []string
	components []string
	// signedBy and trusted are the values of Signed-By and Trusted as
	// written, "" when absent. An embedded key keeps its continuation lines.
	signedBy string
	trusted  string
}

// rollingSuites are the suite names that a machine may use in place of its
// release's code name.
var rollingSuites = []string{"stable", "testing", "unstable", "sid"}

// stanza returns s as a deb822 source for another suite of the same mirror,
// with nothing but the package index of component main.
func (s source) stanza(suite string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nTargets: Packages\n", s.uri, suite)
	if s.signedBy != "" {
		fmt.Fprintf(&b, "Signed-By: %s\n", s.signedBy)
	}
	if s.trusted != "" {
		fmt.Fprintf(&b, "Trusted: %s\n", s.trusted)
	}
	return b.String()
}

// findMirror returns the source that serves the machine's own Debian
// release: the first enabled one under etc (normally /etc) with component
// main and the suite of os-release's VERSION_CODENAME, or a rolling one.
func findMirror(etc string) (source, error) {
	sources, err := readSources(filepath.Join(etc, "apt"))
	if err != nil {
		return source{}, err
	}
	wanted := rollingSuites
	if name := codename(filepath.Join(etc, "os-release")); name != "" {
		wanted = append([]string{name}, rollingSuites...)
	}
	for _, suite := range wanted {
		for _, s := range sources {
			if slices.Contains(s.suites, suite) && slices.Contains(s.components, "main") {
				return s, nil
			}
		}
	}
	return source{}, fmt.Errorf("%s/apt has no enabled deb source with component main and suite %s: a Debian machine is needed",
		etc, strings.Join(wanted, " or "))
}

// codename returns VERSION_CODENAME of an os-release(5) file, "" if it has none.
func codename(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// readSources reads sources.list and the .list and .sources files of
// sources.list.d, in apt's order.
func readSources(apt string) ([]source, error) {
	paths := []string{filepath.Join(apt, "sources.list")}
	parts, err := os.ReadDir(filepath.Join(apt, "sources.list.d"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, part := range parts {
		paths = append(paths, filepath.Join(apt, "sources.list.d", part.Name()))
	}
	var all []source
	for _, path := range paths {
		parse := parseOneLine
		switch filepath.Ext(path) {
		case ".list":
		case ".sources":
			parse = parseDeb822
		default:
			continue
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, parse(string(text))...)
	}
	return all, nil
}

// parseOneLine reads "deb [option=value ...] uri suite component ..." lines.
func parseOneLine(text string) []source {
	var all []source
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		var s source
		rest = strings.TrimSpace(rest)
		if options, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(rest, "[") {
			rest = after
			for _, option := range strings.Fields(options[1:]) {
				switch key, value, _ := strings.Cut(option, "="); strings.ToLower(key) {
				case "signed-by":
					s.signedBy = strings.ReplaceAll(value, ",", " ")
				case "trusted":
					s.trusted = value
				}
			}
		}
		fields := strings.Fields(rest)
		if len(fields) < 3 {
			continue
		}
		s.uri, s.suites, s.components = fields[0], fields[1:2], fields[2:]
		all = append(all, s)
	}
	return all
}

// parseDeb822 reads stanzas of "Field: value" lines with continuation lines.
func parseDeb822(text string) []source {
	var all []source
	fields := map[string]string{}
	last := ""
	flush := func() {
		if slices.Contains(strings.Fields(fields["types"]), "deb") && !isNo(fields["enabled"]) {
			for _, uri := range strings.Fields(fields["uris"]) {
				all = append(all, source{
					uri:        uri,
					suites:     strings.Fields(fields["suites"]),
					components: strings.Fields(fields["components"]),
					signedBy:   fields["signed-by"],
					trusted:    fields["trusted"],
				})
			}
		}
		fields, last = map[string]string{}, ""
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				fields[last] += "\n" + line
			}
		default:
			key, value, _ := strings.Cut(line, ":")
			last = strings.ToLower(strings.TrimSpace(key))
			fields[last] = strings.TrimSpace(value)
		}
	}
	flush()
	return all
}

// isNo reports whether an apt boolean is written as false.
func isNo(value string) bool {
	return slices.Contains([]string{"no", "false", "without", "off", "disable"}, strings.ToLower(value))
}

package debian

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestParseDeb822(t *testing.T) {
	const text = `# a comment
Types: deb deb-src
# a comment inside
URIs: http://a.example/debian http://b.example/debian
Suites: bookworm
  bookworm-updates
Components: main contrib
Signed-By: /k.gpg

Types: deb
Enabled: no
URIs: http://off.example
Suites: bookworm
Components: main

Types: deb-src
URIs: http://src.example
Suites: bookworm
Components: main

Types: deb
URIs: http://c.example
Suites: x/
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
Trusted: yes
`
	suites, components := []string{"bookworm", "bookworm-updates"}, []string{"main", "contrib"}
	want := []source{
		{uri: "http://a.example/debian", suites: suites, components: components, signedBy: "/k.gpg"},
		{uri: "http://b.example/debian", suites: suites, components: components, signedBy: "/k.gpg"},
		{uri: "http://c.example", suites: []string{"x/"}, components: []string{},
			signedBy: "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc", trusted: "yes"},
	}
	if got := parseDeb822(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestParseOneLine(t *testing.T) {
	const text = `# deb http://off.example bookworm main
deb http://a.example/debian bookworm main contrib # why
deb-src http://src.example bookworm main
  deb  [ arch=amd64 signed-by=/k.gpg,/l.gpg trusted=yes ]   http://b.example  sid  main
deb http://short.example flat/
`
	want := []source{
		{uri: "http://a.example/debian", suites: []string{"bookworm"}, components: []string{"main", "contrib"}},
		{uri: "http://b.example", suites: []string{"sid"}, components: []string{"main"}, signedBy: "/k.gpg /l.gpg", trusted: "yes"},
	}
	if got := parseOneLine(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestStanza(t *testing.T) {
	s := source{uri: "http://a.example", suites: []string{"bookworm"}, components: []string{"main", "x"}, signedBy: "/k.gpg", trusted: "yes"}
	const want = "Types: deb\nURIs: http://a.example\nSuites: forky\nComponents: main\nTargets: Packages\nSigned-By: /k.gpg\nTrusted: yes\n"
	if got := s.stanza("forky"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFindMirror: the mirror is the source of the machine's own release, not
// the first of any kind.
func TestFindMirror(t *testing.T) {
	third := "deb http://third.example bookworm-pgdg main\ndeb http://other.example bookworm stable\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // uri, or the error
	}{
		{"deb822", map[string]string{
			"os-release":                     "ID=debian\nVERSION_CODENAME=bookworm\n",
			"apt/sources.list.d/a.list":      third,
			"apt/sources.list.d/b.sources":   "Types: deb\nURIs: http://main.example\nSuites: bookworm\nComponents: main\n",
			"apt/sources.list.d/c.list.save": "deb http://saved.example bookworm main\n",
		}, "http://main.example"},
		{"sources.list", map[string]string{
			"os-release":                "VERSION_CODENAME=\"trixie\"\n",
			"apt/sources.list":          "deb http://old.example bookworm main\ndeb http://main.example trixie main\n",
			"apt/sources.list.d/a.list": "deb http://rolling.example sid main\n",
		}, "http://main.example"},
		{"rolling", map[string]string{"apt/sources.list": "deb http://sid.example sid main\n"}, "http://sid.example"},
	} {
		etc := t.TempDir()
		writeFiles(t, etc, test.files)
		if s, err := findMirror(etc); err != nil || s.uri != test.want {
			t.Errorf("%s: %q, %v, want %s", test.name, s.uri, err, test.want)
		}
	}
	etc := t.TempDir()
	writeFiles(t, etc, map[string]string{"os-release": "VERSION_CODENAME=noble\n", "apt/sources.list": third})
	want := etc + "/apt has no enabled deb source with component main and suite noble or stable or testing or unstable or sid: a Debian machine is needed"
	if s, err := findMirror(etc); err == nil || err.Error() != want {
		t.Errorf("got %+v, %v, want the error %q", s, err, want)
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLibrary: shared libraries are kept, tools and Perl modules are not.
func TestLibrary(t *testing.T) {
	for name, want := range map[string]bool{
		"libc6": true, "zlib1g": true, "libssl3t64": true, "libstdc++6": true,
		"perl-base": false, "adduser": false, "gcc-14-base": false,
	} {
		if got := library.MatchString(name); got != want {
			t.Errorf("%s: library is %v", name, got)
		}
	}
}

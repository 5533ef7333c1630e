package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Request names the packages of one suite and where to unpack them.
type Request struct {
	Suite    string   // release code name, as bookworm
	Packages []string // package names; libraries they need are added
	Dir      string   // the tree is made here; must not exist yet
	Scratch  string   // existing empty directory for apt's state and the archives
	Log      func(format string, args ...any)
}

// Unpack downloads the packages with the libraries they need and unpacks
// them into req.Dir. It returns what was unpacked as "name version" lines.
func Unpack(ctx context.Context, req Request) ([]string, error) {
	mirror, err := findMirror("/etc")
	if err != nil {
		return nil, err
	}
	a := apt{dir: req.Scratch}
	if err := a.prepare(mirror.stanza(req.Suite)); err != nil {
		return nil, err
	}
	req.Log("reading the package index of %s", req.Suite)
	if _, err := a.run(ctx, "apt-get", "-q", "update"); err != nil {
		return nil, err
	}
	packages, err := a.solve(ctx, req.Packages)
	if err != nil {
		return nil, err
	}
	req.Log("downloading %d packages of %s", len(packages), req.Suite)
	if _, err := a.run(ctx, "apt-get", append([]string{"-q", "download"}, packages...)...); err != nil {
		return nil, err
	}
	archives, err := filepath.Glob(filepath.Join(req.Scratch, "*.deb"))
	if err != nil {
		return nil, err
	}
	if len(archives) != len(packages) {
		return nil, fmt.Errorf("apt-get download left %d archives for %d packages", len(archives), len(packages))
	}
	var unpacked []string
	for _, archive := range archives {
		name, err := a.run(ctx, "dpkg-deb", "--show", "--showformat=${Package} ${Version}", archive)
		if err != nil {
			return nil, err
		}
		unpacked = append(unpacked, name)
		if _, err := a.run(ctx, "dpkg", "-x", archive, req.Dir); err != nil {
			return nil, err
		}
	}
	return unpacked, nil
}

// apt runs apt and dpkg with all state they write under dir.
type apt struct{ dir string }

// aptConf is read after the machine's own configuration, whose proxies and
// credentials stay in force. The hooks are cleared because they act on the
// system; the sandbox user could not enter a directory under /root.
const aptConf = `Dir::State "%[1]s/state";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Etc::sourcelist "%[1]s/mirror.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`

// prepare lays out apt's private state with the one source stanza. The empty
// status file makes apt believe that nothing is installed, so that it
// resolves every library.
func (a apt) prepare(stanza string) error {
	for _, dir := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{
		"status":         "",
		"mirror.sources": stanza,
		"apt.conf":       fmt.Sprintf(aptConf, a.dir),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run runs an apt or dpkg program in a.dir and returns its standard output.
func (a apt) run(ctx context.Context, program string, args ...string) (string, error) {
	if strings.HasPrefix(program, "apt") {
		args = append([]string{"-c", filepath.Join(a.dir, "apt.conf")}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = a.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// library matches the names of Debian's shared-library packages. What else a
// dependency chain brings (account tools, init helpers, Perl) serves
// installing, which never happens here.
var library = regexp.MustCompile(`^z?lib[^/]*$`)

// installLine is a line of a simulated install: "Inst name (version ...".
var installLine = regexp.MustCompile(`(?m)^Inst ([^ ]+) `)

// solve lets apt resolve the dependencies and keeps the packages asked for
// and the libraries among the rest.
func (a apt) solve(ctx context.Context, wanted []string) ([]string, error) {
	out, err := a.run(ctx, "apt-get", append([]string{"--simulate", "install"}, wanted...)...)
	if err != nil {
		return nil, err
	}
	keep := append([]string(nil), wanted...)
	for _, match := range installLine.FindAllStringSubmatch(out, -1) {
		if name := match[1]; library.MatchString(name) && !strings.HasSuffix(name, "-perl") {
			keep = append(keep, name)
		}
	}
	if len(keep) == len(wanted) {
		return nil, errors.New("apt-get --simulate install named no library: its output has no \"Inst lib...\" line")
	}
	return keep, nil
}

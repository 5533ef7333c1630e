package process

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mithril/src/conf"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContract_CONF1_Errors(t *testing.T) {
	const seed = "127.0.0.1:1"
	file := write(t, "bad.conf", "bootstrap 127.0.0.1:1\n\n# seconds\ntimeout soon\n")
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"nothing":           {nil, []string{"bootstrap: missing", "host:port"}},
		"unknown key":       {[]string{"--bootstrap", seed, "--bootstrop", "x"}, []string{"bootstrop", "did you mean bootstrap"}},
		"bad value":         {[]string{"--bootstrap", seed, "--port", "70000"}, []string{"--port", `"70000"`, "between 0 and 65535"}},
		"bad line":          {[]string{file}, []string{file + ":4:", "timeout", `"soon"`, "between"}},
		"no such file":      {[]string{"/nonexistent/mithril.conf"}, []string{"/nonexistent/mithril.conf"}},
		"not built":         {[]string{"--bootstrap", seed, "--backend-sharding", "auto"}, []string{`"auto"`, "accepted: no"}},
		"secret":            {[]string{"--bootstrap", seed, "--backend-auth-pass", "hush", "hush"}, []string{"backend-auth-pass (redacted)"}},
		"no such directory": {[]string{"--bootstrap", seed, "--logfile", "/nonexistent/log"}, []string{"logfile", "/nonexistent/log"}},
		"no such CPU":       {[]string{"--bootstrap", seed, "--worker-threads", "1", "--worker-cpus", "1000"}, []string{"worker-cpus: this process may not use CPU 1000", "expected some of"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, append(test.args, portArgs(t, test.args)...)...)
			for _, want := range test.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("standard error lacks %q:\n%s", want, got.stderr)
				}
			}
			if got.status != 1 || strings.Contains(got.stderr, "hush") {
				t.Errorf("status %d, standard error %q", got.status, got.stderr)
			}
		})
	}
}

// portArgs names a free port, unless the arguments are about the port.
func portArgs(t *testing.T, args []string) []string {
	for _, arg := range args {
		if arg == "--port" {
			return nil
		}
	}
	return []string{"--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t))}
}

// A port that is taken tells whether the program has tried to listen: a fault of the
// configuration must be found before.
func TestContract_CONF1_FaultsComeBeforeListening(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, _ := net.SplitHostPort(busy.Addr().String())
	args := []string{"--bind", "127.0.0.1", "--port", port, "--bootstrap", "127.0.0.1:1"}
	if got := run(t, args...); got.status != 1 || !strings.Contains(got.stderr, busy.Addr().String()) {
		t.Fatalf("a busy port: status %d, standard error %q", got.status, got.stderr)
	}
	logged := write(t, "mithril.log", "")
	if got := run(t, append(args, "--logfile", logged)...); got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, busy.Addr().String()) ||
		!strings.Contains(read(t, logged), `msg="not started" part=proxy reason="`+strings.TrimSuffix(got.stderr, "\n")+`"`) {
		t.Errorf("a busy port with a log file: %+v, and in the log\n%s", got, read(t, logged))
	}
	for _, fault := range [][]string{{"--timeout", "soon"}, {"--worker-threads", "1", "--worker-cpus", "1000"}, {"--logfile", "/nonexistent/log"}} {
		got := run(t, append(args, fault...)...)
		if got.status != 1 || got.stderr == "" || strings.Contains(got.stderr, port) {
			t.Errorf("%v: status %d, standard error %q, which shall not be about the port", fault, got.status, got.stderr)
		}
	}
	if got := run(t, append(args, "--check")...); got.status != 0 || got.stdout != "the configuration is valid\n" {
		t.Errorf("--check with a busy port: %+v", got)
	}
}

func TestContract_CONF1_Actions(t *testing.T) {
	sample := "../../../conf/mithril.conf"
	if got := run(t, "--check", sample); got != (ended{"the configuration is valid\n", "", 0}) {
		t.Errorf("--check of the sample: %+v", got)
	}
	if got := run(t, "--check", sample, "--timeout", "soon"); got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, `"soon"`) {
		t.Errorf("--check of a fault: %+v", got)
	}
	if got := run(t, "--version"); got.status != 0 || !strings.HasPrefix(got.stdout, "mithril ") || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("--version: %+v", got)
	}
	got := run(t, "--help")
	if got.status != 0 || got.stderr != "" || !strings.HasPrefix(got.stdout, "Usage: mithril [conf-file] [--key value]...\n") {
		t.Errorf("--help: %+v", got)
	}
	for _, kv := range conf.Default(1).Get("*") {
		if !strings.Contains(got.stdout, "\n  "+kv.Key) {
			t.Errorf("--help does not list %s", kv.Key)
		}
	}
}

func TestContract_CONF1_CommandLineWins(t *testing.T) {
	file := write(t, "some.conf", "# comment\nmaxclients 77\ntimeout 70\nbind 127.0.0.1\n")
	through(t, `exec "$program" '`+file+`' "$@"`)
	c := alone(t, harness.Auto, "--maxclients", "99").Dial(t)
	got := harness.MustDo(t, c, "CONFIG", "GET", "maxclients", "timeout")
	if want := []any{"maxclients", "99", "timeout", "70"}; !reflect.DeepEqual(got, want) {
		t.Errorf("CONFIG GET: %v, want %v", got, want)
	}
}

func TestContract_CONF3_Get(t *testing.T) {
	p := alone(t, harness.Auto, "--requirepass", "hush", "--backend-auth-pass", "quiet")
	c := p.DialFresh(t)
	harness.WantError(t, c, "NOAUTH Authentication required.", "CONFIG", "GET", "port")
	harness.MustDo(t, c, "AUTH", "hush")
	if got := harness.MustDo(t, c, "CONFIG", "GET", "nothing-*"); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("a pattern that matches nothing: %v", got)
	}
	got := harness.MustDo(t, c, "CONFIG", "GET", "TCP-keep*", "maxclients", "*clients", "requirepass", "*-auth-pass", "topology-pass")
	want := []any{"maxclients", "10000", "tls-auth-clients", "yes", "requirepass", "(redacted)", "tcp-keepalive", "300",
		"backend-auth-pass", "(redacted)", "topology-pass", ""}
	if !sameEntries(got, want) {
		t.Errorf("CONFIG GET of several patterns:\n%q, want\n%q", got, want)
	}
	harness.Hello(t, c, 3)
	all, ok := harness.MustDo(t, c, "CONFIG", "GET", "*").(testbed.Map)
	if !ok {
		t.Fatalf("CONFIG GET answers a RESP3 client %T, want a map", all)
	}
	for _, kv := range conf.Default(1).Get("*") {
		if _, listed := all.Get(kv.Key).(string); !listed {
			t.Errorf("CONFIG GET * does not list %s", kv.Key)
		}
	}
	if text := fmt.Sprint(all); strings.Contains(text, "hush") || strings.Contains(text, "quiet") {
		t.Errorf("CONFIG GET * shows a secret: %s", text)
	}
	harness.WantError(t, c, "ERR wrong number of arguments for 'config|get' command", "CONFIG", "GET")
}

// sameEntries compares flat lists of keys and values; their order is free.
func sameEntries(got any, want []any) bool {
	list, ok := got.([]any)
	return ok && len(list) == len(want) && reflect.DeepEqual(entries(list), entries(want))
}

func entries(list []any) map[any]any {
	m := map[any]any{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

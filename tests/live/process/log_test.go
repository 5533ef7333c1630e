package process

import (
	"regexp"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// logLine is time, level, event, and key=value details, the part or the worker among
// them.
var logLine = regexp.MustCompile(`^time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) ` +
	`level=(debug|verbose|notice|warning) msg=("(\\.|[^"\\])+"|\S+)( [a-z][a-z-]*=("(\\.|[^"\\])*"|[^\s"]*))*$`)

var logOrigin = regexp.MustCompile(` (part|worker)=\w+( |$)`)

func wantLogLines(t *testing.T, log string) {
	t.Helper()
	if strings.Count(log, "\n") < 4 {
		t.Errorf("the log has too few lines to be a log:\n%s", log)
	}
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if !logLine.MatchString(line) || !logOrigin.MatchString(line) {
			t.Errorf("not a line of the log: %s", line)
		}
	}
}

// TestContract_CONF5 makes a proxy log all it can about logins, good and bad ones, of
// clients and at nodes.
func TestContract_CONF5_NoSecretIsLogged(t *testing.T) {
	secrets := []string{"client-secret", "node-secret", "topology-secret", "wrong-secret"}
	cluster := one(t, testbed.Options{Password: "node-secret"})
	for name, args := range map[string][]string{
		"right":          {"--backend-auth-pass", "node-secret"},
		"wrong at nodes": {"--backend-auth-pass", "wrong-secret", "--topology-pass", "node-secret"},
		"wrong for maps": {"--backend-auth-pass", "node-secret", "--topology-user", "someone", "--topology-pass", "topology-secret"},
	} {
		t.Run(name, func(t *testing.T) {
			p := harness.Start(t, harness.Options{
				Password: "client-secret", Checked: true, NoWait: true,
				Args: append([]string{"--bootstrap", cluster.Addrs()[0], "--loglevel", "debug"}, args...),
			})
			c := p.DialFresh(t)
			for _, request := range [][]any{
				{"AUTH", "wrong-secret"}, {"AUTH", "someone", "wrong-secret"}, {"HELLO", "3", "AUTH", "default", "wrong-secret"},
				{"HELLO", "2", "AUTH", "default", "client-secret"}, {"SET", "a", "1"}, {"CONFIG", "GET", "*"}, {"INFO", "everything"},
			} {
				if _, err := c.Do(request...); err != nil {
					if _, isReply := err.(testbed.Error); !isReply {
						t.Fatalf("%v: %v", request, err)
					}
				}
			}
			c.Close()
			readAll(t, p.Addr, "*1\r\n$13\r\nclient-secret\r\n*1\r\n:client-secret\r\n")
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			wantLogLines(t, p.Log())
			for _, secret := range secrets {
				if strings.Contains(p.Log(), secret) {
					t.Errorf("the log holds %q:\n%s", secret, p.Log())
				}
			}
		})
	}
}

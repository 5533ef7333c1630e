package abuse

import (
	"errors"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// A server that does not know a command quotes it with its arguments. When that is what
// the proxy logs in with, neither clients nor the log may see it.
func TestContract_CONF5_PasswordOfNodesIsNotQuoted(t *testing.T) {
	const secret = "quite-a-secret"
	for _, hidden := range []string{"HELLO", "AUTH"} {
		t.Run(hidden, func(t *testing.T) {
			cluster := testbed.RunCluster(t, testbed.Options{
				Engine: testbed.Redis70, Primaries: 1, Replicas: testbed.NoReplicas,
				Config: []string{"user keeper on >" + secret + " ~* &* +@all", "rename-command " + hidden + ` ""`},
			})
			p := harness.Start(t, harness.Options{
				Cluster: cluster, NoWait: true, Checked: true, Args: []string{"--backend-auth-user", "keeper", "--backend-auth-pass", secret},
			})
			c := p.Dial(t)
			harness.Eventually(t, patience, "the proxy to meet the node", func() error {
				if _, err := c.Do("GET", "a"); err == nil || strings.Contains(err.Error(), secret) {
					t.Fatalf("GET: %v", err)
				}
				if !strings.Contains(p.Log(), "unknown command") {
					return errors.New("its log does not say so")
				}
				return nil
			})
			if strings.Contains(p.Log(), secret) {
				t.Error("the password is in the log")
			}
		})
	}
}

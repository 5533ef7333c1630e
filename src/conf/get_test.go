package conf

import (
	"reflect"
	"strings"
	"testing"
)

func TestContract_CONF3_Get(t *testing.T) {
	allAvailable(t)
	c := mustParse(t, boot+`
requirepass hunter2
user alice on >hunter2
user bob
query-buffer-limit 2mb
worker-cpus 7,2-5
batch-window-usecs 9
bind 127.0.0.1 ::1
logfile "a b"
unixsocketperm 0770
sentinel-user ""
cache-key-patterns "a b" c
sentinel-replicas ""
address-map a=b
address-map c:1=d:2`)
	want := map[string]string{
		"requirepass": "(redacted)", "user": "(redacted)", "backend-auth-pass": "", "query-buffer-limit": "2097152",
		"worker-cpus": "7,2-5", "batch-window-usecs": "9", "bind": "127.0.0.1 ::1", "logfile": "a b", "unixsocketperm": "770",
		"client-output-buffer-limit": "normal 1073741824 268435456 60 pubsub 33554432 8388608 60",
		"protected-mode":             "yes", "io-engine": "auto", "bootstrap": "a:1", "slowlog-log-slower-than": "-1",
		"cache-key-patterns": `"a b" c`, "address-map": "a=b c:1=d:2", "sentinel-replicas": "",
	}
	for name, value := range want {
		if got := c.Get(strings.ToUpper(name)); len(got) != 1 || got[0] != (KV{name, value}) {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	shards := mustParse(t, "shard a h:1 h:2\nshard \"b c\" h:3")
	if got := shards.Get("shard")[0].Value; got != "a h:1 h:2\n\"b c\" h:3" {
		t.Errorf("shard: %q", got)
	}
	names := func(patterns ...string) string {
		var found []string
		for _, kv := range c.Get(patterns...) {
			found = append(found, kv.Key)
		}
		return strings.Join(found, " ")
	}
	for patterns, want := range map[string]string{
		"port":                    "port",
		"max*":                    "maxclients max-redirects",
		"max* port MAXCLIENTS":    "port maxclients max-redirects",
		"acl*-[l-m]ax-??n nosuch": "acllog-max-len",
		"":                        "",
		"nosuch":                  "",
		"include":                 "",
	} {
		if got := names(strings.Fields(patterns)...); got != want {
			t.Errorf("%q: %s", patterns, got)
		}
	}
	if got := c.Get("*"); len(got) != len(keys) {
		t.Errorf("* lists %d keys of %d", len(got), len(keys))
	}
	for _, kv := range c.Get("*") {
		if strings.Contains(kv.Value, "hunter2") {
			t.Errorf("%s shows a secret", kv.Key)
		}
	}
}

// TestContract_CONF3_GetIsReadBack gives the values that Get prints to the
// command line.
func TestContract_CONF3_GetIsReadBack(t *testing.T) {
	c := mustParse(t, boot+"query-buffer-limit 5m\nworker-cpus 0-6,9\nbatch-window-usecs 9\nbind ::1 127.0.0.1\nloglevel debug\n"+
		"address-map a=b c=d\nclient-output-buffer-limit normal 5m 1k 0\nlogfile \"a b\"\n")
	var args []string
	for _, kv := range c.Get("*") {
		words, _ := splitWords(kv.Value)
		if kv.Value == "" || kv.Key == "logfile" {
			words = []string{kv.Value}
		}
		args = append(append(args, "--"+kv.Key), words...)
	}
	again, err := Parse(args, 1, files{}.read)
	if err != nil {
		t.Fatal(err)
	}
	again.ConfFile = c.ConfFile
	if !reflect.DeepEqual(c, again) {
		t.Errorf("read back as\n%+v, want\n%+v", again, c)
	}
}

func TestContract_CONF3_LiveKeys(t *testing.T) {
	var live []string
	for i := range keys {
		if keys[i].live {
			live = append(live, keys[i].name)
		}
	}
	if got := strings.Join(live, " "); got != "acl-pubsub-default acllog-max-len loglevel slowlog-log-slower-than slowlog-max-len" {
		t.Errorf("live keys: %s", got)
	}
}

// TestKeyTable holds what the rest of the package takes for granted.
func TestKeyTable(t *testing.T) {
	for i := range keys {
		k := &keys[i]
		if lookup(k.name) != k || k.name != strings.ToLower(k.name) {
			t.Errorf("%s is not found under its name", k.name)
		}
		if k.help == "" || k.kind.accepts() == "" {
			t.Errorf("%s is not explained", k.name)
		}
		target, isFile := strings.CutSuffix(k.name, "-pass-file")
		if isFile && !lookup(target+"-pass").secret {
			t.Errorf("%s reads a key that is no secret", k.name)
		}
		if k.secret && k.name != "user" && lookup(k.name+"-file") == nil {
			t.Errorf("%s cannot come from a file", k.name)
		}
	}
	for _, check := range checks {
		for _, name := range check.keys {
			if lookup(name) == nil {
				t.Errorf("a check names %s, which is no key", name)
			}
		}
	}
}

func TestUsageNamesEveryKey(t *testing.T) {
	usage := Usage()
	for i := range keys {
		if !strings.Contains(usage, "\n  "+keys[i].name+" ") {
			t.Errorf("%s is missing", keys[i].name)
		}
	}
	for _, part := range []string{
		"--check", "--version", "--help",
		"  loglevel notice\n      least severe level that is logged\n      debug, verbose, notice or warning\n",
		"yes or no; not available in this build\n",
		"soft seconds; repeatable; not available in this build: pubsub\n",
		"no, yes or auto; in this build: no, yes\n",
	} {
		if !strings.Contains(usage, part) {
			t.Errorf("%q is missing", part)
		}
	}
}

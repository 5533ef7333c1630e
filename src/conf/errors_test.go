package conf

import (
	"strings"
	"testing"
)

// faultTest is a conf file (mithril.conf, unless args is set), and the exact
// lines of the error.
type faultTest struct {
	text string
	args []string
	want string
}

func runFaults(t *testing.T, tree files, tests []faultTest) {
	t.Helper()
	for _, test := range tests {
		args := test.args
		if args == nil {
			args = []string{"mithril.conf"}
		}
		tree["mithril.conf"] = test.text
		c, err := Parse(args, testCPUs, tree.read)
		switch {
		case err == nil:
			t.Errorf("accepted: %q %q", test.text, args)
		case c != nil:
			t.Errorf("%q %q: a Config together with the error %v", test.text, args, err)
		case err.Error() != test.want:
			t.Errorf("%q %q:\n%v\nwant\n%s", test.text, args, err, test.want)
		}
	}
}

func TestContract_CONF1_BadLines(t *testing.T) {
	const (
		addrs  = "expected host:port separated by commas"
		limits = "expected normal or pubsub, a hard size of at least 16kb, a soft size of at most that (0 = none), soft seconds"
		quotes = "unbalanced quotes; expected every quote closed and then a blank or the end of the line"
		word   = "expected one word, in quotes if it has blanks"
	)
	long := strings.Repeat("x", 200)
	runFaults(t, files{}, []faultTest{
		{text: boot + "worker-threads abc", want: `mithril.conf:2: worker-threads "abc": expected an integer between 1 and 1024`},
		{text: boot + "\n# x\n Worker-Threads 0\n", want: `mithril.conf:4: Worker-Threads "0": expected an integer between 1 and 1024`},
		{text: boot + "maxclients 100 200", want: `mithril.conf:2: maxclients "100 200": expected an integer between 1 and 1000000`},
		{text: boot + "maxclients 0100", want: `mithril.conf:2: maxclients "0100": expected an integer between 1 and 1000000`},
		{text: boot + "maxclients", want: `mithril.conf:2: maxclients: no value; expected an integer between 1 and 1000000`},
		{text: boot + `maxclients ""`, want: `mithril.conf:2: maxclients "": expected an integer between 1 and 1000000`},
		{text: boot + "port 65536", want: `mithril.conf:2: port "65536": expected an integer between 0 and 65535`},
		{text: boot + "protected-mode maybe", want: `mithril.conf:2: protected-mode "maybe": expected yes or no`},
		{text: boot + "loglevel info", want: `mithril.conf:2: loglevel "info": expected debug, verbose, notice or warning`},
		{text: boot + "io-engine iouring", want: `mithril.conf:2: io-engine "iouring": expected auto, io_uring or epoll`},
		{text: boot + "batch-window-usecs 1001", want: `mithril.conf:2: batch-window-usecs "1001": expected auto or an integer between 0 and 1000`},
		{text: boot + "worker-cpus 5-2", want: `mithril.conf:2: worker-cpus "5-2": expected CPU numbers up to 1023 such as 2-5,8, each once`},
		{text: boot + "worker-cpus 1024", want: `mithril.conf:2: worker-cpus "1024": expected CPU numbers up to 1023 such as 2-5,8, each once`},
		{text: boot + "worker-cpus 1,0-1", want: `mithril.conf:2: worker-cpus "1,0-1": expected CPU numbers up to 1023 such as 2-5,8, each once`},
		{text: boot + "query-buffer-limit 1mib", want: `mithril.conf:2: query-buffer-limit "1mib": expected a size between 1mb and 1024gb, in bytes or with k, kb, m, mb, g or gb`},
		{text: boot + "query-buffer-limit 1m", want: `mithril.conf:2: query-buffer-limit "1m": expected a size between 1mb and 1024gb, in bytes or with k, kb, m, mb, g or gb`},
		{text: boot + "tcp-keepalive 32768", want: `mithril.conf:2: tcp-keepalive "32768": expected an integer between 0 and 32767`},
		{text: boot + "unixsocketperm 888", want: `mithril.conf:2: unixsocketperm "888": expected an octal number between 0 and 777`},
		{text: boot + "unixsocketperm 1000", want: `mithril.conf:2: unixsocketperm "1000": expected an octal number between 0 and 777`},
		{text: boot + "client-output-buffer-limit normal 1gb", want: `mithril.conf:2: client-output-buffer-limit "normal 1gb": ` + limits},
		{text: boot + "client-output-buffer-limit normal 1mb 2mb 60", want: `mithril.conf:2: client-output-buffer-limit "normal 1mb 2mb 60": ` + limits},
		{text: boot + "client-output-buffer-limit replica 2mb 1mb 60", want: `mithril.conf:2: client-output-buffer-limit "replica 2mb 1mb 60": ` + limits},
		{text: boot + "client-output-buffer-limit normal 0 0 0", want: `mithril.conf:2: client-output-buffer-limit "normal 0 0 0": ` + limits},
		{text: boot + "bind localhost", want: `mithril.conf:2: bind "localhost": expected IPv4 or IPv6 addresses separated by blanks`},
		{text: boot + "bind ::1 1.2.3", want: `mithril.conf:2: bind "::1 1.2.3": expected IPv4 or IPv6 addresses separated by blanks, not "1.2.3"`},
		{text: boot + "bind ::1 0:0::1", want: `mithril.conf:2: bind "::1 0:0::1": expected each value once, not "0:0::1"`},
		{text: boot + `bind ""`, want: `mithril.conf:2: bind "": expected IPv4 or IPv6 addresses separated by blanks`},
		{text: boot + "announce-addr 0.0.0.0:7979", want: `mithril.conf:2: announce-addr "0.0.0.0:7979": expected host:port that clients can connect to`},
		{text: boot + "announce-addr [::]:7979", want: `mithril.conf:2: announce-addr "[::]:7979": expected host:port that clients can connect to`},
		{text: boot + "announce-addr host", want: `mithril.conf:2: announce-addr "host": expected host:port that clients can connect to`},
		{text: "bootstrap a", want: `mithril.conf:1: bootstrap "a": ` + addrs},
		{text: "bootstrap a:0", want: `mithril.conf:1: bootstrap "a:0": ` + addrs},
		{text: "bootstrap a:1 b:2", want: `mithril.conf:1: bootstrap "a:1 b:2": ` + addrs},
		{text: "bootstrap a:1,,b:2", want: `mithril.conf:1: bootstrap "a:1,,b:2": ` + addrs + `, not ""`},
		{text: "bootstrap a:1,::1:2", want: `mithril.conf:1: bootstrap "a:1,::1:2": ` + addrs + `, not "::1:2"`},
		{text: "bootstrap a:1,[1.2.3.4]:2", want: `mithril.conf:1: bootstrap "a:1,[1.2.3.4]:2": ` + addrs + `, not "[1.2.3.4]:2"`},
		{text: "bootstrap a:1,[b]:2", want: `mithril.conf:1: bootstrap "a:1,[b]:2": ` + addrs + `, not "[b]:2"`},
		{text: "bootstrap redis://a:1", want: `mithril.conf:1: bootstrap "redis://a:1": ` + addrs},
		{text: boot + "address-map a=b:1", want: `mithril.conf:2: address-map "a=b:1": expected from=to, both host:port or both only a host`},
		{text: boot + "address-map a=b\naddress-map a=b", want: `mithril.conf:3: address-map "a=b": expected each value once`},
		{text: boot + "address-map a=b\naddress-map a=c", want: `mithril.conf:3: address-map "a=c": expected each address once: a is mapped twice`},
		{text: boot + "logfile a b", want: `mithril.conf:2: logfile "a b": ` + word},
		{text: boot + "logfile a # b", want: `mithril.conf:2: logfile "a # b": ` + word},
		{text: boot + "logfile " + long + " b", want: `mithril.conf:2: logfile "` + long[:128] + `"...: ` + word},
		{text: boot + "user alice on\nuser alice off", want: `mithril.conf:3: user (redacted): expected each name once: alice is already there`},
		{text: boot + "shard s", want: `mithril.conf:2: shard "s": expected a name, then host:port of the primary and of each replica`},
		{text: boot + "shard s a:1 a:1", want: `mithril.conf:2: shard "s a:1 a:1": expected a name, then host:port of the primary and of each replica`},
		{text: boot + `maxclients "5`, want: `mithril.conf:2: maxclients: ` + quotes},
		{text: `bootstrap "a:1`, want: `mithril.conf:1: bootstrap: ` + quotes},
		{text: boot + `requirepass "abc"d`, want: `mithril.conf:2: requirepass: ` + quotes},
		{text: boot + `"port 1`, want: `mithril.conf:2: ` + quotes},
	})
}

func TestContract_CONF1_BadKeysAndFiles(t *testing.T) {
	const usage = "expected [conf-file] [--key value]..., --check, --version or --help"
	tree := files{"loop.conf": "include ./loop.conf", "a.conf": "include mithril.conf", "bad.conf": "bootstrap a:1\nport x", "empty": "\n", "a b": "port x"}
	runFaults(t, tree, []faultTest{
		{text: boot + "worker-thread 4", want: `mithril.conf:2: worker-thread: unknown key; did you mean worker-threads?`},
		{text: boot + "requirpass secret", want: `mithril.conf:2: requirpass: unknown key; did you mean requirepass?`},
		{text: boot + "prt 1", want: `mithril.conf:2: prt: unknown key; did you mean port?`},
		{text: boot + "databases 16", want: `mithril.conf:2: databases: unknown key; mithril --help lists the keys`},
		{text: boot + "a\x01\xff b", want: `mithril.conf:2: "a\x01\xff": unknown key; mithril --help lists the keys`},
		{text: boot + strings.Repeat("k", 100) + " 1", want: `mithril.conf:2: ` + strings.Repeat("k", 100) + `: unknown key; mithril --help lists the keys`},
		{text: boot + "port=1", want: `mithril.conf:2: port: expected a blank, not =, between key and value`},
		{text: "", want: `mithril.conf: bootstrap: missing; expected host:port separated by commas`},
		{text: `bootstrap ""`, want: `mithril.conf:1: bootstrap "": missing; expected host:port separated by commas`},
		{args: []string{}, want: `command line: bootstrap: missing; expected host:port separated by commas`},
		{args: []string{"--port", "x", "--bootstrap", "a:1"}, want: `command line: --port "x": expected an integer between 0 and 65535`},
		{args: []string{"--requirepass", "--bootstrap", "a:1"}, want: `command line: --requirepass: no value; expected one word, in quotes if it has blanks`},
		{args: []string{"--requirepass=hunter2", "--bootstrap", "a:1"}, want: `command line: --requirepass: expected a blank, not =, between key and value`},
		{args: []string{"--", "--bootstrap", "a:1"}, want: `command line: --"": unknown key; mithril --help lists the keys`},
		{args: []string{"-p", "1"}, want: `command line: -p: ` + usage},
		{args: []string{"mithril.conf", "other.conf"}, want: `command line: other.conf: ` + usage},
		{args: []string{""}, want: `command line: "": ` + usage},
		{args: []string{"--port", "1", "mithril.conf"}, want: "command line: --port \"1 mithril.conf\": expected an integer between 0 and 65535\n" +
			"command line: bootstrap: missing; expected host:port separated by commas"},
		{args: []string{"none.conf", "--port", "x"}, want: "none.conf: cannot be read: file does not exist\n" +
			`command line: --port "x": expected an integer between 0 and 65535`},
		{text: "include", want: "mithril.conf:1: include: expected the path of one file\n" +
			"mithril.conf: bootstrap: missing; expected host:port separated by commas"},
		{text: "include none.conf", want: `mithril.conf:1: include "none.conf": cannot be read: file does not exist`},
		{text: boot + "include loop.conf", want: `loop.conf:1: include "./loop.conf": the file includes itself`},
		{text: boot + `include "a b"`, want: `"a b":1: port "x": expected an integer between 0 and 65535`},
		{text: boot + "include a.conf", want: `a.conf:1: include "mithril.conf": the file includes itself`},
		{text: "include bad.conf", want: `bad.conf:2: port "x": expected an integer between 0 and 65535`},
		{text: boot + strings.Repeat("include empty\n", filesMax), want: `mithril.conf:65: include "empty": expected at most 64 files`},
		{text: boot + "requirepass-file none", want: `mithril.conf:2: requirepass-file "none": cannot be read: file does not exist`},
		{text: boot + "requirepass-file empty", want: `mithril.conf:2: requirepass-file "empty": expected a file that holds the secret, this one is empty`},
		{text: boot + "requirepass-file none none", want: `mithril.conf:2: requirepass-file "none none": expected one word, in quotes if it has blanks`},
		{text: boot + "requirepass-file none\nrequirepass-file none none", want: `mithril.conf:3: requirepass-file "none none": expected one word, in quotes if it has blanks`},
		{text: boot + "requirepass a\nrequirepass-file empty", want: `mithril.conf:3: requirepass-file "empty": expected requirepass or requirepass-file, not both`},
	})
}

func TestContract_CONF1_EveryFaultIsReported(t *testing.T) {
	text := "port x\nnonsense 1\nworker-threads 0\nworker-cpus 1\nbackend-auth-user u\nreply-cache yes\n"
	_, err := parseFile(text, "--timeout", "-1")
	const want = `mithril.conf:1: port "x": expected an integer between 0 and 65535
mithril.conf:2: nonsense: unknown key; mithril --help lists the keys
mithril.conf:3: worker-threads "0": expected an integer between 1 and 1024
command line: --timeout "-1": expected an integer between 0 and 2147483647
mithril.conf:6: reply-cache "yes": not available in this build; accepted: no
mithril.conf: bootstrap: missing; expected host:port separated by commas
mithril.conf:5: backend-auth-user "u": expected backend-auth-pass as well`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestTooManyFaults reads a file that is no conf file, twice.
func TestTooManyFaults(t *testing.T) {
	text := strings.Repeat("x\n", 2*faultsMax)
	_, err := Parse([]string{"mithril.conf", "--port", "x"}, testCPUs, files{"mithril.conf": "include a\ninclude a\n", "a": text}.read)
	faults, _ := err.(Errors)
	if len(faults) != faultsMax+2 {
		t.Fatalf("%d faults: %v", len(faults), err)
	}
	if got := faults[faultsMax-1].Error(); got != "a:100: x: unknown key; mithril --help lists the keys" {
		t.Error(got)
	}
	if got := faults[faultsMax+1].Error(); got != "mithril.conf: too many faults; the files were not read to their ends" {
		t.Error(got)
	}
}

func TestContract_CONF2_KeysThatDisagree(t *testing.T) {
	allAvailable(t)
	const (
		sentinel = "sentinel a:1\nsentinel-master m n\n"
		modes    = "expected exactly one of bootstrap, sentinel and shard, but "
	)
	runFaults(t, files{}, []faultTest{
		{text: boot + sentinel, want: `mithril.conf:2: sentinel "a:1": ` + modes + "bootstrap is set as well"},
		{text: "shard s a:1\n" + boot, want: `mithril.conf:1: shard "s a:1": ` + modes + "bootstrap is set as well"},
		{text: sentinel + "shard s a:1", want: `mithril.conf:3: shard "s a:1": ` + modes + "sentinel is set as well"},
		{text: boot + "port 0", want: `mithril.conf:2: port "0": nothing to listen on; expected an integer between 1 and 65535, or 0 with tls-port or unixsocket`},
		{text: boot + "worker-cpus 0-2", want: `mithril.conf:2: worker-cpus "0-2": names fewer CPUs than worker-threads 4; expected at least 4 CPUs, or worker-threads 3`},
		{text: boot + "topology-user u", want: `mithril.conf:2: topology-user "u": expected topology-pass as well`},
		{text: sentinel + "sentinel-user u", want: `mithril.conf:3: sentinel-user "u": expected sentinel-pass as well`},
		{text: "sentinel a:1", want: `mithril.conf: sentinel-master: missing; expected the name of each primary that the sentinels monitor`},
		{text: boot + "sentinel-master m", want: `mithril.conf:2: sentinel-master "m": expected sentinel as well`},
		{text: sentinel + "sentinel-shard n", want: `mithril.conf:3: sentinel-shard "n": expected every sentinel-master once: m n`},
		{text: sentinel + "sentinel-shard n o", want: `mithril.conf:3: sentinel-shard "n o": expected every sentinel-master once: m n`},
		{text: sentinel + "sentinel-replicas o b:1", want: `mithril.conf:3: sentinel-replicas "o b:1": expected the name of a sentinel-master, not "o"`},
		{text: sentinel + "sentinel-quorum 2", want: `mithril.conf:3: sentinel-quorum "2": expected at most the number of sentinels, 1`},
		{text: boot + "routing-mode connection", want: `mithril.conf:2: routing-mode "connection": expected command, or connection with sentinel or with a single shard`},
		{text: "shard s a:1\nshard t b:1\nrouting-mode connection", want: `mithril.conf:3: routing-mode "connection": expected command, or connection with sentinel or with a single shard`},
		{text: boot + "tls-port 1\ntls-cert-file c", want: `mithril.conf:2: tls-port "1": expected tls-cert-file and tls-key-file as well`},
	})
}

// TestContract_CONF2_Unavailable holds every row of the table: its default is
// accepted when written out, another value is refused.
func TestContract_CONF2_Unavailable(t *testing.T) {
	for _, row := range unavailable {
		if lookup(row.key) == nil {
			t.Fatalf("%s is no key", row.key)
		}
		var text string
		for _, words := range ofClass(row.class, lookup(row.key).kind.lines(Default(testCPUs))) {
			text += row.key + " " + joinWords(words) + "\n"
		}
		if text == "" {
			t.Errorf("%s has no lines of class %s", row.key, row.class)
		}
		mustParse(t, boot+text)
	}
	const nothing = `not available in this build; accepted: nothing, or ""`
	runFaults(t, files{}, []faultTest{
		{text: boot + "reply-cache yes", want: `mithril.conf:2: reply-cache "yes": not available in this build; accepted: no`},
		{text: boot + "backend-sharding auto", want: `mithril.conf:2: backend-sharding "auto": not available in this build; accepted: no, yes`},
		{text: boot, args: []string{"mithril.conf", "--backend-sharding", "auto"}, want: `command line: --backend-sharding "auto": not available in this build; accepted: no, yes`},
		{text: boot + "user alice on >pw ~*", want: `mithril.conf:2: user (redacted): ` + nothing},
		{text: boot + "sentinel a:1", want: `mithril.conf:2: sentinel "a:1": ` + nothing},
		{text: "shard s a:1", want: `mithril.conf:1: shard "s a:1": ` + nothing},
		{text: boot + "metrics-addr a:1", want: `mithril.conf:2: metrics-addr "a:1": ` + nothing},
		{text: boot + "slowlog-log-slower-than 0", want: `mithril.conf:2: slowlog-log-slower-than "0": not available in this build; accepted: -1`},
		{text: boot + "tls-port 7000", want: `mithril.conf:2: tls-port "7000": not available in this build; accepted: 0`},
		{text: boot + "client-output-buffer-limit pubsub 1mb 0 0", want: `mithril.conf:2: client-output-buffer-limit "pubsub 1mb 0 0": not available in this build; accepted: pubsub 33554432 8388608 60`},
	})
	for _, name := range []string{"hotkeys-sample 1", "pubsub-on-loss close", "cluster-emulated yes", "auth-mode passthrough", "routing-mode connection",
		"slave-mode replica_only", "unixsocket /s", "aclfile /a", "cache-key-patterns a*"} {
		if _, err := parseFile(boot + name); err == nil || !strings.Contains(err.Error(), "not available in this build") {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustParse(t, boot+"backend-sharding yes")
	mustParse(t, boot+"reply-cache yes\nreply-cache no\nclient-output-buffer-limit normal 1mb 0 0\n")
}

// TestContract_CONF5_NoSecretInErrors puts a secret where every secret key
// takes it and looks for it in the faults.
func TestContract_CONF5_NoSecretInErrors(t *testing.T) {
	for i := range keys {
		k := &keys[i]
		if !k.secret {
			continue
		}
		for _, value := range []string{"hunter2", "hunter2 more", `"hunter2`, `"" hunter2`, "=hunter2"} {
			if _, err := parseFile(strings.ReplaceAll(k.name+" "+value, " =", "=")); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s %s: %v", k.name, value, err)
			}
		}
	}
}

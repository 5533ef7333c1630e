package conf

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

const boot = "bootstrap a:1\n"

func TestContract_CONF2_Defaults(t *testing.T) {
	c := mustParse(t, boot)
	want := &Config{
		ConfFile: "mithril.conf",
		Bind:     []netip.Addr{netip.MustParseAddr("0.0.0.0")}, Port: 7979, MaxClients: 10000, TCPKeepaliveSecs: 300,
		ProtectedMode: true, QueryBufferLimit: 1 << 30, ShutdownTimeoutSecs: 5,
		OutputNormal: OutputLimit{Hard: 1 << 30, Soft: 256 << 20, SoftSecs: 60},
		OutputPubsub: OutputLimit{Hard: 32 << 20, Soft: 8 << 20, SoftSecs: 60},
		TLS:          TLS{AuthClients: TLSAuthYes, SessionCaching: true, SessionCacheSize: 20480, SessionCacheSecs: 300},

		WorkerThreads: testCPUs, IOEngine: IOEngineAuto, BatchWindow: BatchWindow{Auto: true}, Placement: PlacementLeastLoaded,

		BackendConns: 1, BackendSharding: BackendShardingNo, PrivateConnsPerNode: 512, MaxRedirects: 7,
		KeylessPicker: KeylessRoundRobin, SlaveMode: SlaveOff, ReplicaPick: ReplicaRandom, PubsubOnLoss: PubsubResubscribe,

		Bootstrap: []string{"a:1"}, TopologyRefreshSecs: 15, TopologyTimeoutMs: 2000,
		Sentinel: Sentinel{RefreshSecs: 5, TimeoutMs: 2000},
		Hash:     HashRedisCRC16, CrossShardReads: true, CrossShardWrites: true, RoutingMode: RoutingCommand, AuthMode: AuthProxy,

		ACLPubsubDefault: ACLAllChannels, ACLLogMaxLen: 128,
		ReplyCacheMaxBytes: 64 << 20, ReplyCacheMaxAgeSecs: 10,
		LogLevel: LogNotice, SlowlogLogUsecs: -1, SlowlogMaxLen: 128,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("defaults are\n%+v, want\n%+v", c, want)
	}
}

// TestContract_CONF2_EveryKey sets each key away from its default and looks at
// the field: no two keys may share one, none may be without effect.
func TestContract_CONF2_EveryKey(t *testing.T) {
	allAvailable(t)
	other := map[string]string{
		"bind": "::1 127.0.0.1", "announce-addr": "h:1", "unixsocketperm": "770", "query-buffer-limit": "2m",
		"client-output-buffer-limit": "pubsub 20000 0 0", "batch-window-usecs": "0", "worker-cpus": "4-7,1",
		"backend-auth-user": "u", "topology-user": "u", "sentinel-user": "u", "bootstrap": "n:1,[::1]:2",
		"address-map": "a=b c:1=d:2", "sentinel": "h:1 h:2 h:3", "sentinel-master": "one two", "sentinel-shard": "two one",
		"sentinel-replicas": "one h:1", "shard": "s h:1 h:2", "user": "alice on >pw", "reply-cache-max-bytes": "1mb",
		"cache-key-patterns": "a* b*", "metrics-addr": "h:1", "slowlog-log-slower-than": "0",
		"extra-commands": "m.get 2 readonly 1 1 1",
	}
	seen := map[string]string{}
	for i := range keys {
		k := &keys[i]
		words, _ := splitWords(other[k.name])
		if words == nil {
			words = []string{otherValue(k)}
		}
		c, base := Default(testCPUs), Default(testCPUs)
		k.kind.clear(c)
		if reason := k.kind.set(c, words); reason != "" {
			t.Errorf("%s %q: %s", k.name, words, reason)
			continue
		}
		changed := fmt.Sprintf("%+v", c)
		if reflect.DeepEqual(c, base) {
			t.Errorf("%s %q changes nothing", k.name, words)
		}
		if first := seen[changed]; first != "" {
			t.Errorf("%s and %s set the same field", first, k.name)
		}
		seen[changed] = k.name
		for j := range keys {
			if same := keys[j].kind.value(c) == keys[j].kind.value(base); same == (i == j) {
				t.Errorf("%s %q: value of %s is %q", k.name, words, keys[j].name, keys[j].kind.value(c))
			}
		}
	}
}

// otherValue guesses a value that k accepts and that is not its default.
func otherValue(k *key) string {
	want := k.kind.accepts()
	var low, high int
	switch n, _ := fmt.Sscanf(want, "an integer between %d and %d", &low, &high); {
	case n == 2 && k.def != fmt.Sprint(high):
		return fmt.Sprint(high)
	case strings.HasPrefix(want, "one word"):
		return "value of " + k.name
	case k.def != "no" && want == "yes or no":
		return "No"
	case want == "yes or no":
		return "YES"
	}
	words := strings.FieldsFunc(want, func(r rune) bool { return r == ',' || r == ' ' })
	return strings.ToUpper(words[len(words)-1])
}

func TestContract_CONF1_FileFormat(t *testing.T) {
	allAvailable(t)
	c := mustParse(t, "\n  # a comment\n#key value\n\tPORT  7000\r\n\"maxclients\" '17'\n"+
		`requirepass "a b\x41\"#"`+"\n"+
		"port 7001\nbootstrap c:3\nbootstrap a:1,b:2\nbind 1.1.1.1\nbind 127.0.0.1 ::1\n"+
		"user alice on >pw ~*\nuser bob off\n"+
		"client-output-buffer-limit normal 1gb 0 0\nclient-output-buffer-limit pubsub 1m 1k 5 NORMAL 2gb 1gb 60\nloglevel DEBUG")
	if c.Port != 7001 || c.MaxClients != 17 || c.RequirePass != `a bA"#` || c.LogLevel != LogDebug {
		t.Errorf("port %d, maxclients %d, requirepass %q, loglevel %v", c.Port, c.MaxClients, c.RequirePass, c.LogLevel)
	}
	if !reflect.DeepEqual(c.Bootstrap, []string{"a:1", "b:2"}) || fmt.Sprint(c.Bind) != "[127.0.0.1 ::1]" {
		t.Errorf("bootstrap %q, bind %v", c.Bootstrap, c.Bind)
	}
	if want := []Named{{"alice", []string{"on", ">pw", "~*"}}, {"bob", []string{"off"}}}; !reflect.DeepEqual(c.Users, want) {
		t.Errorf("users %q", c.Users)
	}
	if c.OutputNormal != (OutputLimit{2 << 30, 1 << 30, 60}) || c.OutputPubsub != (OutputLimit{1e6, 1000, 5}) {
		t.Errorf("output limits %v, %v", c.OutputNormal, c.OutputPubsub)
	}
}

func TestContract_CONF1_CommandLineWins(t *testing.T) {
	allAvailable(t)
	c := mustParse(t, boot+"port 1\nuser a\nuser b\nclient-output-buffer-limit pubsub 1gb 0 0\n",
		"--port", "2", "--user", "c", "on", "--user", "d", "--CLIENT-output-buffer-limit", "normal", "2gb", "0", "0",
		"--slowlog-log-slower-than", "-1", "--requirepass", `"a b"`)
	if c.Port != 2 || c.RequirePass != `"a b"` {
		t.Errorf("port %d, requirepass %q", c.Port, c.RequirePass)
	}
	if want := []Named{{"c", []string{"on"}}, {"d", nil}}; !reflect.DeepEqual(c.Users, want) {
		t.Errorf("users %q: the command line's replace the file's", c.Users)
	}
	if c.OutputNormal.Hard != 2<<30 || c.OutputPubsub.Hard != 1<<30 {
		t.Errorf("output limits %v, %v: each class by itself", c.OutputNormal, c.OutputPubsub)
	}
}

func TestContract_CONF1_Actions(t *testing.T) {
	bad := files{"mithril.conf": "nonsense"}
	for _, test := range []struct {
		args   string
		action Action
		file   string
	}{
		{"--version", ActionVersion, ""},
		{"--help", ActionHelp, ""},
		{"mithril.conf --version", ActionVersion, ""},
		{"--check --help", ActionHelp, ""},
		{"-x --nonsense --help", ActionHelp, ""},
		{"--check --bootstrap a:1", ActionCheck, ""},
		{"good.conf --check", ActionCheck, "good.conf"},
		{"--check good.conf", ActionCheck, "good.conf"},
		{"good.conf --port 1", ActionRun, "good.conf"},
	} {
		bad["good.conf"] = boot
		c, err := Parse(strings.Fields(test.args), testCPUs, bad.read)
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
		} else if c.Action != test.action || c.ConfFile != test.file {
			t.Errorf("%s: action %d, file %q", test.args, c.Action, c.ConfFile)
		}
	}
	if c, err := Parse([]string{"--check", "mithril.conf"}, testCPUs, bad.read); err == nil {
		t.Errorf("--check accepts a bad file: %+v", c)
	}
}

func TestContract_CONF1_Include(t *testing.T) {
	tree := files{
		"mithril.conf": "port 1\ninclude dir/a.conf\nmaxclients 1\n",
		"dir/a.conf":   "bootstrap a:1\nport 2\nmaxclients 2\ninclude b.conf",
		"b.conf":       "timeout 3",
	}
	c, err := Parse([]string{"mithril.conf", "--include", "b.conf", "--timeout", "4"}, testCPUs, tree.read)
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 2 || c.MaxClients != 1 || c.TimeoutSecs != 4 {
		t.Errorf("port %d, maxclients %d, timeout %d", c.Port, c.MaxClients, c.TimeoutSecs)
	}
}

func TestContract_CONF2_SecretFiles(t *testing.T) {
	tree := files{
		"mithril.conf": boot + "requirepass-file pw\nbackend-auth-user u\nbackend-auth-pass-file crlf\n",
		"pw":           " a b \n\n", "crlf": "x\r\n",
	}
	c, err := Parse([]string{"mithril.conf"}, testCPUs, tree.read)
	if err != nil {
		t.Fatal(err)
	}
	if c.RequirePass != " a b \n" || c.BackendAuthPass != "x" {
		t.Errorf("requirepass %q, backend-auth-pass %q", c.RequirePass, c.BackendAuthPass)
	}
}

func TestTopologyAndAnnounce(t *testing.T) {
	allAvailable(t)
	for text, want := range map[string]TopologyMode{
		boot:                                     TopologyCluster,
		"sentinel a:1\nsentinel-master m\n":      TopologySentinel,
		"shard s a:1\nrouting-mode connection\n": TopologyStatic,
	} {
		if got := mustParse(t, text).Topology(); got != want {
			t.Errorf("%q: topology %d", text, got)
		}
	}
	for text, want := range map[string]string{
		"":                        "0.0.0.0:7979",
		"bind ::1 1.2.3.4\n":      "[::1]:7979",
		"announce-addr a.b:6379 ": "a.b:6379",
	} {
		if got := mustParse(t, boot+text).Announce(); got != want {
			t.Errorf("%q: announced as %s", text, got)
		}
	}
}

func TestDefaultWorkers(t *testing.T) {
	for cpus, want := range map[int]int{0: 1, 1: 1, 1024: 1024, 5000: 1024} {
		if got := Default(cpus).WorkerThreads; got != want {
			t.Errorf("%d workers for %d CPUs, want %d", got, cpus, want)
		}
	}
}

func TestCPULists(t *testing.T) {
	for word, want := range map[string]string{
		"": "", "0": "0", "1,2": "1-2", "2-2": "2", "8,2-5,6,1": "8,2-6,1", "3,2,1": "3,2,1", "0-1023": "0-1023",
		"1,": "refused", ",": "refused", "-1": "refused", "1-": "refused", "1-2-3": "refused", "01": "refused", "a": "refused", "0-1024": "refused",
	} {
		cpus, ok := parseCPUs(word)
		got := printCPUs(cpus)
		if !ok {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q is read as %s, want %s", word, got, want)
		}
	}
}

// TestContract_CONF2_Sizes holds the units against redis.conf's.
func TestContract_CONF2_Sizes(t *testing.T) {
	for word, want := range map[string]int64{
		"0": 0, "5": 5, "5b": 5, "5B": 5, "1k": 1000, "1kb": 1024, "05m": 5e6, "5MB": 5 << 20, "1g": 1e9, "1Gb": 1 << 30,
		"9223372036854775807": 1<<63 - 1, "8589934591gb": 8589934591 << 30,
		"": -1, "mb": -1, "-1": -1, "+1": -1, "1.5gb": -1, "1 mb": -1, "1xb": -1, "1bb": -1, "1kbb": -1, "1_0": -1,
		"9223372036854775808": -1, "8589934592gb": -1, "99999999999999999999": -1,
	} {
		got, ok := parseSize(word)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d bytes, want %d", word, got, want)
		}
	}
}

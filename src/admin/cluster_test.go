package admin

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/src/topology"
)

var (
	valkey91 = command.Version{Engine: "valkey", Major: 9, Minor: 1}
	redis80  = command.Version{Engine: "redis", Major: 8, Minor: 0}
	redis70  = command.Version{Engine: "redis", Major: 7, Minor: 0}
)

// bulk reads the one string of a reply.
func bulk(t *testing.T, reply string) string {
	t.Helper()
	_, text, found := strings.Cut(reply, "\r\n")
	if !found || reply[0] != '$' {
		t.Fatalf("not a string: %q", reply)
	}
	return strings.TrimSuffix(text, "\r\n")
}

// TestContract_ROUTE9_ClusterAsOnServers compares the virtual node with a real one that
// owns every slot. Only the ids differ.
func TestContract_ROUTE9_ClusterAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		ids := []string{bulk(t, real.bytes("CLUSTER", "MYID")), bulk(t, own.bytes("CLUSTER", "MYID"))}
		if own.table.LookupFull([]byte("cluster|myshardid")) != nil {
			ids = append(ids, bulk(t, real.bytes("CLUSTER", "MYSHARDID")), bulk(t, own.bytes("CLUSTER", "MYSHARDID")))
		}
		toOwn := strings.NewReplacer(ids...)
		for _, request := range [][]string{
			{"CLUSTER", "NODES"}, {"CLUSTER", "SLOTS"}, {"CLUSTER", "SHARDS"}, {"CLUSTER", "INFO"}, {"CLUSTER", "LINKS"},
			{"CLUSTER", "MYID"}, {"cluster", "nodes"},
			{"CLUSTER", "KEYSLOT", "foo{bar}{zap}"}, {"CLUSTER", "KEYSLOT", ""}, {"CLUSTER", "KEYSLOT", "\x00\xff"},
			{"ROLE"},
		} {
			equal(t, request, own.bytes(request...), toOwn.Replace(real.bytes(request...)))
		}
	})
}

// TestContract_ROUTE9_ReplicasAsOnServers: the virtual node has no replicas, nobody says that it has
// failed, and there is no other node.
func TestContract_ROUTE9_ReplicasAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, name := range []string{"REPLICAS", "SLAVES", "COUNT-FAILURE-REPORTS", "replicas"} {
			ofReal := real.bytes("CLUSTER", name, bulk(t, real.bytes("CLUSTER", "MYID")))
			ofOwn := own.bytes("CLUSTER", name, bulk(t, own.bytes("CLUSTER", "MYID")))
			equal(t, []string{"CLUSTER", name, "its own id"}, ofOwn, ofReal)
			for _, id := range []string{strings.Repeat("a", 40), "", "a\r\nb\x00c", "%s\xff", strings.Repeat("x", 1000)} {
				request := []string{"CLUSTER", name, id}
				equal(t, request, own.bytes(request...), real.bytes(request...))
			}
		}
	})
}

// TestContract_ROUTE9_HostNameAsOnServers compares a host name as announce-addr with a
// node that prefers to be called by its name.
func TestContract_ROUTE9_HostNameAsOnServers(t *testing.T) {
	const name = "proxy.example"
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		port := own.Conf.Announce()[len(liveHost)+1:]
		changed := *own.Conf
		changed.AnnounceAddr = name + ":" + port
		own.Conf = &changed
		for key, value := range map[string]string{"ip": "", "hostname": name} {
			equal(t, []string{key}, real.bytes("CONFIG", "SET", "cluster-announce-"+key, value), "+OK\r\n")
		}
		real.bytes("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
		defer func() {
			real.bytes("CONFIG", "SET", "cluster-preferred-endpoint-type", "ip")
			real.bytes("CONFIG", "SET", "cluster-announce-hostname", "")
			real.bytes("CONFIG", "SET", "cluster-announce-ip", liveHost)
		}()
		ids := []string{bulk(t, real.bytes("CLUSTER", "MYID")), bulk(t, own.bytes("CLUSTER", "MYID"))}
		if own.table.LookupFull([]byte("cluster|myshardid")) != nil {
			ids = append(ids, bulk(t, real.bytes("CLUSTER", "MYSHARDID")), bulk(t, own.bytes("CLUSTER", "MYSHARDID")))
		}
		// A node writes nothing in place of an address that it does not know, or repeats
		// that it does not know it. The proxy has a name that can be connected to.
		toOwn := strings.NewReplacer(append(ids,
			"*2\r\n$2\r\nip\r\n$0\r\n\r\n", "*0\r\n", "%1\r\n$2\r\nip\r\n$0\r\n\r\n", "%0\r\n",
			" :"+port, " "+name+":"+port, "$108", "$121", "=112", "=125")...)
		for _, request := range [][]string{{"CLUSTER", "SLOTS"}, {"CLUSTER", "SHARDS"}, {"CLUSTER", "NODES"}} {
			equal(t, request, own.bytes(request...), toOwn.Replace(real.bytes(request...)))
		}
	})
}

// TestContract_ROUTE9_IDIsStable: the id follows from the address alone.
func TestContract_ROUTE9_IDIsStable(t *testing.T) {
	id := func(options string) string { return bulk(t, newRig(t, redis70, options).bytes("CLUSTER", "MYID")) }
	here := id("--announce-addr 10.1.2.3:7979")
	if want := "b04d86171cf49a2bc5fae1dc37a4d7ce7b161a6d"; here != want {
		t.Errorf("got %s, want %s as in every earlier version", here, want)
	}
	if there := id("--announce-addr 10.1.2.4:7979"); there == here {
		t.Error("two addresses have one id")
	}
	if again := id("--announce-addr 10.1.2.3:7979 --port 6379 --maxclients 5"); again != here {
		t.Error("the id changes with other keys")
	}
	r := newRig(t, valkey91, "--announce-addr 10.1.2.3:7979")
	shard := bulk(t, r.bytes("CLUSTER", "MYSHARDID"))
	if shard == here || !regexp.MustCompile("^[0-9a-f]{40}$").MatchString(shard) || len(here) != 40 {
		t.Errorf("ids of the node %q and of its shard %q", here, shard)
	}
}

// TestContract_ROUTE9_StateFollowsTheMap: ok while every slot has an owner.
func TestContract_ROUTE9_StateFollowsTheMap(t *testing.T) {
	r := newRig(t, redis70, "")
	complete := *r.slots
	partial := complete
	partial.Covered = 16383
	for _, step := range []struct {
		slots *topology.Snapshot
		want  string
	}{
		{&complete, "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\n"},
		{&partial, "cluster_state:fail\r\ncluster_slots_assigned:16383\r\ncluster_slots_ok:16383\r\n"},
		{nil, "cluster_state:fail\r\ncluster_slots_assigned:0\r\ncluster_slots_ok:0\r\n"},
	} {
		r.slots = step.slots
		if reply := r.bytes("CLUSTER", "INFO"); !strings.Contains(reply, "\r\n"+step.want) {
			t.Errorf("got %q, want %q", reply, step.want)
		}
		if nodes := r.bytes("CLUSTER", "NODES"); !strings.HasSuffix(nodes, " connected 0-16383\n\r\n") {
			t.Errorf("the virtual node does not own every slot: %q", nodes)
		}
	}
}

// TestContract_ROUTE9_AddressCanBeDialled: which host clients are told.
func TestContract_ROUTE9_AddressCanBeDialled(t *testing.T) {
	for _, c := range []struct {
		options string
		local   string // where the client has reached the proxy
		host    string
		nodes   string // as CLUSTER NODES writes it
	}{
		{"--announce-addr 10.1.2.3:7000", "10.0.0.1:7979", "10.1.2.3", "10.1.2.3:7000@17000"},
		{"--announce-addr [2001:db8::1]:7000", "10.0.0.1:7979", "2001:db8::1", "2001:db8::1:7000@17000"},
		{"--announce-addr proxy.example:7000", "10.0.0.1:7979", "proxy.example", "proxy.example:7000@17000,proxy.example"},
		{"--announce-addr 10.1.2.3:60000", "10.0.0.1:7979", "10.1.2.3", "10.1.2.3:60000@0"},
		{"--bind 10.1.2.3", "10.0.0.1:7979", "10.1.2.3", "10.1.2.3:7979@17979"},
		{"--port 7000", "10.0.0.1:7979", "10.0.0.1", "10.0.0.1:7000@17000"},
		{"--bind ::", "[::ffff:10.0.0.1]:7979", "10.0.0.1", "10.0.0.1:7979@17979"},
		{"", "127.0.0.1:7979", "127.0.0.1", "127.0.0.1:7979@17979"},
		{"--bind ::", "[::1]:7979", "::1", "::1:7979@17979"},
		{"", "", "", ":7979@17979"},
	} {
		r := newRig(t, valkey91, c.options)
		r.self.Local, _ = netip.ParseAddrPort(c.local)
		if got := strings.Fields(bulk(t, r.bytes("CLUSTER", "NODES")))[1]; got != c.nodes {
			t.Errorf("%q at %s: CLUSTER NODES has %q, want %q", c.options, c.local, got, c.nodes)
		}
		snapshot, err := topology.Parse([]byte(r.bytes("CLUSTER", "SLOTS")), []byte(r.bytes("CLUSTER", "SHARDS")), topology.Source{Host: "asked"})
		if err != nil {
			t.Fatal(err)
		}
		host := c.host
		if host == "" {
			host = "asked"
		}
		if got := snapshot.Nodes[0].Names[0].Host; got != host || !snapshot.Complete() {
			t.Errorf("%q at %s: CLUSTER SLOTS and SHARDS have %q and %d slots, want %q and all", c.options, c.local, got, snapshot.Covered, host)
		}
	}
}

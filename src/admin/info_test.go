package admin

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mithril/src/stats"
	"mithril/src/topology"
	"mithril/tools/testbed"
)

var fields = strings.Fields

// infoText is the text of a reply to INFO in either protocol.
func infoText(t *testing.T, reply string) string {
	t.Helper()
	switch v := parse(t, reply).(type) {
	case string:
		return v
	case testbed.Verbatim:
		if v.Format != "txt" {
			t.Errorf("verbatim string of format %q", v.Format)
		}
		return v.Text
	}
	t.Fatalf("not a text: %q", reply)
	return ""
}

// parsedInfo holds the titles of INFO in their order, and title/name -> value.
type parsedInfo struct {
	titles []string
	fields map[string]string
}

func parseInfo(t *testing.T, reply string) parsedInfo {
	t.Helper()
	info := parsedInfo{fields: map[string]string{}}
	text := infoText(t, reply)
	if text == "" {
		return info
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n\r\n") {
		lines := strings.Split(part, "\r\n")
		title, ok := strings.CutPrefix(lines[0], "# ")
		if !ok {
			t.Fatalf("section without title: %q", part)
		}
		info.titles = append(info.titles, title)
		for _, line := range lines[1:] {
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				t.Fatalf("line without colon: %q", line)
			}
			info.fields[title+"/"+name] = value
		}
	}
	return info
}

// ownFields are the fields that no server has.
var ownFields = []string{
	"Server/mithril_version", "Server/redis_mode", "Stats/client_output_buffer_limit_disconnections", "Stats/redirections", "Stats/redirect_waits", "Stats/readers_exited",
	"Stats/writers_exited", "Stats/sessions_closed", "Stats/batch_window_usecs", "Stats/window_probes", "Stats/window_keeps",
	"Stats/window_reverts", "Mithril/io_engine", "Mithril/worker_threads", "Mithril/backend_conns_per_node", "Mithril/backend_sharding",
	"Mithril/slave_mode", "Mithril/reply_cache", "Mithril/worker_commands", "Mithril/backend_conns", "Mithril/private_conns",
	"Mithril/backend_sends", "Mithril/backend_replies", "Mithril/handed_over", "Mithril/backend_dials", "Mithril/backend_lost",
}

// ownSection is the section that no server has.
const ownSection = "Mithril"

// TestContract_OBS1_InfoAsOnServers: the sections asked for come as a server orders them,
// their fields are fields that it has, and what is fixed has its value.
func TestContract_OBS1_InfoAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, request := range []string{
			"INFO", "INFO server", "INFO SERVER", "INFO cpu clients", "INFO stats cpu stats nosuch", "INFO nosuch", "INFO default cpu",
			"info all", "INFO everything", "INFO Cluster replication persistence",
		} {
			got, want := parseInfo(t, own.bytes(fields(request)...)), parseInfo(t, real.bytes(fields(request)...))
			if last := len(got.titles) - 1; last > 0 && got.titles[last] == ownSection {
				got.titles = got.titles[:last] // behind all others
			}
			titles := slices.DeleteFunc(want.titles, func(title string) bool {
				return !slices.ContainsFunc(sections, func(s section) bool { return s.title == title })
			})
			if !slices.Equal(got.titles, titles) {
				t.Errorf("%s: sections %q, want %q", request, got.titles, titles)
			}
			for name := range got.fields {
				if strings.HasPrefix(name, "Commandstats/") {
					continue
				}
				if _, found := want.fields[name]; !found && !slices.Contains(ownFields, name) {
					t.Errorf("%s: %s is no field of the server", request, name)
				}
			}
		}
		equal(t, fields("INFO nosuch"), own.bytes("INFO", "nosuch"), real.bytes("INFO", "nosuch"))

		got, want := parseInfo(t, own.bytes("INFO")), parseInfo(t, real.bytes("INFO"))
		for _, name := range []string{
			"Server/redis_version", "Server/server_name", "Server/valkey_version", "Server/server_mode", "Server/arch_bits", "Server/tcp_port",
			"Persistence/loading", "Persistence/async_loading", "Replication/role", "Replication/connected_slaves", "Cluster/cluster_enabled",
		} {
			if got.fields[name] != want.fields[name] {
				t.Errorf("%s is %q, want %q", name, got.fields[name], want.fields[name])
			}
		}
	})
}

// TestReadmeExplainsOwnFields: the top README has a row for each of them and for no other.
func TestReadmeExplainsOwnFields(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## INFO\n")
	part, _, _ = strings.Cut(part, "\n## ")
	var explained, own []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(part, -1) {
		explained = append(explained, row[1])
	}
	for _, name := range ownFields {
		own = append(own, name[strings.Index(name, "/")+1:])
	}
	slices.Sort(explained)
	slices.Sort(own)
	if !slices.Equal(explained, own) {
		t.Errorf("README.md explains\n%v, INFO has\n%v", explained, own)
	}
}

// TestContract_OBS1_Fields: the names that operators rely on, and their values.
func TestContract_OBS1_Fields(t *testing.T) {
	r := newRig(t, redis70, "--port 7777 --worker-threads 5 --maxclients 100")
	r.Engine, r.MaxClients = "epoll", 90 // fewer than are configured
	r.now = 90_061_000_000_000           // a day, an hour, a minute and a second
	r.CPU = func() (sys, user float64) { return 1.5, 2.25 }
	r.workers[0].counted = stats.Snapshot{Clients: 3, Backends: 26, Private: 27, Window: 125_999, Counters: stats.Counters{
		Connections: 11, Commands: 12, NetInput: 13, NetOutput: 14, ErrorReplies: 15, Rejected: 16, Redirections: 17, RedirectWaits: 18,
		ReadersExited: 19, WritersExited: 20, Closed: 21, WindowProbes: 22, WindowKeeps: 23, WindowReverts: 24, OutputClosed: 25,
	}}
	got := parseInfo(t, r.bytes("INFO")).fields
	for name, want := range map[string]string{
		"Server/redis_version": "7.0.1", "Server/redis_mode": "cluster", "Server/mithril_version": got["Server/mithril_version"],
		"Server/process_id": "4321", "Server/tcp_port": "7777", "Server/uptime_in_seconds": "90061", "Server/uptime_in_days": "1",
		"Server/config_file": "", "Server/os": "Linux 6.1 x86_64", "Server/run_id": strings.Repeat("a", 40),
		"Clients/connected_clients": "3", "CPU/used_cpu_sys": "1.500000", "CPU/used_cpu_user": "2.250000",
		"Stats/total_connections_received": "11", "Stats/total_commands_processed": "12", "Stats/total_net_input_bytes": "13",
		"Stats/total_net_output_bytes": "14", "Stats/total_error_replies": "15", "Stats/rejected_connections": "16",
		"Stats/redirections": "17", "Stats/redirect_waits": "18", "Stats/readers_exited": "19", "Stats/writers_exited": "20",
		"Stats/sessions_closed": "21", "Stats/batch_window_usecs": "125", "Stats/window_probes": "22", "Stats/window_keeps": "23",
		"Stats/window_reverts": "24", "Stats/client_output_buffer_limit_disconnections": "25", "Mithril/backend_conns": "26", "Mithril/private_conns": "27",
		"Mithril/io_engine": "epoll", "Mithril/worker_threads": "1", "Clients/maxclients": "90", "Cluster/cluster_enabled": "1", "Replication/role": "master", "Persistence/loading": "0",
	} {
		if value, found := got[name]; !found || value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	if got["Server/mithril_version"] == "" {
		t.Error("mithril_version is empty")
	}
	r.Memory = func() (heap, resident uint64) { return 1000, 5 << 20 }
	r.workers[0].counted = stats.Snapshot{Blocks: 2072, Rate: 77, Counters: stats.Counters{
		BackendSends: 1, BackendReplies: 2, HandedOver: 3, BackendDials: 4, BackendLost: 5,
	}}
	got = parseInfo(t, r.bytes("INFO")).fields
	for name, want := range map[string]string{
		"Memory/used_memory": "3072", "Memory/used_memory_human": "3.00K", "Memory/used_memory_rss": "5242880", "Memory/used_memory_rss_human": "5.00M",
		"Memory/maxmemory": "0", "Memory/maxmemory_human": "0B", "Memory/maxmemory_policy": "noeviction", "Stats/instantaneous_ops_per_sec": "77",
		"Mithril/backend_sends": "1", "Mithril/backend_replies": "2", "Mithril/handed_over": "3", "Mithril/backend_dials": "4", "Mithril/backend_lost": "5",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	r.CPU = nil
	if cpu := infoText(t, r.bytes("INFO", "cpu")); cpu != "# CPU\r\nused_cpu_sys:0.000000\r\nused_cpu_user:0.000000\r\n" {
		t.Errorf("without CPU: %q", cpu)
	}
}

// TestContract_OBS1_TotalsOverWorkers: what the workers have counted is added up, and told apart where that says more.
func TestContract_OBS1_TotalsOverWorkers(t *testing.T) {
	r := newRig(t, redis70, "")
	r.workers = make([]tellingWorker, 3)
	for i := range r.workers {
		r.workers[i].counted = stats.Snapshot{
			Clients: 1 << i, Backends: 4 << i, Private: 2 << i, Window: int64(i) * 125_000, Counters: stats.Counters{Commands: 100 << i},
		}
	}
	got := parseInfo(t, r.bytes("INFO")).fields
	for name, want := range map[string]string{
		"Clients/connected_clients": "7", "Stats/total_commands_processed": "700", "Mithril/backend_conns": "28", "Mithril/private_conns": "14",
		"Mithril/worker_threads": "3", "Mithril/worker_commands": "100,200,400",
		"Stats/batch_window_usecs": "250", // the longest
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// TestContract_OBS1_Commandstats: the calls of all workers, of subcommands too, for who asks for them.
func TestContract_OBS1_Commandstats(t *testing.T) {
	r := newRig(t, redis70, "")
	r.workers = make([]tellingWorker, 3)
	r.workers[0].calls = map[string]uint64{"get": 5, "client|list": 1}
	r.workers[2].calls = map[string]uint64{"get": 3, "set": 2}
	const want = "# Commandstats\r\ncmdstat_client|list:calls=1\r\ncmdstat_get:calls=8\r\ncmdstat_set:calls=2\r\n"
	for _, request := range []string{"INFO commandstats", "INFO COMMANDSTATS nosuch"} {
		if got := infoText(t, r.bytes(fields(request)...)); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	for request, shown := range map[string]bool{"INFO": false, "INFO default": false, "INFO all": true, "INFO default everything": true, "INFO default commandstats": true} {
		if got := strings.Contains(infoText(t, r.bytes(fields(request)...)), want); got != shown {
			t.Errorf("%s shows it: %v, want %v", request, got, shown)
		}
	}
	r.workers = make([]tellingWorker, 1)
	if got := infoText(t, r.bytes("INFO", "commandstats")); got != "# Commandstats\r\n" {
		t.Errorf("before the first command: %q", got)
	}
}

// TestBytesForPeople: as servers write them.
func TestBytesForPeople(t *testing.T) {
	for n, want := range map[uint64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 1536: "1.50K", 1<<20 - 1: "1024.00K", 1 << 20: "1.00M", 25276063744: "23.54G", 1 << 40: "1.00T", 1 << 60: "1024.00P"} {
		if got := human(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestContract_OBS1_Settings: what a setting makes of the process.
func TestContract_OBS1_Settings(t *testing.T) {
	for options, want := range map[string][4]string{
		"":                  {"1", "no", "off", "no"},
		"--backend-conns 3": {"3", "no", "off", "no"},
		"--backend-conns 3 --backend-sharding yes": {"1", "yes", "off", "no"},
	} {
		f := parseInfo(t, newRig(t, redis70, options).bytes("INFO", "mithril")).fields
		got := [4]string{f["Mithril/backend_conns_per_node"], f["Mithril/backend_sharding"], f["Mithril/slave_mode"], f["Mithril/reply_cache"]}
		if got != want {
			t.Errorf("%q: %q, want %q", options, got, want)
		}
	}
}

// TestContract_PROTO3_InfoVersion: the version of the map, before the first map the one
// that the command table stands for.
func TestContract_PROTO3_InfoVersion(t *testing.T) {
	version := func(r *rig) string {
		f := parseInfo(t, r.bytes("INFO", "server")).fields
		return fmt.Sprintf("%s %s %s", f["Server/redis_version"], f["Server/server_name"], f["Server/valkey_version"])
	}
	r := newRig(t, valkey91, "")
	r.slots.RedisVersion = topology.Version{Major: 7, Minor: 2, Patch: 4}
	if got := version(r); got != "7.2.4 valkey 9.1.1" {
		t.Errorf("with a map: %q", got)
	}
	for _, unknown := range []*topology.Snapshot{nil, {Covered: topology.SlotCount, Engine: topology.EngineRedis}} {
		r.slots = unknown
		if got := version(r); got != "7.2.4 valkey 9.1.0" {
			t.Errorf("valkey before a map: %q", got)
		}
	}
	r = newRig(t, redis70, "")
	r.slots = nil
	if got := version(r); got != "7.0.0  " {
		t.Errorf("redis before a map: %q", got)
	}
}

// TestAnswersAtTheSameTime lets the race detector look at workers that ask together.
func TestAnswersAtTheSameTime(t *testing.T) {
	r := newRig(t, valkey91, "")
	r.workers = make([]tellingWorker, 4)
	want := map[string]string{}
	requests := []string{"INFO", "CLIENT LIST", "CLUSTER SLOTS", "CONFIG GET *", "COMMAND INFO get", "ROLE"}
	for _, request := range requests {
		want[request] = r.bytes(fields(request)...)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, request := range requests {
				if got := r.bytes(fields(request)...); got != want[request] {
					t.Errorf("%s: got %q, want %q", request, got, want[request])
				}
			}
		})
	}
	wg.Wait()
}

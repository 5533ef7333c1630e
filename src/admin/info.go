package admin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mithril/src/resp"
	"mithril/src/stats"
	"mithril/src/topology"
	"mithril/src/version"
)

// section is a part of INFO.
type section struct {
	title  string // asked for in any case
	append func(i *info, b *strings.Builder)
	rare   bool // not among those that are shown by default
}

// isAsked says whether the names ask for the section; without names the default ones are.
func (s *section) isAsked(names []string) bool {
	return len(names) == 0 && !s.rare || slices.Contains(names, strings.ToLower(s.title)) || slices.Contains(names, "all") ||
		slices.Contains(names, "everything") || slices.Contains(names, "default") && !s.rare
}

// sections are all parts of INFO in the order in which servers have them, and behind them the proxy's own.
var sections = []section{
	{title: "Server", append: (*info).server},
	{title: "Clients", append: (*info).clients},
	{title: "Memory", append: (*info).memory},
	{title: "Persistence", append: (*info).persistence},
	{title: "Stats", append: (*info).stats},
	{title: "Replication", append: (*info).replication},
	{title: "CPU", append: (*info).cpu},
	{title: "Commandstats", append: (*info).commands, rare: true},
	{title: "Cluster", append: (*info).cluster},
	{title: "Mithril", append: (*info).mithril},
}

// info is the survey of INFO: each worker tells what it has counted.
type info struct {
	*Server
	proto resp.Proto
	asked []section
	nodes topology.Server
	now   int64     // ns
	parts []counted // by worker
	total stats.Snapshot
}

// counted is what one worker tells.
type counted struct {
	stats.Snapshot
	calls map[string]uint64 // by command
}

// info begins INFO [section ...] (OBS1). Sections come in their order, each once; a name that is none of
// them adds nothing.
func (s *Server) info(dst []byte, q *Query) ([]byte, Survey) {
	i := &info{Server: s, proto: q.Proto, nodes: s.nodes(q), now: q.Now, parts: make([]counted, q.Workers)}
	var names []string
	for _, arg := range q.rest(1) {
		names = append(names, strings.ToLower(cString(arg)))
	}
	for k := range sections {
		if sections[k].isAsked(names) {
			i.asked = append(i.asked, sections[k])
		}
	}
	return dst, i
}

// Visit notes what a worker has counted.
func (i *info) Visit(number int, w Worker) {
	part := &i.parts[number]
	part.Snapshot = w.Snapshot()
	part.calls = map[string]uint64{}
	w.EachCommand(func(name string, calls uint64) { part.calls[name] = calls })
}

// AppendReply writes the sections that were asked for.
func (i *info) AppendReply(dst []byte) []byte {
	for k := range i.parts {
		i.total.Add(&i.parts[k].Snapshot)
	}
	var b strings.Builder
	for _, section := range i.asked {
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + section.title + "\r\n")
		section.append(i, &b)
	}
	return resp.AppendVerbatim(dst, i.proto, "txt", b.String())
}

// valkeyCompatible is the redis_version of every Valkey server.
var valkeyCompatible = topology.Version{Major: 7, Minor: 2, Patch: 4}

// nodes tells what the nodes have in common (PROTO3): the versions of the current map, or
// before they are known the server that q's command table stands for.
func (s *Server) nodes(q *Query) topology.Server {
	if m := s.Map(); m != nil && m.Version.Known() {
		return topology.Server{Engine: m.Engine, Version: m.Version, RedisVersion: m.RedisVersion}
	}
	table := q.Table.Version()
	assumed := topology.Version{Major: table.Major, Minor: table.Minor}
	if table.Engine == topology.EngineValkey {
		return topology.Server{Engine: table.Engine, Version: assumed, RedisVersion: valkeyCompatible}
	}
	return topology.Server{Engine: topology.EngineRedis, Version: assumed, RedisVersion: assumed}
}

// infoServer describes the proxy as a node of the version that HELLO tells.
func (i *info) server(b *strings.Builder) {
	nodes, uptimeSecs := i.nodes, i.now/1e9
	fmt.Fprintf(b, "redis_version:%v\r\n", nodes.RedisVersion)
	if nodes.Engine == topology.EngineValkey {
		fmt.Fprintf(b, "server_name:%s\r\nvalkey_version:%v\r\nserver_mode:cluster\r\n", nodes.Engine, nodes.Version)
	}
	b.WriteString("redis_mode:cluster\r\n")
	fmt.Fprintf(b, "mithril_version:%s\r\n", version.Number)
	fmt.Fprintf(b, "os:%s\r\n", i.OS)
	fmt.Fprintf(b, "arch_bits:%d\r\n", strconv.IntSize)
	fmt.Fprintf(b, "process_id:%d\r\n", i.PID)
	fmt.Fprintf(b, "run_id:%s\r\n", i.RunID)
	fmt.Fprintf(b, "tcp_port:%d\r\n", i.Conf.Port)
	fmt.Fprintf(b, "uptime_in_seconds:%d\r\n", uptimeSecs)
	fmt.Fprintf(b, "uptime_in_days:%d\r\n", uptimeSecs/(24*60*60))
	fmt.Fprintf(b, "config_file:%s\r\n", i.Conf.ConfFile)
}

func (i *info) clients(b *strings.Builder) {
	fmt.Fprintf(b, "connected_clients:%d\r\n", i.total.Clients)
	fmt.Fprintf(b, "maxclients:%d\r\n", i.MaxClients)
	b.WriteString("blocked_clients:0\r\ntracking_clients:0\r\n")
}

// memory tells what the process takes. It keeps no data, so there is nothing to evict.
func (i *info) memory(b *strings.Builder) {
	var heap, resident uint64
	if i.Memory != nil {
		heap, resident = i.Memory()
	}
	used := heap + i.total.Blocks
	for _, f := range []field{{"used_memory", used}, {"used_memory_rss", resident}, {"maxmemory", 0}} {
		f.append(b)
		fmt.Fprintf(b, "%s_human:%s\r\n", f.name, human(f.value))
	}
	b.WriteString("maxmemory_policy:noeviction\r\n")
}

// human writes a number of bytes as servers do.
func human(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.2f%c", value, units[unit])
}

const units = "KMGTP"

// persistence is there for clients that wait for loading:0 before they begin.
func (i *info) persistence(b *strings.Builder) {
	b.WriteString("loading:0\r\nasync_loading:0\r\n")
}

func (i *info) stats(b *strings.Builder) {
	c := &i.total.Counters
	for _, f := range []field{
		{"total_connections_received", c.Connections},
		{"total_commands_processed", c.Commands},
		{"instantaneous_ops_per_sec", i.total.Rate},
		{"total_net_input_bytes", c.NetInput},
		{"total_net_output_bytes", c.NetOutput},
		{"rejected_connections", c.Rejected},
		{"total_error_replies", c.ErrorReplies},
		{"redirections", c.Redirections},
		{"redirect_waits", c.RedirectWaits},
		{"readers_exited", c.ReadersExited},
		{"writers_exited", c.WritersExited},
		{"sessions_closed", c.Closed},
		{"client_output_buffer_limit_disconnections", c.OutputClosed},
		{"batch_window_usecs", uint64(i.total.Window / 1000)},
		{"window_probes", c.WindowProbes},
		{"window_keeps", c.WindowKeeps},
		{"window_reverts", c.WindowReverts},
	} {
		f.append(b)
	}
}

// field is a number of INFO.
type field struct {
	name  string
	value uint64
}

func (f field) append(b *strings.Builder) { fmt.Fprintf(b, "%s:%d\r\n", f.name, f.value) }

// replication describes a primary without replicas, as ROLE does.
func (i *info) replication(b *strings.Builder) {
	b.WriteString("role:master\r\nconnected_slaves:0\r\nmaster_repl_offset:0\r\n")
}

func (i *info) cpu(b *strings.Builder) {
	var sys, user float64
	if i.CPU != nil {
		sys, user = i.CPU()
	}
	fmt.Fprintf(b, "used_cpu_sys:%.6f\r\nused_cpu_user:%.6f\r\n", sys, user)
}

// commands tells how often each command was called, those of all workers together.
func (i *info) commands(b *strings.Builder) {
	calls := map[string]uint64{}
	for k := range i.parts {
		for name, n := range i.parts[k].calls {
			calls[name] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(b, "cmdstat_%s:calls=%d\r\n", name, calls[name])
	}
}

func (i *info) cluster(b *strings.Builder) {
	b.WriteString("cluster_enabled:1\r\n")
}

// role answers ROLE as a primary without replicas.
func (s *Server) role(dst []byte, _ *Query) []byte {
	dst = resp.AppendArray(dst, 3)
	dst = resp.AppendBulkString(dst, "master")
	dst = resp.AppendInt(dst, 0)
	return resp.AppendArray(dst, 0)
}

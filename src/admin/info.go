package admin

import (
	"fmt"
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
	append func(s *Server, b *strings.Builder, q *Query)
}

// sections are all parts of INFO in the order in which servers have them.
var sections = []section{
	{"Server", (*Server).infoServer},
	{"Clients", (*Server).infoClients},
	{"Persistence", (*Server).infoPersistence},
	{"Stats", (*Server).infoStats},
	{"Replication", (*Server).infoReplication},
	{"CPU", (*Server).infoCPU},
	{"Cluster", (*Server).infoCluster},
}

// info answers INFO [section ...] (OBS1). Sections come in their order, each once; a name
// that is none of them adds nothing.
func (s *Server) info(dst []byte, q *Query) []byte {
	names := q.rest(1)
	var b strings.Builder
	for i := range sections {
		if !isAsked(names, sections[i].title) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + sections[i].title + "\r\n")
		sections[i].append(s, &b, q)
	}
	return resp.AppendVerbatim(dst, q.Proto, "txt", b.String())
}

// isAsked says whether the names ask for a section; without names every section is.
func isAsked(names [][]byte, title string) bool {
	if len(names) == 0 {
		return true
	}
	for _, name := range names {
		switch strings.ToLower(string(name)) {
		case "all", "everything", "default", strings.ToLower(title):
			return true
		}
	}
	return false
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
func (s *Server) infoServer(b *strings.Builder, q *Query) {
	nodes := s.nodes(q)
	uptimeSecs := q.Now / 1e9
	fmt.Fprintf(b, "redis_version:%v\r\n", nodes.RedisVersion)
	if nodes.Engine == topology.EngineValkey {
		fmt.Fprintf(b, "server_name:%s\r\nvalkey_version:%v\r\nserver_mode:cluster\r\n", nodes.Engine, nodes.Version)
	}
	b.WriteString("redis_mode:cluster\r\n")
	fmt.Fprintf(b, "mithril_version:%s\r\n", version.Number)
	fmt.Fprintf(b, "os:%s\r\n", s.OS)
	fmt.Fprintf(b, "arch_bits:%d\r\n", strconv.IntSize)
	fmt.Fprintf(b, "process_id:%d\r\n", s.PID)
	fmt.Fprintf(b, "run_id:%s\r\n", s.RunID)
	fmt.Fprintf(b, "tcp_port:%d\r\n", s.Conf.Port)
	fmt.Fprintf(b, "uptime_in_seconds:%d\r\n", uptimeSecs)
	fmt.Fprintf(b, "uptime_in_days:%d\r\n", uptimeSecs/(24*60*60))
	fmt.Fprintf(b, "config_file:%s\r\n", s.Conf.ConfFile)
	fmt.Fprintf(b, "io_engine:%s\r\n", s.Engine)
	fmt.Fprintf(b, "worker_threads:%d\r\n", s.Conf.WorkerThreads)
}

func (s *Server) infoClients(b *strings.Builder, q *Query) {
	fmt.Fprintf(b, "connected_clients:%d\r\n", s.total(q).Clients)
	fmt.Fprintf(b, "maxclients:%d\r\n", s.MaxClients)
}

// infoPersistence is there for clients that wait for loading:0 before they begin.
func (s *Server) infoPersistence(b *strings.Builder, _ *Query) {
	b.WriteString("loading:0\r\nasync_loading:0\r\n")
}

func (s *Server) infoStats(b *strings.Builder, q *Query) {
	total := s.total(q)
	c := total.Counters
	for _, field := range []struct {
		name  string
		value uint64
	}{
		{"total_connections_received", c.Connections},
		{"total_commands_processed", c.Commands},
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
		{"batch_window_usecs", uint64(total.Window / 1000)},
		{"window_probes", c.WindowProbes},
		{"window_keeps", c.WindowKeeps},
		{"window_reverts", c.WindowReverts},
	} {
		fmt.Fprintf(b, "%s:%d\r\n", field.name, field.value)
	}
}

// infoReplication describes a primary without replicas, as ROLE does.
func (s *Server) infoReplication(b *strings.Builder, _ *Query) {
	b.WriteString("role:master\r\nconnected_slaves:0\r\nmaster_repl_offset:0\r\n")
}

func (s *Server) infoCPU(b *strings.Builder, _ *Query) {
	var sys, user float64
	if s.CPU != nil {
		sys, user = s.CPU()
	}
	fmt.Fprintf(b, "used_cpu_sys:%.6f\r\nused_cpu_user:%.6f\r\n", sys, user)
}

func (s *Server) infoCluster(b *strings.Builder, q *Query) {
	total := s.total(q)
	b.WriteString("cluster_enabled:1\r\n")
	fmt.Fprintf(b, "backend_conns:%d\r\n", total.Backends)
	fmt.Fprintf(b, "private_conns:%d\r\n", total.Private)
}

// total adds up what the workers show.
func (s *Server) total(q *Query) stats.Snapshot {
	sum := q.Own
	for i, board := range s.Boards {
		if i != q.Worker {
			last := board.Read()
			sum.Add(&last)
		}
	}
	return sum
}

// role answers ROLE as a primary without replicas.
func (s *Server) role(dst []byte, _ *Query) []byte {
	dst = resp.AppendArray(dst, 3)
	dst = resp.AppendBulkString(dst, "master")
	dst = resp.AppendInt(dst, 0)
	return resp.AppendArray(dst, 0)
}

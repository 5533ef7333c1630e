package admin

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"mithril/src/resp"
	"mithril/src/slot"
	"mithril/src/topology"
)

const (
	// busOffset is how far a node's bus port lies above its client port unless it is
	// configured otherwise. The proxy has no bus; clients only expect the number.
	busOffset = 10000

	// virtualEpoch is the configuration epoch of the virtual node, whose slots never
	// move.
	virtualEpoch = 1
)

// virtualNode is the node that stands for the whole cluster.
type virtualNode struct {
	id      string // 40 hexadecimal digits
	shardID string // likewise
	host    string // empty: the host that was asked
	port    int
	isName  bool // host is a host name
}

// node describes the virtual node to q's client.
func (s *Server) node(q *Query) virtualNode {
	announced := s.Conf.Announce()
	end, err := topology.ParseEndpoint(announced)
	if err != nil {
		// No port: nothing to connect to by TCP.
		end = topology.Endpoint{}
	}
	n := virtualNode{id: digest("node " + announced), shardID: digest("shard " + announced), host: end.Host, port: int(end.Port)}
	addr, err := netip.ParseAddr(end.Host)
	n.isName = end.Host != "" && err != nil
	if err == nil && addr.IsUnspecified() {
		n.host = ""
		if q.Self.Local.IsValid() {
			n.host = q.Self.Local.Addr().Unmap().String()
		}
	}
	return n
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *Server) clusterMyID(dst []byte, q *Query) []byte {
	return resp.AppendBulkString(dst, s.node(q).id)
}

func (s *Server) clusterMyShardID(dst []byte, q *Query) []byte {
	return resp.AppendBulkString(dst, s.node(q).shardID)
}

func (s *Server) clusterKeyslot(dst []byte, q *Query) []byte {
	return resp.AppendInt(dst, int64(slot.Of(q.Arg(2))))
}

// clusterLinks answers for a node that has no peers.
func (s *Server) clusterLinks(dst []byte, _ *Query) []byte { return resp.AppendArray(dst, 0) }

// clusterReplicas answers for the virtual node, which has no replicas. It knows no other node.
func (s *Server) clusterReplicas(dst []byte, q *Query) []byte {
	if !s.isMyself(q, q.Arg(2)) {
		return appendUnknownNode(dst, q.Arg(2))
	}
	return resp.AppendArray(dst, 0)
}

// clusterCountFailureReports answers how many nodes report that one has failed.
func (s *Server) clusterCountFailureReports(dst []byte, q *Query) []byte {
	if !s.isMyself(q, q.Arg(2)) {
		return appendUnknownNode(dst, q.Arg(2))
	}
	return resp.AppendInt(dst, 0)
}

func (s *Server) isMyself(q *Query, id []byte) bool { return string(id) == s.node(q).id }

func appendUnknownNode(dst, id []byte) []byte {
	return resp.AppendError(dst, "ERR Unknown node "+cString(id))
}

// cString is an argument as servers repeat it in errors: up to a NUL byte.
func cString(arg []byte) string {
	text, _, _ := bytes.Cut(arg, []byte{0})
	return string(text)
}

// clusterNodes answers with the one line of the virtual node: id, host:port@bus[,name],
// flags, primary, ping sent, pong received, epoch, link state, slots.
func (s *Server) clusterNodes(dst []byte, q *Query) []byte {
	n := s.node(q)
	var name string
	if n.isName {
		name = "," + n.host
	}
	bus := n.port + busOffset
	if bus > 65535 {
		bus = 0 // as servers write a port that they do not know
	}
	line := fmt.Sprintf("%s %s:%d@%d%s myself,master - 0 0 %d connected 0-%d\n",
		n.id, n.host, n.port, bus, name, virtualEpoch, slot.Count-1)
	return resp.AppendVerbatim(dst, q.Proto, "txt", line)
}

// clusterSlots answers with one range: first and last slot, and the virtual node as
// host, port, id and an empty map of further names.
func (s *Server) clusterSlots(dst []byte, q *Query) []byte {
	n := s.node(q)
	dst = resp.AppendArray(dst, 1)
	dst = resp.AppendArray(dst, 3)
	dst = resp.AppendInt(dst, 0)
	dst = resp.AppendInt(dst, slot.Count-1)
	dst = resp.AppendArray(dst, 4)
	dst = resp.AppendBulkString(dst, n.host)
	dst = resp.AppendInt(dst, int64(n.port))
	dst = resp.AppendBulkString(dst, n.id)
	return resp.AppendMap(dst, q.Proto, 0)
}

// clusterShards answers with one shard of one node. Valkey tells the shard's id too.
func (s *Server) clusterShards(dst []byte, q *Query) []byte {
	n := s.node(q)
	valkey := s.nodes(q).Engine == topology.EngineValkey
	fields := 2
	if valkey {
		fields++
	}
	dst = resp.AppendArray(dst, 1)
	dst = resp.AppendMap(dst, q.Proto, fields)
	dst = resp.AppendBulkString(dst, "slots")
	dst = resp.AppendArray(dst, 2)
	dst = resp.AppendInt(dst, 0)
	dst = resp.AppendInt(dst, slot.Count-1)
	dst = resp.AppendBulkString(dst, "nodes")
	dst = resp.AppendArray(dst, 1)
	dst = n.appendShardNode(dst, q.Proto)
	if valkey {
		dst = appendField(dst, "id", n.shardID)
	}
	return dst
}

// appendShardNode appends a node as CLUSTER SHARDS shows it.
func (n *virtualNode) appendShardNode(dst []byte, proto resp.Proto) []byte {
	fields, ip := 7, n.host
	if n.isName {
		fields, ip = 8, "" // as on a node that does not know its address
	}
	dst = resp.AppendMap(dst, proto, fields)
	dst = appendField(dst, "id", n.id)
	dst = resp.AppendInt(resp.AppendBulkString(dst, "port"), int64(n.port))
	dst = appendField(dst, "ip", ip)
	dst = appendField(dst, "endpoint", n.host)
	if n.isName {
		dst = appendField(dst, "hostname", n.host)
	}
	dst = appendField(dst, "role", "master")
	dst = resp.AppendInt(resp.AppendBulkString(dst, "replication-offset"), 0)
	return appendField(dst, "health", "online")
}

func appendField(dst []byte, name, value string) []byte {
	return resp.AppendBulkString(resp.AppendBulkString(dst, name), value)
}

// clusterInfo answers with the state of the cluster behind the virtual node: ok while
// every slot has an owner. The proxy exchanges no messages with peers.
func (s *Server) clusterInfo(dst []byte, q *Query) []byte {
	state, covered := "fail", 0
	if m := s.Map(); m != nil {
		covered = m.Covered
		if m.Complete() {
			state = "ok"
		}
	}
	valkey := s.nodes(q).Engine == topology.EngineValkey
	var b strings.Builder
	fmt.Fprintf(&b, "cluster_state:%s\r\n", state)
	fmt.Fprintf(&b, "cluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n", covered, covered)
	b.WriteString("cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n")
	if valkey {
		b.WriteString("cluster_nodes_pfail:0\r\ncluster_nodes_fail:0\r\n" +
			"cluster_voting_nodes_pfail:0\r\ncluster_voting_nodes_fail:0\r\n")
	}
	fmt.Fprintf(&b, "cluster_known_nodes:1\r\ncluster_size:1\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n",
		virtualEpoch, virtualEpoch)
	b.WriteString("cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\n")
	if valkey {
		b.WriteString("cluster_stats_bytes_sent:0\r\ncluster_stats_bytes_received:0\r\n" +
			"cluster_stats_pubsub_bytes_sent:0\r\ncluster_stats_pubsub_bytes_received:0\r\n" +
			"cluster_stats_module_bytes_sent:0\r\ncluster_stats_module_bytes_received:0\r\n")
	}
	b.WriteString("total_cluster_links_buffer_limit_exceeded:0\r\n")
	return resp.AppendVerbatim(dst, q.Proto, "txt", b.String())
}

package refresher

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mithril/src/command"
	"mithril/src/topology"
)

// probesMax bounds how many nodes are asked for their programs at one time.
const probesMax = 8

// versions remembers what program each node runs and which commands it has. All are asked once, and again only when they fail
// and come back, or are seen to have been started again.
type versions struct {
	known    map[string]program       // by address; a node that answers for the map tells this on the way
	commands map[string]*command.Rows // by address, of the nodes that have been asked; lists that are equal are one
	tried    map[string]time.Time     // by address, when a node without an entry above was last asked
}

// program is what a node says of its program and process. The zero value is that of a node that does not tell.
type program struct {
	topology.Server
	runID string // another one after each start
}

// readProgram reads the reply to INFO server. With an error the version is not known.
func readProgram(reply []byte) (program, error) {
	server, err := topology.ParseInfo(reply)
	return program{server, topology.ParseRunID(reply)}, err
}

func newVersions() versions {
	return versions{known: map[string]program{}, commands: map[string]*command.Rows{}, tried: map[string]time.Time{}}
}

// keep forgets nodes that left the map or failed: who comes back may run another version.
func (v *versions) keep(snapshot *topology.Snapshot) {
	alive := map[string]bool{}
	for i := range snapshot.Nodes {
		if snapshot.Nodes[i].Health != topology.Failed {
			alive[snapshot.Nodes[i].Addr] = true
		}
	}
	forget(v.known, alive)
	forget(v.commands, alive)
	forget(v.tried, alive)
}

// forget deletes what is not alive.
func forget[T any](about map[string]T, alive map[string]bool) {
	maps.DeleteFunc(about, func(addr string, _ T) bool { return !alive[addr] })
}

// hear takes in what a node says on the way, if it does. One that is another process than before is asked again.
func (v *versions) hear(addr string, heard program) {
	if !heard.Version.Known() {
		return
	}
	if last, known := v.known[addr]; known && last != heard {
		delete(v.commands, addr)
		delete(v.tried, addr)
	}
	v.known[addr] = heard
}

// learn takes in what a node has answered.
func (v *versions) learn(p probe) {
	v.known[p.addr] = p.program
	for _, other := range v.commands {
		if other.Equal(p.commands) {
			p.commands = other
			break
		}
	}
	v.commands[p.addr] = p.commands
}

// told answers the commands of a map's primaries, as far as they have been asked, each list once.
func (v *versions) told(snapshot *topology.Snapshot) (lists []*command.Rows) {
	for _, shard := range snapshot.Shards {
		list, asked := v.commands[snapshot.Nodes[shard.Primary].Addr]
		if asked && !slices.Contains(lists, list) {
			lists = append(lists, list)
		}
	}
	return lists
}

// missing answers the nodes to ask now: none of them twice within a period, since a node that the cluster can reach and the
// proxy cannot may stay that way.
func (v *versions) missing(snapshot *topology.Snapshot, now time.Time, period time.Duration) (addrs []string) {
	for i := range snapshot.Nodes {
		addr := snapshot.Nodes[i].Addr
		tried, asked := v.tried[addr]
		_, known := v.commands[addr]
		if known || snapshot.Nodes[i].Health == topology.Failed || asked && now.Sub(tried) < period {
			continue
		}
		v.tried[addr] = now
		addrs = append(addrs, addr)
	}
	return addrs
}

// fill writes the lowest versions into a map that is not published yet.
func (v *versions) fill(snapshot *topology.Snapshot) {
	var servers []topology.Server
	for i := range snapshot.Nodes {
		if node, known := v.known[snapshot.Nodes[i].Addr]; known {
			servers = append(servers, node.Server)
		}
	}
	lowest := topology.Lowest(servers)
	snapshot.Engine, snapshot.Version, snapshot.RedisVersion = lowest.Engine, lowest.Version, lowest.RedisVersion
}

// probe is what one node said.
type probe struct {
	addr     string
	program  program
	commands *command.Rows // empty if the node does not tell
	untold   error         // why it does not
	failure  *failure
}

// probeAll asks nodes for their programs.
func (r *Refresher) probeAll(ctx context.Context, addrs []string) []probe {
	probes := make([]probe, len(addrs))
	places := make(chan struct{}, probesMax)
	var asking sync.WaitGroup
	for i, addr := range addrs {
		places <- struct{}{}
		asking.Go(func() {
			probes[i] = r.probeNode(ctx, addr)
			<-places
		})
	}
	asking.Wait()
	return probes
}

// probeNode asks one node. Key specs are told in RESP3 only.
func (r *Refresher) probeNode(ctx context.Context, addr string) probe {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	replies, fail := r.converse(ctx, addr, []string{"INFO", "server"}, []string{"HELLO", "3"}, []string{"COMMAND"})
	if fail != nil {
		return probe{addr: addr, failure: fail}
	}
	program, err := readProgram(replies[0])
	if err != nil {
		return probe{addr: addr, failure: &failure{refused, addr, err}}
	}
	p := probe{addr: addr, program: program}
	if p.commands, p.untold = command.ParseRows(replies[2]); p.untold != nil {
		p.commands = &command.Rows{}
	}
	return p
}

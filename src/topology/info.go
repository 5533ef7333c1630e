package topology

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Server is what a node says of its program.
type Server struct {
	Engine       string
	Version      Version // as the engine counts it
	RedisVersion Version // the same on Redis; the version that Valkey is compatible with
}

// ParseInfo reads the reply to INFO server. Valkey names itself in server_name and its version in valkey_version.
func ParseInfo(reply []byte) (Server, error) {
	text, err := infoText(reply)
	if err != nil {
		return Server{}, fmt.Errorf("INFO server: %w", err)
	}
	server := Server{Engine: EngineRedis, RedisVersion: ParseVersion(infoField(text, "redis_version"))}
	server.Version = server.RedisVersion
	if infoField(text, "server_name") == EngineValkey {
		server.Engine = EngineValkey
		server.Version = ParseVersion(infoField(text, "valkey_version"))
	}
	if !server.Version.Known() {
		return Server{}, errors.New("INFO server: no version in it")
	}
	return server, nil
}

// Lowest answers what all nodes can do: Valkey when every one is Valkey, and the lowest versions. In a mixture Redis counts,
// by redis_version. Without servers it answers Redis of no known version.
func Lowest(servers []Server) Server {
	lowest := Server{Engine: EngineRedis}
	for i, server := range servers {
		if i == 0 {
			lowest = server
			continue
		}
		if server.Engine != lowest.Engine {
			lowest.Engine = EngineRedis
		}
		if server.Version.Compare(lowest.Version) < 0 {
			lowest.Version = server.Version
		}
		if server.RedisVersion.Compare(lowest.RedisVersion) < 0 {
			lowest.RedisVersion = server.RedisVersion
		}
	}
	if lowest.Engine == EngineRedis {
		lowest.Version = lowest.RedisVersion
	}
	return lowest
}

// ParseRunID reads from the reply to INFO server which process the node is: each start has another run_id. It answers "" when the
// reply does not tell.
func ParseRunID(reply []byte) string {
	text, err := infoText(reply)
	if err != nil {
		return ""
	}
	return infoField(text, "run_id")
}

// ParseClusterEpoch reads cluster_current_epoch from the reply to CLUSTER INFO. It answers 0, which no node of a working
// cluster has, when the reply does not tell.
func ParseClusterEpoch(reply []byte) uint64 {
	text, err := infoText(reply)
	if err != nil {
		return 0
	}
	epoch, err := strconv.ParseUint(infoField(text, "cluster_current_epoch"), 10, 64)
	if err != nil {
		return 0
	}
	return epoch
}

func infoText(reply []byte) ([]byte, error) {
	c := &cursor{reply: reply}
	text, err := c.text("the reply")
	if err != nil {
		return nil, err
	}
	return text, c.end()
}

// infoField finds "name:value" at the start of a line; it answers "" when there is none.
func infoField(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if key, value, found := bytes.Cut(line, []byte(":")); found && string(key) == name {
			return string(bytes.TrimRight(value, "\r\n"))
		}
	}
	return ""
}

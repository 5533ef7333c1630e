package conf

import (
	"reflect"
	"slices"
	"strings"
)

// unavailable lists what this build cannot do yet. Such a key may be written
// with its default value, or others, only: anything else would be accepted and
// ignored. A row goes when its feature comes.
var unavailable = []struct {
	key    string
	class  string   // only lines that start with this word; empty = every line
	others []string // values beside the default that it can do
}{
	{key: "unixsocket"},
	{key: "unixsocketperm"},
	{key: "client-output-buffer-limit", class: "pubsub"},
	{key: "backend-sharding", others: []string{"yes"}},
	{key: "acl-pubsub-default"},
	{key: "acllog-max-len"},
	{key: "slowlog-max-len"},
	{key: "slave-mode"},
	{key: "replica-pick"},
	{key: "pubsub-on-loss"},
	{key: "cluster-emulated"},
	{key: "auth-mode"},
	{key: "routing-mode"},
	{key: "sentinel"},
	{key: "sentinel-master"},
	{key: "sentinel-shard"},
	{key: "sentinel-replicas"},
	{key: "sentinel-quorum"},
	{key: "sentinel-user"},
	{key: "sentinel-pass"},
	{key: "sentinel-pass-file"},
	{key: "sentinel-refresh-secs"},
	{key: "sentinel-timeout-ms"},
	{key: "shard"},
	{key: "hash"},
	{key: "cross-shard-reads"},
	{key: "cross-shard-writes"},
	{key: "user"},
	{key: "aclfile"},
	{key: "tls-port"},
	{key: "tls-cert-file"},
	{key: "tls-key-file"},
	{key: "tls-key-file-pass"},
	{key: "tls-key-file-pass-file"},
	{key: "tls-client-cert-file"},
	{key: "tls-client-key-file"},
	{key: "tls-client-key-file-pass"},
	{key: "tls-client-key-file-pass-file"},
	{key: "tls-ca-cert-file"},
	{key: "tls-ca-cert-dir"},
	{key: "tls-auth-clients"},
	{key: "tls-cluster"},
	{key: "tls-protocols"},
	{key: "tls-ciphers"},
	{key: "tls-ciphersuites"},
	{key: "tls-prefer-server-ciphers"},
	{key: "tls-session-caching"},
	{key: "tls-session-cache-size"},
	{key: "tls-session-cache-timeout"},
	{key: "reply-cache"},
	{key: "reply-cache-max-bytes"},
	{key: "reply-cache-max-age-secs"},
	{key: "cache-key-patterns"},
	{key: "slowlog-log-slower-than"},
	{key: "metrics-addr"},
	{key: "hotkeys-sample"},
}

// refuseUnavailable reports every key of the table whose value differs from
// its default.
func (p *parser) refuseUnavailable() {
	for _, row := range unavailable {
		k := lookup(row.key)
		s := p.settings[k]
		if s == nil || s.bad {
			continue
		}
		allowed, given := ofClass(row.class, k.kind.lines(p.defaults)), ofClass(row.class, k.kind.lines(p.config))
		if reflect.DeepEqual(allowed, given) || slices.Contains(row.others, joinLines(given, " ")) {
			continue
		}
		accepted := joinLines(allowed, " ")
		if accepted == "" {
			accepted = "nothing, or " + none
		}
		for _, other := range row.others {
			accepted += ", " + other
		}
		p.reject(k, "not available in this build; accepted: "+accepted)
	}
}

// ofClass returns the lines that start with class.
func ofClass(class string, lines [][]string) [][]string {
	if class == "" {
		return lines
	}
	var found [][]string
	for _, words := range lines {
		if strings.EqualFold(words[0], class) {
			found = append(found, words)
		}
	}
	return found
}

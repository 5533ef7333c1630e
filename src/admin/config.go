package admin

import (
	"slices"
	"strings"

	"mithril/src/conf"
	"mithril/src/glob"
	"mithril/src/resp"
)

// configGet answers CONFIG GET pattern [pattern ...] (CONF3): a map from key to value,
// each key once. A pattern without * ? [ is a name, which the reply spells as the client
// did, like a server. For the names of parameters that only servers have, a node answers
// (package session).
func (s *Server) configGet(dst []byte, q *Query) []byte {
	all := s.Conf.Get("*")
	var found []conf.KV
	for _, arg := range q.rest(2) {
		pattern := string(arg)
		isGlob := strings.ContainsAny(pattern, "*?[")
		for _, kv := range all {
			switch {
			case isGlob && glob.MatchFold(pattern, kv.Key):
			case !isGlob && strings.EqualFold(pattern, kv.Key):
				kv.Key = pattern
			default:
				continue
			}
			if !hasKey(found, kv.Key) {
				found = append(found, kv)
			}
		}
	}
	dst = resp.AppendMap(dst, q.Proto, len(found))
	for _, kv := range found {
		dst = appendField(dst, kv.Key, kv.Value)
	}
	return dst
}

func hasKey(list []conf.KV, key string) bool {
	return slices.ContainsFunc(list, func(kv conf.KV) bool { return strings.EqualFold(kv.Key, key) })
}

package sim

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// bodies are the scripts that sessions run. To the nodes they are all the same: they
// increment the number in their key.
var bodies = func() (list []string) {
	for i := range 3 {
		list = append(list, fmt.Sprintf("return redis.call('incr', KEYS[1]) -- %s", strings.Repeat("x", i*1500)))
	}
	return list
}()

func shaOf(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

const noScript = "-NOSCRIPT No matching script. Please use EVAL.\r\n"

// script serves what has to do with scripts, before the command is executed. It says
// whether that is all.
func (c *nodeConn) script(name string, words []string, marks []mark, asking bool) bool {
	n := c.node
	switch name {
	case "eval":
		n.scripts[shaOf(words[1])] = true
		n.cluster.judge.seen[shaOf(words[1])] = true
	case "evalsha":
		if q := n.cluster.judge.sessions[marks[0].session][marks[0].request]; q.misses > 0 && !c.behindLoad {
			n.cluster.world.fail("%s came again without its script", q)
		}
		if !n.scripts[strings.ToLower(words[1])] {
			n.cluster.judge.missed(c, marks[0], strings.ToLower(words[1]), asking)
			c.reply([]byte(noScript))
			return true
		}
	}
	return false
}

// load serves SCRIPT LOAD, which the proxy sends in front of a request that has missed its
// script, and may refuse it.
func (c *nodeConn) load(words []string) {
	n := c.node
	n.cluster.world.trace("loaded", int64(n.index), 0, nil)
	if len(words) != 3 || !strings.EqualFold(words[1], "load") || !slices.Contains(bodies, words[2]) {
		n.cluster.world.fail("node %d got %s, a script that no client has sent", n.index, clip([]byte(strings.Join(words, " "))))
	}
	c.loaded = shaOf(words[2])
	reply := bulk(c.loaded)
	if n.cluster.world.chance(n.cluster.faults.LostScripts / 4) {
		reply = []byte("-OOM command not allowed when used memory > 'maxmemory'.\r\n")
	} else {
		n.scripts[c.loaded] = true
	}
	c.out = append(c.out, reply...)
	c.flush()
}

// expectRun expects that behind a SCRIPT LOAD the request for it comes, or its ASKING.
func (c *nodeConn) expectRun(name string, words []string) {
	if name == "asking" {
		return
	}
	c.behindLoad = c.loaded != ""
	if !c.behindLoad {
		return
	}
	if name != "evalsha" || strings.ToLower(words[1]) != c.loaded {
		c.node.cluster.world.fail("node %d got %s behind the script of another request", c.node.index, clip([]byte(strings.Join(words, " "))))
	}
	c.loaded = ""
}

// missed notes that a node lacks the script of a request, which may come again then, where
// and as it has come, without a wait.
func (j *judge) missed(c *nodeConn, m mark, sha string, asking bool) {
	q := j.sessions[m.session][m.request]
	if q.misses++; q.misses == 1 {
		q.wasSeen = j.seen[sha]
	}
	if q.misses > 2 {
		j.world.fail("%s has missed its script %d times", q, q.misses)
	}
	q.tries[m.item]--
	q.triedAt[m.item] -= second
	if asking {
		q.asked[m.item] = c.node
	}
}

// mayMiss says that a request may be told that its script is missing: the proxy has not seen
// it, it was missing again, or the request would have been overtaken.
func (q *request) mayMiss() bool { return !q.alone || !q.wasSeen || q.misses > 1 }

// runsScript says that a redirect of the request may be the script's own idea, so that it
// leads to nodes of the map only.
func (q *request) runsScript() bool { return q.op == opEval || q.op == opEvalsha }

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// scanCount is the COUNT of the loops, where the client has one to set.
const scanCount = 1000

// scanLoop finds every key behind an address, as a client's users do it.
type scanLoop func(ctx context.Context, e *harness.Env) (keys []string, err error)

var scanLoops = map[string]scanLoop{
	"redis-cli":        redisCLILoop("--scan"),
	"redis-cli RESP3":  redisCLILoop("-3", "--scan"),
	"go-redis RESP2":   goRedisLoop(2),
	"go-redis RESP3":   goRedisLoop(3),
	"go-redis cluster": goRedisClusterLoop,
	"rueidis":          rueidisLoop(rueidis.ClientOption{ForceSingleClient: true}),
	"rueidis RESP2":    rueidisLoop(rueidis.ClientOption{ForceSingleClient: true, AlwaysRESP2: true}),
	"rueidis cluster":  rueidisLoop(rueidis.ClientOption{}),
}

// nodeClients is how many loops node/scan.js has.
const nodeClients = 5

// TestContract_ROUTE8_ScanLoopsOfClients: every client's loop ends and has found every key, of
// none, one and a hundred thousand.
func TestContract_ROUTE8_ScanLoopsOfClients(t *testing.T) {
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		for _, size := range []int{0, 1, 100_000} {
			t.Run(fmt.Sprint(size, " keys"), func(t *testing.T) {
				e.Flush(t)
				keys := setNumbered(t, e.Proxy.Dial(t), size)
				ctx := testContext(t)
				for name, scan := range scanLoops {
					found, err := scan(ctx, e)
					sameKeys(t, name, found, err, keys)
				}
				all, err := nodeLoops(ctx, e)
				if err != nil || len(all) != nodeClients {
					t.Errorf("%d clients for Node.js, %v, want %d", len(all), err, nodeClients)
				}
				for name, found := range all {
					sameKeys(t, name, found, nil, keys)
				}
			})
		}
	})
}

// setNumbered sets keys, a thousand with each write, and returns them in the order of sorting.
func setNumbered(t *testing.T, c *testbed.Conn, size int) (keys []string) {
	t.Helper()
	for i := range size {
		keys = append(keys, fmt.Sprint("scan:", i))
	}
	harness.SetAll(t, c, keys, "")
	slices.Sort(keys)
	return keys
}

// sameKeys compares what a loop has found, where a key may come twice, with what there is.
func sameKeys(t *testing.T, client string, found []string, err error, keys []string) {
	t.Helper()
	slices.Sort(found)
	if found = slices.Compact(found); err != nil || !slices.Equal(found, keys) {
		t.Errorf("%s finds %d keys of %d, %v", client, len(found), len(keys), err)
	}
}

// output runs a program that must not complain.
func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		return nil, fmt.Errorf("%v: %v: %s", cmd, err, stderr.Bytes())
	}
	return out, nil
}

func port(e *harness.Env) string {
	_, port, _ := net.SplitHostPort(e.Proxy.Addr)
	return port
}

func redisCLILoop(args ...string) scanLoop {
	return func(ctx context.Context, e *harness.Env) ([]string, error) {
		out, err := output(ctx, e.Cluster.Engine.CLI, append([]string{"-p", port(e)}, args...)...)
		return strings.Fields(string(out)), err
	}
}

// nodeLoops runs the loops of clients for Node.js, which `make node` has installed.
func nodeLoops(ctx context.Context, e *harness.Env) (found map[string][]string, err error) {
	out, err := output(ctx, "node", "node/scan.js", port(e))
	if err != nil {
		return nil, err
	}
	return found, json.Unmarshal(out, &found)
}

func goRedisLoop(proto int) scanLoop {
	return func(ctx context.Context, e *harness.Env) ([]string, error) {
		c := redis.NewClient(&redis.Options{Addr: e.Proxy.Addr, Protocol: proto})
		defer c.Close()
		return goRedisKeys(ctx, c)
	}
}

func goRedisKeys(ctx context.Context, c redis.Cmdable) (keys []string, err error) {
	i := c.Scan(ctx, 0, "", scanCount).Iterator()
	for i.Next(ctx) {
		keys = append(keys, i.Val())
	}
	return keys, i.Err()
}

func goRedisClusterLoop(ctx context.Context, e *harness.Env) (keys []string, err error) {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{e.Proxy.Addr}})
	defer c.Close()
	err = c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		found, err := goRedisKeys(ctx, c)
		keys = append(keys, found...)
		return err
	})
	return keys, err
}

func rueidisLoop(options rueidis.ClientOption) scanLoop {
	return func(ctx context.Context, e *harness.Env) (keys []string, err error) {
		options.InitAddress, options.DisableCache = []string{e.Proxy.Addr}, true
		c, err := rueidis.NewClient(options)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		for _, node := range c.Nodes() {
			scanner := rueidis.NewScanner(func(cursor uint64) (rueidis.ScanEntry, error) {
				return node.Do(ctx, node.B().Scan().Cursor(cursor).Count(scanCount).Build()).AsScanEntry()
			})
			keys = slices.AppendSeq(keys, scanner.Iter())
			if err := scanner.Err(); err != nil {
				return nil, err
			}
		}
		return keys, nil
	}
}

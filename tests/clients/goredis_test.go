package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mithril/tests/harness"
)

// TestGoRedis runs go-redis as a client of one server and as a client of a cluster, in
// both protocols.
func TestGoRedis(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			for name, c := range map[string]redis.UniversalClient{
				"single":  redis.NewClient(&redis.Options{Addr: e.Proxy.Addr, Protocol: proto}),
				"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{e.Proxy.Addr}, Protocol: proto}),
			} {
				t.Run(fmt.Sprintf("%s RESP%d", name, proto), func(t *testing.T) {
					e.Flush(t)
					defer c.Close()
					for name, use := range goRedisUses {
						t.Run(name, func(t *testing.T) { use(t, testContext(t), c) })
					}
				})
			}
		}
	})
}

// goRedisUses are what the client is used for. Each one has keys of its own.
var goRedisUses = map[string]func(t *testing.T, ctx context.Context, c redis.UniversalClient){
	"strings": goRedisStrings, "hashes": goRedisHashes, "lists": goRedisLists, "sets": goRedisSets, "sorted sets": goRedisSortedSets,
	"streams": goRedisStreams, "many keys": goRedisManyKeys, "pipeline": goRedisPipeline, "script": goRedisScript,
	"expiry": goRedisExpiry, "big value": goRedisBigValue, "errors": goRedisErrors, "concurrent": goRedisConcurrent,
}

func goRedisStrings(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	got, err := c.Set(ctx, "string", "a\r\nb", 0).Result()
	want(t, "SET", got, err, "OK")
	got, err = c.Get(ctx, "string").Result()
	want(t, "GET", got, err, "a\r\nb")
	if _, err := c.Get(ctx, "no string").Result(); err != redis.Nil {
		t.Errorf("GET of a missing key: %v", err)
	}
	n, err := c.Append(ctx, "string", "c").Result()
	want(t, "APPEND", n, err, int64(5))
	got, err = c.GetRange(ctx, "string", 1, 3).Result()
	want(t, "GETRANGE", got, err, "\r\nb")
	n, err = c.IncrBy(ctx, "number", 41).Result()
	want(t, "INCRBY", n, err, int64(41))
	f, err := c.IncrByFloat(ctx, "number", 1.5).Result()
	want(t, "INCRBYFLOAT", f, err, 42.5)
	got, err = c.SetArgs(ctx, "string", "new", redis.SetArgs{Get: true}).Result()
	want(t, "SET GET", got, err, "a\r\nbc")
	got, err = c.GetDel(ctx, "string").Result()
	want(t, "GETDEL", got, err, "new")
	bit, err := c.SetBit(ctx, "bits", 7, 1).Result()
	want(t, "SETBIT", bit, err, int64(0))
	n, err = c.BitCount(ctx, "bits", nil).Result()
	want(t, "BITCOUNT", n, err, int64(1))
}

func goRedisHashes(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	n, err := c.HSet(ctx, "hash", "a", "1", "b", "").Result()
	want(t, "HSET", n, err, int64(2))
	all, err := c.HGetAll(ctx, "hash").Result()
	want(t, "HGETALL", all, err, map[string]string{"a": "1", "b": ""})
	list, err := c.HMGet(ctx, "hash", "b", "none", "a").Result()
	want(t, "HMGET", list, err, []any{"", nil, "1"})
	n, err = c.HIncrBy(ctx, "hash", "a", 2).Result()
	want(t, "HINCRBY", n, err, int64(3))
	keys, err := sorted(c.HKeys(ctx, "hash").Result())
	want(t, "HKEYS", keys, err, []string{"a", "b"})
	there, err := c.HExists(ctx, "hash", "c").Result()
	want(t, "HEXISTS", there, err, false)
	fields, cursor, err := c.HScan(ctx, "hash", 0, "a*", 10).Result()
	want(t, "HSCAN", fields, err, []string{"a", "3"})
	want(t, "HSCAN's cursor", cursor, err, uint64(0))
}

func goRedisLists(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	n, err := c.RPush(ctx, "list", "b", "c", "d").Result()
	want(t, "RPUSH", n, err, int64(3))
	n, err = c.LPush(ctx, "list", "a").Result()
	want(t, "LPUSH", n, err, int64(4))
	list, err := c.LRange(ctx, "list", 0, -1).Result()
	want(t, "LRANGE", list, err, []string{"a", "b", "c", "d"})
	got, err := c.LPop(ctx, "list").Result()
	want(t, "LPOP", got, err, "a")
	list, err = c.RPopCount(ctx, "list", 2).Result()
	want(t, "RPOP", list, err, []string{"d", "c"})
	got, err = c.LMove(ctx, "{l}from", "{l}to", "LEFT", "RIGHT").Result()
	if err != redis.Nil {
		t.Errorf("LMOVE of nothing: %q, %v", got, err)
	}
}

func goRedisSets(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	n, err := c.SAdd(ctx, "{s}1", "a", "b", "c").Result()
	want(t, "SADD", n, err, int64(3))
	n, err = c.SAdd(ctx, "{s}2", "b", "c", "d").Result()
	want(t, "SADD", n, err, int64(3))
	list, err := sorted(c.SMembers(ctx, "{s}1").Result())
	want(t, "SMEMBERS", list, err, []string{"a", "b", "c"})
	is, err := c.SMIsMember(ctx, "{s}1", "a", "d").Result()
	want(t, "SMISMEMBER", is, err, []bool{true, false})
	list, err = sorted(c.SInter(ctx, "{s}1", "{s}2").Result())
	want(t, "SINTER", list, err, []string{"b", "c"})
	n, err = c.SUnionStore(ctx, "{s}3", "{s}1", "{s}2").Result()
	want(t, "SUNIONSTORE", n, err, int64(4))
}

func goRedisSortedSets(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	members := []redis.Z{{Score: 1, Member: "a"}, {Score: 2.5, Member: "b"}, {Score: 3, Member: "c"}}
	n, err := c.ZAdd(ctx, "zset", members...).Result()
	want(t, "ZADD", n, err, int64(3))
	list, err := c.ZRangeWithScores(ctx, "zset", 0, -1).Result()
	want(t, "ZRANGE", list, err, members)
	score, err := c.ZScore(ctx, "zset", "b").Result()
	want(t, "ZSCORE", score, err, 2.5)
	score, err = c.ZIncrBy(ctx, "zset", 10, "a").Result()
	want(t, "ZINCRBY", score, err, 11.0)
	n, err = c.ZRank(ctx, "zset", "a").Result()
	want(t, "ZRANK", n, err, int64(2))
	names, err := c.ZRangeByScore(ctx, "zset", &redis.ZRangeBy{Min: "(2.5", Max: "+inf"}).Result()
	want(t, "ZRANGEBYSCORE", names, err, []string{"c", "a"})
	popped, err := c.ZPopMin(ctx, "zset").Result()
	want(t, "ZPOPMIN", popped, err, members[1:2])
}

func goRedisStreams(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	first, err := c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "1-1", Values: []string{"f", "v"}}).Result()
	want(t, "XADD", first, err, "1-1")
	entry := redis.XMessage{ID: "1-1", Values: map[string]any{"f": "v"}}
	list, err := c.XRange(ctx, "stream", "-", "+").Result()
	want(t, "XRANGE", list, err, []redis.XMessage{entry})
	got, err := c.XGroupCreateMkStream(ctx, "stream", "group", "0").Result()
	want(t, "XGROUP CREATE", got, err, "OK")
	read, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "group", Consumer: "me", Streams: []string{"stream", ">"}, Count: 10, Block: -1}).Result()
	want(t, "XREADGROUP", read, err, []redis.XStream{{Stream: "stream", Messages: []redis.XMessage{entry}}})
	n, err := c.XAck(ctx, "stream", "group", "1-1").Result()
	want(t, "XACK", n, err, int64(1))
	pending, err := c.XPending(ctx, "stream", "group").Result()
	if err != nil || pending.Count != 0 {
		t.Errorf("XPENDING: %+v, %v", pending, err)
	}
	info, err := c.XInfoStream(ctx, "stream").Result()
	if err != nil || info.Length != 1 || info.LastGeneratedID != "1-1" {
		t.Errorf("XINFO STREAM: %+v, %v", info, err)
	}
}

func goRedisManyKeys(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	keys, values, pairs := keysAndValues("many:")
	got, err := c.MSet(ctx, pairs...).Result()
	want(t, "MSET", got, err, "OK")
	var wanted []any
	for _, v := range values {
		wanted = append(wanted, v)
	}
	list, err := c.MGet(ctx, append(slices.Clone(keys), "missing", keys[0])...).Result()
	want(t, "MGET", list, err, append(wanted, nil, values[0]))
	n, err := c.Exists(ctx, keys...).Result()
	want(t, "EXISTS", n, err, int64(manyKeys))
	n, err = c.Touch(ctx, keys...).Result()
	want(t, "TOUCH", n, err, int64(manyKeys))
	n, err = c.Del(ctx, keys[:50]...).Result()
	want(t, "DEL", n, err, int64(50))
	n, err = c.Unlink(ctx, keys...).Result()
	want(t, "UNLINK", n, err, int64(manyKeys-50))
}

func goRedisPipeline(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	var gets []*redis.StringCmd
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 1000 {
			p.Set(ctx, fmt.Sprint("pipe:", i), i, 0)
			gets = append(gets, p.Get(ctx, fmt.Sprint("pipe:", i)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, get := range gets {
		got, err := get.Int()
		want(t, "GET in a pipeline", got, err, i)
	}
}

func goRedisScript(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	script := redis.NewScript(`redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('GET', KEYS[1]), #KEYS}`)
	for i := range 20 { // EVALSHA where the node knows it, else EVAL
		got, err := script.Run(ctx, c, []string{fmt.Sprint("script:", i)}, "v").Result()
		want(t, "a script", got, err, []any{"v", int64(1)})
	}
	got, err := c.EvalRO(ctx, `return redis.call('GET', KEYS[1])`, []string{"script:3"}).Result()
	want(t, "EVAL_RO", got, err, "v")
}

func goRedisExpiry(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	got, err := c.Set(ctx, "expiry", "v", time.Hour).Result()
	want(t, "SET EX", got, err, "OK")
	ttl, err := c.TTL(ctx, "expiry").Result()
	if err != nil || ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("TTL: %v, %v", ttl, err)
	}
	is, err := c.Persist(ctx, "expiry").Result()
	want(t, "PERSIST", is, err, true)
	ttl, err = c.TTL(ctx, "expiry").Result()
	want(t, "TTL", ttl, err, time.Duration(-1))
	is, err = c.PExpire(ctx, "expiry", 20*time.Millisecond).Result()
	want(t, "PEXPIRE", is, err, true)
	awaitGone(t, func() (int64, error) { return c.Exists(ctx, "expiry").Result() })
}

func goRedisBigValue(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	big := strings.Repeat("0123456789abcdef", bigBytes/16)
	got, err := c.Set(ctx, "big", big, 0).Result()
	want(t, "SET", got, err, "OK")
	got, err = c.Get(ctx, "big").Result()
	if err != nil || got != big {
		t.Errorf("GET: %d bytes, %v, want the %d that were set", len(got), err, len(big))
	}
	n, err := c.StrLen(ctx, "big").Result()
	want(t, "STRLEN", n, err, int64(bigBytes))
}

func goRedisErrors(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	if err := c.Set(ctx, "wrong", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	wantError(t, "LPUSH on a string", c.LPush(ctx, "wrong", "v").Err(), "WRONGTYPE ")
	wantError(t, "INCR of a word", c.Incr(ctx, "wrong").Err(), "ERR value is not an integer")
	wantError(t, "an unknown command", c.Do(ctx, "NOSUCH", "wrong").Err(), "ERR unknown command 'NOSUCH'")
	wantError(t, "RENAME across slots", c.Rename(ctx, "wrong", "right").Err(), "CROSSSLOT ")
	got, err := c.Ping(ctx).Result()
	want(t, "PING", got, err, "PONG")
}

func goRedisConcurrent(t *testing.T, ctx context.Context, c redis.UniversalClient) {
	var running sync.WaitGroup
	errs := make(chan error, 20)
	for i := range cap(errs) {
		running.Go(func() {
			for n := range 100 {
				key, value := fmt.Sprintf("concurrent:%d:%d", i, n%7), fmt.Sprint(i, "/", n)
				if err := c.Set(ctx, key, value, 0).Err(); err != nil {
					errs <- err
					return
				}
				if got, err := c.Get(ctx, key).Result(); err != nil || got != value {
					errs <- errors.Join(err, fmt.Errorf("%s is %q, want %q", key, got, value))
					return
				}
			}
		})
	}
	running.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

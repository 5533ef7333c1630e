package clients

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"mithril/tests/harness"
)

// TestRueidis runs rueidis as a client of one server and as a client of a cluster, in both
// protocols and without its own cache.
func TestRueidis(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, single := range []bool{true, false} {
			for _, resp2 := range []bool{true, false} {
				t.Run(fmt.Sprintf("single=%v RESP2=%v", single, resp2), func(t *testing.T) {
					e.Flush(t)
					c, err := rueidis.NewClient(rueidis.ClientOption{
						InitAddress: []string{e.Proxy.Addr}, DisableCache: true, ForceSingleClient: single, AlwaysRESP2: resp2,
					})
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					if mode := c.Mode(); single != (mode == rueidis.ClientModeStandalone) {
						t.Errorf("the client takes the proxy for a %s", mode)
					}
					for name, use := range rueidisUses {
						t.Run(name, func(t *testing.T) { use(t, testContext(t), c) })
					}
				})
			}
		}
	})
}

// rueidisUses are what the client is used for. Each one has keys of its own.
var rueidisUses = map[string]func(t *testing.T, ctx context.Context, c rueidis.Client){
	"strings": rueidisStrings, "collections": rueidisCollections, "streams": rueidisStreams, "many keys": rueidisManyKeys,
	"pipeline": rueidisPipeline, "script": rueidisScript, "expiry": rueidisExpiry, "big value": rueidisBigValue,
	"errors": rueidisErrors,
}

func rueidisStrings(t *testing.T, ctx context.Context, c rueidis.Client) {
	got, err := c.Do(ctx, c.B().Set().Key("string").Value("a\r\nb").Build()).ToString()
	want(t, "SET", got, err, "OK")
	got, err = c.Do(ctx, c.B().Get().Key("string").Build()).ToString()
	want(t, "GET", got, err, "a\r\nb")
	if err := c.Do(ctx, c.B().Get().Key("no string").Build()).Error(); !rueidis.IsRedisNil(err) {
		t.Errorf("GET of a missing key: %v", err)
	}
	n, err := c.Do(ctx, c.B().Incrby().Key("number").Increment(41).Build()).AsInt64()
	want(t, "INCRBY", n, err, int64(41))
	f, err := c.Do(ctx, c.B().Incrbyfloat().Key("number").Increment(1.5).Build()).AsFloat64()
	want(t, "INCRBYFLOAT", f, err, 42.5)
	there, err := c.Do(ctx, c.B().Setnx().Key("string").Value("other").Build()).AsBool()
	want(t, "SETNX", there, err, false)
}

func rueidisCollections(t *testing.T, ctx context.Context, c rueidis.Client) {
	n, err := c.Do(ctx, c.B().Hset().Key("hash").FieldValue().FieldValue("a", "1").FieldValue("b", "").Build()).AsInt64()
	want(t, "HSET", n, err, int64(2))
	all, err := c.Do(ctx, c.B().Hgetall().Key("hash").Build()).AsStrMap()
	want(t, "HGETALL", all, err, map[string]string{"a": "1", "b": ""})
	n, err = c.Do(ctx, c.B().Rpush().Key("list").Element("a", "b", "c").Build()).AsInt64()
	want(t, "RPUSH", n, err, int64(3))
	list, err := c.Do(ctx, c.B().Lrange().Key("list").Start(0).Stop(-1).Build()).AsStrSlice()
	want(t, "LRANGE", list, err, []string{"a", "b", "c"})
	n, err = c.Do(ctx, c.B().Sadd().Key("{s}1").Member("a", "b").Build()).AsInt64()
	want(t, "SADD", n, err, int64(2))
	list, err = sorted(c.Do(ctx, c.B().Sunion().Key("{s}1", "{s}2").Build()).AsStrSlice())
	want(t, "SUNION", list, err, []string{"a", "b"})
	n, err = c.Do(ctx, c.B().Zadd().Key("zset").ScoreMember().ScoreMember(1, "a").ScoreMember(2.5, "b").Build()).AsInt64()
	want(t, "ZADD", n, err, int64(2))
	scores, err := c.Do(ctx, c.B().Zrange().Key("zset").Min("0").Max("-1").Withscores().Build()).AsZScores()
	want(t, "ZRANGE", scores, err, []rueidis.ZScore{{Member: "a", Score: 1}, {Member: "b", Score: 2.5}})
}

func rueidisStreams(t *testing.T, ctx context.Context, c rueidis.Client) {
	id, err := c.Do(ctx, c.B().Xadd().Key("stream").Id("1-1").FieldValue().FieldValue("f", "v").Build()).ToString()
	want(t, "XADD", id, err, "1-1")
	wanted := []rueidis.XRangeEntry{{ID: "1-1", FieldValues: map[string]string{"f": "v"}}}
	entries, err := c.Do(ctx, c.B().Xrange().Key("stream").Start("-").End("+").Build()).AsXRange()
	want(t, "XRANGE", entries, err, wanted)
	read, err := c.Do(ctx, c.B().Xread().Count(10).Streams().Key("stream").Id("0").Build()).AsXRead()
	want(t, "XREAD", read, err, map[string][]rueidis.XRangeEntry{"stream": wanted})
}

func rueidisManyKeys(t *testing.T, ctx context.Context, c rueidis.Client) {
	keys, values, _ := keysAndValues("many:")
	wanted := map[string]string{}
	for i, key := range keys {
		wanted[key] = values[i]
	}
	if c.Mode() == rueidis.ClientModeStandalone { // as a cluster's client it refuses keys of several slots
		pairs := c.B().Mset().KeyValue()
		for key, value := range wanted {
			pairs = pairs.KeyValue(key, value)
		}
		got, err := c.Do(ctx, pairs.Build()).ToString()
		want(t, "MSET", got, err, "OK")
		list, err := c.Do(ctx, c.B().Mget().Key(append(slices.Clone(keys), keys[0])...).Build()).AsStrSlice()
		want(t, "MGET", list, err, append(slices.Clone(values), values[0]))
		n, err := c.Do(ctx, c.B().Exists().Key(keys...).Build()).AsInt64()
		want(t, "EXISTS", n, err, int64(manyKeys))
		n, err = c.Do(ctx, c.B().Del().Key(keys...).Build()).AsInt64()
		want(t, "DEL", n, err, int64(manyKeys))
	}
	for key, err := range rueidis.MSet(c, ctx, wanted) {
		want(t, "MSet of "+key, nil, err, nil)
	}
	got, err := rueidis.MGet(c, ctx, keys)
	for key, message := range got {
		value, err := message.ToString()
		want(t, "MGet of "+key, value, err, wanted[key])
	}
	want(t, "MGet", len(got), err, manyKeys)
	for key, err := range rueidis.MDel(c, ctx, keys) {
		want(t, "MDel of "+key, nil, err, nil)
	}
}

func rueidisPipeline(t *testing.T, ctx context.Context, c rueidis.Client) {
	var commands rueidis.Commands
	for i := range 500 {
		key := fmt.Sprint("pipe:", i)
		commands = append(commands, c.B().Set().Key(key).Value(fmt.Sprint(i)).Build(), c.B().Get().Key(key).Build())
	}
	for i, result := range c.DoMulti(ctx, commands...) {
		wanted := "OK"
		if i%2 == 1 {
			wanted = fmt.Sprint(i / 2)
		}
		got, err := result.ToString()
		want(t, "a pipeline", got, err, wanted)
	}
}

func rueidisScript(t *testing.T, ctx context.Context, c rueidis.Client) {
	script := rueidis.NewLuaScript(`redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('GET', KEYS[1]), #KEYS}`)
	for i := range 20 {
		got, err := script.Exec(ctx, c, []string{fmt.Sprint("script:", i)}, []string{"v"}).ToAny()
		want(t, "a script", got, err, []any{"v", int64(1)})
	}
}

func rueidisExpiry(t *testing.T, ctx context.Context, c rueidis.Client) {
	got, err := c.Do(ctx, c.B().Set().Key("expiry").Value("v").Ex(time.Hour).Build()).ToString()
	want(t, "SET EX", got, err, "OK")
	ttl, err := c.Do(ctx, c.B().Ttl().Key("expiry").Build()).AsInt64()
	if err != nil || ttl < 3590 || ttl > 3600 {
		t.Errorf("TTL: %v, %v", ttl, err)
	}
	n, err := c.Do(ctx, c.B().Pexpire().Key("expiry").Milliseconds(20).Build()).AsInt64()
	want(t, "PEXPIRE", n, err, int64(1))
	awaitGone(t, func() (int64, error) { return c.Do(ctx, c.B().Exists().Key("expiry").Build()).AsInt64() })
}

func rueidisBigValue(t *testing.T, ctx context.Context, c rueidis.Client) {
	big := strings.Repeat("0123456789abcdef", bigBytes/16)
	got, err := c.Do(ctx, c.B().Set().Key("big").Value(big).Build()).ToString()
	want(t, "SET", got, err, "OK")
	got, err = c.Do(ctx, c.B().Get().Key("big").Build()).ToString()
	if err != nil || got != big {
		t.Errorf("GET: %d bytes, %v, want the %d that were set", len(got), err, len(big))
	}
}

func rueidisErrors(t *testing.T, ctx context.Context, c rueidis.Client) {
	do := func(words ...string) error {
		return c.Do(ctx, c.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error()
	}
	if err := do("SET", "wrong", "v"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "LPUSH on a string", do("LPUSH", "wrong", "v"), "WRONGTYPE ")
	wantError(t, "an unknown command", do("NOSUCH", "wrong"), "unknown command 'NOSUCH'")
	wantError(t, "RENAME across slots", do("RENAME", "wrong", "right"), "CROSSSLOT ")
	hello, err := c.Do(ctx, c.B().Arbitrary("HELLO").Build()).AsMap()
	if err != nil || !reflect.DeepEqual(names(hello), []string{"id", "mode", "modules", "proto", "role", "server", "version"}) {
		t.Errorf("HELLO: %v, %v", hello, err)
	}
}

func names(m map[string]rueidis.RedisMessage) (list []string) {
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

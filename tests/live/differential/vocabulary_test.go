package differential

import (
	"testing"

	"mithril/tests/harness"
)

// vocabulary has the values that an argument may take, by its type and name in COMMAND DOCS,
// or by its type alone. A value that comes twice is drawn twice as often. There is no number
// from a thousand to 2^62, since some would make a node reserve as many bytes, and no time
// that could pass while a batch is played.
var vocabulary = map[string]string{
	"integer":                        `0 0 1 1 2 2 3 5 10 -1 -2 100 9223372036854775807 -9223372036854775808 9223372036854775808 x "" 1.5 01 +1 " 1"`,
	"integer count":                  `1 1 2 3 10 0 -1 9223372036854775807 x`,
	"integer cursor":                 `0 0 0 x -1 ""`,
	"integer seconds":                `100000 100000 0 -1 9223372036854775807 x`,
	"integer milliseconds":           `100000000 100000000 0 -1 9223372036854775807 x`,
	"integer ttl":                    `0 100000000 -1 x`,
	"integer ms":                     `0 100000000 x`,
	"integer min-idle-time":          `0 0 100000000 -1 x`,
	"integer unix-time-milliseconds": `33177117420000 0 x`,
	"integer destination-db":         `0 1 x`,
	"integer db":                     `0 1 x`,
	"integer weight":                 `1 2 0.5 -1 0 inf x`,
	"integer protover":               `2 3 4 x`,
	"integer index":                  `0 1 -1 5 x`,
	"integer version":                `5 6 x`,
	"integer bit":                    `0 1 2`,
	"integer slot":                   `0 16383 16384 -1 x`,

	"unix-time":                        `33177117420 33177117420 0 -1 x`,
	"unix-time unix-time-milliseconds": `33177117420000 33177117420000 0 -1 x`,

	"double":           `0 1 1.5 -1 3.25 1e3 inf -inf nan x ""`,
	"double score":     `0 1 1 2 1.5 -1 inf -inf nan x`,
	"double increment": `1 0.1 -1.5 1e3 inf nan x`,
	"double longitude": `13.361389 15.087269 15 0 -180 200 x`,
	"double latitude":  `38.115556 37.502669 37 0 85 90 x`,
	"double radius":    `100 200 400 0 -1 x`,
	"double width":     `100 400 0 -1 x`,
	"double height":    `100 400 0 -1 x`,
	"double min":       `-inf +inf 0 1 (1 x`,
	"double max":       `-inf +inf 2 5 (2 x`,

	"pattern":             `* a* [ab]* ? \* none* ""`,
	"pattern by-pattern":  `nosort nosort w_*`,
	"pattern get-pattern": `# # w_*`,

	"string":                      `a a b b c d 1 2 3.5 hello "" "\x00\xff\r\n" "a b" "'\""`,
	"string value":                `a 1 2 3.5 10 hello "" "\x00\xff\r\n$5\r\n" "a b"`,
	"string field":                `f f g h 1 "" "\x00\xff"`,
	"string member":               `a a b b c d 1 2 3 "" "\x00\xff" Palermo Catania`,
	"string member1":              `Palermo a`,
	"string member2":              `Catania b`,
	"string element":              `a b c 1 2 "" "\x00\xff"`,
	"string min":                  `- - [a (b [c -inf 0 1 (1 x`,
	"string max":                  `+ + [c (d [a +inf 2 5 (2 x`,
	"string start":                `- - 0 0-0 1-1 (1-1 1 -1 x`,
	"string end":                  `+ + 2-2 1-1 (2-2 -1 1 x`,
	"string stop":                 `-1 -1 1 2 +inf + [c 0 x`,
	"string id":                   `1-1 1-1 2-2 0 0-0 $ > 5-5 3-* 9-9 x - +`,
	"string last-id":              `9-9 1-1 0 x`,
	"string lastid":               `9-9 1-1 0 x`,
	"string max-deleted-id":       `1-1 0-0 x`,
	"string max_deleted_entry_id": `1-1 0-0 x`,
	"string threshold":            `0 1 2 10 1-1 2-0 x`,
	"string group":                `g g g none ""`,
	"string groupname":            `g g g none`,
	"string consumer":             `c c d ""`,
	"string consumername":         `c c d`,
	"string encoding":             `u8 i5 u2 i64 u63 u64 x`,
	"string min-idle-time":        `0 0 100000000 x`,
	"string script": `"return 1" "return KEYS" "return {KEYS[1],ARGV[1]}" "return redis.call('get', KEYS[1])" "return redis.call('set', KEYS[1], 'v')" ` +
		`"return redis.pcall('incr', KEYS[1])" "return redis.error_reply('MY error')" "return {1,{2},3.5,'x',false,true}" "return (" "error('out')"`,
	"string sha1":             `e0e1f9fabfc9d4800c877a703b823ac0578ff8db E0E1F9FABFC9D4800C877A703B823AC0578FF8DB ffffffffffffffffffffffffffffffffffffffff x`,
	"string function":         `f f none ""`,
	"string function-code":    `"#!lua name=lib\nredis.register_function('f', function(keys, args) return #keys end)" "#!lua name=lib2\nx" bad`,
	"string library-name":     `lib none`,
	"string serialized-value": `x ""`,
	"string type":             `string list set zset hash stream none`,
	"string command":          `get set mset sort eval none`,
	"string command-name":     `get set none config|get`,
	"string username":         `default x`,
	"string password":         `x ""`,
	"string clientname":       `name "a b" ""`,
	"string connection-name":  `name "a b" ""`,
	"string shardchannel":     `channel {t}channel`,
}

// TestVocabularyIsUsed: every entry is about an argument that some command has.
func TestVocabularyIsUsed(t *testing.T) {
	used := map[string]bool{}
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		for _, of := range newRig(t, e).grammars(t) {
			use(of.args, used)
		}
	})
	for key, values := range vocabulary {
		if words, err := splitWords(values); err != nil || len(words) == 0 {
			t.Errorf("%s: %q, %v", key, values, err)
		}
		if !used[key] {
			t.Errorf("no command has an argument %q", key)
		}
	}
}

// use notes the keys under which the vocabulary may have values for arguments.
func use(args []argument, used map[string]bool) {
	for _, a := range args {
		used[a.kind], used[a.kind+" "+a.name] = true, true
		use(a.parts, used)
	}
}

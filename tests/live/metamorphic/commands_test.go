package metamorphic

// templates are the commands of histories, but for those that take any number of keys. A
// word that begins with @ is drawn:
//
//	@s @l @h @e @z @x @p @g  a key of a string, list, hash, set, sorted set, stream, HyperLogLog,
//	                         geo set; sometimes one of another type
//	@S @L @H @E @Z @P        the same among those of one hash tag
//	@v                       a short value
//	@V                       a value that may be large
//	@f                       a field or member, one of a few
//	@n @i @d                 a number from 0 to 9, from -6 to 6, with a fraction
//
// A node must answer each the same whenever it is asked: nothing random, nothing of the
// time, no collection so large that it is hashed.
var templates = []string{
	"SET @s @V", "SET @s @V", "SET @s @v NX", "SET @s @v XX GET", "SET @s @n", "SETNX @s @V", "SET @s @v EXAT 4102444800", "SET @s @v PXAT 4102444800000", "SETEX @s 0 @v",
	"GET @s", "GET @s", "GET @s", "GET @s", "GETRANGE @s 0 -1", "GETSET @s @V", "GETDEL @s", "GETEX @s PERSIST", "APPEND @s @V", "STRLEN @s", "INCR @s", "DECRBY @s @n",
	"INCRBYFLOAT @s @d", "GETRANGE @s @i @i", "SETRANGE @s @n @v", "SUBSTR @s 0 @n", "LCS @S @S", "MSETNX @S @v @S @v", "MSETNX @s @v @s @v",
	"SETBIT @s @n 1", "GETBIT @s @n", "BITCOUNT @s", "BITPOS @s 1", "BITFIELD @s GET u8 0 INCRBY i5 @n 1", "BITOP OR @S @S @S", "BITOP NOT @s @s",

	"LPUSH @l @V @v", "RPUSH @l @v @v", "LPUSHX @l @v", "RPUSHX @l @v", "LPOP @l", "RPOP @l @n", "LLEN @l", "LINDEX @l @i", "LRANGE @l 0 -1",
	"LSET @l @i @v", "LTRIM @l @i @i", "LREM @l @i @v", "LINSERT @l BEFORE @v @v", "LPOS @l @v", "LMOVE @L @L LEFT RIGHT", "RPOPLPUSH @L @L",
	"RPOPLPUSH @l @l", "LMPOP 2 @L @L LEFT COUNT 2", "SORT @l ALPHA", "SORT_RO @l LIMIT 0 2",

	"HSET @h @f @V", "HSET @h @f @v @f @v", "HSETNX @h @f @v", "HGET @h @f", "HMGET @h @f @f @f", "HGETALL @h", "HDEL @h @f", "HLEN @h",
	"HEXISTS @h @f", "HKEYS @h", "HVALS @h", "HSTRLEN @h @f", "HINCRBY @h @f @n", "HINCRBYFLOAT @h @f @d", "HMSET @h @f @v", "HSCAN @h 0",

	"SADD @e @f @f @n", "SREM @e @f", "SCARD @e", "SISMEMBER @e @f", "SMISMEMBER @e @f @n", "SMEMBERS @e", "SMOVE @E @E @f", "SINTER @E @E",
	"SUNION @E @E", "SDIFF @E @E", "SINTERCARD 2 @E @E", "SUNIONSTORE @E @E @E", "SINTER @e @e", "SSCAN @e 0",

	"ZADD @z @d @f @n @f", "ZADD @z GT CH @d @f", "ZINCRBY @z @d @f", "ZSCORE @z @f", "ZMSCORE @z @f @f", "ZRANK @z @f", "ZREVRANK @z @f",
	"ZCARD @z", "ZCOUNT @z -inf @n", "ZRANGE @z 0 -1 WITHSCORES", "ZRANGEBYSCORE @z (@n +inf", "ZREVRANGE @z 0 @n", "ZREM @z @f", "ZPOPMIN @z",
	"ZPOPMAX @z 2", "ZMPOP 1 @z MIN", "ZUNION 2 @Z @Z WITHSCORES", "ZINTERSTORE @Z 2 @Z @Z", "ZDIFF 2 @Z @Z", "ZRANGESTORE @Z @Z 0 -1",
	"ZLEXCOUNT @z - +", "ZSCAN @z 0", "ZREMRANGEBYRANK @z 0 0",

	"XADD @x @n-1 @f @V", "XADD @x 9@n-1 @f @v", "XLEN @x", "XRANGE @x - +", "XREVRANGE @x + - COUNT 2", "XDEL @x @n-1", "XTRIM @x MAXLEN @n",
	"XREAD COUNT 2 STREAMS @x 0", "XGROUP CREATE @x @f 0", "XREADGROUP GROUP @f c COUNT 1 STREAMS @x >", "XACK @x @f @n-1", "XPENDING @x @f",
	"PFADD @p @f @v", "PFADD @p @f @f @f", "PFMERGE @P @P @P", "GEOADD @g 13.@n 38.@n @f", "GEOPOS @g @f @f", "GEODIST @g @f @f km",
	"GEOHASH @g @f", "GEOSEARCH @g FROMLONLAT 13 38 BYRADIUS 300 km ASC",

	"TYPE @s", "TYPE @l", "TYPE @h", "RENAME @S @S", "RENAMENX @S @L", "RENAME @s @s", "COPY @S @S", "COPY @S @L REPLACE", "EXPIREAT @s 4102444800",
	"EXPIRETIME @s", "PERSIST @s", "PEXPIREAT @l 4102444800000 NX", "PEXPIRETIME @l", "OBJECT ENCODING @s", "DUMP @s", "RESTORE @s 0 @v",

	"EVAL return(ARGV[1]) 1 @s @V", "EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 @s @V", "EVAL return(redis.call('GET',KEYS[1])) 1 @s",
	"EVAL return({KEYS[1],ARGV[1],{},false,3}) 1 @l @v", "EVAL return(redis.error_reply('MINE')) 1 @s", "EVAL_RO return(#KEYS) 2 @S @S",
	"EVALSHA 0000000000000000000000000000000000000000 1 @s", "EVAL return(1) 0", "EVAL return(1) 2 @s", "EVAL return(1) 2 @s @s",

	"PING", "PING", "PING @V", "ECHO @V", "ECHO @v", "SELECT 0", "SELECT 1", "READONLY", "READWRITE", "ASKING", "TIME @v", "COMMAND COUNT",
	"CLIENT SETNAME @f", "CLIENT GETNAME", "CLIENT SETINFO LIB-NAME @f", "CLIENT NO-EVICT on", "CLUSTER KEYSLOT @v", "COMMAND GETKEYS GET @v",
	"CONFIG GET tcp-keepalive", "HELLO @n", "AUTH @v", "OBJECT HELP", "CLUSTER COUNTKEYSINSLOT 16384",

	"GET", "GET @s @s", "SET @s", "MSET @s", "NONESUCH @v", "CLIENT NONESUCH", "INCR @l", "LPUSH @s @v", "HGET @z @f", "ZADD @s x @f", "SHUTDOWN",
	"MONITOR", "DEBUG SLEEP 0", "CLUSTER RESET", "REPLICAOF no one", "MULTI", "EXEC", "DISCARD", "WATCH @s",
}

// large are commands that a history with large values sends more often.
var large = []string{
	"SET @s @V", "SET @s @V", "APPEND @s @V", "GET @s", "GET @s", "GET @s", "GETRANGE @s @n -1", "MGET @s @s @s", "MSET @s @V @s @V", "ECHO @V",
	"HSET @h @f @V", "HGETALL @h", "EVAL return(ARGV[1]) 1 @s @V",
}

// repeated are commands that take any number of groups of keys and values, which may lie
// in any slots.
var repeated = []struct{ name, group string }{
	{"MGET", "@s"}, {"MGET", "@s"}, {"MGET", "@S"}, {"MSET", "@s @V"}, {"MSET", "@s @v"}, {"MSET", "@S @v"}, {"DEL", "@s"}, {"DEL", "@l"},
	{"UNLINK", "@h"}, {"EXISTS", "@s"}, {"EXISTS", "@e"}, {"TOUCH", "@z"}, {"PFCOUNT", "@p"}, {"PFCOUNT", "@P"},
}

// violations end a connection: nothing after them is read.
var violations = []string{
	"*1\r\n:4\r\n", "*2\r\n$3\r\nGET\r\n$-5\r\n", "*1\r\n$x\r\n", "*x\r\n", "*1\r\n$536870913\r\n", "SET \"k\r\n", "GET 'k'x\r\n", "*2147483648\r\n",
}

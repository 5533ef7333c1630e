package admin

import (
	"fmt"
	"strconv"
	"strings"
)

// mithril tells how the proxy itself is set up and what it does (OBS1).
func (i *info) mithril(b *strings.Builder) {
	c := &i.total.Counters
	fmt.Fprintf(b, "io_engine:%s\r\n", i.Engine)
	fmt.Fprintf(b, "worker_threads:%d\r\n", len(i.parts))
	fmt.Fprintf(b, "backend_conns_per_node:%d\r\n", i.Conf.BackendLanes())
	fmt.Fprintf(b, "backend_sharding:%v\r\n", i.Conf.BackendSharding)
	fmt.Fprintf(b, "slave_mode:%v\r\n", i.Conf.SlaveMode)
	fmt.Fprintf(b, "reply_cache:%s\r\n", yesNo(i.Conf.ReplyCache))
	commands := make([]string, len(i.parts))
	for k := range i.parts {
		commands[k] = strconv.FormatUint(i.parts[k].Counters.Commands, 10)
	}
	fmt.Fprintf(b, "worker_commands:%s\r\n", strings.Join(commands, ","))
	for _, f := range []field{
		{"backend_conns", uint64(i.total.Backends)},
		{"private_conns", uint64(i.total.Private)},
		{"backend_sends", c.BackendSends},
		{"backend_replies", c.BackendReplies},
		{"handed_over", c.HandedOver},
		{"backend_dials", c.BackendDials},
		{"backend_lost", c.BackendLost},
	} {
		f.append(b)
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

package topology

import (
	"strconv"
	"strings"
)

// Endpoint is a host and a TCP port. An IPv6 host is held without brackets.
type Endpoint struct {
	Host string
	Port uint16
}

// String answers "host:port", with brackets around an IPv6 host, as net.Dial takes it.
func (e Endpoint) String() string {
	port := strconv.Itoa(int(e.Port))
	if strings.Contains(e.Host, ":") {
		return "[" + e.Host + "]:" + port
	}
	return e.Host + ":" + port
}

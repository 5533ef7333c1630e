package topology

import (
	"fmt"
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

// ParseEndpoint reads "host:port". The port is what follows the last colon, so an IPv6 host needs no brackets (nodes write
// it without them) but may have them.
func ParseEndpoint(text string) (Endpoint, error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return Endpoint{}, fmt.Errorf("address %q has no port, want host:port", text)
	}
	port, err := strconv.ParseUint(text[colon+1:], 10, 16)
	if err != nil || port == 0 {
		return Endpoint{}, fmt.Errorf("address %q has port %q, want 1 to 65535", text, text[colon+1:])
	}
	host := trimBrackets(text[:colon])
	if host == "" {
		return Endpoint{}, fmt.Errorf("address %q has no host, want host:port", text)
	}
	return Endpoint{Host: host, Port: uint16(port)}, nil
}

func trimBrackets(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			return inner
		}
	}
	return host
}

// Mapping is one address-map entry. From and To are both "host:port", or both a host whose ports stay.
type Mapping struct {
	From, To string
}

// AddressMap turns addresses that nodes announce into addresses that can be dialled from here (NAT). The zero value changes
// nothing; a mapping of a host and port goes before one of the host alone.
type AddressMap struct {
	endpoints map[Endpoint]Endpoint
	hosts     map[string]string
}

// NewAddressMap builds the map. It refuses an entry whose sides are not of one form and one that is given twice.
func NewAddressMap(mappings []Mapping) (AddressMap, error) {
	m := AddressMap{endpoints: map[Endpoint]Endpoint{}, hosts: map[string]string{}}
	for _, entry := range mappings {
		if err := m.add(entry); err != nil {
			return AddressMap{}, fmt.Errorf("address-map %s=%s: %w", entry.From, entry.To, err)
		}
	}
	return m, nil
}

func (m *AddressMap) add(entry Mapping) error {
	if isHost(entry.From) != isHost(entry.To) {
		return fmt.Errorf("one side names a port and the other does not, want host:port=host:port or host=host")
	}
	if isHost(entry.From) {
		from, to := trimBrackets(entry.From), trimBrackets(entry.To)
		if from == "" || to == "" {
			return fmt.Errorf("a host is empty, want host:port=host:port or host=host")
		}
		if _, found := m.hosts[from]; found {
			return fmt.Errorf("%s is mapped already", entry.From)
		}
		m.hosts[from] = to
		return nil
	}
	from, err := ParseEndpoint(entry.From)
	if err != nil {
		return err
	}
	to, err := ParseEndpoint(entry.To)
	if err != nil {
		return err
	}
	if _, found := m.endpoints[from]; found {
		return fmt.Errorf("%s is mapped already", entry.From)
	}
	m.endpoints[from] = to
	return nil
}

// isHost tells a lone host from "host:port". A lone IPv6 host has several colons, with a port it has brackets.
func isHost(text string) bool {
	return !strings.Contains(text, ":") || strings.HasSuffix(text, "]") ||
		strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "[")
}

// Apply answers the address to dial for one that the cluster announces, both as "host:port". What is not an address stays
// as it is.
func (m AddressMap) Apply(announced string) string {
	from, err := ParseEndpoint(announced)
	if err != nil {
		return announced
	}
	if to, found := m.endpoints[from]; found {
		return to.String()
	}
	if host, found := m.hosts[from.Host]; found {
		return Endpoint{Host: host, Port: from.Port}.String()
	}
	return announced
}

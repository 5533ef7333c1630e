package conf

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// Readers and printers of single words. A reader answers ok = false for a word
// it does not accept; for one it accepts, the printed form is read back to the
// same value.

// parseInt reads a decimal integer in the one form a server accepts: no plus
// sign, no leading zeros.
func parseInt(word string) (int, bool) {
	n, err := strconv.Atoi(word)
	return n, err == nil && strconv.Itoa(n) == word
}

func parseBool(word string) (value, ok bool) {
	yes := strings.EqualFold(word, "yes")
	return yes, yes || strings.EqualFold(word, "no")
}

func printBool(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// sizeUnits are redis.conf's: k, m and g are powers of 1000, kb, mb and gb
// powers of 1024. Longer suffixes come before the ones they end with.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30},
	{"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}, {"", 1},
}

// parseSize reads a number of bytes with an optional unit, upper or lower case.
func parseSize(word string) (int64, bool) {
	lower := strings.ToLower(word)
	for _, u := range sizeUnits {
		digits, found := strings.CutSuffix(lower, u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || int64(n) > math.MaxInt64/u.bytes {
			return 0, false
		}
		return int64(n) * u.bytes, true
	}
	return 0, false
}

// showSize prints a size for a reader, in the largest unit that divides it.
func showSize(n int64) string {
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}} {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

func printSize(n int64) string { return strconv.FormatInt(n, 10) }

const batchWindowUsecsMax = 1000

func parseBatchWindow(word string) (BatchWindow, bool) {
	if strings.EqualFold(word, "auto") {
		return BatchWindow{Auto: true}, true
	}
	n, ok := parseInt(word)
	return BatchWindow{Usecs: n}, ok && n >= 0 && n <= batchWindowUsecsMax
}

func printBatchWindow(w BatchWindow) string {
	if w.Auto {
		return "auto"
	}
	return strconv.Itoa(w.Usecs)
}

const permMax = 0o777

func parsePerm(word string) (uint32, bool) {
	n, err := strconv.ParseUint(word, 8, 32)
	return uint32(n), err == nil && n <= permMax
}

func printPerm(perm uint32) string { return strconv.FormatUint(uint64(perm), 8) }

// cpuMax is the highest CPU number of the kernel's fixed-size cpu_set_t
// (sched_setaffinity(2)).
const cpuMax = 1023

// parseCPUs reads a list such as 2-5,8 in the order given; no CPU twice. The
// empty word is the empty list.
func parseCPUs(word string) ([]int, bool) {
	if word == "" {
		return nil, true
	}
	var cpus []int
	var seen [cpuMax + 1]bool
	for part := range strings.SplitSeq(word, ",") {
		lowText, highText, isRange := strings.Cut(part, "-")
		if !isRange {
			highText = lowText
		}
		low, okLow := parseInt(lowText)
		high, okHigh := parseInt(highText)
		if !okLow || !okHigh || low > high || high > cpuMax {
			return nil, false
		}
		for cpu := low; cpu <= high; cpu++ {
			if seen[cpu] {
				return nil, false
			}
			seen[cpu] = true
			cpus = append(cpus, cpu)
		}
	}
	return cpus, true
}

func printCPUs(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		end := i + 1
		for end < len(cpus) && cpus[end] == cpus[end-1]+1 {
			end++
		}
		part := strconv.Itoa(cpus[i])
		if end-i > 1 {
			part += "-" + strconv.Itoa(cpus[end-1])
		}
		parts = append(parts, part)
		i = end
	}
	return strings.Join(parts, ",")
}

func parseIP(word string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(word)
	return ip, err == nil
}

// parseAddr reads host:port, the host a name, an IPv4 literal or an IPv6
// literal in brackets.
func parseAddr(word string) (string, bool) {
	colon := strings.LastIndexByte(word, ':')
	if colon < 0 {
		return "", false
	}
	port, ok := parseInt(word[colon+1:])
	return word, ok && port >= 1 && port <= math.MaxUint16 && isHost(word[:colon])
}

// parseDialAddr is parseAddr without the wildcard addresses, to which nobody
// can connect.
func parseDialAddr(word string) (string, bool) {
	addr, ok := parseAddr(word)
	if !ok {
		return "", false
	}
	ap, err := netip.ParseAddrPort(addr)
	return addr, err != nil || !ap.Addr().IsUnspecified()
}

// isHost accepts names of letters, digits and -._ (which includes IPv4
// literals) and bracketed IPv6 literals.
func isHost(host string) bool {
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, ok := parseIP(inner)
		return closed && ok && ip.Is6()
	}
	return host != "" && strings.IndexFunc(host, notHostByte) < 0
}

func notHostByte(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' || r == '_')
}

// parseMapping reads from=to, both host:port or both only a host.
func parseMapping(word string) (AddressMapping, bool) {
	from, to, found := strings.Cut(word, "=")
	if !found {
		return AddressMapping{}, false
	}
	_, fromAddr := parseAddr(from)
	_, toAddr := parseAddr(to)
	ok := fromAddr && toAddr || isHost(from) && isHost(to)
	return AddressMapping{From: from, To: to}, ok
}

func printMapping(m AddressMapping) string { return m.From + "=" + m.To }

// parseWord accepts any word but the empty one, which stands for "none" in
// lists.
func parseWord(word string) (string, bool) { return word, word != "" }

func printWord(word string) string { return word }

// oneOf lists words for a reader: a, b or c.
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:last], ", "), words[last])
}

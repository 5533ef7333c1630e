package topology

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Engines, as INFO server names them in server_name.
const (
	EngineRedis  = "redis"
	EngineValkey = "valkey"
)

// Version is a server version of three numbers. The zero value means that the version is not known.
type Version struct {
	Major, Minor, Patch int
}

// Known reports whether v was learned from a server.
func (v Version) Known() bool { return v != Version{} }

// Compare orders versions number by number: negative when v is older than w, zero when they are equal.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// String answers the form servers use, for example "7.0.15".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// ParseVersion reads "major.minor.patch". What follows the third number (a pre-release mark, a build tag) is ignored,
// and missing numbers count as zero. It answers the zero Version when text does not begin with a number.
func ParseVersion(text string) Version {
	var numbers [3]int
	for i := range numbers {
		end := 0
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		number, err := strconv.Atoi(text[:end])
		if err != nil {
			break
		}
		numbers[i] = number
		text = text[end:]
		if !strings.HasPrefix(text, ".") {
			break
		}
		text = text[1:]
	}
	return Version{numbers[0], numbers[1], numbers[2]}
}

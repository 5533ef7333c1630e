package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// procStatus returns a field of /proc/PID/status (proc(5)) in its unit, such as the kB
// of VmRSS.
func procStatus(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name == field {
			return strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no field %s", pid, field)
}

// procDescriptors counts the open files of a process.
func procDescriptors(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries), err
}

package sys

import (
	"os"
	"testing"
)

// openDescriptors counts the descriptors of this process.
func openDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

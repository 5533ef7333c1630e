package sys

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"
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

func highestDescriptor(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	highest := 0
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, fd)
	}
	return highest
}

func addressOfByte(r *Region, off int) uintptr { return addressOf0(r.Bytes()[off:]) }

func addressOf0(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

// addressSpace is how many bytes of address space this process has mapped.
func addressSpace(t testing.TB) uint64 {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(statm))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

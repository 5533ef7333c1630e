package proxy

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapLookEvery is how often the heap is looked at.
	heapLookEvery = 15 * time.Second

	// heapSpareBytes is how much the heap may hold beyond twice what it needed last.
	heapSpareBytes = 64 << 20
)

// trimHeap gives the memory of the heap back that a large request has left behind. The
// runtime would keep it for many minutes: the heap of this process is small and hardly
// changes, so it is seldom collected.
func trimHeap(ctx context.Context) {
	look := time.NewTicker(heapLookEvery)
	defer look.Stop()
	needed := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if heapBytes() > 2*needed+heapSpareBytes {
			debug.FreeOSMemory()
			needed = heapBytes()
		}
	}
}

// residentBytes is how much memory of the process is resident (proc(5), statm).
func residentBytes() uint64 {
	var size, resident uint64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		fmt.Sscan(string(text), &size, &resident)
	}
	return resident * uint64(os.Getpagesize())
}

// heapBytes is the resident part of the heap.
func heapBytes() (n uint64) {
	parts := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(parts)
	for _, p := range parts {
		n += p.Value.Uint64()
	}
	return n
}

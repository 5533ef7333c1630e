package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// RegionBytesAsk is how much address space a worker asks for. It is only
	// reserved: pages cost memory from their first use on.
	RegionBytesAsk = 64 << 30

	// RegionBytesMin is the least Map settles for.
	RegionBytesMin = 256 << 20
)

// Region is a mapping of address space outside the Go heap, the buf.Memory of a
// worker. It never moves and lasts until Unmap.
type Region struct {
	mem []byte
}

// Map reserves a region of size bytes, or as much of it as the system grants,
// halving down to RegionBytesMin: limits on address space (ulimit -v) and strict
// overcommit (vm.overcommit_memory=2) make the system refuse large ones.
func Map(size uint64) (*Region, error) {
	const protection = unix.PROT_READ | unix.PROT_WRITE
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	size = max(size, RegionBytesMin)
	for {
		mem, err := unix.Mmap(-1, 0, int(size), protection, flags)
		if err == nil {
			return &Region{mem: mem}, nil
		}
		if size /= 2; size < RegionBytesMin {
			return nil, fmt.Errorf("sys: cannot reserve %d MiB of address space for buffers: %w; raise the limit on address space (ulimit -v) or relax vm.overcommit_memory", RegionBytesMin>>20, err)
		}
	}
}

// Bytes is the whole region.
func (r *Region) Bytes() []byte { return r.mem }

// Discard gives the pages that lie wholly within [off, off+n) back to the system;
// they read as zero afterwards.
func (r *Region) Discard(off, n uint64) {
	page := uint64(os.Getpagesize())
	first := (off + page - 1) &^ (page - 1)
	end := (off + n) &^ (page - 1)
	if first < end {
		// Fails only for ranges outside the region, which slicing has ruled out.
		_ = unix.Madvise(r.mem[first:end], unix.MADV_DONTNEED)
	}
}

// Prefault makes the system supply the pages of [off, off+n) now rather than at
// their first use. It is for the receive chunks, which the kernel fills while it
// delivers a completion: a page fault there would be paid on the request path.
func (r *Region) Prefault(off, n uint64) error {
	part := r.mem[off : off+n]
	err := unix.Madvise(part, unix.MADV_POPULATE_WRITE)
	if err == unix.EINVAL {
		// Before Linux 5.14: a write to each page does it, one that keeps the contents.
		for i := 0; i < len(part); i += os.Getpagesize() {
			b := part[i]
			part[i] = b
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("sys: cannot supply %d MiB for receive chunks: %w", n>>20, err)
	}
	return nil
}

// Unmap gives the region back. Nothing may refer to it any more, no engine and no
// arena.
func (r *Region) Unmap() {
	_ = unix.Munmap(r.mem)
	r.mem = nil
}

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 100 * time.Millisecond

// tryLock takes an exclusive flock(2) on a file, which it makes if needed.
// The lock lasts until the file is closed or this process dies. A nil file
// means that another one holds the lock: each open file counts for itself, so
// two calls in one process exclude each other too.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// lock waits for tryLock. waiting is called once if another holder has to
// finish first.
func lock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	for first := true; ; first = false {
		file, err := tryLock(path)
		if file != nil || err != nil {
			return file, err
		}
		if first {
			waiting()
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		}
	}
}

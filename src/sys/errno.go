package sys

import (
	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

// errOf tells what an errno of a socket operation means for a worker.
func errOf(errno unix.Errno) ring.Err {
	switch errno {
	case 0:
		return ring.ErrNone
	case unix.ECANCELED:
		return ring.ErrCanceled
	case unix.ECONNRESET, unix.EPIPE, unix.ENOTCONN, unix.ECONNABORTED:
		return ring.ErrReset
	case unix.ECONNREFUSED:
		return ring.ErrRefused
	case unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENETDOWN, unix.EHOSTDOWN:
		return ring.ErrUnreachable
	case unix.ETIMEDOUT:
		return ring.ErrTimedOut
	case unix.EMFILE, unix.ENFILE:
		return ring.ErrDescriptors
	case unix.ENOMEM, unix.ENOSPC:
		return ring.ErrResources
	}
	return ring.ErrOther
}

// acceptRetries says that an error of accept concerns one connection that failed
// before it was taken, as accept(2) lists them: the next one may be fine.
func acceptRetries(errno unix.Errno) bool {
	switch errno {
	case unix.ECONNABORTED, unix.EPROTO, unix.ENETDOWN, unix.ENOPROTOOPT, unix.EHOSTDOWN,
		unix.ENONET, unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH, unix.EINTR, unix.EAGAIN:
		return true
	}
	return false
}

package sys

import (
	"fmt"
	"strings"
)

// The values of the configuration key io-engine, and of Choose's result (which is
// never EngineAuto).
const (
	EngineAuto  = "auto"
	EngineUring = "io_uring"
	EngineEpoll = "epoll"
)

// Choose settles which engine serves: the one asked for, or with EngineAuto
// io_uring where it works and epoll elsewhere. why is for the log line that reports
// the choice. An engine that was asked for by name and does not work is an error.
func Choose(engine string) (kind, why string, err error) {
	if err := checkPreemption(); err != nil {
		return "", "", err
	}
	switch engine {
	case EngineEpoll:
		return EngineEpoll, "configured", nil
	case EngineUring, EngineAuto:
	default:
		return "", "", fmt.Errorf("sys: io-engine is %q, can be auto, io_uring or epoll", engine)
	}
	features, err := ProbeUring()
	if err != nil {
		if engine == EngineUring {
			return "", "", err
		}
		return EngineEpoll, strings.TrimPrefix(err.Error(), "sys: "), nil
	}
	why = "every operation it needs works on Linux " + features.Kernel
	if !features.MinWait {
		why += "; minimum waits, of Linux 6.12, are replaced by timed ones"
	}
	if !features.Message {
		why += "; messages between rings, which do not work, are replaced by eventfds"
	}
	if engine == EngineUring {
		why = "configured; " + why
	}
	return EngineUring, why, nil
}

// hasGodebug says that a GODEBUG value has the given setting.
func hasGodebug(value, setting string) bool {
	for part := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(part) == setting {
			return true
		}
	}
	return false
}

package proxy

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"mithril/src/conf"
)

// levels are Redis's log levels as slog's.
var levels = map[string]slog.Level{
	"debug":   slog.LevelDebug,
	"verbose": slog.LevelDebug + 2,
	"notice":  slog.LevelInfo,
	"warning": slog.LevelWarn,
}

// Log is the log of the process: standard output, or a file that can be opened again
// after it has been moved away.
type Log struct {
	*slog.Logger
	path string
	file atomic.Pointer[os.File]
}

// OpenLog opens the log that the configuration asks for.
func OpenLog(c *conf.Config) (*Log, error) {
	l := &Log{path: c.LogFile}
	out := io.Writer(os.Stdout)
	if l.path != "" {
		if err := l.Reopen(); err != nil {
			return nil, err
		}
		out = l
	}
	l.Logger = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: levels[c.LogLevel.String()], ReplaceAttr: nameLevel,
	}))
	return l, nil
}

// nameLevel makes lines name their level as loglevel does.
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.LevelKey && len(groups) == 0 {
		for name, level := range levels {
			if a.Value.Any() == level {
				return slog.String(slog.LevelKey, name)
			}
		}
	}
	return a
}

// Reopen opens the log file by its name again; without a file it does nothing.
func (l *Log) Reopen() error {
	if l.path == "" {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("logfile: %w", err)
	}
	if old := l.file.Swap(f); old != nil {
		old.Close()
	}
	return nil
}

// Write appends a line to the log file.
func (l *Log) Write(line []byte) (int, error) { return l.file.Load().Write(line) }

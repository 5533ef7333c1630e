package closedloop

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run's window held. The field names of its JSON form carry the units.
type Result struct {
	Commands  int64   `json:"commands"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"commands_per_second"`
	Nulls     int64   `json:"replies_with_a_missing_value"`
	P50Us     int64   `json:"latency_p50_us"`
	P99Us     int64   `json:"latency_p99_us"`
	P999Us    int64   `json:"latency_p999_us"`
	MaxUs     int64   `json:"latency_max_us"`
}

// Run loads the server. The first thing that goes wrong on any connection ends it with an error; so does a
// window without a reply.
func Run(ctx context.Context, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	var current atomic.Int32
	loops, err := newLoops(&config, &current)
	if err != nil {
		return Result{}, err
	}
	ended := make(chan error, len(loops))
	for _, l := range loops {
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine and takes nothing along
			ended <- l.run()
		}()
	}
	result, err := window(ctx, &config, &current, loops, ended)
	current.Store(int32(draining))
	for range loops {
		if endErr := <-ended; err == nil {
			err = endErr
		}
	}
	total := hdrhistogram.New(1, latencyMaxUs, latencyPrecision)
	for _, l := range loops {
		l.close()
		total.Merge(l.latency)
		result.Nulls += l.nulls
	}
	result.P50Us = total.ValueAtQuantile(50)
	result.P99Us = total.ValueAtQuantile(99)
	result.P999Us = total.ValueAtQuantile(99.9)
	result.MaxUs = total.Max()
	return result, err
}

// newLoops spreads the connections evenly over the threads.
func newLoops(config *Config, current *atomic.Int32) ([]*loop, error) {
	threads := min(config.Threads, config.Conns)
	var loops []*loop
	for i := range threads {
		conns := config.Conns / threads
		if i < config.Conns%threads {
			conns++
		}
		l, err := newLoop(config, current, conns, uint64(i))
		if err != nil {
			for _, l := range loops {
				l.close()
			}
			return nil, err
		}
		loops = append(loops, l)
	}
	return loops, nil
}

// window waits for the warm-up and the window to pass and counts what is answered in the window.
func window(ctx context.Context, config *Config, current *atomic.Int32, loops []*loop, ended chan error) (Result, error) {
	if err := pause(ctx, config.Warmup, ended); err != nil {
		return Result{}, err
	}
	current.Store(int32(counting))
	if config.OpenWindow != nil {
		config.OpenWindow()
	}
	before, opened := answered(loops), time.Now()
	err := pause(ctx, config.Window, ended)
	commands, took := answered(loops)-before, time.Since(opened)
	if config.CloseWindow != nil {
		config.CloseWindow()
	}
	if err == nil && commands == 0 {
		err = fmt.Errorf("no reply from %s within %v", config.Addr, took.Round(time.Millisecond))
	}
	return Result{Commands: commands, Seconds: took.Seconds(), PerSecond: float64(commands) / took.Seconds()}, err
}

func answered(loops []*loop) (sum int64) {
	for _, l := range loops {
		sum += l.commands.Load()
	}
	return sum
}

// pause waits for a while, unless ctx or a loop ends first, which before the end of the run is an error. That error
// is put back, since Run counts the loops that have ended.
func pause(ctx context.Context, d time.Duration, ended chan error) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case err := <-ended:
		ended <- err
		return err
	}
}

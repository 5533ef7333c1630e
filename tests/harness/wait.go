package harness

import (
	"errors"
	"fmt"
	"time"
)

// Patience bounds what happens soon but not at once.
const Patience = 10 * time.Second

// Polling starts fast, for what takes microseconds, and slows down.
const (
	pollFirst = 20 * time.Microsecond
	pollMost  = 10 * time.Millisecond
)

// hopeless is the error of a condition that can no longer become true.
type hopeless struct{ error }

// poll calls ready until it returns nil, or an error that is hopeless. The error says what
// was waited for and what was missing last.
func poll(timeout time.Duration, what string, ready func() error) error {
	began := time.Now()
	interval := pollFirst
	for {
		last := ready()
		if last == nil {
			return nil
		}
		if waited := time.Since(began); waited > timeout || errors.As(last, &hopeless{}) {
			return fmt.Errorf("waited %v for %s: %w", waited.Round(time.Millisecond), what, last)
		}
		time.Sleep(interval)
		interval = min(2*interval, pollMost)
	}
}

// Eventually calls ready again and again until it returns nil and fails the test
// if it does not within timeout.
func Eventually(tb TB, timeout time.Duration, what string, ready func() error) {
	tb.Helper()
	if err := poll(timeout, what, ready); err != nil {
		tb.Fatalf("%v", err)
	}
}

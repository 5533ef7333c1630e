// Package stats holds what the workers count. A worker counts in plain memory of its own;
// whoever wants totals asks each worker for a Snapshot, on its own thread, and adds them up.
package stats

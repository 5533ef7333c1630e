// Package stats holds what the workers count and how others read it. A worker counts
// in plain memory of its own and publishes a copy on its Board now and then; whoever
// wants totals adds up the boards.
package stats

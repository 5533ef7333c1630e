// Package large holds what must be true of values that are large: they pass with little
// memory, and nobody else waits for them, whoever is slow.
package large

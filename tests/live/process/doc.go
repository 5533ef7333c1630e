// Package process tests the proxy as a process: its command line, signals, log, listeners,
// limits and connections to nodes that are slow, strange or not there.
package process

// Package abuse tests the proxy with clients that do it harm, on purpose or not: what one
// client sends must not take the memory, the time or the requests of the others.
package abuse

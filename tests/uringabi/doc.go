// Package uringabi calls a witness for the io_uring binding of src/sys: giouring, another
// binding, made from the same kernel header by other people.
//
// Numbers, sizes and offsets of both are read from their sources and compared by name. A
// ring of giouring's then talks to an engine of ours over one pair of sockets, and by messages.
//
// The tests need the build tag giouring, and a linker that lets giouring reach into the
// runtime, which Go 1.23 forbids:
//
//	go test -tags giouring -ldflags=-checklinkname=0 ./tests/uringabi
//
// For that reason giouring is a witness and no part of the program.
package uringabi

// Package debian unpacks Debian packages beside the system.
//
// The packages of any Debian suite, with the libraries they need down to
// libc and the dynamic loader, are downloaded by apt and unpacked with
// dpkg -x into a directory of their own. The system's packages, its libc and
// apt's own lists and caches are never touched:
//
//	/etc/apt (read) --> source list --+
//	                                  |   private apt state
//	suite, packages ------------------+-> update, solve, download --> dpkg -x --> Root
//
// A program of the tree runs through the tree's own loader, so a binary that
// needs a newer libc than the system has still starts:
//
//	ROOT/lib/TRIPLET/ld-linux-*.so --library-path LIBS ROOT/usr/bin/PROGRAM
//
// The mirror, its signing key, proxies and credentials are those of the
// machine's apt configuration (sources.list(5), apt.conf(5)); no host is
// named here.
package debian

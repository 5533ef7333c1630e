// Package debs provides Debian's programs that the benchmarks run, unpacked beside the system: rival proxies and
// valgrind. Each has a directory of its own next to the servers of the test bed (testbed.CacheDir), is fetched once,
// and runs with the libraries of its tree, so that every machine of an architecture measures the same builds.
package debs

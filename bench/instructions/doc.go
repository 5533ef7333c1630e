// Command instructions counts the instructions that a request costs in user space, which no noise of the machine
// reaches:
//
//	instructions [-requests 10000] [-only GET,GETx16] [-o bench/results/]
//
// It runs itself under valgrind's callgrind with the loads of bench/micro: a worker, or two, in front of a ring that answers at
// once. A load runs N and 2N times, and the difference of the two totals, divided by the requests of N, is what
// a request costs; start and end cancel out. The fake ring's own work is in it, and no system call's.
//
// All of it is done a few times. Counts differ by a few per mille, for the runtime's monitor thread runs by time;
// above one per cent they are refused. Inside of valgrind the collector is off, since the loads
// make no garbage, and preemption by signals too, since callgrind stumbles over the signals.
//
// Instructions are not time, and valgrind's processor lacks some extensions, so that kernels in assembly may give way
// to portable ones: compare counts of one load between two commits of one compiler.
// What it costs to hand a request over and its reply back is the count of a load far less that of the same load near.
package main

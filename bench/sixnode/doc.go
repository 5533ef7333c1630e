// Command sixnode measures what a command costs in the proxy, in front of a real cluster of three primaries and
// three replicas, and compares engines, builds and the reference forwarder in one run:
//
//	sixnode [-arms reference,io_uring,epoll] [-extra 'old=/tmp/old-mithril --io-engine io_uring']...
//	        [-pipelines 1,16] [-conns 50] [-sizes 64] [-mixes set+get] [-rounds 9] [-slice 1s]
//	        [-proxy-cpus 0] [-other-cpus 1] [-engine valkey9.1] [-o bench/results/]
//	sixnode -idle 5000
//
// # Method
//
// A machine's speed drifts by far more than the differences of interest, most of all a virtual machine's. So all
// arms run at once in front of the same cluster, one of them is loaded at a time, in short slices, and every round
// gives each arm one slice: in an order that is rotated from round to round and reversed in every other one. The
// ratio of two arms is formed within a round and the table shows the median of the rounds' ratios with their
// range.
//
// A proxy's cost is CPU time per command. CPU time is the run time that the scheduler accounts to all its threads,
// io_uring workers and the garbage collector included (/proc/PID/task/*/schedstat, ns); user and system time are
// known in ticks only and divide it. Commands per second say little here: load, servers and proxy share a few
// cores, and at pipeline 1 the former two are what is slow. They are shown to tell whether two arms did comparable
// work, for an arm that is given more to do at a time can batch more.
//
// The first arm runs twice, as itself and as its twin. A cell of the table counts only if the twins' median ratio
// is within a few per cent of 1, and the same is asked once before the cells, so that a noisy machine is found out
// in half a minute; after a number of attempts the run ends with exit status 3.
//
// # Processors
//
// Proxies run on -proxy-cpus, with one worker or GOMAXPROCS per processor, everything else on -other-cpus. On two
// processors the proxy has one to itself: a second process there would make it share caches and be woken late,
// both of which change its batches and with them what a command costs. The load and six servers crowd on the other
// one, which leaves the proxy idle at times; CPU time per command is what an idle proxy is fairly measured by.
package main

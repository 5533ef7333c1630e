// Command sixnode measures what a command costs in a proxy, in front of real servers, and compares engines, settings,
// builds and rivals in one run:
//
//	sixnode [-arms reference,io_uring,epoll:batch-window-usecs=0,haproxy,nutcracker,direct]
//	        [-extra 'old=/tmp/old-mithril --io-engine io_uring']... [-pairs] [-mithril bin/mithril]
//	        [-cells quick|standard|sharing] [-mixes set+get -pipelines 1,16 -conns 50 -sizes 64]
//	        [-rounds 9] [-slice 1s] [-threads 1] [-aa 0.03] [-aa-attempts 3]
//	        [-proxy-cpus 0] [-other-cpus 1] [-engine valkey9.1] [-o bench/results/] [-host NAME]
//	sixnode -idle 5000
//
// The arms io_uring and epoll run the binary that -mithril names, which must have been built. The first line below tries
// it in half a minute; the second one measures everything, in about half an hour, wants the machine for itself and
// writes into bench/results.
//
//	make build && go run ./bench/sixnode -arms io_uring,epoll -rounds 3 -slice 300ms -aa-attempts 0
//	make bench
//
// What sharing connections between workers brings is measured in about half an hour too, and in two minutes roughly:
//
//	make sharing
//	make sharing HOST=rough SHARING='-cells quick -rounds 2 -slice 300ms -aa-attempts 0'
//
// # Method
//
// A machine's speed drifts by far more than the differences of interest, most of all a virtual machine's. So all
// arms run at once in front of the same servers, one of them is loaded at a time, in short slices, and every round
// gives each arm one slice: in an order that is rotated from round to round and reversed in every other one. The
// ratio of two arms is formed within a round and the table shows the median of the rounds' ratios with their
// range.
//
// A proxy's cost is CPU time per command. CPU time is the run time that the scheduler accounts to all its threads,
// io_uring workers and the garbage collector included (/proc/PID/task/*/schedstat, ns); user and system time are
// known in ticks only and divide it. The servers' CPU time is read the same way, all six together: what a proxy sends
// in fewer pieces is cheaper for them too. Commands per second say little here: load, servers and proxy share a few
// cores, and at pipeline 1 the former two are what is slow. They are shown to tell whether two arms did comparable
// work, for an arm that is given more to do at a time can batch more.
//
// With -pairs the second arm of each pair is compared with its first, the fourth with the third: the same setting off
// and on for several numbers of workers in one run. Without it all are compared with the first arm.
//
// An arm may have a workload of its own (io_uring@get/100 behind -mixes mget100 -pipelines 1): then its commands count by
// their keys, as so many of the cell's.
//
// The first arm runs twice, as itself and as its twin. A cell of the table counts only if the twins' median ratio
// of CPU time is within a few per cent of 1, and the same is asked once before the cells, so that a noisy machine is
// found out in half a minute; after a number of attempts the run ends with exit status 3. A cell
// that would not count is measured once more. The twin's other ratios tell how far to trust those of latency.
//
// # System calls and sends
//
// They are counted with the kernel's tracepoints through perf events (see counter), in a short slice of its own behind the
// timed ones, so that counting costs the measured slices nothing. The one alternative that needs no tracepoints,
// ptrace, stops a thread at every call and so changes what is batched. Sends are counted inside of the
// kernel's sockets, for that is where those of io_uring can be seen too; they are to clients and nodes together.
//
// What Mithril counts itself is read from its INFO at the edges of the timed slices: sends to nodes alone, and requests that
// took another worker's connection.
//
// # What is comparable
//
// Arms of one backing have the same work and the same servers. haproxy and nutcracker do not speak to a cluster; they
// front three plain primaries, with a replica each like the cluster's. haproxy relays bytes and looks at
// nothing, nutcracker spreads keys but follows no redirects. direct is the load at one plain server: what there is
// without a proxy.
//
// # Processors
//
// Proxies run on -proxy-cpus, with one worker or GOMAXPROCS per processor, everything else on -other-cpus. On two
// processors the proxy has one to itself: a second process there would make it share caches and be woken late,
// both of which change its batches and with them what a command costs. The load and six servers crowd on the other
// one, which leaves the proxy idle at times; CPU time per command is what an idle proxy is fairly measured by.
package main

// Package timer keeps deadlines in a hierarchical timing wheel (Varghese and Lauck, 1987). It reads no clock:
// every call that needs the time is given it, in nanoseconds of one clock that never goes back.
//
// Time is counted in ticks of 262,144 ns. Levels of 64 slots each cover a clock's worth of ticks, six bits a
// level:
//
//	level 0  one slot = 1 tick    = 0.26 ms   all 64 = 16.8 ms
//	level 1  one slot = 64 ticks  = 16.8 ms   all 64 = 1.07 s
//	level 2  one slot = 1.07 s                all 64 = 68.7 s
//	...
//	level 7  one slot = 13 days and more      beyond any deadline
//
// A timer lies at the level of the highest bit in which its tick differs from the current one. Hence every
// slot in use lies ahead of the current tick, each level's before the next level's, and the earliest is the
// lowest set bit of the lowest level in use: no scanning, and no wrapping round. When the current tick enters
// a slot above level 0, its timers are dealt out anew to lower levels; a timer moves at most seven times in
// its life.
//
//	timer state | meaning                | next
//	free        | on the free list       | armed (Arm)
//	armed       | in one slot's list     | free (Cancel, Expire)
//
// A deadline is rounded up to a tick, so a timer never fires early, and at most one tick late when Expire is
// called at the time that Next names. Arm, Cancel and Expire take constant time a timer and allocate only
// when more timers are armed than ever before.
package timer

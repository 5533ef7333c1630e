// Package window finds a worker's batch window by experiment: how long a wait may
// gather events before the worker turns to what is there. A turn has a price that all
// its events share, so a longer window saves processor time, up to the point where
// clients notice. Where that point lies depends on the machine and on the load.
//
// The worker reports a Sample every Phase, and Tick answers with the window from then
// on. Loads are told apart by how many clients are active, in classes that each span a
// factor of two; a class keeps what it has learned while other loads come and go.
//
// A probe runs all windows in turn, one Phase each: a round. What rounds measure is
// compared within the round only, so that the drift of the load and of the machine
// cancels, and the order changes from round to round. A window is kept if against
// window 0, in the median of the rounds,
//
//   - a command takes clearly less processor time,
//   - not many fewer commands are answered, measured by what is saved, and
//   - the 99th percentile of what nodes take to answer, as the worker sees it, is not
//     much longer.
//
// Of the windows that are, the shortest that is about as good as the best one wins.
// Then the class rests for a time under its load; each probe that confirms the last one
// doubles the rest.
//
//	Quiet    few clients or few commands: window 0, nothing is tried
//	Settled  the window of the load's class is in force
//	Probing  the windows take turns
//
//	  busy, its class has decided          the rest is over, or the load has changed
//	Quiet ------------------------> Settled ------------------------> Probing
//	  ^ \                            |   ^                             |  |  ^
//	  |  +------ busy, its class ----|---|-----------------------------|--|--+
//	  |          is new to it        |   +------ all rounds are run ---+  |
//	  +----------- quiet ------------+------------------------------------+
//
// A probe that is interrupted, because the load goes away or becomes one of another
// class, goes on with the next round when a load of its class is back.
package window

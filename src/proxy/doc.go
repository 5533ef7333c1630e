// Package proxy assembles the program from its configuration and runs it.
//
//	conf --> engine probe --> descriptors --> rings, one per worker thread
//	     --> listeners --> workers turn --> refresher publishes maps --> signals
//
// Nothing listens before everything that can fail has been tried. The workers share
// what worker.Shared holds and the published map; all else here is control plane:
// ordinary goroutines on threads that stay off the workers' CPUs.
package proxy

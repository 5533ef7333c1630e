package sim

import "mithril/src/worker"

// shrinkRuns bounds the runs that a Shrink may take.
const shrinkRuns = 400

// Shrink looks for a smaller Config that still fails: without faults and commands that
// it does not need, with fewer and shorter sessions. fails runs one.
func Shrink(c Config, fails func(Config) bool) Config {
	runs := 0
	try := func(change func(*Config)) bool {
		smaller := c
		change(&smaller)
		if smaller == c || runs == shrinkRuns {
			return false
		}
		runs++
		if !fails(smaller) {
			return false
		}
		c = smaller
		return true
	}
	for again := true; again; {
		again = false
		for i := range c.F.list() {
			again = try(func(c *Config) { *c.F.list()[i].p = 0 }) || again
		}
		for kind := range c.Weights {
			again = try(func(c *Config) {
				if c.Weights[kind] = 0; c.Weights == [opKinds]int{} {
					c.Weights[kind] = 1
				}
			}) || again
		}
		for _, change := range simpler {
			again = try(change) || again
		}
	}
	return c
}

var simpler = []func(*Config){
	func(c *Config) { c.Workers = 1 },
	func(c *Config) { c.Workers = max(1, c.Workers-1) },
	func(c *Config) { c.Shared = false },
	func(c *Config) { c.Post = worker.PostLimits{} },
	func(c *Config) { c.Place = worker.WhereAccepted },
	func(c *Config) { c.Sessions = max(1, c.Sessions/2) },
	func(c *Config) { c.Sessions = max(1, c.Sessions-1) },
	func(c *Config) { c.Requests = max(1, c.Requests/2) },
	func(c *Config) { c.Requests = max(1, c.Requests-1) },
	func(c *Config) { c.Depth = max(1, c.Depth/2) },
	func(c *Config) { c.ValueBytes = min(c.ValueBytes, 20) },
	func(c *Config) { c.Bulky = false },
	func(c *Config) { c.Pace = 0 },
	func(c *Config) { c.Trickle = 0 },
	func(c *Config) { c.Tags = 0 },
	func(c *Config) { c.Chunks = max(c.Chunks, 64) },
	func(c *Config) { c.Room = max(c.Room, 256<<10) },
	func(c *Config) { c.Lanes = 1 },
	func(c *Config) { c.Password = false },
	func(c *Config) { c.MaxClients = 0 },
	func(c *Config) { c.SoftOutput = 0 },
	func(c *Config) { c.HardOutput = 0 },
	func(c *Config) { c.BatchWindow, c.FindWindow = 0, false },
	func(c *Config) { c.FindWindow = false },
	func(c *Config) { c.Timeout = 0 },
	func(c *Config) { c.Idle = 0 },
	func(c *Config) { c.Scarce = 0 },
	func(c *Config) { c.Stop, c.Cutoff = 0, false },
	func(c *Config) { c.Cutoff = false },
}

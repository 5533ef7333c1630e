package mutation

// orderMutants let requests overtake each other.
var orderMutants = []mutant{
	{
		name:  "eras are not looked at",
		file:  "worker/order.go",
		old:   "	c.HoldForOrder()\n	return false\n",
		new:   "	return true\n",
		harm:  "a read overtakes the write before it when the map changes",
		quick: true,
	},
	{
		name: "an override begins no era",
		file: "worker/order.go",
		old:  "	w.order.era++\n	w.lead(s, n.index)\n",
		new:  "	w.lead(s, n.index)\n",
		harm: "a read overtakes the write before it when a slot moves",
	},
	{
		name: "a new map begins no era",
		file: "worker/node.go",
		old:  "	w.order.era++\n",
		new:  "",
		harm: "a read overtakes the write before it when the map changes",
		test: "TestNothingOvertakesAtANewMap",
	},
	{
		name: "a retired connection begins no era",
		file: "worker/tenure.go",
		old:  "		w.leaveAgain(b.node)\n",
		new:  "",
		harm: "a read overtakes the write before it when a connection is replaced",
	},
	{
		name: "a redirected request does not hold its session",
		file: "session/feed.go",
		old:  "	case s.bounced > 0:\n		s.hold = HoldOrder\n",
		new:  "",
		harm: "a read overtakes the write before it when a slot moves",
		rare: true,
	},
	{
		name: "one answer ends the hold of all redirected requests",
		file: "session/emit.go",
		old:  "		s.bounced--\n",
		new:  "		s.bounced = 0\n",
		harm: "a read overtakes the write before it when a slot moves",
		test: "TestNothingOvertakesARedirectedRequest",
	},
	{
		name: "parts of a request do not hold its session",
		file: "worker/retry.go",
		old:  "		j := w.joins.get(owner)\n		owner, seq = j.Owner, j.Seq\n",
		new:  "		return false\n",
		harm: "a read overtakes the MSET before it when a slot moves",
	},
	{
		name: "HELLO does not wait for the requests before it",
		file: "session/dispatch.go",
		old:  "if l.barrier && !s.window.empty() {",
		new:  "if l.barrier && s.window.parked > 0 {",
		harm: "requests overtake others at the change of protocol",
	},
	{
		name: "requests of a session take connections in turn",
		file: "worker/route.go",
		old:  "return pipe.Key{Lane: c.lane, Proto: c.Proto()}",
		new:  "return pipe.Key{Lane: uint16(w.inFlight % w.Lanes), Proto: c.Proto()}",
		harm: "requests overtake each other on their way to a node",
	},
}

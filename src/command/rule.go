package command

import (
	"errors"
	"strings"
)

// setPolicy decides a row's route, after its keys are known. A line of policy.go for its name comes first, then the default rule, then the
// container's line. What remains open is for undecided to say.
func (c *Command) setPolicy(undecided func(*Command) (Route, error)) (err error) {
	p := policyByName[strings.ToLower(c.Name)]
	if p == nil {
		if c.Route, c.KeyStep = c.ruleOf(); c.Route != routeNone {
			return nil
		}
		p = c.parent.policy()
	}
	if p == nil {
		c.Route, err = undecided(c)
		return err
	}
	c.Route, c.KeyStep, c.ArgIndex, c.CursorLast, c.blockOption, c.Script = p.route, p.keyStep, p.argIndex, p.last, p.block, p.script
	c.RawErrors = p.raw
	if p.response != ResponseDefaultKeyless {
		c.Response = p.response
	}
	if int(c.ArgIndex) >= c.least() { // modules look for such errors themselves
		c.Arity = -int16(c.ArgIndex) - 1
	}
	return nil
}

// least is the number of arguments that every accepted request has.
func (c *Command) least() int { return max(int(c.Arity), -int(c.Arity)) }

// policy is the line of policy.go for a container, nil if it has none or there is no container.
func (c *Command) policy() *policy {
	if c == nil {
		return nil
	}
	return policyByName[strings.ToLower(c.Name)]
}

// onConnection are the flags of commands that do more with their connection than ask and be answered once.
const onConnection = FlagBlocking | FlagPubSub | FlagNoAuth | FlagNoMulti

// ruleOf is the route that a command has by what the servers say of it, routeNone if that is not enough: one that has keys, or channels
// that are routed like keys, is RouteKeyed, or RouteSplit if its tips ask for that and its arguments allow it; one without keys is a
// RouteBroadcast if its tips say how the replies are joined. There is no rule for subcommands of a container that has a line.
func (c *Command) ruleOf() (r Route, keyStep uint8) {
	switch {
	case c.Flags&onConnection != 0:
		return routeNone, 0
	case c.findsKeys():
		if step := c.splitStep(); c.Request == RequestMultiShard && step != 0 && c.Response != ResponseSpecial {
			return RouteSplit, step
		}
		return RouteKeyed, 0
	case c.hidesKeys():
		return routeNone, 0
	case (c.Request == RequestAllShards || c.Request == RequestAllNodes) && c.Response != ResponseSpecial && c.parent.policy() == nil:
		return RouteBroadcast, 0
	}
	return routeNone, 0
}

// findsKeys reports whether there is a key spec that leads to keys.
func (c *Command) findsKeys() bool {
	for i := range c.KeySpecs {
		if c.KeySpecs[i].Begin != BeginUnknown {
			return true
		}
	}
	return false
}

// hidesKeys reports whether the command has keys that only its server finds.
func (c *Command) hidesKeys() bool {
	return !c.findsKeys() && (len(c.KeySpecs) != 0 || c.Flags&FlagMovableKeys != 0)
}

// splitStep is the number of arguments for each key if a request is nothing but keys, each with as many arguments; else 0.
func (c *Command) splitStep() uint8 {
	if len(c.KeySpecs) != 1 || c.least() < 2 {
		return 0
	}
	k := &c.KeySpecs[0]
	if k.Begin != BeginIndex || k.Index != 1 || k.Count != CountRange || k.LastKey != -1 || k.Limit > 1 || k.Step < 1 || k.Step > 255 {
		return 0
	}
	return uint8(k.Step)
}

// mustDecide is for tables of data/: there is no command that nobody has thought about.
func mustDecide(c *Command) (Route, error) {
	return routeNone, errors.New("no policy for " + c.Name + ", which no default rule covers: policy.go must name it")
}

// openTo is for commands that only the nodes or the configuration know: any primary serves one that has no keys, unless something says that
// it is about more than one node, one certain node, or its connection.
func openTo(c *Command) (Route, error) {
	closed := c.Flags&(onConnection|FlagAdmin) != 0 || c.Categories&categoriesOnConnection != 0
	if closed || c.hidesKeys() || c.Request != RequestDefault {
		return RouteLater, nil
	}
	return RouteAny, nil
}

var categoriesOnConnection = categoryBits["connection"] | categoryBits["transaction"]

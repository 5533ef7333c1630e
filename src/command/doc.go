// Package command knows every command of the servers: name, arity, flags, where its keys are, and what the proxy does with it.
//
//	data/*.resp3        what a real server said to COMMAND and COMMAND DOCS (tools/gentable)
//	   | parse.go
//	   v
//	Table  -- Find -->  *Command  -- Keys -->  []KeyRef
//	   ^                   | Route: what the proxy does with it
//	   | policy.go         v
//	   | corrections.go  the session routes, splits, broadcasts, answers or refuses it
//
// There is one table per engine and version (ROUTE2); ForEngine picks the one that fits the backends. Tables never change once
// built, so workers share them without locks. Nothing here allocates per request.
//
// Commands that no built-in table has come from the nodes (ParseRows, Common) and from the configuration (ParseExtra). Extend makes a
// table that has them too; package refresher decides when.
//
// Two files are written by hand. policy.go says which route a command takes; a row that it does not name takes the default rule, which
// is in rule.go. corrections.go says where keys are for the few commands whose published key specs are not enough.
//
// A refused command (RouteRefused) has a row, but no lookup finds it: for a client it does not exist. One that the proxy does not carry
// (RouteLater) is found, so that its error names it, but neither is offered: COMMAND and its subcommands leave both out.
package command

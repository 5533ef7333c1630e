// Package differential holds the proxy to PROTO5: whatever a client sends, it gets the
// bytes that a standalone node of the same release would have sent.
//
//	testdata/corpus/*.txt  --.
//	COMMAND DOCS, a seed --> calls --> batch, from empty servers --.-> proxy, six nodes -> replies  the same,
//	                                                               '-> lone node ------> replies  after a canonicaliser
//
// A batch begins with empty servers and goes to both in pipelines of 1 to 50 requests, some
// of them inline. The first difference that is not allowed is made small and printed with
// its seed, in the form of the corpus.
//
// Where things are:
//
//   - testdata/corpus has command lines by hand, one for each command at least. This is the
//     place for those of a new command. A line is words separated by blanks; a word in
//     double quotes is Go's; a canonicaliser's name in brackets at the end replaces the
//     command's own. Keys that a server fills by lot, or that the lone node alone has
//     changed, have to be deleted before a later line reads them.
//   - testdata/setup.txt makes the keys that generated calls meet.
//   - unfixed says of which commands one server does not fix the reply, and what is compared
//     instead.
//   - allowed is the closed list of what a cluster must answer otherwise. An entry without
//     use is a failure.
//   - vocabulary has the values that generated calls take for an argument.
//
// A larger run, and the run of one seed:
//
//	go test ./tests/live/differential -soak
//	go test ./tests/live/differential -seed 17
package differential

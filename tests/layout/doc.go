// Package layout checks the house rules on the source itself: what lies where, who may
// import whom, and what the packages of the data path may not do.
//
// A rule about Go files is a function from a parsed file to complaints, and carries an
// example that it must complain about, so that a rule which finds nothing is found
// itself. What is forbidden on the data path is looked for in all functions that a
// worker's turn leads to.
package layout

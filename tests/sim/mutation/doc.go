// Package mutation proves that the simulator would notice: it builds the program with one
// deliberate defect after the other and expects a test of tests/sim to fail.
//
//	table ---> go test -c -overlay ---> seeds until one fails
//	           nothing in the tree       noticed, or the mutant
//	           changes                   has survived
//
// A mutant that survives shows a hole of the simulator: what is missing is a fault that
// reaches the defect or a checker that sees it. One whose old text is not in its file any
// more has to follow the program.
//
// `make mutants` tries all of them, `make test` those that are quick.
package mutation

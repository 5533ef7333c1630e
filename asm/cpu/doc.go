// Package cpu tells which instructions this processor has, so that each kernel in asm is chosen once, at
// start.
//
// It is the only package that asks the processor. A kernel keeps its choice in a package variable of its own.
package cpu

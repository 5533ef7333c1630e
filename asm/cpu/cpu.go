// Package cpu tells which instructions this processor has, so that each kernel in asm is chosen once, at
// start.
//
// It is the only package that asks the processor. A kernel keeps its choice in a package variable of its own.
package cpu

import "github.com/klauspost/cpuid/v2"

// CarrylessMultiply tells whether products over GF(2) and byte shuffles are instructions (PCLMULQDQ and
// PSHUFB on amd64). It is false on other architectures, whose kernels are the portable ones.
var CarrylessMultiply = cpuid.CPU.Supports(cpuid.CLMUL, cpuid.SSSE3)

package cpu

import "github.com/klauspost/cpuid/v2"

// CarrylessMultiply tells whether products over GF(2) and byte shuffles are instructions (PCLMULQDQ and
// PSHUFB on amd64). It is false on other architectures, whose kernels are the portable ones.
var CarrylessMultiply = cpuid.CPU.Supports(cpuid.CLMUL, cpuid.SSSE3)

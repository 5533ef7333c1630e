package crc16

import "mithril/asm/cpu"

// foldingMin is the length in bytes from which folding is faster, call included; below, the tables are.
const foldingMin = 48

var hasFolding = cpu.CarrylessMultiply

// Checksum returns the CRC-16/XMODEM of b.
func Checksum(b []byte) uint16 {
	if len(b) >= foldingMin && hasFolding {
		return folding(b)
	}
	return portable(b)
}

// folding computes the checksum with carry-less multiplication. b has at least 16 bytes, and the processor
// PCLMULQDQ and SSSE3.
//
//go:noescape
func folding(b []byte) uint16

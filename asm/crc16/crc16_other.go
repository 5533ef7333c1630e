//go:build !amd64

package crc16

// Checksum returns the CRC-16/XMODEM of b.
func Checksum(b []byte) uint16 { return portable(b) }

// Package crc16 computes CRC-16/XMODEM, the checksum that spreads keys over the slots of a cluster:
// polynomial x^16 + x^12 + x^5 + 1, no bits reflected, start value 0, nothing added at the end. The check
// value of "123456789" is 0x31C3. (Redis cluster specification, appendix A.)
//
// Two kernels give the same result:
//
//	portable  table lookups, sixteen bytes a step, every length and architecture
//	folding   carry-less multiplication on amd64, for at least foldingMin bytes
//
// Both rest on the same fact: the start value is zero, so zero bytes in front of the data change nothing, and
// the odd-sized piece that is left beside whole blocks of sixteen is best taken first.
package crc16

// Package slot maps keys to the hash slots of a cluster (ROUTE1).
//
//	key -> hash tag, or the whole key -> CRC-16/XMODEM -> modulo 16384
//
// Only keys are hashed: which argument of a command is a key is for the command table to say.
package slot

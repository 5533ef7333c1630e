package slot

import (
	"bytes"

	"mithril/asm/crc16"
)

// Count is the number of slots; they are numbered from 0.
const Count = 16384

// Of returns the slot of a key of any bytes: CRC-16/XMODEM of its hash tag, modulo Count. The tag is what
// stands between the first '{' and the first '}' after it, when that is anything at all; else the whole key.
// (Redis cluster specification, "Hash tags".)
func Of(key []byte) uint16 {
	return crc16.Checksum(tag(key)) % Count
}

func tag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	length := bytes.IndexByte(key[open+1:], '}')
	if length <= 0 {
		return key
	}
	return key[open+1 : open+1+length]
}

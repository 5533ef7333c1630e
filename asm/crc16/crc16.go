package crc16

const (
	polynomial = 0x1021 // without x^16
	blockBytes = 16
)

// tables[k][v] is the checksum of byte v followed by k zero bytes. Since the checksum is linear, that of a
// block is the sum (xor) of the entries for its bytes, each with the number of bytes behind it; the entries
// do not wait for each other.
var tables = makeTables()

func makeTables() (t [blockBytes][256]uint16) {
	for v := range 256 {
		crc := uint16(v) << 8
		for range 8 {
			crc = shift(crc)
		}
		t[0][v] = crc
	}
	for k := 1; k < blockBytes; k++ {
		for v := range 256 {
			before := t[k-1][v]
			t[k][v] = before<<8 ^ t[0][before>>8]
		}
	}
	return t
}

// shift appends one zero bit to the data.
func shift(crc uint16) uint16 {
	if crc&0x8000 != 0 {
		return crc<<1 ^ polynomial
	}
	return crc << 1
}

// portable computes the checksum with the tables.
func portable(b []byte) (crc uint16) {
	t := &tables
	head := len(b) % blockBytes
	behind := uint(head)
	for _, c := range b[:head] {
		behind--
		crc ^= t[behind%blockBytes][c]
	}
	for b = b[head:]; len(b) >= blockBytes; b = b[blockBytes:] {
		p := (*[blockBytes]byte)(b)
		crc = t[15][p[0]^byte(crc>>8)] ^ t[14][p[1]^byte(crc)] ^
			t[13][p[2]] ^ t[12][p[3]] ^ t[11][p[4]] ^ t[10][p[5]] ^ t[9][p[6]] ^ t[8][p[7]] ^
			t[7][p[8]] ^ t[6][p[9]] ^ t[5][p[10]] ^ t[4][p[11]] ^ t[3][p[12]] ^ t[2][p[13]] ^ t[1][p[14]] ^ t[0][p[15]]
	}
	return crc
}

//go:build invariants

package invariant

// Enabled tells whether the costly checks are compiled in.
const Enabled = true

// manglePattern is what a released buffer reads as. It is no RESP type byte, no digit and no letter, so
// whatever still reads the buffer fails at once instead of seeing the next owner's bytes.
const manglePattern = 0xDB

// Mangle overwrites a buffer that its owner has given back.
func Mangle(b []byte) {
	for i := range b {
		b[i] = manglePattern
	}
}

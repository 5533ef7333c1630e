package crc16

// A kernel under test, and the least length in bytes it takes.
type kernel struct {
	sum func([]byte) uint16
	min int
}

// kernels lists what there is to compare on this machine.
func kernels() map[string]kernel {
	list := map[string]kernel{"portable": {portable, 0}, "chosen": {Checksum, 0}}
	addKernels(list)
	return list
}

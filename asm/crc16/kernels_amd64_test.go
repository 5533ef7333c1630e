package crc16

func addKernels(list map[string]kernel) {
	if hasFolding {
		list["folding"] = kernel{folding, blockBytes}
	}
}

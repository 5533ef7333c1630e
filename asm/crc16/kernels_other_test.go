//go:build !amd64

package crc16

func addKernels(map[string]kernel) {}

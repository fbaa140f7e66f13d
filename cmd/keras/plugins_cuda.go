//go:build cuda && linux

package main

import "github.com/gokeras/gokeras/kernels/cuda"

func init() {
	gpus = func() ([]string, error) {
		all, err := cuda.GPUs()
		lines := make([]string, len(all))
		for i, g := range all {
			lines[i] = g.String()
		}
		return lines, err
	}
	nvidiaLibraries = func() string {
		version, err := cuda.NCCL()
		if err != nil {
			return "no NCCL: " + oneLine(err.Error())
		}
		return "NCCL " + version
	}
	topology = func() (string, error) {
		t, err := cuda.Links()
		if err != nil {
			return "", err
		}
		return t.String() + nvidiaLibraries() + "\n", nil
	}
}

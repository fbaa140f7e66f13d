//go:build cuda && linux

package main

import (
	"context"

	"github.com/gokeras/gokeras/kernels/cuda"
)

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
		text := t.String()
		if len(t.Devices) > 1 {
			how, err := cuda.Measured(context.Background())
			if err != nil {
				how = "not: " + oneLine(err.Error())
			}
			text += "measured: all-reduces " + how + "\n"
		}
		return text + nvidiaLibraries() + "\n", nil
	}
}

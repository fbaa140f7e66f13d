//go:build cuda && linux

package main

import (
	"context"
	"strings"

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
	nvidiaLibraries = func() []string {
		lines := cuda.Libraries()
		for i := range lines {
			lines[i] = oneLine(lines[i])
		}
		return lines
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
		return text + strings.Join(nvidiaLibraries(), "\n") + "\n", nil
	}
}

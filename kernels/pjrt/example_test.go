//go:build linux

package pjrt_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// A backend for devices "xla:0" and "xla:1" of XLA's plugin for CPUs. Without the file, opening a device says so.
func ExampleNew() {
	b := pjrt.New("xla", "/nowhere/pjrt_c_api_cpu_plugin.so", pjrt.Option{Name: "cpu_device_count", Value: int64(2)})
	err := b.Open(kernels.Device{Kind: "xla"})
	fmt.Println(err != nil, len(b.Devices()))
	// Output: true 0
}

// The plugin that a backend uses.
func ExampleBackend_Info() {
	info, err := pjrt.New("xla", "/nowhere/plugin.so").Info()
	fmt.Println(info == pjrt.Info{}, err != nil)
	// Output: true true
}

//go:build linux

package pjrt

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// TakesShardy is for tests.
func TakesShardy(p *capi.Plugin) bool { return takesShardy(p) }

// MeshText is the module of a program that a plugin divides over a mesh, for tests.
func MeshText(plugin *capi.Plugin, p *ir.Program, mesh []int, layouts [][]int) (string, error) {
	_, o, err := divide(p, mesh, layouts, 1, takesShardy(plugin))
	if err != nil {
		return "", err
	}
	module, err := stablehlo.Lower(p, o)
	if err != nil {
		return "", err
	}
	return module.Text, nil
}

// LowerFor has programs lowered as for another platform than the plugin's, for tests.
func LowerFor(b *Backend, platform string) error {
	_, err := b.connect()
	b.platform = platform
	return err
}

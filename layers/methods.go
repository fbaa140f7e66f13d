package layers

import (
	"fmt"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// wrongMethod finds a method of a custom layer that has the name of an optional method of layers but another signature.
// Nothing would call it, and only wrong results would show that. Methods of embedded types are not checked.
func wrongMethod(l Layer) error {
	if config.Module(l) != "" {
		return nil
	}
	if _, ok := l.(Container); ok {
		return nil
	}
	wrong := func(name, form, expected string) error {
		return fmt.Errorf("%T has a method %s of the form %s, which nothing calls; expected %s", l, name, form, expected)
	}
	const build = "func(b *layers.Builder, inputs []ir.Shape)"
	switch l.(type) { // looking methods up by their names would keep those of all types in every program
	case interface{ Build(*Builder, ir.Shape) }:
		return wrong("Build", "func(*layers.Builder, ir.Shape)", build)
	case interface {
		Build(*Builder, []ir.Shape) error
	}:
		return wrong("Build", "func(*layers.Builder, []ir.Shape) error", build)
	case interface{ SupportsMasking() (bool, error) }:
		return wrong("SupportsMasking", "func() (bool, error)", "func() bool")
	case interface {
		ComputeMask(*Context, []*ops.Tensor) []*ops.Tensor
	}:
		return wrong("ComputeMask", "func(*layers.Context, []*ops.Tensor) []*ops.Tensor", "func(c *layers.Context, inputs, outputs []*ops.Tensor) []*ops.Tensor")
	}
	return nil
}

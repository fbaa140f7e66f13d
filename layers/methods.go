package layers

import (
	"fmt"
	"reflect"

	"github.com/gokeras/gokeras/internal/config"
)

// wrongMethod finds a method of a user's layer that has the name of one that layers may have, and another form: nothing
// would call it, and nothing but the results would tell. Methods of embedded types are those of others.
func wrongMethod(l Layer) error {
	if config.Module(l) != "" {
		return nil
	}
	if _, ok := l.(Container); ok {
		return nil
	}
	v := reflect.ValueOf(l)
	check := func(name string, method reflect.Value, satisfied bool, form string) error {
		if satisfied || !method.IsValid() {
			return nil
		}
		return fmt.Errorf("%T has a method %s of the form %s, which nothing calls; expected %s", l, name, config.Form(method.Type()), form)
	}
	// The names are constants, so that programs need not keep every method of every type.
	_, builds := l.(WeightBuilder)
	if err := check("Build", v.MethodByName("Build"), builds, "func(b *layers.Builder, inputs []ir.Shape)"); err != nil {
		return err
	}
	_, supports := l.(MaskSupporter)
	if err := check("SupportsMasking", v.MethodByName("SupportsMasking"), supports, "func() bool"); err != nil {
		return err
	}
	_, computes := l.(MaskComputer)
	return check("ComputeMask", v.MethodByName("ComputeMask"), computes, "func(c *layers.Context, inputs, outputs []*ops.Tensor) []*ops.Tensor")
}

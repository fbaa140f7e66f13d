package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// quantizeWeight quantizes the only weight of a layer that is multiplied. build makes the variables of the mode, and
// convert their values. If it fails, the layer is unchanged.
func (b *Base) quantizeWeight(how any, weight **distribute.Variable, whole *quantized, dtype *string, setting *quantizers.Config,
	build func(*Builder), convert func(quantizers.Config, kernels.Array) ([]kernels.Array, error)) error {
	old, before := *weight, *whole
	err := b.quantizeBase(how, []*distribute.Variable{old}, dtype, setting, func(to *Builder) {
		*whole = to.quantization(*setting, defaultActivations)
		build(to)
	}, func(c quantizers.Config) ([]kernels.Array, error) {
		value, err := old.Value()
		if err != nil {
			return nil, err
		}
		return convert(c, value)
	}, func() []*distribute.Variable { return whole.variables(*weight) })
	if err != nil {
		*weight, *whole = old, before
	}
	return err
}

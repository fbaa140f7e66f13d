package optimizers

import (
	"errors"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// TableRule is [ServerRule] for the rows of dynamic embeddings, in this process or on servers. Clipping is an error,
// because it needs the gradients of all rows of a step at once.
func TableRule(o Optimizer) (parameters.Rule, error) {
	if b, ok := o.(based); ok {
		if s := b.Settings().Options; s.ClipNorm != nil || s.ClipValue != nil || s.GlobalClipNorm != nil {
			return parameters.Rule{}, errors.New("optimizers: gradients of the rows of a dynamic embedding are not clipped; leave ClipNorm, ClipValue and GlobalClipNorm out")
		}
		if err := attach(b, b.base()); err != nil {
			return parameters.Rule{}, err
		}
	}
	return ServerRule(o, distribute.NewVariable(distribute.VariableSpec{Name: "embeddings"}))
}

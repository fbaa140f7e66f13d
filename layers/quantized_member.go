package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// policyGiver is implemented by layers that give their own DType to the layers that their Build makes. The
// configuration says nothing else about those layers.
type policyGiver interface{ givesPolicy() *string }

func (l *MultiHeadAttention) givesPolicy() *string  { return &l.DType }
func (l *GroupQueryAttention) givesPolicy() *string { return &l.DType }

// quantizeMember adds an entry for a quantized layer to the policy of the layer that made it, so that the latter makes
// it quantized when it is read from a file. A policy cannot express quantizers other than those of the mode, so Save
// refuses to write those. It reports whether the policy says everything.
func (b *Base) quantizeMember(policy string, c quantizers.Config) bool {
	if b.parent == nil || unusualQuantizers(c) {
		return false
	}
	maker, ok := b.parent.self.(policyGiver)
	if !ok {
		return false
	}
	field := maker.givesPolicy()
	m, err := ops.ParseDTypePolicyMap(*field)
	if m == nil && err == nil {
		m, err = ops.NewDTypePolicyMap(b.parent.resolved.Name)
	}
	if err != nil || set(m, b.policyPaths(b.within), policy) != nil {
		return false
	}
	*field = m.String()
	b.parent.policy = *field
	return true
}

// set replaces the entries of a layer's paths by one of the first.
func set(m *ops.DTypePolicyMap, paths []string, policy string) error {
	for _, path := range paths {
		if m.Has(path) {
			if err := m.Delete(path); err != nil {
				return err
			}
		}
	}
	return m.Set(paths[0], policy)
}

// unusualQuantizers reports whether a configuration has custom quantizers.
func unusualQuantizers(c quantizers.Config) bool {
	switch c := c.(type) {
	case *quantizers.Int8QuantizationConfig:
		return c.WeightsOnly || c.WeightQuantizer != nil || c.ActivationQuantizer != nil
	case *quantizers.Int4QuantizationConfig:
		return c.WeightQuantizer != nil || c.ActivationQuantizer != nil
	}
	return false
}

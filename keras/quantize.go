package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Quantize converts the weights of all layers that support it to fewer bits: Dense, EinsumDense, Embedding and
// ReversibleEmbedding, including those inside other layers and models. how is "int8", "int4" or a configuration of
// package quantizers. A layer is excluded if a filter returns false. Quantized weights are not trained; biases and LoRA
// are. A compiled model must be compiled again before training.
//
// It is an error if the model is not built or is being trained, if no layer can be quantized, or if a layer is already
// quantized. Nothing is changed then.
func (m *Model) Quantize(how any, filters ...func(l layers.Layer) bool) error {
	return prefixed("Quantize", m.quantize(how, filters))
}

func (m *Model) quantize(how any, filters []func(l layers.Layer) bool) error {
	c, err := quantizers.Resolve(how)
	if err != nil {
		return err
	}
	if !m.isBuilt() {
		return fmt.Errorf("model %q has no weights yet; build it first, with InputShape, Build or Fit", m.Name())
	}
	if !m.training.TryLock() {
		return fmt.Errorf("model %q is training or evaluating; wait for it to end", m.Name())
	}
	defer m.training.Unlock()
	m.values.Lock()
	defer m.values.Unlock()
	var chosen []layers.Quantizable
	layers.Walk(m, func(l layers.Layer) {
		q, ok := l.(layers.Quantizable)
		for _, f := range filters {
			ok = ok && (f == nil || f(l))
		}
		if ok && layers.CanQuantize(l, c.Mode()) {
			chosen = append(chosen, q)
		}
	})
	if len(chosen) == 0 {
		return fmt.Errorf("model %q has no layer that can be quantized to %s, or the filters leave none; Dense, EinsumDense, Embedding and ReversibleEmbedding can", m.Name(), c.Mode())
	}
	for _, l := range chosen {
		if policy := layers.QuantizedBy(l); policy != "" {
			return fmt.Errorf("layer %q is quantized already (%s); quantize a model once, or leave the layer out with a filter", layers.Name(l), policy)
		}
	}
	for _, l := range chosen {
		if err := l.Quantize(c); err != nil {
			return err
		}
	}
	return nil
}

package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Quantize keeps the weights of all layers that can be quantized in fewer bits from now on: Dense, EinsumDense,
// Embedding and ReversibleEmbedding, also inside other layers and models. how is "int8", "int4" or a configuration of
// package quantizers; filters that return false leave layers out. Weights in whole numbers are not trained; biases and
// LoRA are. A model that was compiled has to be compiled again to be trained.
//
// It is an error for a model that is not built or trains at the moment, where no layer can be quantized, and where one
// is quantized already; then nothing is changed.
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

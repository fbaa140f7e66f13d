package keras

import (
	"fmt"
	"strconv"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// GetWeights returns copies of all weights in the order of [Model.Weights], which says where it may differ from that of
// Keras. While the model trains they are those between two
// steps.
func (m *Model) GetWeights() ([]kernels.Array, error) {
	m.values.RLock()
	defer m.values.RUnlock()
	return readAll(m.Weights())
}

// SetWeights replaces all weights. Where the number or a shape is wrong nothing is changed.
func (m *Model) SetWeights(weights []kernels.Array) error {
	return prefixed("SetWeights", m.setWeights(m.Weights(), weights, "model "+strconv.Quote(m.Name())))
}

// GetLayerWeights is GetWeights for one layer inside the model, a model too, like Keras's layer.get_weights(): copies
// in the order of [layers.Weights].
func (m *Model) GetLayerWeights(l layers.Layer) ([]kernels.Array, error) {
	if err := m.checkInside(l); err != nil {
		return nil, prefixed("GetLayerWeights", err)
	}
	m.values.RLock()
	defer m.values.RUnlock()
	return readAll(layers.Weights(l))
}

// SetLayerWeights is SetWeights for one layer inside the model, like Keras's layer.set_weights(weights).
func (m *Model) SetLayerWeights(l layers.Layer, weights []kernels.Array) error {
	err := m.checkInside(l)
	if err == nil {
		err = m.setWeights(layers.Weights(l), weights, "layer "+strconv.Quote(layers.Name(l)))
	}
	return prefixed("SetLayerWeights", err)
}

// checkInside refuses a layer that is not the model's: steps would not wait for a change of it.
func (m *Model) checkInside(l layers.Layer) error {
	if layers.IsNil(l) {
		return fmt.Errorf("the layer is nil; take one from GetLayer or Layers")
	}
	found := false
	layers.Walk(m, func(other layers.Layer) { found = found || other == l })
	if !found {
		return fmt.Errorf("layer %q is not in model %q; take one from its GetLayer or Layers", layers.Name(l), m.Name())
	}
	return nil
}

func (m *Model) setWeights(vars distribute.Variables, weights []kernels.Array, whose string) error {
	if len(weights) != len(vars) {
		return fmt.Errorf("%s has %d weights, received %d; build the model first, or check that the weights are of the same model", whose, len(vars), len(weights))
	}
	return m.writeAll(vars, weights)
}

func readAll(vars distribute.Variables) ([]kernels.Array, error) {
	out := make([]kernels.Array, len(vars))
	for i, v := range vars {
		var err error
		if out[i], err = v.Value(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writeAll sets all values or, where a shape is wrong, none. Steps wait meanwhile.
func (m *Model) writeAll(vars distribute.Variables, values []kernels.Array) error {
	for i, v := range vars {
		if err := values[i].Check(); err != nil {
			return fmt.Errorf("weight %d, %s: %w", i, v.Path(), err)
		}
		if !v.Type().Shape.Equal(values[i].Type.Shape) {
			return fmt.Errorf("weight %d, %s, has shape %v, received shape %v", i, v.Path(), v.Type().Shape, values[i].Type.Shape)
		}
	}
	m.values.Lock()
	defer m.values.Unlock()
	for i, v := range vars {
		if err := v.SetValue(values[i]); err != nil {
			return err
		}
	}
	return nil
}

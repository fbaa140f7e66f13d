package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// attributeBlock creates its layers in Build; tags give their Python names.
type attributeBlock struct {
	layers.Base
	Units  int                        `keras:"units"`
	Hidden *layers.Dense              `keras:"ffn,attribute"`
	Norm1  *layers.LayerNormalization `keras:"layernorm1,attribute"`
	Heads  []*layers.Dense            `keras:"head_list,attribute"`
}

func (l *attributeBlock) Build(*layers.Builder, []ir.Shape) {
	l.Hidden, l.Norm1 = &layers.Dense{Units: l.Units}, &layers.LayerNormalization{}
	l.Heads = []*layers.Dense{{Units: 1}, {Units: 1}}
}

func (l *attributeBlock) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	x := layers.Invoke(l.Norm1, c, layers.Invoke(l.Hidden, c, in[0]))
	return []*ops.Tensor{ops.Add(layers.Invoke(l.Heads[0], c, x), layers.Invoke(l.Heads[1], c, x))}
}

func init() { layers.Register[attributeBlock]() }

// TestAttributeTags: files store layers under the names in the tags, as Keras stores them under attributes, and they
// are not part of the configuration.
func TestAttributeTags(t *testing.T) {
	block := &attributeBlock{Units: 3}
	m := sequential(t, []keras.Option{keras.InputShape(2)}, block)
	var names []string
	for _, a := range layers.AttributesOf(block) {
		names = append(names, a.Name)
	}
	assert.Equal(t, []string{"ffn", "head_list", "layernorm1"}, names)
	o, err := layers.ToObject(block)
	require.NoError(t, err)
	assert.NotContains(t, o["config"], "ffn")
	assert.NotContains(t, o["config"], "head_list")
	path := filepath.Join(t.TempDir(), "block.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	assert.Equal(t, allArrays(t, m), allArrays(t, again))
}

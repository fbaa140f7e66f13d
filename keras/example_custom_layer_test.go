package keras_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
)

type Scale struct {
	layers.Base
	Name string
	gain *distribute.Variable
}

func (l *Scale) Build(b *layers.Builder, in []ir.Shape) {
	l.gain = b.AddWeight("gain", ir.Shape{in[0][len(in[0])-1]}, layers.WeightOptions{Initializer: "ones"})
}

func (l *Scale) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(in[0], c.Weight(l.gain))}
}

func init() { layers.Register[Scale]() }

type Residual struct {
	layers.Base

	Units   int     `keras:"units"`
	Rate    float64 `keras:"rate"`
	Comment string  `keras:"-"` // not saved

	hidden *layers.Dense
	drop   *layers.Dropout
}

func (l *Residual) Build(b *layers.Builder, in []ir.Shape) {
	l.hidden = &layers.Dense{Units: l.Units, Activation: "relu"}
	l.drop = &layers.Dropout{Rate: l.Rate}
	b.Adopt(l.hidden, l.drop)
}

func (l *Residual) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Add(in[0], layers.Invoke(l.drop, c, layers.Invoke(l.hidden, c, in[0])))}
}

func (l *Residual) MemberAttributes() []string { return []string{"hidden", "drop"} }

func init() { layers.Register[Residual]("blocks") }

type Weighted struct {
	Factor float64 `keras:"factor"`
}

func (l *Weighted) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(ops.Mean(ops.Square(ops.Subtract(yTrue, yPred)), -1), l.Factor)
}

func (l *Weighted) ReductionKind() losses.Reduction { return losses.SumOverBatchSize }

func (l *Weighted) LossName() string { return "weighted" }

func init() { losses.Register[Weighted]() }

// A custom layer that can be saved.
func ExampleModel_Save_customLayer() {
	model, err := keras.NewSequential([]layers.Layer{&Scale{}, &Residual{Units: 3, Rate: 0.1}}, keras.InputShape(3))
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "custom")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.keras")
	if err := model.Save(path); err != nil {
		panic(err)
	}
	again, err := keras.LoadModel(path)
	if err != nil {
		panic(err)
	}
	for _, v := range again.Weights() {
		fmt.Println(v.Path(), v.Type())
	}
	// Output:
	// scale/gain float32[3]
	// residual/dense/kernel float32[3 3]
	// residual/dense/bias float32[3]
}

type Pull struct {
	To     float64 `keras:"to"`
	Factor float64 `keras:"factor"`
}

func (p *Pull) Penalty(w *ops.Tensor) *ops.Tensor {
	return ops.Sum(ops.Square(w.Subtract(p.To))).Multiply(p.Factor)
}

func init() { regularizers.Register[Pull]("blocks") }

// A custom regularizer: two weights of 1 are each 0.5 away from 0.5.
func ExampleModel_Save_regularizer() {
	dir, remove := folder()
	defer remove()
	pull := &Pull{To: 0.5, Factor: 0.25}
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 1, NoBias: true, KernelInitializer: "ones", KernelRegularizer: pull},
	}, keras.InputShape(2))
	check(err)
	path := filepath.Join(dir, "model.keras")
	check(m.Save(path))
	read, err := keras.LoadModel(path)
	check(err)
	check(read.Compile(keras.CompileConfig{Loss: "mse"}))
	logs, err := read.TestOnBatch(context.Background(), data.Arrays([][]float32{{0, 0}}, [][]float32{{0}}))
	check(err)
	fmt.Printf("%+v %g\n", *read.Layers()[0].(*layers.Dense).KernelRegularizer.(*Pull), logs["loss"])
	// Output: {To:0.5 Factor:0.25} 0.125
}

// TestCustomLayerPage checks that the code of the page about custom layers, and of the documentation of package layers,
// is that of examples, which compile and can be saved.
func TestCustomLayerPage(t *testing.T) {
	var source []byte
	for _, example := range []string{"example_custom_layer_test.go", "example_files_test.go", "../metrics/example_base_test.go"} {
		text, err := os.ReadFile(example)
		require.NoError(t, err)
		source = append(source, text...)
	}
	page, err := os.ReadFile("../docs/custom_layers.md")
	require.NoError(t, err)
	blocks := 0
	for i, part := range strings.Split(string(page), "```") {
		if code, ok := strings.CutPrefix(part, "go\n"); ok && i%2 == 1 {
			blocks++
			for _, piece := range strings.Split(strings.TrimSpace(code), "\n\n") {
				require.Contains(t, string(source), piece)
			}
		}
	}
	require.Greater(t, blocks, 3)
	text, err := os.ReadFile("../layers/doc.go")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(text), "# Writing a layer\n")
	require.True(t, found)
	pieces := 0
	for _, piece := range strings.Split(example, "\n//\n") {
		if strings.HasPrefix(piece, "//\t") {
			pieces++
			require.Contains(t, string(source), strings.TrimSpace(strings.ReplaceAll("\n"+piece, "\n//\t", "\n")))
		}
	}
	require.Equal(t, 4, pieces)
}

package keras_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

// unknown is a layer that is not registered.
type unknown struct{ layers.Base }

func (l *unknown) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor { return in[:1] }

// Forgetful has a field that is not part of its configuration.
type Forgetful struct {
	layers.Base
	Factor float64
}

func (l *Forgetful) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.MultiplyScalar(in[0], 1+l.Factor)}
}

// Hidden makes layers in three ways: adopted, built as members, and in fields that are not part of the configuration.
type Hidden struct {
	layers.Base
	First  layers.Layer `keras:"-"`
	Second layers.Layer `keras:"-"`

	adopted, built *layers.Dense
	weights        []layers.Layer
}

func (l *Hidden) Build(b *layers.Builder, in []ir.Shape) {
	dense := func() *layers.Dense { return &layers.Dense{Units: in[0][1]} }
	l.First, l.Second, l.adopted, l.built = dense(), dense(), dense(), dense()
	b.Adopt(l.First, l.Second, l.adopted)
	b.BuildMember(l.built, in[0])
	l.weights = []layers.Layer{l.First, l.Second, l.adopted, l.built}
}

func (l *Hidden) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	x := in[0]
	for _, inner := range l.weights {
		x = layers.Invoke(inner, c, x)
	}
	return []*ops.Tensor{x}
}

// Given is created with its layers, in fields without tags.
type Given struct {
	layers.Base
	Inner  layers.Layer
	hidden []*layers.Dense
}

func (l *Given) Build(b *layers.Builder, in []ir.Shape) {
	for _, d := range l.hidden {
		b.BuildMember(d, in[0])
	}
}

func (l *Given) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	x := in[0]
	if l.hidden == nil {
		x = layers.Invoke(l.Inner, c, x)
	}
	for _, d := range l.hidden {
		x = layers.Invoke(d, c, x)
	}
	return []*ops.Tensor{x}
}

// strange is a loss that is not registered.
type strange struct{ losses.MeanSquaredError }

func init() {
	layers.Register[Forgetful]()
	layers.Register[Hidden]()
	layers.Register[Given]()
}

// TestSaveChecks writes models that could not be read again: the error comes from Save, and says what to do.
func TestSaveChecks(t *testing.T) {
	changed := &layers.Dense{Units: 2}
	plain := func(y, p *ops.Tensor) *ops.Tensor { return ops.Mean(ops.Square(ops.Subtract(y, p)), -1) }
	for name, c := range map[string]struct {
		layer   layers.Layer
		compile keras.CompileConfig
		after   func()
		want    string
	}{
		"unregistered layer":             {layer: &unknown{}, want: "layers.Register[unknown]()"},
		"field without a tag":            {layer: &Forgetful{Factor: 2}, want: "field Factor is 2 and would be 0"},
		"layer in a field without a tag": {layer: &Given{Inner: &layers.Dense{Units: 3}}, want: `a layer is nil; make it first, as in &layers.Dense{Units: 10}; field Inner of layer "given" (Given) holds layers`},
		"layer in a hidden field":        {layer: &Given{hidden: []*layers.Dense{{Units: 3}}}, want: `field hidden of layer "given" (Given) holds layers`},
		"changed units":                  {layer: changed, after: func() { changed.Units = 7 }, want: "was a field changed after the layer was built?"},
		"function as loss":               {layer: &layers.Dense{Units: 1}, compile: keras.CompileConfig{Optimizer: "sgd", Loss: losses.Func("mine", plain)}, want: "WithoutCompile"},
		"function as metric":             {layer: &layers.Dense{Units: 1}, compile: keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []metrics.Metric{metrics.Func("mine", plain)}}, want: "WithoutCompile"},
		"unregistered loss":              {layer: &layers.Dense{Units: 1}, compile: keras.CompileConfig{Optimizer: "sgd", Loss: &strange{}}, want: "losses.Register"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := keras.NewSequential([]layers.Layer{c.layer}, keras.InputShape(3))
			require.NoError(t, err)
			if c.compile.Loss != nil {
				require.NoError(t, m.Compile(c.compile))
			}
			if c.after != nil {
				c.after()
			}
			path := filepath.Join(t.TempDir(), "m.keras")
			require.ErrorContains(t, m.Save(path), c.want)
			require.NoFileExists(t, path)
			if c.compile.Loss != nil {
				require.NoError(t, m.Save(path, keras.WithoutCompile()))
				_, err = keras.LoadModel(path)
				require.NoError(t, err)
			}
		})
	}
}

// TestNoWeightKeepsItsInitialValue changes all weights of models of every kind, writes them in each format and reads
// them into newly created models: every weight must be restored, and a tensor missing in a file must be an error.
func TestNoWeightKeepsItsInitialValue(t *testing.T) {
	hidden, err := keras.NewSequential([]layers.Layer{&Hidden{}, &Scale{}, &Residual{Units: 3}}, keras.InputShape(3))
	require.NoError(t, err)
	require.Len(t, hidden.Weights(), 11)
	first, err := hidden.Weights()[0].Value()
	require.NoError(t, err)
	second, err := hidden.Weights()[2].Value()
	require.NoError(t, err)
	require.NotEqual(t, first, second, "two members must not begin with equal weights")
	t.Run("hidden layers", func(t *testing.T) { checkForms(t, hidden) })
	for _, c := range fileCases(t) {
		if c.Group == "hostile" || c.Args.Weights != "" || strings.HasSuffix(c.Group, "_fit") || c.Group == "call_arguments" && !strings.HasSuffix(c.Name, "_0") {
			continue
		}
		t.Run(c.Group+"/"+c.Name, func(t *testing.T) {
			m, err := keras.LoadModel(c.model(), keras.WithoutCompile())
			require.NoError(t, err)
			if len(m.Weights()) > 0 {
				checkForms(t, m)
			}
		})
	}
}

func checkForms(t *testing.T, m *keras.Model) {
	t.Helper()
	for i, v := range m.Weights() {
		a, err := v.Value()
		require.NoError(t, err)
		values := a.Float64s()
		for j := range values {
			values[j] = float64((i*31+j*7)%29 + 1)
			if v.Type().DType.IsFloat() {
				values[j] /= 32
			}
		}
		a, err = kernels.FromFloat64s(v.Type().DType, v.Type().Shape, values)
		require.NoError(t, err)
		require.NoError(t, v.SetValue(a))
	}
	want := allArrays(t, m)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.keras")
	require.NoError(t, m.Save(path, keras.WithoutCompile()))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.Equal(t, want, allArrays(t, again))
	for _, form := range []string{".weights.h5", ".npz", ".safetensors", ".weights.json"} {
		file := filepath.Join(dir, "m"+form)
		if form == ".weights.json" {
			require.NoError(t, m.SaveShardedWeights(file, 1<<20))
		} else {
			require.NoError(t, m.SaveWeights(file))
		}
		fresh, err := keras.ModelFromJSON([]byte(document(t, m)))
		require.NoError(t, err)
		var report keras.LoadReport
		require.NoError(t, fresh.LoadWeights(file, keras.Report(&report)), form)
		require.Equal(t, want, allArrays(t, fresh), form)
		require.GreaterOrEqual(t, len(report.Matched), len(fresh.Weights()), form)
	}
}

func TestScopeWithoutStrategy(t *testing.T) {
	_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(2), distribute.Scope(nil))
	require.ErrorContains(t, err, "distribute.Scope received no strategy")
}

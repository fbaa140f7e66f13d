package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// part is an initializer, a constraint, a regularizer or a layer that draws numbers in training, of parts.py.
type part struct {
	Kind, Class string
	Number      int
	Settings    map[string]any
	Spoilt      bool

	Shape []int // of an initial value
	DType string
	X     spec

	Answer struct {
		Error           string
		Config          json.RawMessage
		Value, Gradient result
		Statistics      [][2]number // of Keras's draws: mean and deviation
	}
}

// TestParts compares what parts.py drew. RANDOM_PARTS is another file of cases.
func TestParts(t *testing.T) { checkAll[*part](t, "RANDOM_PARTS", "testdata/parts.json.gz") }

// TestFreshParts has parts.py draw.
func TestFreshParts(t *testing.T) { checkFresh[*part](t, "parts.py", "RANDOM_PARTS", "60") }

func (c *part) number() int { return c.Number }

func (c *part) check(t *testing.T) string {
	text := map[string]func(*testing.T) (string, error){
		"initializer": c.initializer, "constraint": c.constraint, "regularizer": c.regularizer, "layer": c.layer,
	}[c.Kind]
	what, err := text(t)
	switch {
	case err != nil && c.Spoilt && strings.Contains(err.Error(), "panic"):
		what = err.Error()
	case err != nil && c.Spoilt: // Python takes true for a number and a list for true
		what = ""
	case err != nil && c.Answer.Error == "":
		what = "error: " + err.Error()
	case err == nil && what == "" && strings.HasPrefix(c.Answer.Error, "ValueError") && !strings.Contains(c.Answer.Error, "convert"): // others are Python's, of none for a number, or of types that TensorFlow lacks
		what = "no error, Keras says " + c.Answer.Error
	case err != nil || c.Answer.Error != "":
		what = ""
	}
	if what == "" {
		return ""
	}
	settings, _ := json.Marshal(c.Settings)
	return fmt.Sprintf("%s %s shape %v, %s, x %v: %s", c.Class, settings, c.Shape, c.DType, c.X, what)
}

func (c *part) object(t *testing.T, changed ...any) config.Object {
	t.Helper()
	s := map[string]any{}
	for k, v := range c.Settings {
		s[k] = v
	}
	for i := 0; i < len(changed); i += 2 {
		s[changed[i].(string)] = changed[i+1]
	}
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	return config.Object{ClassName: c.Class, Config: raw}
}

// configuration compares what is written with what Keras writes.
func (c *part) configuration(t *testing.T, of any, err error) (string, error) {
	if err != nil || c.Answer.Error != "" {
		return "", err
	}
	back, err := config.Encode(of)
	require.NoError(t, err)
	text, err := json.Marshal(back)
	require.NoError(t, err)
	var got, want map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.NoError(t, json.Unmarshal(c.Answer.Config, &want))
	for k, v := range want {
		if w, ok := got[k]; !ok || !alike(v, w) {
			return fmt.Sprintf("key %q is written as %v, by Keras as %v", k, w, v), nil
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok && k != "gain" { // Keras forgets that of Identity
			return fmt.Sprintf("key %q is written, %v, and not by Keras", k, v), nil
		}
	}
	return "", nil
}

// alike reports whether two values of configurations mean the same: Keras has factors in float32, one axis may be a
// list, and true is 1.
func alike(a, b any) bool {
	if list, ok := a.([]any); ok && len(list) == 1 {
		a = list[0]
	}
	if list, ok := b.([]any); ok && len(list) == 1 {
		b = list[0]
	}
	x, number := numberOf(a)
	y, other := numberOf(b)
	return number && other && (math.Abs(x-y) <= 1e-6*math.Abs(x) || float32(x) == float32(y)) || fmt.Sprint(a) == fmt.Sprint(b)
}

// numberOf returns a number of a configuration.
func numberOf(v any) (float64, bool) {
	if yes, ok := v.(bool); ok {
		return map[bool]float64{true: 1}[yes], true
	}
	if word, ok := v.(string); ok {
		infinite, ok := map[string]float64{"Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[word]
		return infinite, ok
	}
	number, ok := v.(float64)
	return number, ok
}

// starting is an initializer.
type starting interface {
	Initialize(into kernels.Array, seed uint64) error
}

func (c *part) initial(i starting, seed uint64) ([]float64, error) {
	d, err := ir.ParseDType(c.DType)
	if err != nil {
		return nil, err
	}
	a := kernels.NewArray(ir.Type{DType: d, Shape: c.Shape})
	err = i.Initialize(a, seed)
	return a.Float64s(), err
}

func (c *part) initializer(t *testing.T) (string, error) {
	i, err := initializers.Get(c.object(t))
	if text, err := c.configuration(t, i, err); text != "" || err != nil {
		return text, err
	}
	first, err := c.initial(i, 1)
	if err != nil || c.Answer.Error != "" {
		return "", err
	}
	if len(c.Answer.Statistics) == 0 {
		return c.Answer.Value.differs(c.Shape, first, 1e-7+c.rounding()), nil
	}
	if again, _ := c.initial(i, 1); !slices.Equal(first, again) {
		return "one seed gives two values", nil
	}
	other, err := c.initial(i, 2)
	if err != nil {
		return "", err
	}
	constant := slices.Max(first) == slices.Min(first) && (len(first) > 1 || c.Answer.Statistics[0][1] == 0)
	if own := c.Settings["seed"] != nil; slices.Equal(first, other) != own && !constant {
		return fmt.Sprintf("the seed of the call decides: %v, with an own one: %v", slices.Equal(first, other), own), nil
	}
	var draws [][]float64
	for k := range chances {
		i, err := initializers.Get(c.object(t, "seed", 100+k))
		require.NoError(t, err)
		v, err := c.initial(i, 1)
		require.NoError(t, err)
		draws = append(draws, v)
	}
	if c.Class == "Orthogonal" {
		if text := c.orthogonal(first); text != "" {
			return text, nil
		}
	}
	return c.chance(c.Shape, draws), nil
}

// orthogonal says what is wrong with the products of rows or columns, whichever are fewer.
func (c *part) orthogonal(v []float64) string {
	gain := 1.0
	if g, ok := c.Settings["gain"].(float64); ok {
		gain = g
	}
	columns := c.Shape[len(c.Shape)-1]
	rows := len(v) / columns
	at, n, long := func(i, k int) float64 { return v[k*columns+i] }, columns, rows
	if rows < columns {
		at, n, long = func(i, k int) float64 { return v[i*columns+k] }, rows, columns
	}
	for i := range n {
		for j := range n {
			dot := 0.0
			for k := range long {
				dot += at(i, k) * at(j, k)
			}
			if i == j {
				dot -= gain * gain
			}
			if math.Abs(dot) > gain*gain*(1e-6+4*c.rounding()) {
				return fmt.Sprintf("the product of vectors %d and %d is off by %v", i, j, dot)
			}
		}
	}
	return ""
}

// rounding is that of numbers of the type.
func (c *part) rounding() float64 {
	return map[string]float64{"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6}[c.DType]
}

func (c *part) constraint(t *testing.T) (string, error) {
	one, err := constraints.Get(c.object(t))
	if text, err := c.configuration(t, one, err); text != "" || err != nil {
		return text, err
	}
	out, err := run([]kernels.Array{c.X.array(t)}, func(in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{one.Apply(in[0])} })
	if err != nil || c.Answer.Error != "" {
		return "", err
	}
	return c.Answer.Value.differs(out[0].Shape(), out[0].Float64s(), 1e-6), nil
}

func (c *part) regularizer(t *testing.T) (string, error) {
	one, err := regularizers.Get(c.object(t))
	if text, err := c.configuration(t, one, err); text != "" || err != nil {
		return text, err
	}
	out, err := run([]kernels.Array{c.X.array(t)}, func(in []*ops.Tensor) []*ops.Tensor {
		y := one.Penalty(in[0])
		g := ops.Grad(y, in[0])[0]
		if g == nil {
			g = ops.ZerosLike(in[0])
		}
		return []*ops.Tensor{y, g}
	})
	if err != nil || c.Answer.Error != "" {
		return "", err
	}
	if text := c.Answer.Value.differs(out[0].Shape(), out[0].Float64s(), 1e-6); text != "" {
		return "penalty: " + text, nil
	}
	if text := c.Answer.Gradient.differs(out[1].Shape(), out[1].Float64s(), 1e-5); text != "" {
		return "gradient: " + text, nil
	}
	return "", nil
}

// repeated is a model that calls its layer several times as in training.
type repeated struct{ Drawn layers.Layer }

func (m *repeated) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	training := *c
	training.Training = true
	var all []*ops.Tensor
	for range 2 * chances {
		in := []*ops.Tensor{x}
		if _, ok := m.Drawn.(*layers.MultiHeadAttention); ok {
			in = append(in, x)
		}
		all = append(all, ops.ExpandDims(layers.Invoke(m.Drawn, &training, in...), 1))
	}
	return ops.Concatenate(1, all...)
}

func (c *part) layer(t *testing.T) (string, error) {
	raw, err := json.Marshal(map[string]any{"module": "keras.layers", "class_name": c.Class, "registered_name": nil,
		"config": json.RawMessage(c.object(t, "dtype", c.DType, "name", "drawn").Config)})
	require.NoError(t, err)
	one, err := layers.FromObject(raw)
	if err != nil {
		return "", err
	}
	m, err := keras.NewModel(&repeated{one}, keras.DTypePolicy(c.DType), keras.Seed(3))
	require.NoError(t, err)
	x := c.X.array(t)
	if err := m.Build(x.Shape()); err != nil {
		return "", err
	}
	require.NoError(t, setWeights(m, 5))
	out, err := m.PredictAll(context.Background(), data.Arrays(x, nil), keras.BatchSize(x.Shape()[0]))
	if err != nil || c.Answer.Error != "" {
		return "", err
	}
	shape, values := out[0].Shape(), out[0].Float64s()
	draws, size := make([][]float64, shape[1]), len(values)/shape[0]/shape[1]
	for i := range shape[0] * shape[1] { // of each example, all draws
		draws[i%shape[1]] = append(draws[i%shape[1]], values[i*size:(i+1)*size]...)
	}
	return c.chance(append([]int{shape[0]}, shape[2:]...), draws), nil
}

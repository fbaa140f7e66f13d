package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestFreshNested draws layers inside of layers and models, several deep.
func TestFreshNested(t *testing.T) { fresh(t, "randomnested.py", "RANDOM_NESTED", "20") }

func init() {
	layers.Register[Scaled]("Drawn")
	regularizers.Register[Ring]("Drawn")
	constraints.Register[Tame]("Drawn")
	initializers.Register[Stairs]("Drawn")
}

// Scaled is a layer of randomnested.py: what another one makes, times a factor and a weight.
type Scaled struct {
	layers.Base

	Name   string       `keras:"name"`
	DType  string       `keras:"dtype"`
	Frozen bool         `keras:"trainable,not"`
	Layer  layers.Layer `keras:"layer"`
	Factor float64      `keras:"factor"`

	scale *distribute.Variable
}

func (l *Scaled) Build(b *layers.Builder, in []ir.Shape) {
	b.BuildMember(l.Layer, in...)
	l.scale = b.AddWeight("scale", ir.Shape{}, layers.WeightOptions{Initializer: "ones"})
}

func (l *Scaled) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	y := layers.Invoke(l.Layer, c, in[0])
	return []*ops.Tensor{ops.Multiply(y, ops.MultiplyScalar(c.Weight(l.scale), l.Factor))}
}

func (l *Scaled) MemberAttributes() []string { return []string{"layer"} }

// Ring is a regularizer of randomnested.py.
type Ring struct {
	Factor float64 `keras:"factor"`
}

func (r *Ring) Penalty(w *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(ops.Sum(ops.Square(ops.AddScalar(ops.Square(w), -1))), r.Factor)
}

// Tame is a constraint of randomnested.py.
type Tame struct{}

func (*Tame) Apply(w *ops.Tensor) *ops.Tensor { return ops.Tanh(w) }

// Stairs is an initializer of randomnested.py.
type Stairs struct {
	Step float64 `keras:"step"`
}

func (s *Stairs) Initialize(into kernels.Array, _ uint64) error {
	values := make([]float64, into.Type.Shape.Size())
	for i := range values {
		values[i] = float64(i%5) * s.Step
	}
	return into.SetFloat64s(0, values)
}

// TestFreshDrawnNested draws such models here, Keras reads their files, computes what they compute, takes the same
// steps, and writes files between them, which are read here. RANDOM_DRAWN_COUNT is how many, RANDOM_DRAWN_SEED the
// first seed.
func TestFreshDrawnNested(t *testing.T) {
	python := pythonOf(t)
	folder, first := t.TempDir(), numberOf(t, "RANDOM_DRAWN_SEED", "1000000")
	var rows []*recording
	for i := range numberOf(t, "RANDOM_DRAWN_COUNT", "20") {
		row, err := written(folder, i, uint64(first+i))
		if err != nil {
			t.Errorf("model of seed %d: %v", first+i, err)
			continue
		}
		rows = append(rows, row)
	}
	text, err := json.Marshal(map[string]any{"models": rows})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "models.json"), text, 0o644))
	out, err := exec.CommandContext(t.Context(), python, "randomnested.py", "--answer", folder).Output()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "model of seed") {
			t.Error("Keras, with our file: ", line)
		}
	}
	read := 0
	for _, c := range rows {
		path := filepath.Join(folder, fmt.Sprint(c.Number)) + ".theirs.keras"
		if _, err := os.Stat(path); err != nil {
			continue
		}
		read++
		if err := c.goOn(path); err != nil {
			t.Errorf("model of seed %d, Keras's file after a step: %v", c.Seed, err)
		}
	}
	t.Logf("%d models, %d files of Keras's", len(rows), read)
	require.Greater(t, read, len(rows)/3)
}

// written draws a model, writes its file, and tells what comes of two steps.
func written(folder string, number int, seed uint64) (*recording, error) {
	n := nester{rand.New(rand.NewPCG(seed, 5))}
	m, x := n.network()
	if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.05, Momentum: oneOf(n, 0, 0.9)}, Loss: "mse"}); err != nil {
		return nil, err
	}
	c := &recording{Number: number, Seed: int(seed), Params: m.CountParams(), X: []typed{x}}
	given, err := arrays(c.X)
	if err != nil {
		return nil, err
	}
	ds := func() data.Dataset { return data.Arrays(given, nil) }
	predict := func() []typed {
		var all []data.Array
		if all, err = m.PredictAll(context.Background(), ds()); err != nil {
			return nil
		}
		var out []typed
		for i, a := range all {
			one := typed{DType: m.Outputs()[i].DType().String(), Shape: a.Shape()}
			for _, v := range a.Float64s() {
				one.Data = append(one.Data, &v)
			}
			out = append(out, one)
		}
		return out
	}
	if c.Y = predict(); err != nil {
		return nil, err
	}
	c.Targets = []typed{n.numbers("float32", c.Y[0].Shape)}
	if err := m.Save(filepath.Join(folder, fmt.Sprint(number)) + ".keras"); err != nil {
		return nil, err
	}
	y, err := arrays(c.Targets)
	if err != nil {
		return nil, err
	}
	step := func() float64 {
		var scores map[string]float64
		if err == nil {
			scores, err = m.TrainOnBatch(context.Background(), data.Arrays(given, y))
		}
		return scores["loss"]
	}
	c.Loss = step()
	c.After = predict()
	c.Second = new(step())
	c.Later = predict()
	return c, err
}

// goOn takes the second step from a file that Keras wrote after the first.
func (c *recording) goOn(path string) error {
	m, err := keras.LoadModel(path)
	if err != nil {
		return err
	}
	x, err := arrays(c.X)
	if err != nil {
		return err
	}
	if err := predicts(m, x, c.After); err != nil {
		return err
	}
	return c.step(m, x, *c.Second, c.Later)
}

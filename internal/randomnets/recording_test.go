package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// recording is a model that recording.py wrote down.
type recording struct {
	Number, Seed, Params int
	Shapes               [][]*int
	Alone                bool // replicas compute something else
	X, Y, Targets, After []typed
	Loss                 float64
	Second               *float64 // the loss of a second step, and predictions after it; nil: rounding decides
	Later                []typed
}

// typed is an array with its type; what is no finite number is nil.
type typed struct {
	DType string
	Shape []int
	Data  []*float64
}

func (a typed) array() (data.Array, error) {
	d, err := ir.ParseDType(a.DType)
	if err != nil {
		return data.Array{}, err
	}
	values := make([]float64, len(a.Data))
	for i, v := range a.Data {
		if v != nil {
			values[i] = *v
		}
	}
	return kernels.FromFloat64s(d, a.Shape, values)
}

// TestRecordedModels compares with models that were drawn and recorded before: testdata/graphs.tar.gz is from
// randomgraphs.py with TensorFlow, testdata/layers.tar.gz from randomlayers.py with PyTorch, testdata/nested.tar.gz
// from randomnested.py.
func TestRecordedModels(t *testing.T) {
	for _, name := range []string{"graphs", "layers", "nested"} {
		t.Run(name, func(t *testing.T) {
			compareAll(t, recorded.Folder(t, "testdata/"+name+".tar.gz"))
		})
	}
}

// TestFreshGraphs draws models of functions with constants in their calls.
func TestFreshGraphs(t *testing.T) { fresh(t, "randomgraphs.py", "RANDOM_GRAPHS", "30") }

// TestFreshLayers draws layers of all classes with random settings and arguments.
func TestFreshLayers(t *testing.T) { fresh(t, "randomlayers.py", "RANDOM_LAYERS", "30") }

// fresh draws models with a script, computes them here and in Keras, and has each open what the other wrote. NAME_COUNT
// is how many, NAME_SEED the first seed (always the same otherwise), and NAME a folder of models that were drawn
// before.
func fresh(t *testing.T, script, name, count string) {
	python := pythonOf(t)
	folder := draw(t, python, script, name, count)
	compareAll(t, folder)
	openedByKeras(t, python, script, folder)
}

func compareAll(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "models.json"))
	require.NoError(t, err)
	var all struct{ Models []recording }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	for _, c := range all.Models {
		if err := c.compare(folder); err != nil {
			t.Errorf("model of seed %d, file %d: %v", c.Seed, c.Number, err)
		}
	}
	t.Logf("%d models", len(all.Models))
}

func (c *recording) compare(folder string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	path := filepath.Join(folder, fmt.Sprint(c.Number))
	m, err := keras.LoadModel(path + ".keras")
	if err != nil {
		return err
	}
	if n := m.CountParams(); n != c.Params {
		return fmt.Errorf("%d parameters, Keras has %d", n, c.Params)
	}
	for i, out := range m.Outputs() {
		if got, want := layers.ShapeString(out.Shape()), layers.ShapeString(openShape(c.Shapes[i])); got != want {
			return fmt.Errorf("output %d has shape %s, Keras's %s", i, got, want)
		}
		if got, want := out.DType().String(), c.Y[i].DType; got != want {
			return fmt.Errorf("output %d has type %s, Keras's %s", i, got, want)
		}
	}
	x, err := arrays(c.X)
	if err != nil {
		return err
	}
	if err := predicts(m, x, c.Y); err != nil {
		return fmt.Errorf("before training: %w", err)
	}
	if c.Targets != nil {
		if err := c.step(m, x, c.Loss, c.After); err != nil {
			return fmt.Errorf("in a step: %w", err)
		}
	}
	if err := m.Save(path + ".ours.keras"); err != nil {
		return err
	}
	if c.Second != nil {
		if err := c.step(m, x, *c.Second, c.Later); err != nil {
			return fmt.Errorf("in a second step: %w", err)
		}
	}
	return c.properties(path + ".keras")
}

// step trains on the batch, with what the optimizer remembers, and predicts.
func (c *recording) step(m *keras.Model, x any, loss float64, after []typed) error {
	y, err := arrays(c.Targets)
	if err != nil {
		return err
	}
	scores, err := m.TrainOnBatch(context.Background(), data.Arrays(x, y))
	if err != nil {
		return err
	}
	if got := scores["loss"]; !c.near(got, loss) {
		return fmt.Errorf("the loss is %g, Keras's %g", got, loss)
	}
	return predicts(m, x, after)
}

func arrays(list []typed) (any, error) {
	var out []any
	for _, a := range list {
		d, err := a.array()
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

// predicts compares predictions, as far as numbers of their types computed in other orders agree.
func predicts(m *keras.Model, x any, want []typed) error {
	got, err := m.PredictAll(context.Background(), data.Arrays(x, nil))
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, Keras has %d", len(got), len(want))
	}
	for i, w := range want {
		if g, w := fmt.Sprint(got[i].Shape()), fmt.Sprint(w.Shape); g != w {
			return fmt.Errorf("output %d has shape %v, Keras's %v", i, g, w)
		}
		if text := w.differs(got[i].Float64s()); text != "" {
			return fmt.Errorf("output %d: %s", i, text)
		}
	}
	return nil
}

// near reports whether a loss is Keras's, but for rounding: that of predictions in 16 bits is one of their last place.
func (c *recording) near(got, want float64) bool {
	rough := 1e-4
	for _, y := range c.Y {
		rough = max(rough, map[string]float64{"float16": 1e-3, "bfloat16": 8e-3}[y.DType])
	}
	return math.Abs(got-want) <= rough*max(1, math.Abs(want))
}

func (a typed) differs(values []float64) string {
	rough, largest := map[string]float64{"float16": 1e-2, "bfloat16": 6e-2}[a.DType], 1.0
	if rough == 0 {
		rough = 5e-4
	}
	for _, v := range a.Data {
		if v != nil {
			largest = max(largest, math.Abs(*v))
		}
	}
	for i, v := range a.Data {
		if v == nil && (math.IsNaN(values[i]) || math.IsInf(values[i], 0)) {
			continue
		}
		if v == nil || !(math.Abs(values[i]-*v) <= rough*largest) {
			return fmt.Sprintf("has %g at %d, Keras %v (largest %g)", values[i], i, show(v), largest)
		}
	}
	return ""
}

func show(v *float64) any {
	if v == nil {
		return "no finite number"
	}
	return *v
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// openAxis is the length of an input's open axes in synthetic data.
const openAxis = 32

// synthetic is one batch of made-up data that is repeated.
type synthetic struct {
	batch data.Batch
	tick  func() // called when a batch has been used; nil: nobody wants to know
}

// Batches implements data.Dataset.
func (s *synthetic) Batches(ctx context.Context, _ int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for ctx.Err() == nil {
			if !yield(s.batch, nil) {
				return
			}
			if s.tick != nil {
				s.tick()
			}
		}
		yield(data.Batch{}, ctx.Err())
	}
}

// Cardinality implements data.Sized.
func (s *synthetic) Cardinality() (int, bool) { return data.Infinite, true }

// newSynthetic makes a batch that fits a model: random numbers for its inputs, integers below the vocabulary for
// embeddings, sentences of made-up words for text, and with targets also labels that fit its loss.
func newSynthetic(ctx context.Context, m *keras.Model, batch int, targets bool) (*synthetic, error) {
	if len(m.Inputs()) == 0 {
		return nil, fmt.Errorf("model %q has no declared inputs, so data cannot be made up; declare its input shape", m.Name())
	}
	r := rand.New(rand.NewPCG(1, 2))
	s := &synthetic{}
	for _, in := range m.Inputs() {
		shape := append([]int{batch}, in.Shape()[1:]...)
		for i, n := range shape {
			if n == layers.Unknown {
				shape[i] = openAxis
			}
		}
		if !in.IsText() {
			s.batch.X.Arrays = append(s.batch.X.Arrays, randomInput(r, in.DType(), shape, vocabulary(m, in)))
			continue
		}
		x, err := randomText(r, shape)
		if err != nil {
			return nil, err
		}
		s.batch.X.Arrays = append(s.batch.X.Arrays, x)
	}
	if !targets {
		return s, nil
	}
	outputs, err := m.PredictAll(ctx, data.Arrays(s.batch.X, nil), keras.BatchSize(batch))
	if err != nil {
		return nil, err
	}
	kinds, err := lossNames(m, len(outputs))
	if err != nil {
		return nil, err
	}
	for i, y := range outputs {
		s.batch.Y.Arrays = append(s.batch.Y.Arrays, randomTarget(r, y.Shape(), kinds[i]))
	}
	return s, nil
}

// vocabulary returns the size of the smallest table in which an input, or another input of the same layer, is looked
// up; 0 if there is none.
func vocabulary(m *keras.Model, in *layers.KerasTensor) int {
	smallest := 0
	take := func(l layers.Layer) {
		size := 0
		switch e := l.(type) {
		case *layers.Embedding:
			size = e.InputDim
		case *layers.ReversibleEmbedding:
			size = e.InputDim
		}
		if size > 0 && (smallest == 0 || size < smallest) {
			smallest = size
		}
	}
	seen := map[*layers.Node]bool{}
	var visit func(t *layers.KerasTensor)
	visit = func(t *layers.KerasTensor) {
		n, _ := t.Node()
		if n == nil || n.Layer == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, x := range n.Inputs {
			if x == in {
				layers.Walk(n.Layer, take)
			}
			visit(x)
		}
	}
	for _, t := range m.Outputs() {
		visit(t)
	}
	if all := m.Layers(); len(seen) == 0 && len(all) > 0 { // a stack
		layers.Walk(all[0], take)
		if len(all) > 1 && smallest == 0 {
			layers.Walk(all[1], take)
		}
	}
	return smallest
}

func randomInput(r *rand.Rand, dtype ir.DType, shape []int, vocabulary int) data.Array {
	limit := vocabulary
	if limit == 0 && !dtype.IsFloat() {
		limit = 10
	}
	return fill(shape, func() float32 {
		if limit > 0 {
			return float32(r.IntN(limit))
		}
		return float32(r.NormFloat64())
	}, limit > 0)
}

// randomText makes sentences of openAxis words.
func randomText(r *rand.Rand, shape []int) (data.Array, error) {
	sentences := make([]string, ir.Shape(shape).Size())
	for i := range sentences {
		words := make([]string, openAxis)
		for j := range words {
			words[j] = fmt.Sprintf("word%d", r.IntN(1000))
		}
		sentences[i] = strings.Join(words, " ")
	}
	return data.Text(sentences, shape...)
}

// fill makes an array, of int32 or float32.
func fill(shape []int, next func() float32, integers bool) data.Array {
	n := ir.Shape(shape).Size()
	if integers {
		values := make([]int32, n)
		for i := range values {
			values[i] = int32(next())
		}
		return data.Must(data.ArrayOf(values, shape...))
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = next()
	}
	return data.Must(data.ArrayOf(values, shape...))
}

// randomTarget makes labels for an output of the given shape and a loss, named as in Keras's files.
func randomTarget(r *rand.Rand, shape []int, loss string) data.Array {
	classes := shape[len(shape)-1]
	switch name := strings.ToLower(strings.ReplaceAll(loss, "_", "")); {
	case strings.HasPrefix(name, "sparse"):
		labels := shape[:len(shape)-1]
		return fill(labels, func() float32 { return float32(r.IntN(classes)) }, true)
	case strings.HasPrefix(name, "binary"), strings.Contains(name, "hinge") && name != "categoricalhinge", name == "dice", name == "tversky":
		return fill(shape, func() float32 { return float32(r.IntN(2)) }, false)
	case strings.HasPrefix(name, "categorical"), strings.HasPrefix(name, "kl"):
		at, hot := 0, 0
		return fill(shape, func() float32 {
			if at%classes == 0 {
				hot = r.IntN(classes)
			}
			at++
			if (at-1)%classes == hot {
				return 1
			}
			return 0
		}, false)
	case name == "poisson", strings.Contains(name, "logarithmic"), strings.Contains(name, "percentage"), name == "msle", name == "mape":
		return fill(shape, func() float32 { return float32(1 + r.IntN(5)) }, false)
	}
	return fill(shape, func() float32 { return float32(r.NormFloat64()) }, false)
}

// lossNames returns the name of the loss of each output, as the compile configuration has it.
func lossNames(m *keras.Model, outputs int) ([]string, error) {
	document, err := m.ToJSON()
	if err != nil {
		return nil, err
	}
	var d struct {
		Compile struct {
			Loss any `json:"loss"`
		} `json:"compile_config"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	names := make([]string, outputs)
	switch loss := d.Compile.Loss.(type) {
	case nil:
		return nil, fmt.Errorf("model %q is not compiled, so it cannot be trained; use --mode predict", m.Name())
	case []any:
		for i := range names {
			if i < len(loss) {
				names[i] = lossName(loss[i])
			}
		}
	case map[string]any:
		if _, single := loss["class_name"]; single {
			for i := range names {
				names[i] = lossName(loss)
			}
			break
		}
		for i, output := range m.OutputNames() {
			if i < outputs {
				names[i] = lossName(loss[output])
			}
		}
	default:
		for i := range names {
			names[i] = lossName(loss)
		}
	}
	return names, nil
}

func lossName(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		name, _ := v["class_name"].(string)
		if name == "function" {
			name, _ = v["config"].(string)
		}
		return name
	}
	return ""
}

package keras_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// hostileValues replace a value in a document. The functions receive the old value.
var hostileValues = func() []func(old any) any {
	var out []func(any) any
	for _, text := range []string{`null`, `true`, `-1`, `0`, `1`, `2`, `3`, `7`, `2147483647`, `2147483648`, `1099511627776`, `1e12`, `9007199254740993`,
		`9223372036854775807`, `-9223372036854775808`, `18446744073709551616`, `1.5`, `0.5`, `1e308`, `-1e308`, `1e-320`, `"NaN"`, `"Infinity"`, `"-Infinity"`, `""`, `"x"`, `"int64"`,
		`[]`, `[null]`, `[0]`, `[-1]`, `[1,2,3]`, `[2147483648,2]`, `[[1]]`, `{}`, `{"class_name":"Dense","config":{"units":2}}`, `{"class_name":"__numpy__","config":{"value":[1],"dtype":"int32"}}`} {
		value := parsed([]byte(text))
		out = append(out, func(any) any { return value })
	}
	return append(out,
		func(old any) any { return []any{old} },
		func(old any) any { return []any{old, old} },
		func(old any) any { return fmt.Sprint(old) },
		func(old any) any { return scaled(old, 10) },
		func(old any) any { return scaled(old, -1) },
		func(old any) any { return scaled(old, 0.5) },
	)
}()

// parsed reads JSON with its numbers as they are written.
func parsed(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func scaled(old any, by float64) any {
	n, ok := old.(json.Number)
	if !ok {
		return []any{old, old, old}
	}
	x, _ := n.Float64()
	return x * by
}

// valuePlace is a place in a document: the keys and indices that lead to it.
type valuePlace []any

// placesIn lists the values of a document, including containers, with the first twelve elements of each list.
func placesIn(v any, at valuePlace) (out []valuePlace) {
	if len(at) > 0 {
		out = append(out, slices.Clone(at))
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch key {
			case "module", "registered_name", "build_config", "__passive_serialization__":
				continue
			}
			out = append(out, placesIn(v[key], append(at, key))...)
		}
	case []any:
		for i, e := range v {
			if i < 12 {
				out = append(out, placesIn(e, append(at, i))...)
			}
		}
	}
	return out
}

// replaced returns a copy of a document with another value at a place.
func replaced(v any, at valuePlace, with func(any) any) any {
	if len(at) == 0 {
		return with(v)
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		key, _ := at[0].(string)
		out[key] = replaced(v[key], at[1:], with)
		return out
	case []any:
		if i, ok := at[0].(int); ok && i < len(v) {
			out := slices.Clone(v)
			out[i] = replaced(v[i], at[1:], with)
			return out
		}
	}
	return v
}

// hostileDocument is a model as Keras describes it, and the places where its values can be replaced.
type hostileDocument struct {
	name   string
	value  any
	places []valuePlace
}

// hostileDocuments are the models of all recorded sets, and small ones around the layers, losses, metrics, optimizers
// and so on there.
func hostileDocuments(t testing.TB) []hostileDocument {
	t.Helper()
	hostile.Do(func() { hostile.documents = makeHostileDocuments(t) })
	return hostile.documents
}

var hostile struct {
	sync.Once
	documents []hostileDocument
}

func makeHostileDocuments(t testing.TB) (out []hostileDocument) {
	seen := map[string]bool{}
	add := func(name string, document any) {
		text, err := json.Marshal(document)
		if err != nil || seen[string(text)] || len(text) > 60_000 {
			return
		}
		seen[string(text)] = true
		value := parsed(text)
		out = append(out, hostileDocument{name, value, placesIn(value, nil)})
	}
	for _, c := range savedCases(t, "conformance") {
		add(c.Name, c.Config)
	}
	for _, set := range []string{"fit", "text"} {
		for _, c := range savedCases(t, set) {
			add(c.Name, c.Config)
		}
	}
	for _, set := range []string{"layers_core", "layers_conv", "layers_pooling", "layers_normalization", "layers_reshaping_merging", "layers_regularization", "layers_rnn", "layers_attention",
		"layers_sequence", "preprocessing", "augmentation", "lookup"} {
		for _, c := range savedCases(t, set) {
			if len(c.Config) > 0 {
				add(set+"/"+c.Name, aroundLayer(c))
			}
		}
	}
	for _, o := range [][2]string{{"losses", "loss"}, {"metrics", "metrics"}, {"optimizers", "optimizer"}} {
		set, key := o[0], o[1]
		for _, c := range savedCases(t, set) {
			object := map[string]any{"class_name": c.Class, "config": c.Config}
			compile := map[string]any{"optimizer": "sgd", "loss": "mse", "metrics": nil, "weighted_metrics": nil, "loss_weights": nil, "run_eagerly": false, "steps_per_execution": 1, "jit_compile": false}
			compile[key] = object
			if key == "metrics" {
				compile[key] = []any{object}
			}
			add(set+"/"+c.Name, withCompile(denseDocument(nil), compile))
		}
	}
	for _, o := range [][2]string{{"initializers", "kernel_initializer"}, {"constraints", "kernel_constraint"}, {"regularizers", "kernel_regularizer"}} {
		set, key := o[0], o[1]
		for _, c := range savedCases(t, set) {
			add(set+"/"+c.Name, denseDocument(map[string]any{key: map[string]any{"class_name": c.Class, "config": c.Config}}))
		}
	}
	for _, c := range savedCases(t, "schedules") {
		rate := map[string]any{"class_name": c.Class, "config": c.Config}
		add("schedules/"+c.Name, withCompile(denseDocument(nil), map[string]any{"loss": "mse", "optimizer": map[string]any{"class_name": "SGD", "config": map[string]any{"learning_rate": rate}}}))
	}
	return out
}

// savedCases are the cases of a set whose name says float32.
func savedCases(t testing.TB, set string) []vectors.Case {
	var out []vectors.Case
	for _, c := range vectors.Load(t, set).Cases {
		if strings.HasSuffix(c.Name, "/float32") {
			out = append(out, c)
		}
	}
	return out
}

func sequentialDocument(shape []any, members ...any) map[string]any {
	input := map[string]any{"class_name": "InputLayer", "config": map[string]any{"batch_shape": shape, "dtype": "float32", "name": "x"}}
	return map[string]any{"class_name": "Sequential", "config": map[string]any{"name": "s", "layers": append([]any{input}, members...)}}
}

func denseDocument(more map[string]any) map[string]any {
	config := map[string]any{"units": 3, "name": "d"}
	maps.Copy(config, more)
	return sequentialDocument([]any{nil, 4}, map[string]any{"class_name": "Dense", "config": config})
}

func withCompile(document map[string]any, compile any) map[string]any {
	document["compile_config"] = compile
	return document
}

// aroundLayer is a model of one layer, with the shapes of the first recorded input.
func aroundLayer(c vectors.Case) map[string]any {
	shape := []any{nil, 4}
	if len(c.Inputs) > 0 && len(c.Inputs[0].Shape) > 0 {
		shape = []any{nil}
		for _, d := range c.Inputs[0].Shape[1:] {
			shape = append(shape, d)
		}
	}
	document := sequentialDocument(shape, map[string]any{"class_name": c.Class, "config": c.Config})
	input := document["config"].(map[string]any)["layers"].([]any)[0].(map[string]any)["config"].(map[string]any)
	switch {
	case strings.HasPrefix(c.Class, "String") || c.Class == "TextVectorization" || c.Class == "Hashing":
		input["dtype"] = "string"
	case len(c.Inputs) > 0 && c.Inputs[0].DType != "float32":
		input["dtype"] = c.Inputs[0].DType
	}
	return document
}

// tryDocument reads a model, predicts with it and takes a training step. Every step may fail; none may panic, end the
// process or take longer than limit.
func tryDocument(text []byte, limit time.Duration) (failure string) {
	type outcome struct {
		panicked any
		stage    string
	}
	done := make(chan outcome, 1)
	stage := "load"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer func() { done <- outcome{recover(), stage} }()
		runDocument(ctx, text, &stage)
	}()
	clock := fairclock.Start() // a busy machine is not a hang
	defer clock.Stop()
	for look := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case o := <-done:
			look.Stop()
			if o.panicked != nil {
				return fmt.Sprintf("%s: panic: %v", o.stage, o.panicked)
			}
			return ""
		case <-look.C:
			switch elapsed := clock.Elapsed(); {
			case elapsed > limit+10*time.Second:
				look.Stop()
				return "hangs"
			case elapsed > limit:
				cancel()
			}
		}
	}
}

// goWords are words that an error about a file must not use.
var goWords = []string{"Go value", "Go struct", "json: ", "interface {}", "map[string]", "[]any", "[]string", "float64(", "*float", "*int", "config.Object"}

func runDocument(ctx context.Context, text []byte, stage *string) {
	check := func(err error) bool {
		var p *keras.PanicError
		if errors.As(err, &p) {
			panic(fmt.Sprintf("%v\n%s", p.Value, p.Stack))
		}
		if again := repeatedPrefix(fmt.Sprint(err)); again != "" {
			panic(fmt.Sprintf("a message with %s twice: %v", again, err))
		}
		for _, word := range goWords {
			if strings.Contains(fmt.Sprint(err), word) {
				panic(fmt.Sprintf("a message with %q, where the user wrote a file: %v", word, err))
			}
		}
		return err == nil
	}
	m, err := keras.ModelFromJSON(text)
	if !check(err) || len(m.Inputs()) == 0 || m.CountParams() > 1<<26 {
		return // a model of gigabytes that fits the machine rightly takes its memory and time
	}
	*stage = "predict"
	inputs, ok := inputsFor(m)
	if !ok {
		return
	}
	outputs, err := m.PredictAll(ctx, data.Arrays(inputs, nil), keras.BatchSize(2))
	if !check(err) {
		return
	}
	*stage = "write"
	_, err = m.ToJSON()
	check(err)
	*stage = "step"
	var targets data.Tensors
	for _, y := range outputs {
		targets.Arrays = append(targets.Arrays, data.Must(data.Zeros[float32](y.Shape()...)))
	}
	if m.Optimizer() == nil && !check(m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "sgd"})) {
		return
	}
	_, err = m.TrainOnBatch(ctx, data.Arrays(inputs, targets))
	check(err)
}

// inputsFor creates two examples. It returns false if they would be large.
func inputsFor(m *keras.Model) (data.Tensors, bool) {
	var out data.Tensors
	for _, in := range m.Inputs() {
		if len(in.Shape()) == 0 {
			return out, false
		}
		shape, size := []int{2}, 2
		if in.Shape()[0] != layers.Unknown {
			shape[0] = in.Shape()[0]
			size = shape[0]
		}
		for _, d := range in.Shape()[1:] {
			if d == layers.Unknown {
				d = 4
			}
			shape = append(shape, d)
			if d > 1<<16 || size > 1<<16 {
				return out, false
			}
			size *= d
		}
		if size > 1<<16 || size == 0 {
			return out, false
		}
		if in.IsText() {
			text, err := data.Text(slices.Repeat([]string{"a zebra"}, size), shape...)
			if err != nil {
				return out, false
			}
			out.Arrays = append(out.Arrays, text)
			continue
		}
		out.Arrays = append(out.Arrays, data.Must(data.Zeros[float32](shape...)))
		values := out.Arrays[len(out.Arrays)-1].Elements().([]float32)
		for i := range values {
			values[i] = float32(i % 3)
		}
	}
	return out, true
}

// FuzzConfigValues puts hostile values, at one place or two, into models that Keras described.
func FuzzConfigValues(f *testing.F) {
	for i := range 200 {
		f.Add(uint16(i*37), uint16(i*11), uint8(i), uint16(0), uint8(0), false)
	}
	// Large arrays are refused here, as on small machines: otherwise they take long, and Go ends a call after ten
	// seconds.
	limit := memory.Limit
	memory.Limit = func() int { return 1 << 28 }
	f.Cleanup(func() { memory.Limit = limit })
	documents := hostileDocuments(f)
	f.Fuzz(func(t *testing.T, document, place uint16, value uint8, second uint16, secondValue uint8, two bool) {
		d := documents[int(document)%len(documents)]
		if len(d.places) == 0 {
			return // a case without a model
		}
		mutated := replaced(d.value, d.places[int(place)%len(d.places)], hostileValues[int(value)%len(hostileValues)])
		if two {
			mutated = replaced(mutated, d.places[int(second)%len(d.places)], hostileValues[int(secondValue)%len(hostileValues)])
		}
		text, err := json.Marshal(mutated)
		if err != nil {
			return
		}
		if failure := tryDocument(text, 20*time.Second); failure != "" {
			t.Fatalf("%s: %s\n%s", d.name, failure, text)
		}
	})
}

// TestHostileValues: configurations of a kilobyte that once ended the process, panicked or hung are refused, or do no
// harm.
func TestHostileValues(t *testing.T) {
	layer := func(class, config string, shape ...any) map[string]any {
		return sequentialDocument(append([]any{nil}, shape...), map[string]any{"class_name": class, "config": parsed([]byte(config))})
	}
	compiled := func(compile string) map[string]any { return withCompile(denseDocument(nil), parsed([]byte(compile))) }
	noBatch := layer("PReLU", `{}`)
	noBatch["config"].(map[string]any)["layers"].([]any)[0].(map[string]any)["config"].(map[string]any)["batch_shape"] = nil
	for name, c := range map[string]struct {
		document map[string]any
		want     string
	}{
		"up-sampling":           {layer("UpSampling2D", `{"size":[2147483648,2]}`, 4, 4, 1), "expected a number between"},
		"up-sampling in bounds": {layer("UpSampling2D", `{"size":[2147483647,2147483647]}`, 4, 4, 1), "more elements than can be counted"},
		"adaptive pooling":      {layer("AdaptiveAveragePooling2D", `{"output_size":1e12}`, 4, 4, 1), "expected a number between"},
		"adaptive bins":         {layer("AdaptiveMaxPooling1D", `{"output_size":2147483647}`, 4, 1), "at most 65536 along an axis"},
		"buckets":               {layer("IntegerLookup", `{"num_oov_indices":1e12,"vocabulary":[1,2]}`, 1), "expected a number between"},
		"many buckets":          {layer("IntegerLookup", `{"num_oov_indices":2147483647,"vocabulary":[1,2]}`, 1), "NumOOVIndices must be at most 16777216"},
		"buckets beyond int":    {layer("StringLookup", `{"num_oov_indices":9223372036854775807,"vocabulary":["a"]}`, 1), "expected a number between"},
		"dilation":              {layer("Conv1D", `{"filters":2,"kernel_size":3,"dilation_rate":9223372036854775807}`, 8, 1), "expected a number between"},
		"stride":                {layer("Conv1DTranspose", `{"filters":3,"kernel_size":3,"strides":2147483647,"padding":"same"}`, 4, 2), ""},
		"no batch":              {noBatch, ""},
		"no metric":             {compiled(`{"loss":"mse","optimizer":"sgd","metrics":[null]}`), "is nil; give a name or a metric"},
		"thresholds":            {compiled(`{"loss":"mse","optimizer":"sgd","metrics":[{"class_name":"PrecisionAtRecall","config":{"recall":0.5,"num_thresholds":9223372036854775807}}]}`), "expected a number between"},
		"many thresholds":       {compiled(`{"loss":"mse","optimizer":"sgd","metrics":[{"class_name":"AUC","config":{"num_thresholds":2147483647}}]}`), "NumThresholds must be between 2 and 1048576"},
		"classes":               {compiled(`{"loss":"mse","optimizer":"sgd","metrics":[{"class_name":"MeanIoU","config":{"num_classes":2147483647}}]}`), "NumClasses"},
		"blur":                  {layer("RandomGaussianBlur", `{"kernel_size":[2147483647,3],"sigma":1.0}`, 4, 4, 3), ""},
		"vocabulary":            {layer("IntegerLookup", `{"vocabulary_size":2147483647,"output_mode":"tf_idf"}`, 4), ""},
		"window":                {layer("AveragePooling2D", `{"pool_size":[2147483647,2],"strides":[1,1],"padding":"same"}`, 4, 4, 1), "cells; at most"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.document)
			require.NoError(t, err)
			require.Empty(t, tryDocument(text, time.Minute))
			m, err := keras.ModelFromJSON(text)
			if err == nil {
				_, err = m.TrainOnBatch(t.Context(), data.Arrays(grid(2, 4), grid(2, 3)))
			}
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// Layers applied to inputs of every rank: those that need another rank report it.
func TestLayersOnInputsOfAnyRank(t *testing.T) {
	seen := map[string]bool{}
	for _, set := range []string{"layers_core", "layers_conv", "layers_pooling", "layers_normalization", "layers_reshaping_merging", "layers_regularization", "layers_rnn", "layers_attention",
		"layers_sequence", "preprocessing", "augmentation", "lookup"} {
		for _, c := range savedCases(t, set) {
			if len(c.Config) == 0 || testing.Short() && seen[c.Class] {
				continue
			}
			seen[c.Class] = true
			for rank := range 7 {
				document := aroundLayer(c)
				shape := []any{nil, 4, 3, 2, 2, 2}[:rank]
				document["config"].(map[string]any)["layers"].([]any)[0].(map[string]any)["config"].(map[string]any)["batch_shape"] = shape
				text, err := json.Marshal(document)
				require.NoError(t, err)
				if failure := tryDocument(text, time.Minute); failure != "" {
					t.Errorf("%s/%s on inputs of shape %v: %s", set, c.Name, shape, failure)
				}
			}
		}
	}
	require.Greater(t, len(seen), 100)
}

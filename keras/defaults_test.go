package keras_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// defaultCase is a constructor of Keras, called with its required arguments.
type defaultCase struct {
	Kind     string         `json:"kind"`
	Required map[string]any `json:"required"`
	Shapes   [][]int        `json:"shapes"`
	DType    string         `json:"dtype"`
}

// TestDefaults: a value with only its required fields is what Keras's constructor makes from the same arguments. Its
// configuration is the one that Keras writes out in full, and in training and inference it computes the same bits as a
// value made from that configuration.
func TestDefaults(t *testing.T) {
	seen := 0
	for _, c := range vectors.Load(t, "defaults").Cases {
		var d defaultCase
		c.DecodeExtra(t, &d)
		if why, left := notHere[c.Class]; left {
			t.Run(c.Name, func(t *testing.T) { t.Skip(why) })
			continue
		}
		seen++
		t.Run(c.Name, func(t *testing.T) {
			var whole map[string]any
			require.NoError(t, json.Unmarshal(c.Config, &whole))
			bare := maps.Clone(d.Required)
			if name, ok := whole["name"]; ok {
				bare["name"] = name
			}
			if seed := whole["seed"]; seed != nil { // drawn when the layer was created
				bare["seed"] = seed
			}
			if other, ok := otherInputs[c.Class]; ok {
				d.Shapes, d.DType = other.Shapes, other.DType
			}
			switch d.Kind {
			case "layers":
				defaultLayer(t, c, d, bare, whole)
			case "callbacks":
				defaultTags(t, c, callbacksByName[c.Class])
			case "quantizers":
				defaultTags(t, c, newQuantizer(t, c.Class))
				defaultQuantizer(t, c)
			case "distillation":
				defaultDistillation(t, c.Class, whole)
			default:
				require.Equal(t, defaultRun(t, d.Kind, c.Class, whole), defaultRun(t, d.Kind, c.Class, bare))
			}
		})
	}
	require.Greater(t, seen, 200)
}

// notHere are Keras classes that this library lacks or creates in another way.
var notHere = map[string]string{
	"STFT": "it makes no kernels of Dense; layers/initializers compares it",
	"CTC":  "its labels are sequences; its configuration is a name and a reduction",
}

// otherInputs are shapes and types for layers that Keras lets accept less than they are meant for.
var otherInputs = map[string]defaultCase{
	"AdaptiveAveragePooling2D": {Shapes: [][]int{{8, 8, 3}}}, "AdaptiveAveragePooling3D": {Shapes: [][]int{{6, 6, 6, 2}}}, "AdaptiveMaxPooling2D": {Shapes: [][]int{{8, 8, 3}}},
	"AdaptiveMaxPooling3D": {Shapes: [][]int{{6, 6, 6, 2}}}, "Attention": {Shapes: [][]int{{6, 4}, {6, 4}}}, "AdditiveAttention": {Shapes: [][]int{{6, 4}, {6, 4}}},
	"MultiHeadAttention": {Shapes: [][]int{{6, 4}, {6, 4}}}, "GroupQueryAttention": {Shapes: [][]int{{6, 4}, {6, 4}}},
	"RandomCrop": {}, "Bidirectional": {}, // one crops in training only; the names of the layers of the other, which their weights are drawn by, tell it apart
	"CenterCrop": {Shapes: [][]int{{8, 8, 3}}}, "Resizing": {Shapes: [][]int{{8, 8, 3}}}, "MelSpectrogram": {Shapes: [][]int{{4000}}}, "GroupNormalization": {Shapes: [][]int{{6, 6, 32}}},
	"Embedding": {Shapes: [][]int{{4}}, DType: "int32"}, "ReversibleEmbedding": {Shapes: [][]int{{4}}, DType: "int32"},
}

// otherwiseWritten are keys whose default has two forms.
var otherwiseWritten = map[string][]string{
	"BatchNormalization": {"renorm_clipping"}, "Bidirectional": {"layer", "backward_layer"}, "RandomShear": {"x_factor", "y_factor"},
}

func object(class string, config map[string]any) map[string]any {
	return map[string]any{"class_name": class, "config": config}
}

func defaultLayer(t *testing.T, c vectors.Case, d defaultCase, bare, whole map[string]any) {
	configuration := func(config map[string]any) map[string]any {
		text, err := json.Marshal(object(c.Class, config))
		require.NoError(t, err)
		l, err := layers.FromObject(text)
		require.NoError(t, err)
		o, err := layers.ToObject(l)
		require.NoError(t, err)
		text, err = json.Marshal(o)
		require.NoError(t, err)
		var out map[string]any
		require.NoError(t, json.Unmarshal(text, &out))
		c, ok := out["config"].(map[string]any)
		require.True(t, ok)
		return c
	}
	full, short := configuration(whole), configuration(bare)
	for key, want := range full {
		got, has := short[key]
		if !has && slices.Contains([]string{"dtype", "data_format", "backward_layer"}, key) {
			continue // that of the model, of the program, and of the layer in the other direction
		}
		if !slices.Contains(otherwiseWritten[c.Class], key) {
			require.Equal(t, want, got, key)
		}
	}
	if d.Shapes == nil {
		return // it takes no arrays by themselves
	}
	require.Equal(t, layerRun(t, c.Class, d, whole), layerRun(t, c.Class, d, bare))
}

// layerRun returns what a model of one layer computes in inference, in two steps of training and afterwards.
func layerRun(t *testing.T, class string, d defaultCase, config map[string]any) (numbers []string) {
	text, err := json.Marshal(object(class, config))
	require.NoError(t, err)
	l, err := layers.FromObject(text)
	require.NoError(t, err)
	dtype := ir.Float32
	if d.DType == "int32" {
		dtype = ir.Int32
	}
	var inputs []*layers.KerasTensor
	var x data.Tensors
	for i, shape := range d.Shapes {
		inputs = append(inputs, layers.NewInput(fmt.Sprint("x", i), dtype, append([]int{layers.Unknown}, shape...)...))
		x.Arrays = append(x.Arrays, spread(append([]int{4}, shape...), i, dtype))
	}
	m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(layers.ApplyAll(l, inputs...)[0]))
	require.NoError(t, err)
	note := func(what string, values ...data.Array) {
		for _, v := range values {
			numbers = append(numbers, fmt.Sprint(what, v.Shape(), v.Elements()))
		}
	}
	y, err := m.PredictAll(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	note("inference", y...)
	if dtype != ir.Float32 || y[0].DType() != ir.Float32 {
		return numbers
	}
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "sgd"}))
	for range 2 {
		logs, err := m.TrainOnBatch(t.Context(), data.Arrays(x, spread(y[0].Shape(), 7, ir.Float32)))
		require.NoError(t, err)
		numbers = append(numbers, fmt.Sprint(logs))
	}
	weights, err := m.GetWeights()
	require.NoError(t, err)
	note("weights", weights...)
	y, err = m.PredictAll(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	note("afterwards", y...)
	return numbers
}

// spread fills an array with numbers from -1 to 2, or with integers from 0 to 3, that do not repeat soon.
func spread(shape []int, salt int, dtype ir.DType) data.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	if dtype == ir.Int32 {
		values := make([]int32, n)
		for i := range values {
			values[i] = int32((i*7 + salt) % 4)
		}
		return data.Must(data.ArrayOf(values, shape...))
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32((i*37+salt*11)%101)/101*3 - 1
	}
	return data.Must(data.ArrayOf(values, shape...))
}

// defaultRun returns the results of three steps of a model that is compiled with a value, or uses it as the
// initializer, regularizer or constraint of its layer.
func defaultRun(t *testing.T, kind, class string, config map[string]any) []string {
	m, err := keras.ModelFromJSON(compiledWith(t, kind, class, config))
	require.NoError(t, err)
	x := spread([]int{8, 4}, 1, ir.Float32)
	var out []string
	for step := range 4 {
		y := data.Must(data.Zeros[float32](8, 3))
		values := y.Elements().([]float32)
		for i := range values {
			values[i] = float32((i + step) % 3 / 2)
		}
		logs, err := m.TrainOnBatch(t.Context(), data.Arrays(x, labelsFor(class, y)))
		require.NoError(t, err)
		names := slices.Sorted(maps.Keys(logs))
		for _, name := range names {
			out = append(out, fmt.Sprint(name, " ", logs[name]))
		}
	}
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for _, w := range weights {
		out = append(out, fmt.Sprint(w.Elements()))
	}
	if o := m.Optimizer(); o != nil {
		for _, v := range o.Variables() {
			a, err := v.Value()
			require.NoError(t, err)
			out = append(out, fmt.Sprint(v.Name(), a.Float64s()))
		}
	}
	return out
}

// compiledWith is the document of a model that is compiled with a value, or uses it as the initializer, regularizer or
// constraint of its layer.
func compiledWith(t *testing.T, kind, class string, config map[string]any) []byte {
	compile := map[string]any{"optimizer": "sgd", "loss": "mse"}
	layer := map[string]any{"activation": "sigmoid", "use_bias": false}
	switch o := object(class, config); kind {
	case "losses":
		compile["loss"] = o
	case "metrics":
		compile["metrics"] = []any{o}
		if strings.HasPrefix(class, "Sparse") {
			compile["loss"] = "sparse_categorical_crossentropy"
		}
	case "optimizers":
		compile["optimizer"] = o
	case "schedules":
		compile["optimizer"] = object("SGD", map[string]any{"learning_rate": o})
	default:
		layer["kernel_"+kind[:len(kind)-1]] = o
	}
	text, err := json.Marshal(withCompile(denseDocument(layer), compile))
	require.NoError(t, err)
	return text
}

// labelsFor returns class labels if class needs them, otherwise the labels unchanged.
func labelsFor(class string, y data.Array) any {
	switch class {
	case "SparseCategoricalCrossentropy", "SparseCategoricalAccuracy", "SparseTopKCategoricalAccuracy", "CategoricalGeneralizedCrossEntropy", "Circle":
		classes := make([]int32, y.Shape()[0])
		for i := range classes {
			classes[i] = int32(i % 3)
		}
		return data.Must(data.ArrayOf(classes, len(classes)))
	}
	return y
}

// defaultTags compares the defaults of a callback or a quantizer, by the tags of its fields, with the defaults of
// Keras's constructor.
func defaultTags(t *testing.T, c vectors.Case, made any) {
	require.NotNil(t, made)
	encoded, err := config.EncodeObject(made)
	require.NoError(t, err)
	text, err := json.Marshal(encoded["config"])
	require.NoError(t, err)
	var ours, theirs map[string]any
	require.NoError(t, json.Unmarshal(text, &ours))
	require.NoError(t, json.Unmarshal(c.Config, &theirs))
	for key, want := range theirs {
		got, has := ours[key]
		if !has {
			require.Contains(t, otherKeys[c.Class], key, "Keras has it, with the default %v", want)
			continue
		}
		if m, ok := got.(map[string]any); ok && len(m) == 0 {
			got = nil // a map without entries is none
		}
		require.Equal(t, want, got, key)
	}
}

// otherKeys are arguments of Keras's constructors that are not fields with tags here.
var otherKeys = map[string][]string{
	"LambdaCallback":  {"on_epoch_begin", "on_epoch_end", "on_train_begin", "on_train_end", "on_train_batch_begin", "on_train_batch_end"}, // functions, nil by themselves
	"AbsMaxQuantizer": {"axis"},                                                                                                           // None: the caller says along which axis
}

var callbacksByName = map[string]any{
	"BackupAndRestore": &callbacks.BackupAndRestore{}, "CSVLogger": &callbacks.CSVLogger{}, "EarlyStopping": &callbacks.EarlyStopping{},
	"ModelCheckpoint": &callbacks.ModelCheckpoint{}, "ProgbarLogger": &callbacks.ProgbarLogger{}, "ReduceLROnPlateau": &callbacks.ReduceLROnPlateau{},
	"TensorBoard": &callbacks.TensorBoard{}, "TerminateOnNaN": &callbacks.TerminateOnNaN{}, "LearningRateScheduler": &callbacks.LearningRateScheduler{},
	"History": &callbacks.History{}, "LambdaCallback": &callbacks.LambdaCallback{}, "RemoteMonitor": &callbacks.RemoteMonitor{}, "SwapEMAWeights": &callbacks.SwapEMAWeights{},
}

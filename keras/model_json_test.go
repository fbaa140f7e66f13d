package keras_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// documentDifferences compares a document with Keras's. It ignores the identities of objects, whether to compile just
// in time, and a few shapes that Keras stores but does not need. A float in place of Keras's integer is no difference,
// but an integer in place of a float is: Keras refuses a momentum of 0.
func documentDifferences(path string, want, got any, report func(string)) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			report(fmt.Sprintf("%s: expected an object, received %v", path, got))
			return
		}
		class, _ := w["class_name"].(string)
		for key, v := range w {
			switch {
			case key == "shared_object_id" || key == "jit_compile":
			case key == "build_config" && (class == "Normalization" || strings.Contains(path, ".cells.")):
			case g[key] == nil && v != nil:
				report(fmt.Sprintf("%s %s: %q is missing; expected %v", path, class, key, v))
			default:
				documentDifferences(path+"."+key, v, g[key], report)
			}
		}
		for key, v := range g {
			if _, ok := w[key]; !ok {
				report(fmt.Sprintf("%s %s: %q is %v; Keras does not write it", path, class, key, v))
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			report(fmt.Sprintf("%s: expected %v, received %v", path, want, got))
			return
		}
		for i, e := range w {
			name := fmt.Sprint(i)
			if o, ok := e.(map[string]any); ok && o["class_name"] != nil {
				name += ":" + fmt.Sprint(o["class_name"])
			}
			documentDifferences(path+"."+name, e, g[i], report)
		}
	case json.Number:
		g, ok := got.(json.Number)
		x, _ := w.Float64()
		y, err := g.Float64()
		if !ok || err != nil || !(x == y) || strings.ContainsAny(w.String(), ".e") && !strings.ContainsAny(g.String(), ".e") {
			report(fmt.Sprintf("%s: expected %v, received %v", path, want, got))
		}
	default:
		if want != got {
			report(fmt.Sprintf("%s: expected %v, received %v", path, want, got))
		}
	}
}

func documentValue(t *testing.T, document []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", document)
	return v
}

// TestDocumentsReturn reads every document of the conformance cases and writes it again.
func TestDocumentsReturn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range vectors.Load(t, "conformance").Cases {
		if seen[string(c.Config)] || strings.HasPrefix(c.Name, "files/") { // those are of other versions
			continue
		}
		seen[string(c.Config)] = true
		m, err := keras.ModelFromJSON(c.Config)
		require.NoError(t, err, c.Name)
		document, err := m.ToJSON()
		require.NoError(t, err, c.Name)
		documentDifferences("", documentValue(t, c.Config), documentValue(t, document), func(d string) { t.Errorf("%s: %s", c.Name, d) })
	}
	require.Greater(t, len(seen), 100)
}

// everything is a model with everything that a graph can have: shared and nested models, a dict of inputs, operations
// with literals, masks, states, several results and several outputs.
func everything(t *testing.T) *keras.Model {
	t.Helper()
	words, image, wide := keras.Input(keras.Shape(5), keras.DType("int32"), keras.InputName("words")), keras.Input(keras.Shape(6, 6, 2), keras.InputName("image")), keras.Input(keras.Shape(4), keras.InputName("wide"))
	in := keras.Input(keras.Shape(4))
	inner, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 4, Activation: "relu"}, in).Add(in)), keras.Name("inner"))
	require.NoError(t, err)
	stack, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4}, &layers.Dropout{Rate: 0.5}}, keras.InputShape(4), keras.Name("stack"))
	require.NoError(t, err)

	embedded := layers.Apply(&layers.Embedding{InputDim: 9, OutputDim: 4, MaskZero: true}, words)
	states := layers.ApplyAll(&layers.LSTM{Units: 3, ReturnSequences: true, ReturnState: true}, embedded)
	decoded := layers.Apply(&layers.LSTM{Units: 3}, states...)
	attended := layers.Apply(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, UseCausalMask: true}, embedded, embedded)
	pooled := layers.Apply(&layers.GlobalAveragePooling1D{}, attended)
	pixels := layers.Apply(&layers.Conv2D{Filters: 3, KernelSize: []int{3}}, image).At(layers.Ellipsis, layers.Range(0, 2))
	pixels = layers.Op("max", pixels, []int{1, 2})
	twice := layers.Apply(inner, layers.Apply(inner, wide)).Multiply(0.5)
	sum := layers.Apply(&layers.Add{}, twice, layers.Apply(stack, pooled))
	parts := layers.OpAll("split", layers.Op("clip", sum, -1, 1.5), 2, layers.Keywords{"axis": -1})
	all := layers.Op("concatenate", []*layers.KerasTensor{decoded, pixels, parts[1], layers.Op("where", parts[0].Greater(0), parts[0], parts[0].Negative())}, -1)
	y := layers.Apply(&layers.Dense{Units: 2, Name: "scores"}, all.Subtract(layers.Op("mean", all, layers.Keywords{"axis": -1, "keepdims": true})))
	m, err := keras.NewFunctional(keras.Dict(map[string]*layers.KerasTensor{"words": words, "image": image, "wide": wide}), keras.Outputs(y, layers.Apply(inner, wide)), keras.Name("everything"))
	require.NoError(t, err)
	return m
}

func everyInput() *data.ArraySource {
	numbers := func(n int, f func(i int) float64) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(f(i))
		}
		return out
	}
	return data.Arrays(data.Tensors{Names: []string{"image", "wide", "words"}, Arrays: []data.Array{
		data.Must(data.ArrayOf(numbers(216, func(i int) float64 { return math.Sin(float64(i)) }), 3, 6, 6, 2)),
		data.Must(data.ArrayOf(numbers(12, func(i int) float64 { return math.Cos(float64(i)) }), 3, 4)),
		data.Must(data.ArrayOf([]int32{1, 2, 0, 0, 0, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}, 3, 5)),
	}}, nil)
}

// TestGraphReturns writes a model made in Go and reads it again: the same document and, with the same weights, the same
// results.
func TestGraphReturns(t *testing.T) {
	m := everything(t)
	document, err := m.ToJSON()
	require.NoError(t, err)
	again, err := keras.ModelFromJSON(document)
	require.NoError(t, err)
	second, err := again.ToJSON()
	require.NoError(t, err)
	documentDifferences("", documentValue(t, document), documentValue(t, second), func(d string) { t.Error(d) })
	documentDifferences("", documentValue(t, second), documentValue(t, document), func(d string) { t.Error(d) })
	requireSamePredictions(t, m, again)
}

func requireSamePredictions(t *testing.T, m, again *keras.Model) {
	t.Helper()
	weights, err := m.GetWeights()
	require.NoError(t, err)
	require.NoError(t, again.SetWeights(weights))
	want, err := m.PredictAll(context.Background(), everyInput())
	require.NoError(t, err)
	got, err := again.PredictAll(context.Background(), everyInput())
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		assert.Equal(t, floats(want[i]), floats(got[i]))
	}
}

// TestKerasReadsDocuments lets real Keras read the document of a model made in Go and write its own, which must be
// equivalent. GOKERAS_PYTHON names a Python that has Keras.
func TestKerasReadsDocuments(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	m := everything(t)
	document, err := m.ToJSON()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "model.json")
	require.NoError(t, os.WriteFile(path, document, 0o666))
	out, err := exec.CommandContext(t.Context(), python, "-c", "import keras, sys; print(keras.models.model_from_json(open(sys.argv[1]).read()).to_json())", path).Output()
	require.NoError(t, err)
	again, err := keras.ModelFromJSON(bytes.TrimSpace(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]))
	require.NoError(t, err)
	require.Greater(t, len(again.Layers()), len(m.Layers()), "Keras writes the operations that make masks")
	requireSamePredictions(t, m, again)
}

// TestExplicitMask has a mask made from other tensors than those that it accompanies, in Keras's form.
func TestExplicitMask(t *testing.T) {
	document := `{"class_name":"Functional","config":{"name":"f","layers":[
		{"module":"keras.layers","class_name":"InputLayer","name":"x","config":{"batch_shape":[null,3,1],"dtype":"float32","name":"x"},"inbound_nodes":[]},
		{"module":"keras.layers","class_name":"InputLayer","name":"n","config":{"batch_shape":[null,3],"dtype":"int32","name":"n"},"inbound_nodes":[]},
		{"module":"keras.src.ops.numpy","class_name":"NotEqual","name":"m","config":{"name":"m"},"registered_name":"NotEqual","inbound_nodes":[{"args":[` + symbolText("n", 0, 0) + `,7],"kwargs":{}}]},
		{"module":"keras.layers","class_name":"GlobalAveragePooling1D","name":"p","config":{"name":"p"},"inbound_nodes":[{"args":[` + symbolText("x", 0, 0) + `],"kwargs":{"mask":` + symbolText("m", 0, 0) + `}}]}],
		"input_layers":[["x",0,0],["n",0,0]],"output_layers":["p",0,0]}}`
	m, err := keras.ModelFromJSON([]byte(document))
	require.NoError(t, err)
	x := data.Must(data.ArrayOf([]float32{1, 2, 6}, 1, 3, 1))
	n := data.Must(data.ArrayOf([]int32{1, 7, 2}, 1, 3))
	y, err := m.Predict(context.Background(), data.Arrays([]any{x, n}, nil))
	require.NoError(t, err)
	require.Equal(t, []float64{3.5}, floats(y))
}

func symbolText(layer string, call, index int) string {
	return fmt.Sprintf(`{"class_name":"__keras_tensor__","config":{"shape":[null],"dtype":"float32","keras_history":[%q,%d,%d]}}`, layer, call, index)
}

// TestCallsOfNestedModels reads results of a nested model as Keras 3 and Keras 2 number its calls.
func TestCallsOfNestedModels(t *testing.T) {
	input := func(name string) string {
		return `{"module":"keras.layers","class_name":"InputLayer","name":"` + name + `","config":{"batch_shape":[null,2],"dtype":"float32","name":"` + name + `"},"inbound_nodes":[]}`
	}
	inner := `{"class_name":"Functional","name":"inner","config":{"name":"inner","layers":[` + input("i") +
		`,{"module":"keras.src.ops.numpy","class_name":"Multiply","name":"double","config":{"name":"double"},"inbound_nodes":[{"args":[` + symbolText("i", 0, 0) + `,2.0],"kwargs":{}}]}],"input_layers":["i",0,0],"output_layers":["double",0,0]},`
	modern := `{"class_name":"Functional","config":{"name":"f","layers":[` + input("x") + `,` + inner + `"inbound_nodes":[{"args":[` + symbolText("x", 0, 0) + `],"kwargs":{"mask":null}},{"args":[` + symbolText("inner", 0, 0) + `],"kwargs":{"mask":null}}]}],
		"input_layers":["x",0,0],"output_layers":["inner",2,0]}}`
	legacy := strings.ReplaceAll(`{"class_name":"Functional","config":{"name":"f","layers":[`+input("x")+`,`+inner+`"inbound_nodes":[[["x",0,0,{}]],[["inner",1,0,{}]]]}],
		"input_layers":[["x",0,0]],"output_layers":[["inner",2,0]]}}`, "batch_shape", "batch_input_shape")
	for _, document := range []string{modern, legacy} {
		m, err := keras.ModelFromJSON([]byte(document))
		require.NoError(t, err)
		y, err := m.Predict(context.Background(), data.Arrays(data.Must(data.ArrayOf([]float32{1, -3}, 1, 2)), nil))
		require.NoError(t, err)
		require.Equal(t, []float64{4, -12}, floats(y))
	}
}

func TestDocumentErrors(t *testing.T) {
	graph := func(layer, outputs string) string {
		return `{"class_name":"Functional","config":{"name":"f","layers":[{"module":"keras.layers","class_name":"InputLayer","name":"x","config":{"batch_shape":[null,3],"name":"x"},"inbound_nodes":[]},` + layer + `],"input_layers":["x",0,0],"output_layers":` + outputs + `}}`
	}
	operation := func(class, config, args string) string {
		return `{"module":"keras.src.ops.numpy","class_name":"` + class + `","name":"o","config":` + config + `,"inbound_nodes":[{"args":[` + args + `],"kwargs":{}}]}`
	}
	x := symbolText("x", 0, 0)
	for _, row := range []struct{ document, want string }{
		{`{`, "JSON"},
		{graph(operation("Nonsense", `{}`, x), `["o",0,0]`), `unknown operation "Nonsense"`},
		{graph(operation("Mean", `{"axes":1}`, x), `["o",0,0]`), `unknown key "axes"`},
		{graph(operation("Mean", `{"axis":9}`, x), `["o",0,0]`), "axis 9"},
		{graph(operation("Add", `{}`, x), `["o",0,0]`), `needs the argument "x2"`},
		{graph(operation("Add", `{}`, x+`,{"class_name":"__lambda__","config":{"code":"x"}}`), `["o",0,0]`), "an argument is a __lambda__"},
		{graph(operation("Add", `{}`, x+`,`+symbolText("nobody", 0, 0)), `["o",0,0]`), `"nobody", which is not among the layers`},
		{graph(operation("Add", `{}`, x+`,`+symbolText("o", 0, 0)), `["o",0,0]`), "or the graph has a cycle"},
		{graph(operation("Add", `{}`, x+`,`+symbolText("x", 0, 1)), `["o",0,0]`), `has no result 1 of call 0`},
		{graph(operation("Add", `{}`, x+`,`+symbolText("x", -1, 0)), `["o",0,0]`), `call -1`},
		{graph(operation("Add", `{}`, `1,2`), `["o",0,0]`), "no symbolic tensor"},
		{graph(operation("Add", `{}`, x+`,{"class_name":"__numpy__","config":{"value":[[1],[2,3]],"dtype":"float32"}}`), `["o",0,0]`), "rows of shapes"},
		{graph(operation("Relu", `{}`, x), `["p",0,0]`), `"p"`},
		{graph(operation("Add", `{}`, x+`,1`)+`,`+operation("Add", `{}`, x+`,1`), `["o",0,0]`), `two layers are named "o"`},
		{graph(operation("FullLike", `{}`, x+`,1e400`), `["o",0,0]`), "1e400"},
		{graph(operation("Mean", `{"axis":1}`, x), `[[["o",0,0],5],["o",0,0]]`), "expected a triple, or lists and dicts of triples, received 5"},
		{`{"class_name":"Lambda","config":{}}`, `class "Lambda" is not a model`},
		{strings.Repeat(`{"config":`, 5000) + strings.Repeat("}", 5000), "deep"},
	} {
		_, err := keras.ModelFromJSON([]byte(row.document))
		assert.ErrorContains(t, err, row.want)
	}
}

// TestNonFiniteLiterals keeps the non-finite numbers that Python writes unquoted.
func TestNonFiniteLiterals(t *testing.T) {
	x := keras.Input(keras.Shape(2))
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Op("clip", x, math.Inf(-1), 1)))
	require.NoError(t, err)
	document, err := m.ToJSON()
	require.NoError(t, err)
	require.Contains(t, string(document), `"x_min":-Infinity`)
	again, err := keras.ModelFromJSON(document)
	require.NoError(t, err)
	y, err := again.Predict(context.Background(), data.Arrays(data.Must(data.ArrayOf([]float32{-1e30, 5}, 1, 2)), nil))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{-1e30, 1}, floats(y), 1e23)
}

func TestSubclassHasNoDocument(t *testing.T) {
	m, err := keras.NewModel(&layers.Dense{Units: 1})
	require.NoError(t, err)
	_, err = m.ToJSON()
	require.ErrorContains(t, err, "no file could say how to make it again")
}

func ExampleModel_ToJSON() {
	x := keras.Input(keras.Shape(3), keras.InputName("x"))
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(x.Multiply(2.0)), keras.Name("twice"))
	if err != nil {
		fmt.Println(err)
		return
	}
	document, err := m.ToJSON()
	fmt.Println(strings.Contains(string(document), `"class_name":"Multiply"`), err)
	again, err := keras.ModelFromJSON(document)
	fmt.Println(again.Name(), again.OutputNames(), err)
	// Output:
	// true <nil>
	// twice [multiply] <nil>
}

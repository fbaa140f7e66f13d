package keras_test

import (
	"bytes"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Printed by Keras 3.15.1 on a terminal of 80 columns.
const sequentialSummary = `Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ conv2d (Conv2D)                 │ (None, 26, 26, 32)     │           320 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ max_pooling2d (MaxPooling2D)    │ (None, 13, 13, 32)     │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ flatten (Flatten)               │ (None, 5408)           │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 64)             │       346,176 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense_1 (Dense)                 │ (None, 10)             │           650 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 347,146 (1.32 MB)
 Trainable params: 347,146 (1.32 MB)
 Non-trainable params: 0 (0.00 B)
`

const unbuiltSummary = `Model: "sequential_1"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ dense (Dense)                   │ ?                      │   0 (unbuilt) │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ batch_normalization             │ ?                      │   0 (unbuilt) │
│ (BatchNormalization)            │                        │               │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 0 (0.00 B)
 Trainable params: 0 (0.00 B)
 Non-trainable params: 0 (0.00 B)
`

const expandedSummary = `Model: "sequential_2"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ sequential_1 (Sequential)       │ (None, 3)              │            21 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│    └ dense_2 (Dense)            │ (None, 3)              │             9 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│    └ batch_normalization        │ (None, 3)              │            12 │
│ (BatchNormalization)            │                        │               │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense_3 (Dense)                 │ (None, 1)              │             4 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 25 (100.00 B)
 Trainable params: 19 (76.00 B)
 Non-trainable params: 6 (24.00 B)
`

const functionalSummary = `Model: "functional_1"
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)        ┃ Output Shape      ┃    Param # ┃ Connected to      ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩
│ a (InputLayer)      │ (None, 8)         │          0 │ -                 │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ d (Dense)           │ (None, 3)         │         27 │ a[0][0]           │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ b (InputLayer)      │ (None, 4)         │          0 │ -                 │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ concatenate         │ (None, 7)         │          0 │ d[0][0], b[0][0]  │
│ (Concatenate)       │                   │            │                   │
├─────────────────────┼───────────────────┼────────────┼───────────────────┤
│ a_very_long_layer_… │ (None, 1)         │          8 │ concatenate[0][0] │
│ (Dense)             │                   │            │                   │
└─────────────────────┴───────────────────┴────────────┴───────────────────┘
 Total params: 35 (140.00 B)
 Trainable params: 35 (140.00 B)
 Non-trainable params: 0 (0.00 B)
`

func summaryOf(t *testing.T, m *keras.Model, options ...keras.SummaryOption) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, m.Summary(append(options, keras.SummaryOutput(&b))...))
	return b.String()
}

func TestSummarySequential(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dense{Units: 64, Activation: "relu"},
		&layers.Dense{Units: 10},
	}, keras.InputShape(28, 28, 1))
	require.NoError(t, err)
	require.Equal(t, sequentialSummary, summaryOf(t, m))
}

func TestSummaryUnbuilt(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}, &layers.BatchNormalization{}}, keras.Name("sequential_1"))
	require.NoError(t, err)
	require.Equal(t, unbuiltSummary, summaryOf(t, m))
}

func TestSummaryExpanded(t *testing.T) {
	inner, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Name: "dense_2"}, &layers.BatchNormalization{}}, keras.Name("sequential_1"))
	require.NoError(t, err)
	m, err := keras.NewSequential([]layers.Layer{inner, &layers.Dense{Units: 1, Name: "dense_3"}}, keras.InputShape(2), keras.Name("sequential_2"))
	require.NoError(t, err)
	require.Equal(t, expandedSummary, summaryOf(t, m, keras.ExpandNested()))
}

func TestSummaryFunctional(t *testing.T) {
	a, b := keras.Input(keras.Shape(8), keras.InputName("a")), keras.Input(keras.Shape(4), keras.InputName("b"))
	h := layers.Apply(&layers.Dense{Units: 3, Name: "d"}, a)
	o := layers.Apply(&layers.Dense{Units: 1, Name: "a_very_long_layer_name_that_must_be_wrapped_somewhere"}, layers.Apply(&layers.Concatenate{}, h, b))
	m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(o, h), keras.Name("functional_1"))
	require.NoError(t, err)
	require.Equal(t, functionalSummary, summaryOf(t, m))
}

// TestSummaryOfSharedLayer: a layer that is called twice in one model keeps its unknown batch size.
func TestSummaryOfSharedLayer(t *testing.T) {
	encoder := &layers.Dense{Units: 2, Name: "encoder"}
	left, right := keras.Input(keras.Shape(3)), keras.Input(keras.Shape(3))
	m, err := keras.NewFunctional(keras.Inputs(left, right), keras.Outputs(layers.Apply(&layers.Add{}, layers.Apply(encoder, left), layers.Apply(encoder, right))))
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, m.Summary(keras.SummaryOutput(&text)))
	assert.Regexp(t, `encoder \(Dense\) +│ \(None, 2\)`, text.String())
}

// East Asian letters take two columns of a terminal, accents none; also a model without layers. As Keras prints them.
func TestSummaryColumns(t *testing.T) {
	wide, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 3, Name: "日本語の層の長い名前はここで折り返す"},
		&layers.Dense{Units: 2, Name: "日本 語の 層"},
		&layers.Dense{Units: 2, Name: "e\u0301te"},
	}, keras.InputShape(2), keras.Name("日本"))
	require.NoError(t, err)
	require.Equal(t, `Model: "日本"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┓
┃ Layer (type)             ┃ Output Shape      ┃   Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━┩
│ 日本語の層の長い名前は … │ (None, 3)         │         9 │
│ (Dense)                  │                   │           │
├──────────────────────────┼───────────────────┼───────────┤
│ 日本 語の 層 (Dense)     │ (None, 2)         │         8 │
├──────────────────────────┼───────────────────┼───────────┤
│ éte (Dense)              │ (None, 2)         │         6 │
└──────────────────────────┴───────────────────┴───────────┘
 Total params: 23 (92.00 B)
 Trainable params: 23 (92.00 B)
 Non-trainable params: 0 (0.00 B)
`, summaryOf(t, wide, keras.LineLength(60)))

	empty, err := keras.NewSequential(nil, keras.Name("empty"))
	require.NoError(t, err)
	require.Equal(t, `Model: "empty"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 0 (0.00 B)
 Trainable params: 0 (0.00 B)
 Non-trainable params: 0 (0.00 B)
`, summaryOf(t, empty))
}

// In East Asian locales, libraries may count two columns for lines and "…"; Keras does not.
func TestSummaryInEastAsia(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Name: "a_name_that_is_too_long_for_its_column"}}, keras.InputShape(2))
	require.NoError(t, err)
	want := summaryOf(t, m, keras.LineLength(60))
	require.Contains(t, want, "…")
	twwidth.SetEastAsian(true)
	require.Equal(t, want, summaryOf(t, m, keras.LineLength(60)))
}

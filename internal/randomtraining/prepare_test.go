package randomtraining

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
)

// prepared is a call of prepare.py, with what Keras makes of it.
type prepared struct {
	Class    string
	Number   int
	Settings map[string]json.RawMessage

	Sequences [][]float64 // of pad
	DType     string
	X, Y      *spec  // of categorical, normalize and timeseries
	Xs        []spec // of split
	Length    int    // of timeseries
	Files     map[string][]byte
	Names     []string // of classes

	Answer struct {
		Error  string
		Arrays []struct {
			result
			Texts []string
		}
	}
}

// TestPrepare compares what prepares data: padded sequences, class numbers, parts, windows, and folders of images,
// texts and sounds. RANDOM_PREPARE is another file of cases.
func TestPrepare(t *testing.T) {
	checkAll[*prepared](t, "RANDOM_PREPARE", "testdata/prepare.json.gz")
}

// TestFreshPrepare has prepare.py draw.
func TestFreshPrepare(t *testing.T) { checkFresh[*prepared](t, "prepare.py", "RANDOM_PREPARE", "60") }

func (c *prepared) number() int { return c.Number }

func (c *prepared) check(t *testing.T) string {
	calls := map[string]func(*testing.T) ([]kernels.Array, error){"pad": c.pad, "categorical": c.categorical, "normalize": c.normalize, "split": c.split,
		"timeseries": c.timeseries, "images": c.images, "texts": c.texts, "sounds": c.sounds}
	got, err := calls[c.Class](t)
	switch want := c.Answer; {
	case want.Error != "" && err == nil:
		return c.Class + ": Keras refuses: " + want.Error
	case want.Error != "":
		return ""
	case err != nil:
		return c.Class + ": " + err.Error()
	case len(got) != len(want.Arrays):
		return fmt.Sprintf("%s: %d arrays, not %d", c.Class, len(got), len(want.Arrays))
	}
	for i, a := range got {
		if text := c.differs(t, i, a); text != "" {
			return fmt.Sprintf("%s: array %d: %s", c.Class, i, text)
		}
	}
	return ""
}

func (c *prepared) differs(t *testing.T, i int, a kernels.Array) string {
	t.Helper()
	want := c.Answer.Arrays[i]
	if want.Texts == nil {
		tolerance := 1e-5
		if c.Class == "images" { // TensorFlow takes the weights of resizing from a table, or rounds them
			tolerance = 4e-3
		}
		return want.result.differs(a.Shape(), a.Float64s(), tolerance)
	}
	values, shape, err := data.Strings(a)
	require.NoError(t, err)
	for i, v := range values {
		values[i] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	if !slices.Equal(values, want.Texts) || !slices.Equal(shape, want.Shape) {
		return fmt.Sprintf("%q of shape %v, not %q of %v", values, shape, want.Texts, want.Shape)
	}
	return ""
}

// setting reads one of the settings, if it is there and not None.
func setting[T any](t *testing.T, c *prepared, name string) (v T, ok bool) {
	t.Helper()
	text := c.Settings[name]
	if text == nil || string(text) == "null" {
		return v, false
	}
	require.NoError(t, json.Unmarshal(text, &v))
	return v, true
}

func (c *prepared) pad(t *testing.T) ([]kernels.Array, error) {
	var options []data.PadOption
	if n, ok := setting[int](t, c, "maxlen"); ok {
		options = append(options, data.MaxLen(n))
	}
	if side, ok := setting[data.Side](t, c, "padding"); ok {
		options = append(options, data.Padding(side))
	}
	if side, ok := setting[data.Side](t, c, "truncating"); ok {
		options = append(options, data.Truncating(side))
	}
	if v, ok := setting[float64](t, c, "value"); ok {
		options = append(options, data.PadValue(v))
	}
	switch c.DType {
	case "int32":
		return padded[int32](c, options)
	case "float32":
		return padded[float32](c, options)
	}
	return padded[float64](c, options)
}

func padded[T data.Number](c *prepared, options []data.PadOption) ([]kernels.Array, error) {
	sequences := make([][]T, len(c.Sequences))
	for i, s := range c.Sequences {
		for _, v := range s {
			sequences[i] = append(sequences[i], T(v))
		}
	}
	a, err := data.PadSequences(sequences, options...)
	return []kernels.Array{a}, err
}

func (c *prepared) categorical(t *testing.T) ([]kernels.Array, error) {
	n, _ := setting[int](t, c, "num_classes")
	a, err := data.ToCategorical(c.X.array(t), n)
	return []kernels.Array{a}, err
}

func (c *prepared) normalize(t *testing.T) ([]kernels.Array, error) {
	axis, order := -1, 2.0
	if v, ok := setting[int](t, c, "axis"); ok {
		axis = v
	}
	if text := c.Settings["order"]; text != nil {
		v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
		require.NoError(t, err)
		order = v
	}
	return run([]kernels.Array{c.X.array(t)}, func(in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Normalize(in[0], axis, order, 1e-12)}
	})
}

func (c *prepared) split(t *testing.T) (out []kernels.Array, err error) {
	size := func(name string) data.SplitSize {
		n, ok := setting[float64](t, c, name)
		switch {
		case !ok:
			return data.Rest
		case strings.Contains(string(c.Settings[name]), "."):
			return data.Fraction(n)
		}
		return data.Count(int(n))
	}
	var x data.Tensors
	for _, s := range c.Xs {
		x.Arrays = append(x.Arrays, s.array(t))
	}
	left, right, err := data.SplitDataset(data.Arrays(x, nil), size("left_size"), size("right_size"))
	if err != nil {
		return nil, err
	}
	for _, part := range []*data.ArraySource{left, right} {
		for b, err := range part.Batches(t.Context(), 0) {
			if err != nil {
				return nil, err
			}
			out = append(out, b.Clone().X.Arrays...)
		}
	}
	return out, nil
}

func (c *prepared) timeseries(t *testing.T) ([]kernels.Array, error) {
	var options []data.TimeseriesOption
	for name, option := range map[string]func(int) data.TimeseriesOption{"sequence_stride": data.SequenceStride, "sampling_rate": data.SamplingRate, "batch_size": data.TimeseriesBatchSize} {
		if n, ok := setting[int](t, c, name); ok {
			options = append(options, option(n))
		} else if c.Settings[name] != nil {
			options = append(options, option(0))
		}
	}
	start, _ := setting[int](t, c, "start_index")
	end, _ := setting[int](t, c, "end_index")
	var y any
	if c.Y != nil {
		y = c.Y.array(t)
	}
	return c.elements(t, data.TimeseriesDatasetFromArray(c.X.array(t), y, c.Length, append(options, data.TimeRange(start, end))...))
}

// elements are the arrays of all batches, inputs before labels.
func (c *prepared) elements(t *testing.T, ds data.Dataset) (out []kernels.Array, err error) {
	t.Helper()
	for b, err := range ds.Batches(t.Context(), 0) {
		if err != nil {
			return nil, err
		}
		b := b.Clone()
		out = append(append(out, b.X.Arrays...), b.Y.Arrays...)
	}
	return out, nil
}

// folder writes the files, and returns the options that all folders have.
func (c *prepared) folder(t *testing.T) (dir string, options []data.FolderOption) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, c.Files[name], 0o600))
	}
	options = []data.FolderOption{data.ImagesInOrder()}
	if mode, ok := setting[data.LabelMode](t, c, "label_mode"); ok {
		options = append(options, data.Labels(mode))
	} else if c.Settings["label_mode"] != nil {
		options = append(options, data.Labels(data.LabelNone))
	}
	if n, ok := setting[int](t, c, "batch_size"); ok {
		options = append(options, data.ImageBatchSize(n))
	} else if c.Settings["batch_size"] != nil {
		options = append(options, data.ImageBatchSize(0))
	}
	if names, ok := setting[[]string](t, c, "class_names"); ok {
		options = append(options, data.ClassNames(names...))
	}
	if labels, ok := setting[[]int](t, c, "labels"); ok {
		options = append(options, data.FileLabels(labels...))
	}
	if part, ok := setting[float64](t, c, "validation_split"); ok {
		subset, _ := setting[data.Subset](t, c, "subset")
		options = append(options, data.ValidationSplit(part, subset))
	}
	return dir, options
}

// read reads a folder that has been opened.
func (c *prepared) read(t *testing.T, ds data.Dataset, names []string) ([]kernels.Array, error) {
	t.Helper()
	out, err := c.elements(t, ds)
	if err == nil && !slices.Equal(names, c.Names) && c.Answer.Error == "" {
		return nil, fmt.Errorf("class names %q, not %q", names, c.Names)
	}
	return out, err
}

func (c *prepared) images(t *testing.T) ([]kernels.Array, error) {
	dir, common := c.folder(t)
	options := convert[data.ImageOption](common)
	if mode, ok := setting[data.ColorMode](t, c, "color_mode"); ok {
		options = append(options, data.Colors(mode))
	}
	if way, ok := setting[data.Interpolation](t, c, "interpolation"); ok {
		options = append(options, data.ImageInterpolation(way))
	}
	if on, _ := setting[bool](t, c, "crop_to_aspect_ratio"); on {
		options = append(options, data.CropToAspectRatio())
	}
	if on, _ := setting[bool](t, c, "pad_to_aspect_ratio"); on {
		options = append(options, data.PadToAspectRatio())
	}
	size, _ := setting[[]int](t, c, "image_size")
	ds, err := data.ImageDatasetFromDirectory(dir, size[0], size[1], options...)
	if err != nil {
		return nil, err
	}
	return c.read(t, ds, ds.ClassNames)
}

func (c *prepared) texts(t *testing.T) ([]kernels.Array, error) {
	dir, common := c.folder(t)
	options := convert[data.TextOption](common)
	if n, ok := setting[int](t, c, "max_length"); ok {
		options = append(options, data.MaxLength(n))
	}
	ds, err := data.TextDatasetFromDirectory(dir, options...)
	if err != nil {
		return nil, err
	}
	return c.read(t, ds, ds.ClassNames)
}

func (c *prepared) sounds(t *testing.T) ([]kernels.Array, error) {
	dir, common := c.folder(t)
	options := convert[data.AudioOption](common)
	if n, ok := setting[int](t, c, "output_sequence_length"); ok {
		options = append(options, data.OutputSequenceLength(n))
	}
	ds, err := data.AudioDatasetFromDirectory(dir, options...)
	if err != nil {
		return nil, err
	}
	return c.read(t, ds, ds.ClassNames)
}

func convert[O any](options []data.FolderOption) (out []O) {
	for _, o := range options {
		out = append(out, any(o).(O))
	}
	return out
}

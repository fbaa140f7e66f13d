package callbacks_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// load reads what a script in testdata wrote.
func load(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	// Python writes NaN and infinities bare, which is no JSON.
	text, err := io.ReadAll(io.MultiReader(d.Buffered(), z))
	require.NoError(t, err)
	for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
		text = bytes.ReplaceAll(text, []byte(": "+word), []byte(`: "`+word+`"`))
	}
	require.NoError(t, json.Unmarshal(text, into))
}

// number is a JSON number, or one of the words that Python has for those that JSON lacks.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) != nil {
		return json.Unmarshal(text, (*float64)(n))
	}
	switch strings.TrimSuffix(strings.ToLower(word), "inity") {
	case "nan":
		*n = number(math.NaN())
	case "inf":
		*n = number(math.Inf(1))
	case "-inf":
		*n = number(math.Inf(-1))
	default:
		return fmt.Errorf("no number: %s", text)
	}
	return nil
}

// numbers is one number or a list of them.
type numbers []number

func (n *numbers) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "[") {
		return json.Unmarshal(text, (*[]number)(n))
	}
	*n = make(numbers, 1)
	return json.Unmarshal(text, &(*n)[0])
}

// ordered are named values in the order of the file.
type ordered struct {
	names  []string
	values map[string]numbers
}

func (o *ordered) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &o.values); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if name, ok := token.(string); ok && o.values[name] != nil && !slices.Contains(o.names, name) {
			o.names = append(o.names, name)
		}
	}
}

func (o *ordered) logs() *callbacks.Logs {
	l := callbacks.NewLogs(nil)
	if o == nil {
		return l
	}
	for _, name := range o.names {
		v := make([]float64, len(o.values[name]))
		for i, x := range o.values[name] {
			v[i] = float64(x)
		}
		l.Append(name, v...)
	}
	return l
}

// fakeModel has one weight and its moving average.
type fakeModel struct {
	out             bytes.Buffer
	weight, average float64
	ema             bool
	rate            float64
	stopped         bool
	saved           []string // since the last step
	initialEpoch    int
	loadError       error
}

func newFakeModel() *fakeModel { return &fakeModel{rate: float64(float32(0.1)), initialEpoch: -1} }

func (m *fakeModel) Stop() { m.stopped = true }

func (m *fakeModel) GetWeights() ([]kernels.Array, error) {
	a, err := kernels.FromFloat64s(ir.Float64, ir.Shape{1}, []float64{m.weight})
	return []kernels.Array{a}, err
}

func (m *fakeModel) SetWeights(weights []kernels.Array) error {
	m.weight = weights[0].Element(0)
	return nil
}

func (m *fakeModel) OptimizerArrays() ([]kernels.Array, error)       { return nil, nil }
func (m *fakeModel) SetOptimizerArrays([]kernels.Array) error        { return nil }
func (m *fakeModel) LearningRate() (float64, error)                  { return m.rate, nil }
func (m *fakeModel) SetLearningRate(rate float64) error              { m.rate = float64(float32(rate)); return nil }
func (m *fakeModel) Output() io.Writer                               { return &m.out }
func (m *fakeModel) SetInitialEpoch(epoch int)                       { m.initialEpoch = epoch }
func (m *fakeModel) SaveWeights(path string) error                   { return m.write(path, "weights") }
func (m *fakeModel) SaveBackup(p string, _ callbacks.Progress) error { return m.write(p, "backup") }

func (m *fakeModel) write(path, text string) error {
	m.saved = append(m.saved, path)
	return os.WriteFile(path, []byte(text), 0o666)
}

func (m *fakeModel) LoadBackup(path string) (callbacks.Progress, error) {
	if _, err := os.Stat(path); err != nil {
		return callbacks.Progress{}, fs.ErrNotExist
	}
	if m.loadError != nil && !strings.HasSuffix(path, ".bkp") {
		return callbacks.Progress{}, m.loadError
	}
	return callbacks.Progress{Epoch: 7}, nil
}

func (m *fakeModel) Direction(name string) string {
	switch strings.TrimPrefix(name, "val_") {
	case "loss", "mae":
		return "min"
	case "accuracy":
		return "max"
	}
	return ""
}

func (m *fakeModel) SwapEMA() error {
	if !m.ema {
		return fmt.Errorf("no averages")
	}
	m.weight, m.average = m.average, m.weight
	return nil
}

package randomnets

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
)

// oddModel is a model of randomodd.py, and what Keras makes of it with odd values in its configuration.
type oddModel struct {
	Number, Seed int
	X, Y         []typed
	Cases        []oddCase
}

// oddCase is one odd value at one place. Outcome is "error", "same", "predicts", "cannot train" or "other weights".
type oddCase struct {
	Name, Outcome, Error string
	At                   []any
	Value                any
	Y                    []typed
}

// TestFreshOdd reads layers whose configurations hold odd values: an error, or what Keras makes of them. What it takes
// and is refused here stands in testdata/odd_refused.txt. Models are drawn from RANDOM_ODD_SEED on.
func TestFreshOdd(t *testing.T) {
	folder := draw(t, pythonOf(t), "randomodd.py", "RANDOM_ODD", "40")
	text, err := os.ReadFile(filepath.Join(folder, "models.json"))
	require.NoError(t, err)
	var all struct{ Models []oddModel }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	refusals := recorded.LoadRefusals(t, "testdata/odd_refused.txt")
	counts := map[string]int{}
	for _, m := range all.Models {
		for _, c := range m.Cases {
			refused, err := m.try(folder, c)
			ours := "accepts"
			if refused != nil {
				ours = "error"
			}
			counts[c.Outcome+", ours "+ours]++
			if refused != nil && (c.Outcome == "same" || c.Outcome == "predicts") && !refusals.Allow(c.Name, c.value(), refused) {
				err = fmt.Errorf("is refused, and Keras takes it: %w", refused)
			}
			if err != nil {
				t.Errorf("seed %d: %s = %v: %v", m.Seed, c.Name, c.value(), err)
			}
		}
	}
	t.Logf("%d models: %v", len(all.Models), counts)
}

func (c oddCase) value() string {
	text, _ := json.Marshal(c.Value)
	return string(text)
}

// try reads the model with the odd value, and predicts. refused is why it cannot; err says what is not as it should be.
func (m *oddModel) try(folder string, c oddCase) (refused, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	file, err := m.altered(filepath.Join(folder, fmt.Sprint(m.Number)+".keras"), c)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "odd.keras")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		return nil, err
	}
	model, refused := keras.LoadModel(path)
	if refused != nil {
		return refused, nil
	}
	x, err := arrays(m.X)
	if err != nil {
		return nil, err
	}
	want := c.Y
	if c.Outcome != "predicts" {
		want = m.Y
	}
	wrong := predicts(model, x, want)
	switch {
	case wrong != nil && !strings.HasPrefix(wrong.Error(), "output "):
		return wrong, nil
	case c.Outcome == "error" && !c.harmless():
		return nil, fmt.Errorf("is accepted; Keras says %s", c.Error)
	case strings.HasSuffix(c.Name, ".dtype") && strings.HasSuffix(m.Y[0].DType, "float16"):
		return nil, nil // what was rounded to 16 bits on the way may not be here
	case c.Outcome == "same" || c.Outcome == "predicts":
		return nil, wrong
	}
	return nil, nil
}

// harmless reports whether the value may be read where Keras refuses it, as it can mean one thing only, or is that of
// an object that the backends of Keras do not all refuse.
func (c oddCase) harmless() bool {
	key := c.Name[strings.LastIndex(c.Name, ".")+1:]
	switch {
	case key == "vocabulary_dtype", c.Name == "Hashing.mask_value":
		return true // whole numbers have 64 bits, and a value of another type masks nothing
	case key == "bin_boundaries", key == "vocabulary", strings.HasPrefix(c.Name, "Normalization."):
		return true // a list of one, and one number for all
	case c.Name == "Hashing.output_mode", c.Name == "IntegerLookup.num_oov_indices":
		return true // bins are whole numbers, whatever the policy, and nothing is asked of vocabulary_size
	case key == "seed", key == "sparse", key == "ragged", strings.HasSuffix(key, "_initializer"):
		return true
	case slices.Contains([]string{"RandomUniform", "STFTSpectrogram", "L1", "L2", "L1L2", "OrthogonalRegularizer"}, c.Name[:strings.LastIndex(c.Name, ".")]):
		return true // weights of the file are in place of what an initializer makes, and penalties are those of training
	case c.Value == true, c.Value == -1.0 && key == "target_shape":
		return true // the number 1, a list of one
	case c.Name == "EinsumDense.output_shape" && (c.Value == nil || c.Value == -1.0):
		return true // the length that the axis has in the input
	case c.Value == nil && key == "fill_value":
		return true // 0
	case c.Value == nil:
		return strings.HasPrefix(key, "return_") || key == "stateful" || key == "keepdims" // false
	case c.Value == "(missing)":
		return c.Name == "Rescaling.offset"
	}
	return false
}

// altered returns the file with the value in its configuration.
func (m *oddModel) altered(path string, c oddCase) ([]byte, error) {
	in, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if f.Name == "config.json" {
			var config any
			if err := json.Unmarshal(text, &config); err != nil {
				return nil, err
			}
			put(config, c.At, c.Value)
			if text, err = json.Marshal(config); err != nil {
				return nil, err
			}
		}
		to, err := w.Create(f.Name)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(text); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// put writes a value into nested maps and lists, or takes the key away.
func put(into any, at []any, value any) {
	for _, k := range at[:len(at)-1] {
		into = below(into, k)
	}
	switch last := at[len(at)-1]; v := into.(type) {
	case map[string]any:
		if v[last.(string)] = value; value == "(missing)" {
			delete(v, last.(string))
		}
	case []any:
		v[int(last.(float64))] = value
	}
}

func below(v, k any) any {
	if list, ok := v.([]any); ok {
		return list[int(k.(float64))]
	}
	return v.(map[string]any)[k.(string)]
}

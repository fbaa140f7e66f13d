package randomnets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// mixedCase is a network whose layers have policies of several types, and what Keras makes of it.
type mixedCase struct {
	Number, Seed int
	Document     json.RawMessage
	Global       string
	Error        string
	DTypes       [][]any
	Outputs      map[string][]string // of the first call of each layer
	X            []typed
	Narrow       float64 // how far predictions may be from each other, for the narrowest type
	Stages       []*mixedStage
}

// mixedStage is an action on given weights.
type mixedStage struct {
	Kind, Error       string
	Start, Weights, Y []typed
	Paths             []string
	Off               struct {
		Y, Weights []float64
		Loss       float64
	}
	Optimizer struct {
		Adam           bool
		Rate, Momentum float64
	}
	Targets     []typed
	Loss        float64
	Scaled      bool
	Slots       []typed
	Mode        string
	Odd         bool
	Layer       string
	Rank, Alpha int
	File        string
}

// TestFreshMixed draws networks of layers with different dtype policies, and quantizes and trains them here and in
// Keras.
func TestFreshMixed(t *testing.T) {
	python := pythonOf(t)
	folder := draw(t, python, "randommixed.py", "RANDOM_MIXED", "20")
	compareMixed(t, folder)
	openedByKeras(t, python, "randommixed.py", folder)
}

// TestRecordedMixed compares with networks that were drawn and recorded before, with PyTorch.
func TestRecordedMixed(t *testing.T) { compareMixed(t, recorded.Folder(t, "testdata/mixed.tar.gz")) }

func compareMixed(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "mixed.json"))
	require.NoError(t, err)
	var all struct{ Cases []mixedCase }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Cases)
	stages := map[string]int{}
	for _, c := range all.Cases {
		if err := c.compare(folder, stages); err != nil {
			t.Errorf("network of seed %d, number %d: %v", c.Seed, c.Number, err)
		}
	}
	t.Logf("%d networks: %v", len(all.Cases), stages)
}

func (c *mixedCase) compare(folder string, stages map[string]int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var options []keras.Option
	if c.Global != "" {
		options = append(options, keras.DTypePolicy(c.Global))
	}
	m, err := keras.ModelFromJSON(c.Document, options...)
	if c.Error != "" {
		stages["refused"]++
		if err == nil {
			return fmt.Errorf("taken, Keras says %q", c.Error)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.facts(m); err != nil {
		return err
	}
	x, err := arrays(c.X)
	if err != nil {
		return err
	}
	r := &mixedRun{c: c, m: m, x: x, folder: folder}
	for i, s := range c.Stages {
		if s.Kind == "file" && s.Error != "" {
			break
		}
		stages[s.Kind]++
		if err := r.stage(s); err != nil {
			return fmt.Errorf("stage %d, %s: %w", i, s.Kind, err)
		}
		if s.Error != "" {
			break
		}
	}
	return r.save()
}

// facts compares the types of results of layers, and what documents say of policies.
func (c *mixedCase) facts(m *keras.Model) error {
	for i, o := range layers.OutputTypes(m) {
		if len(c.Stages) > 0 && len(c.Stages[0].Y) > 0 && !sameType(o.DType.String(), c.Stages[0].Y[i].DType) {
			return fmt.Errorf("output %d has type %v, Keras's %s", i, o.DType, c.Stages[0].Y[i].DType)
		}
	}
	var wrong []string
	layers.Walk(m, func(l layers.Layer) {
		want, types := c.Outputs[layers.Name(l)], layers.OutputTypes(l)
		for i, t := range types {
			if i < len(want) && !sameType(t.DType.String(), want[i]) {
				wrong = append(wrong, fmt.Sprintf("results of %s have type %v, Keras's %s", layers.Name(l), t.DType, want[i]))
			}
		}
	})
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return c.policies(m, c.DTypes)
}

// sameType reports whether a type is Keras's. Backends of Keras make float32 of float64 in some functions.
func sameType(got, want string) bool { return got == want || got == "float64" && want == "float32" }

// policies compares what documents say of policies.
func (c *mixedCase) policies(m *keras.Model, want [][]any) error {
	got, err := policiesOf(m)
	if err != nil {
		return err
	}
	for _, w := range want {
		path := w[0].(string)
		if a, b := text(got[path]), text(w[1]); a != b {
			return fmt.Errorf("the policy at %s is %s, Keras's %s", path, a, b)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		return fmt.Errorf("policies where Keras has none: %s", text(got))
	}
	return nil
}

// policiesOf are the policies in the document of a model, by where they stand.
func policiesOf(m *keras.Model) (map[string]any, error) {
	document, err := m.ToJSON()
	if err != nil {
		return nil, err
	}
	var o any
	if err := json.Unmarshal(document, &o); err != nil {
		return nil, err
	}
	found := map[string]any{}
	dtypesIn(o, "", found)
	return found, nil
}

// dtypesIn is dtypes of randommixed.py.
func dtypesIn(v any, path string, found map[string]any) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			dtypesIn(e, fmt.Sprint(path, "/", i), found)
		}
	case map[string]any:
		if c, ok := v["config"].(map[string]any); ok && v["class_name"] != nil && v["class_name"] != "__keras_tensor__" && v["class_name"] != "Sequential" && c["dtype"] != nil {
			found[path] = withoutIDs(c["dtype"])
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			dtypesIn(v[k], path+"/"+k, found)
		}
	}
}

func withoutIDs(v any) any {
	if m, ok := v.(map[string]any); ok {
		delete(m, "shared_object_id")
		for k := range m {
			m[k] = withoutIDs(m[k])
		}
	}
	return v
}

func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

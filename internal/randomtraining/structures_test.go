package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// nest is an array, or lists and dicts of arrays as deep as they are, as structures.py writes them.
type nest struct {
	structure
	deep bool // there are lists or dicts inside of it
}

func (n *nest) UnmarshalJSON(text []byte) error {
	var inner []*nest
	var object map[string]json.RawMessage
	switch text[0] {
	case '[':
		if err := json.Unmarshal(text, &inner); err != nil {
			return err
		}
		n.List = []structure{}
		for _, e := range inner {
			n.List, n.deep = append(n.List, e.structure), n.deep || e.List != nil || e.Dict != nil
		}
		return nil
	case '{':
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		if _, ok := object["kind"]; ok {
			return json.Unmarshal(text, &n.structure)
		}
		n.Dict = map[string]structure{}
		for key, part := range object {
			var e nest
			if err := json.Unmarshal(part, &e); err != nil {
				return err
			}
			n.Dict[key], n.deep = e.structure, n.deep || e.List != nil || e.Dict != nil
		}
	}
	return nil
}

// given is what Arrays takes: of a nest several deep, its arrays in Keras's order.
func (n *nest) given() any {
	if n == nil {
		return nil
	}
	if !n.deep {
		return n.value()
	}
	var flat []any
	var walk func(s structure)
	walk = func(s structure) {
		switch {
		case s.Dict != nil:
			for _, key := range slices.Sorted(maps.Keys(s.Dict)) {
				walk(s.Dict[key])
			}
		case s.List != nil:
			for _, e := range s.List {
				walk(e)
			}
		default:
			flat = append(flat, s.made())
		}
	}
	walk(n.structure)
	return flat
}

// structuredData is what a call of structures.py is given.
type structuredData struct{ X, Y, W *nest }

func (d *structuredData) source(inputs bool) *data.ArraySource {
	if inputs {
		return data.Arrays(d.X.given(), nil)
	}
	if d.W == nil {
		return data.Arrays(d.X.given(), d.Y.given())
	}
	return data.Arrays(d.X.given(), d.Y.given(), data.SampleWeight(d.W.given()))
}

// structured is a model that structures.py drew, with what Keras makes of calls.
type structured struct {
	Number int
	Model  json.RawMessage
	Seed   uint64
	Calls  []struct {
		Name      string
		Arguments struct {
			Data, Validation *structuredData
			BatchSize        int     `json:"batch_size"`
			Epochs           int     `json:"epochs"`
			Split            float64 `json:"validation_split"`
		}
		Answer callAnswer
	}
}

// TestStructures trains models whose inputs, outputs, losses, metrics and data are lists, dicts and nests.
// RANDOM_STRUCTURES is another file of cases.
func TestStructures(t *testing.T) {
	checkAll[*structured](t, "RANDOM_STRUCTURES", "testdata/structures.json.gz")
}

// TestFreshStructures has structures.py draw.
func TestFreshStructures(t *testing.T) {
	checkFresh[*structured](t, "structures.py", "RANDOM_STRUCTURES", "20")
}

func (c *structured) number() int { return c.Number }

func (c *structured) check(t *testing.T) string {
	if string(c.Model) == "null" {
		return ""
	}
	m, err := keras.ModelFromJSON(c.Model)
	if err != nil && c.Calls[0].Answer.Error == "" {
		return err.Error()
	}
	if err != nil {
		return ""
	}
	require.NoError(t, setWeights(m, c.Seed))
	for i := range c.Calls {
		name, refused := c.Calls[i].Name, c.Calls[i].Answer.Error
		text, err := c.call(m, i)
		if refused != "" {
			if err == nil {
				t.Logf("call %d, %s: Keras refuses: %s", i, name, refused)
			}
			return ""
		}
		if err != nil {
			text = err.Error()
		}
		if text != "" {
			return fmt.Sprintf("call %d, %s: %s", i, name, text)
		}
	}
	return ""
}

func (c *structured) call(m *keras.Model, i int) (string, error) {
	ctx, a, want := context.Background(), c.Calls[i].Arguments, &c.Calls[i].Answer
	switch c.Calls[i].Name {
	case "fit":
		options := []keras.FitOption{keras.Shuffle(false), keras.Epochs(a.Epochs), keras.BatchSize(a.BatchSize), keras.ValidationSplit(a.Split)}
		if a.Validation != nil {
			options = append(options, keras.ValidationData(a.Validation.source(false)))
		}
		h, err := m.Fit(ctx, a.Data.source(false), options...)
		if err != nil || want.Error != "" {
			return "", err
		}
		return differs(h, want.History), nil
	case "evaluate":
		logs, err := m.EvaluateLogs(ctx, a.Data.source(false), keras.BatchSize(a.BatchSize))
		if err != nil || want.Error != "" {
			return "", err
		}
		if got := slices.Sorted(slices.Values(logs.Names())); !slices.Equal(got, slices.Sorted(maps.Keys(want.Scores))) {
			return fmt.Sprintf("names %v, not %v", got, slices.Sorted(maps.Keys(want.Scores))), nil
		}
		for name, w := range want.Scores {
			if text := near(logs.Vector(name), w, trained); text != "" {
				return name + ": " + text, nil
			}
		}
		return "", nil
	case "predict":
		out, err := m.PredictAll(ctx, a.Data.source(true), keras.BatchSize(a.BatchSize))
		if err != nil || want.Error != "" {
			return "", err
		}
		return predictedLike(out, want), nil
	case "train_on_batch":
		s, err := m.TrainOnBatch(ctx, a.Data.source(false))
		return scoredAs(s, err, want)
	}
	s, err := m.TestOnBatch(ctx, a.Data.source(false))
	return scoredAs(s, err, want)
}

func scoredAs(s map[string]float64, err error, want *callAnswer) (string, error) {
	if err != nil || want.Error != "" {
		return "", err
	}
	if got := slices.Sorted(maps.Keys(s)); !slices.Equal(got, slices.Sorted(maps.Keys(want.Scores))) {
		return fmt.Sprintf("names %v, not %v", got, slices.Sorted(maps.Keys(want.Scores))), nil
	}
	return scored(s, want), nil
}

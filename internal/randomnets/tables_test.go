package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// table is a preprocessing layer that randomtables.py wrote down: what it is made of, and Keras's answers.
type table struct {
	Number, Seed     int
	Class            string
	Config, Settings json.RawMessage
	Batches          []cells
	Words            []any
	IDF              []float64
	Calls            [][]cells
	Failed           []string
	Vocabulary       []any
	Tokens           []any
	Answers, File    []cells
	Unsaved          string
}

// cells are an array of numbers or text, or the error that came instead.
type cells struct {
	typed
	Text  []string
	Error string
}

// unpacked turns text that stands in a file byte by byte into itself.
func unpacked(s string) string {
	var out []byte
	for _, r := range s {
		out = append(out, byte(r))
	}
	return string(out)
}

func (c cells) array() (data.Array, error) {
	if c.DType != "string" {
		return c.typed.array()
	}
	texts := make([]string, len(c.Text))
	for i, s := range c.Text {
		texts[i] = unpacked(s)
	}
	return data.Text(texts, append([]int{}, c.Shape...)...)
}

// TestFreshTables draws preprocessing layers with vocabularies and data.
func TestFreshTables(t *testing.T) {
	python := pythonOf(t)
	folder := draw(t, python, "randomtables.py", "RANDOM_TABLES", "100")
	compareTables(t, folder)
	openedByKeras(t, python, "randomtables.py", folder)
}

// TestRecordedTables compares with layers that were drawn and recorded before.
func TestRecordedTables(t *testing.T) {
	compareTables(t, recorded.Folder(t, "testdata/tables.tar.gz"))
}

func compareTables(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "models.json"))
	require.NoError(t, err)
	var all struct{ Models []table }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	for _, c := range all.Models {
		if err := c.compare(folder); err != nil {
			t.Errorf("layer of seed %d, %s %s: %v", c.Seed, c.Class, c.Settings, err)
		}
	}
	t.Logf("%d layers", len(all.Models))
}

func (c *table) compare(folder string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m, l, err := c.made()
	refused := c.Failed
	for _, a := range c.Answers {
		if a.Error != "" {
			refused = append(refused, a.Error)
		}
	}
	if refused != nil {
		for i := 0; err == nil && m != nil && i < len(c.Calls); i++ {
			_, err = c.predicted(m, i)
		}
		if err == nil && !c.unknown() && !c.special() {
			return fmt.Errorf("Keras refuses (%s)", refused)
		}
		return nil
	}
	if err != nil && strings.Contains(err.Error(), "counts the special tokens") { // of which Keras then makes a vocabulary that is too long
		return nil
	}
	if err != nil && strings.Contains(err.Error(), "keeps the batch axis") { // which Keras learns of an array, not of a dataset
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.knows(l); err != nil {
		return err
	}
	if m == nil {
		return c.inverts(l)
	}
	if err := c.answersAll(m, c.Answers); err != nil {
		return err
	}
	path := filepath.Join(folder, fmt.Sprint(c.Number))
	if c.File != nil {
		again, err := keras.LoadModel(path + ".keras")
		if err != nil {
			return err
		}
		if err := c.answersAll(again, c.File); err != nil {
			return fmt.Errorf("from Keras's file: %w", err)
		}
	}
	if err := m.Save(path + ".ours.keras"); err != nil {
		return fmt.Errorf("saving: %w", err)
	}
	again, err := keras.LoadModel(path + ".ours.keras")
	if err != nil {
		return err
	}
	return c.answersAll(again, c.Answers)
}

// unknown: an unknown number without a place for it is -1 here, which the next layer reports.
func (c *table) unknown() bool {
	return c.Class == "IntegerLookup" && strings.Contains(string(c.Settings), `"num_oov_indices": 0`)
}

// special are refusals for what TensorFlow lacks: counting in 16 bits, and sequences of more words than there are.
func (c *table) special() bool {
	for _, a := range c.Answers {
		if strings.Contains(a.Error, "Value for attr 'T' of half") || strings.Contains(a.Error, "is not compatible with supplied shape") {
			return true
		}
	}
	return false
}

// made returns the layer with what it learns, and a model of it.
func (c *table) made() (*keras.Model, layers.Layer, error) {
	l, err := layers.New(c.Class)
	if err != nil {
		return nil, nil, err
	}
	settings := c.Config
	if settings == nil {
		settings = c.Settings
	}
	if err := config.Decode(settings, l); err != nil {
		return nil, nil, err
	}
	if err := c.learn(l); err != nil {
		return nil, nil, err
	}
	m, err := c.model(l)
	return m, l, err
}

func (c *table) learn(l layers.Layer) error {
	var batches []data.Array
	for _, b := range c.Batches {
		a, err := b.array()
		if err != nil {
			return err
		}
		batches = append(batches, a)
	}
	if len(batches) == 1 {
		if err := keras.Adapt(context.Background(), l, data.Arrays(batches[0], nil)); err != nil {
			return err
		}
	} else if batches != nil {
		if err := keras.Adapt(context.Background(), l, inBatches(batches)); err != nil {
			return err
		}
	}
	switch l := l.(type) {
	case interface {
		SetVocabulary(words []string, idfWeights ...float64) error
	}:
		if c.Words != nil {
			var words []string
			for _, w := range c.Words {
				words = append(words, unpacked(w.(string)))
			}
			return l.SetVocabulary(words, c.IDF...)
		}
	case *layers.IntegerLookup:
		if c.Words != nil {
			var words []int
			for _, w := range c.Words {
				words = append(words, int(w.(float64)))
			}
			return l.SetVocabulary(words, c.IDF...)
		}
	}
	return nil
}

// inBatches is a dataset of batches of inputs.
type inBatches []data.Array

func (b inBatches) Batches(context.Context, int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for _, a := range b {
			if !yield(data.Batch{X: data.Tensors{Names: []string{""}, Arrays: []data.Array{a}}}, nil) {
				return
			}
		}
	}
}

func (c *table) model(l layers.Layer) (*keras.Model, error) {
	var inputs []*layers.KerasTensor
	for i, a := range c.Calls[0] {
		d, err := layers.ParseInputDType(a.DType)
		if err != nil {
			return nil, err
		}
		shape := append([]int{layers.Unknown}, a.Shape[1:]...)
		inputs = append(inputs, layers.NewInput(fmt.Sprintf("in%d", i), d, shape...))
	}
	out := layers.Apply(l, inputs...)
	if out.Err() == nil && out.IsText() { // which models cannot return
		return nil, nil
	}
	return keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(out))
}

func (c *table) predicted(m *keras.Model, call int) (data.Array, error) {
	var x []any
	for _, a := range c.Calls[call] {
		d, err := a.array()
		if err != nil {
			return data.Array{}, err
		}
		x = append(x, d)
	}
	out, err := m.PredictAll(context.Background(), data.Arrays(x, nil))
	if err != nil {
		return data.Array{}, err
	}
	return out[0], nil
}

func (c *table) answersAll(m *keras.Model, want []cells) error {
	for i, w := range want {
		got, err := c.predicted(m, i)
		if w.Error != "" {
			if err == nil {
				return fmt.Errorf("call %d: Keras refuses (%s)", i, w.Error)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
		if text := w.unlike(got); text != "" {
			return fmt.Errorf("call %d: %s", i, text)
		}
		if d := m.Outputs()[0].DType().String(); d != w.DType { // floats of 16 bits are widened in predictions
			return fmt.Errorf("call %d: type %s, Keras %s", i, d, w.DType)
		}
	}
	return nil
}

// inverts compares what a layer makes of numbers that are words.
func (c *table) inverts(l layers.Layer) error {
	for i, w := range c.Answers {
		a := c.Calls[i][0]
		d, err := a.array()
		if err != nil {
			return err
		}
		got, err := l.(layers.HostLayer).Transform(layers.HostInts(d.Int64s(), a.Shape...))
		if err != nil {
			return err
		}
		words, err := data.Text(got.Strings, got.Shape...)
		if err != nil {
			return err
		}
		if text := w.unlike(words); text != "" {
			return fmt.Errorf("call %d: %s", i, text)
		}
	}
	return nil
}

func (c cells) unlike(got data.Array) string {
	if c.DType == "string" {
		words, shape, err := data.Strings(got)
		if err != nil {
			return err.Error()
		}
		if !slices.Equal(shape, c.Shape) {
			return fmt.Sprintf("shape %v, Keras %v", shape, c.Shape)
		}
		for i, w := range words {
			if w != unpacked(c.Text[i]) {
				return fmt.Sprintf("%q at %d, Keras %q", w, i, unpacked(c.Text[i]))
			}
		}
		return ""
	}
	if !slices.Equal(got.Shape(), c.Shape) {
		return fmt.Sprintf("shape %v, Keras %v", got.Shape(), c.Shape)
	}
	values := got.Float64s()
	for i, v := range c.Data {
		if v == nil && math.IsNaN(values[i]) || v != nil && math.Abs(*v-values[i]) <= 2e-5*max(1, math.Abs(*v)) {
			continue
		}
		return fmt.Sprintf("%v at %d, Keras %v; %v, %v", values[i], i, show(v), values, shown(c.Data))
	}
	return ""
}

func shown(list []*float64) (out []any) {
	for _, v := range list {
		out = append(out, show(v))
	}
	return out
}

// knows compares vocabularies.
func (c *table) knows(l layers.Layer) error {
	if c.Vocabulary == nil {
		return nil
	}
	var got [2][]any
	for i, special := range []bool{true, false} {
		switch l := l.(type) {
		case interface{ GetVocabulary(bool) []string }:
			for _, w := range l.GetVocabulary(special) {
				got[i] = append(got[i], w)
			}
		case *layers.IntegerLookup:
			for _, w := range l.GetVocabulary(special) {
				got[i] = append(got[i], float64(w))
			}
		}
	}
	for i, want := range [][]any{c.Vocabulary, c.Tokens} {
		var words []any
		for _, w := range want {
			if s, ok := w.(string); ok {
				w = unpacked(s)
			}
			words = append(words, w)
		}
		if !slices.Equal(got[i], words) {
			return fmt.Errorf("vocabulary %q, Keras %q", got[i], words)
		}
	}
	return nil
}

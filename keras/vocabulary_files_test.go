package keras_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Words that lines of text cannot represent: an empty one at the end, and those containing line breaks of any kind.
var awkwardVocabularies = [][]string{
	{"a", ""}, {"", "a"}, {"a", "b\nc"}, {"a", "x\r"}, {"a", "x\u2028y", "z"}, {"b\n", "b"}, {"a", "\x1c"}, {" ", " b ", "\t"},
}

// awkwardLayers are layers with such words and various settings.
func awkwardLayers(words []string) map[string]layers.Layer {
	all := map[string]layers.Layer{}
	weights := []float64{0.5, 0.25, 0.75}[:len(words)]
	for _, mode := range []layers.OutputMode{"int", "count", "tf_idf"} {
		l := &layers.StringLookup{OutputMode: mode}
		v := &layers.TextVectorization{OutputMode: mode, Standardize: "none", Split: "none"}
		var w []float64
		if mode == "tf_idf" {
			w = weights
		}
		if l.SetVocabulary(words, w...) == nil {
			all["look-up "+string(mode)] = l
		}
		if v.SetVocabulary(words, w...) == nil { // which rejects the empty word
			all["text "+string(mode)] = v
		}
	}
	return all
}

// TestAwkwardWordsSurviveFiles saves models with such vocabularies and opens them again. Keras loses the words when it
// writes them, but opens our files with all words; GOKERAS_PYTHON names the Python for that part.
func TestAwkwardWordsSurviveFiles(t *testing.T) {
	dir := t.TempDir()
	want := map[string][]string{}
	for i, words := range awkwardVocabularies {
		for name, l := range awkwardLayers(words) {
			m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(1), keras.InputDType("string"))
			require.NoError(t, err, name)
			texts := make([][]string, len(words)+1)
			for i, word := range append([]string{"nothing"}, words...) {
				texts[i] = []string{word}
			}
			before, err := m.Predict(context.Background(), data.Arrays(texts, nil))
			require.NoError(t, err, name)
			path := filepath.Join(dir, fmt.Sprintf("%d %s.keras", i, name))
			require.NoError(t, m.Save(path))
			again, err := keras.LoadModel(path)
			require.NoError(t, err, "%s %q", name, words)
			after, err := again.Predict(context.Background(), data.Arrays(texts, nil))
			require.NoError(t, err)
			require.Equal(t, before.Elements(), after.Elements(), "%s %q", name, words)
			vocabulary := l.(interface{ GetVocabulary(bool) []string }).GetVocabulary(true)
			require.Equal(t, vocabulary, again.Layers()[0].(interface{ GetVocabulary(bool) []string }).GetVocabulary(true), "%s %q", name, words)
			want[path] = vocabulary
		}
	}
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("the part with Keras needs it: set GOKERAS_PYTHON to a Python that has it")
	}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	manifest := filepath.Join(dir, "manifest.json")
	require.NoError(t, os.WriteFile(manifest, text, 0o666))
	out, err := exec.CommandContext(t.Context(), python, "-c", `
import json, os, sys
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
for path, words in json.load(open(sys.argv[1])).items():
    got = keras.models.load_model(path).layers[-1].get_vocabulary()
    if list(got) != words:
        print(os.path.basename(path), words, "became", got)
`, manifest).Output()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
}

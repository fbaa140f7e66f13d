package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
)

// testdata/vectors.tar.gz holds small models saved by real Keras, inputs, and what Keras computes from them; case.json
// of each names the versions, the seed and the tolerance. They are files and commands a user has: the tests run the
// command line on them. testdata/differences.tar.gz holds more of them, in which this program once differed from Keras.

// vectorCase is a case.json.
type vectorCase struct {
	Name, Group, Command string
	ModelFile            string `json:"model_file"`
	Args                 struct {
		BatchSize       int `json:"batch_size"`
		Epochs          int
		Weights, To     string
		ValidationSplit float64         `json:"validation_split"`
		ClassWeight     json.RawMessage `json:"class_weight"`
	}
	Tolerance  tolerance
	Overrides  map[string]tolerance `json:"tolerance_overrides"`
	Expect     *refusal
	CheckOrder bool `json:"check_order"`

	folder, work string
	inputs, want data.Tensors
}

type tolerance struct {
	RTol, ATol, Abs float64
	Skip            bool
}

// refusal is what is expected of a file that must not be read.
type refusal struct {
	MessageAny []string `json:"message_any"`
	MaySucceed bool     `json:"may_succeed"`
	MaxSeconds float64  `json:"max_seconds"`
}

// TestKeras runs every case.
func TestKeras(t *testing.T) { runCases(t, "testdata/vectors.tar.gz", 361) }

// TestDifferences runs the cases that once failed.
func TestDifferences(t *testing.T) { runCases(t, "testdata/differences.tar.gz", 18) }

// runCases runs the cases of an archive, which must be that many at least.
func runCases(t *testing.T, archive string, least int) {
	dir := recorded.Folder(t, archive)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "case.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), least)
	groups := map[string][]string{}
	for _, file := range files {
		group := filepath.Base(filepath.Dir(filepath.Dir(file)))
		groups[group] = append(groups[group], file)
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for _, file := range groups[group] {
				t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { runCase(t, file) })
			}
		})
	}
}

func runCase(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	c := vectorCase{ModelFile: "model.keras", folder: filepath.Dir(file), work: t.TempDir()}
	require.NoError(t, json.Unmarshal(text, &c))
	c.inputs, c.want = optional(t, filepath.Join(c.folder, "inputs.npz")), optional(t, filepath.Join(c.folder, "expected.npz"))
	args := c.commandLine(t)
	status, stdout, stderr := execute(t, args...)
	switch {
	case c.Expect != nil:
		c.checkRefusal(t, status, stderr)
	case !assert.Zero(t, status, "%s: %s", strings.Join(args, " "), stderr):
	case c.Command == "predict":
		c.checkOutputs(t)
	case c.Command == "evaluate":
		c.checkNamed(t, "evaluate", []byte(stdout))
	case c.Command == "summary":
		c.checkSummary(t, stdout)
	case c.Command == "convert":
		c.checkFile(t, c.path("converted"+c.Args.To))
		c.checkLayers(t)
	case c.Command == "fit":
		history, err := os.ReadFile(c.path("history.json"))
		require.NoError(t, err)
		c.checkNamed(t, "history", history)
		c.checkFile(t, c.path("trained.keras"))
		c.checkTrained(t)
	default:
		t.Fatalf("unknown command %q", c.Command)
	}
}

// execute runs a command line in this process. Runs are one after the other, so that time limits mean something.
func execute(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, err bytes.Buffer
	status = run(ctx, args, &out, &err)
	return status, out.String(), err.String()
}

var oneAtATime sync.Mutex

func optional(t *testing.T, path string) data.Tensors {
	if _, err := os.Stat(path); err != nil {
		return data.Tensors{}
	}
	all, err := data.LoadNPZ(path)
	require.NoError(t, err)
	return all
}

func (c *vectorCase) path(name string) string { return filepath.Join(c.work, name) }

// commandLine writes the inputs to files and returns the arguments.
func (c *vectorCase) commandLine(t *testing.T) []string {
	args := []string{c.Command, filepath.Join(c.folder, c.ModelFile)}
	add := func(condition bool, more ...string) {
		if condition {
			args = append(args, more...)
		}
	}
	flags := []struct{ role, flag string }{{"x", "--x"}, {"y", "--y"}, {"sample_weight", "--sample-weight"}, {"val_x", "--validation-x"}, {"val_y", "--validation-y"}}
	for i, f := range flags {
		file := c.writeRole(t, f.role)
		takes := c.Command == "fit" || c.Command == "evaluate" && i < 3 || c.Command == "predict" && i < 1
		add(takes && file != "", f.flag, file)
	}
	add(c.Args.BatchSize != 0, "--batch-size", fmt.Sprint(c.Args.BatchSize))
	add(c.Args.Weights != "", "--weights", filepath.Join(c.folder, c.Args.Weights))
	switch c.Command {
	case "predict":
		add(true, "--output", c.outputFile())
	case "evaluate":
		add(true, "--json")
	case "convert":
		add(true, c.path("converted"+c.Args.To))
	case "fit":
		add(len(c.Args.ClassWeight) > 0, "--class-weight", string(c.Args.ClassWeight))
		add(c.Args.ValidationSplit != 0, "--validation-split", fmt.Sprint(c.Args.ValidationSplit))
		add(true, "--epochs", fmt.Sprint(max(c.Args.Epochs, 1)), "--no-shuffle", "--verbose", "0", "--output", c.path("trained.keras"),
			"--history", c.path("history.json"))
	}
	return args
}

// writeRole writes the inputs of a role: "x" as .npy, "x.left" and "x.right" as .npz.
func (c *vectorCase) writeRole(t *testing.T, role string) string {
	if a := c.inputs.Get(role); !a.IsZero() {
		require.NoError(t, data.SaveNPY(c.path(role+".npy"), a))
		return c.path(role + ".npy")
	}
	named := withPrefix(c.inputs, role+".")
	if named.Len() == 0 {
		return ""
	}
	require.NoError(t, data.SaveNPZ(c.path(role+".npz"), named))
	return c.path(role + ".npz")
}

func (c *vectorCase) outputFile() string {
	if withPrefix(c.want, "output.").Len() > 0 {
		return c.path("out.npz")
	}
	return c.path("out.npy")
}

func (c *vectorCase) checkOutputs(t *testing.T) {
	if want := c.want.Get("output"); !want.IsZero() {
		got, err := data.LoadNPY(c.path("out.npy"))
		require.NoError(t, err)
		c.close(t, "output", got, want)
		return
	}
	want := withPrefix(c.want, "output.")
	if want.Len() == 0 {
		return
	}
	got, err := data.LoadNPZ(c.path("out.npz"))
	require.NoError(t, err)
	assert.ElementsMatch(t, want.Names, got.Names)
	for i, name := range want.Names {
		if a := got.Get(name); !a.IsZero() {
			c.close(t, "output."+name, a, want.Arrays[i])
		}
	}
}

// checkTrained predicts with the model that fit wrote.
func (c *vectorCase) checkTrained(t *testing.T) {
	if c.want.Get("output").IsZero() && withPrefix(c.want, "output.").Len() == 0 {
		return
	}
	args := []string{"predict", c.path("trained.keras"), "--x", c.writeRole(t, "x"), "--output", c.outputFile()}
	if c.Args.BatchSize != 0 {
		args = append(args, "--batch-size", fmt.Sprint(c.Args.BatchSize))
	}
	status, _, stderr := execute(t, args...)
	require.Zero(t, status, stderr)
	c.checkOutputs(t)
}

// checkFile compares the weights and the optimizer state in a file.
func (c *vectorCase) checkFile(t *testing.T, path string) {
	want := withPrefix(c.want, "file/")
	if want.Len() == 0 {
		return
	}
	got := storedArrays(t, path)
	for i, name := range want.Names {
		a, ok := got[name]
		if !assert.True(t, ok, "%s is not in the file; it has %v", name, slices.Sorted(maps.Keys(got))) {
			continue
		}
		values, shape := floats(t, want.Arrays[i]), []int(want.Arrays[i].Shape())
		if len(values) == 1 {
			shape = a.shape // of a scalar the library of arrays says (1)
		}
		if assert.Equal(t, shape, a.shape, "shape of %s", name) && assert.Len(t, a.values, len(values), name) {
			c.closeValues(t, "file/"+name, a.values, values)
		}
	}
}

func (c *vectorCase) expectedJSON(t *testing.T) map[string]json.RawMessage {
	text, err := os.ReadFile(filepath.Join(c.folder, "expected.json"))
	require.NoError(t, err)
	var o map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

func (c *vectorCase) checkSummary(t *testing.T, stdout string) {
	var words []string
	require.NoError(t, json.Unmarshal(c.expectedJSON(t)["contains"], &words))
	for _, word := range words {
		assert.Contains(t, stdout, word)
	}
}

// checkLayers compares class and name of each layer in a converted configuration.
func (c *vectorCase) checkLayers(t *testing.T) {
	if !strings.HasSuffix(c.Args.To, ".keras") && !strings.HasSuffix(c.Args.To, ".json") {
		return
	}
	type document struct {
		ClassName string `json:"class_name"`
		Config    struct {
			Layers []struct {
				ClassName string `json:"class_name"`
				Config    struct{ Name string }
			}
		}
		Compile json.RawMessage `json:"compile_config"`
	}
	var got document
	require.NoError(t, json.Unmarshal(configOf(t, c.path("converted"+c.Args.To)), &got))
	var listed [][2]string
	for _, l := range got.Config.Layers {
		listed = append(listed, [2]string{l.ClassName, l.Config.Name})
	}
	want := c.expectedJSON(t)
	var layers [][2]string
	require.NoError(t, json.Unmarshal(want["layers"], &layers))
	assert.Equal(t, layers, listed)
	assert.Equal(t, string(want["class_name"]), fmt.Sprintf("%q", got.ClassName))
	if string(want["compiled"]) == "true" && strings.HasSuffix(c.Args.To, ".keras") {
		assert.NotEmpty(t, got.Compile)
	}
}

// checkNamed compares an object of numbers or lists of numbers with a member of expected.json.
func (c *vectorCase) checkNamed(t *testing.T, member string, got []byte) {
	want := c.expectedJSON(t)[member]
	wantNames, wantValues := members(t, want)
	gotNames, gotValues := members(t, got)
	if c.CheckOrder {
		assert.Equal(t, wantNames, gotNames)
	}
	assert.ElementsMatch(t, wantNames, gotNames)
	for i, name := range wantNames {
		k := slices.Index(gotNames, name)
		if k < 0 {
			continue
		}
		if assert.Len(t, gotValues[k], len(wantValues[i]), name) {
			c.closeValues(t, member+"/"+name, gotValues[k], wantValues[i])
		}
	}
}

// close compares arrays: |got - want| <= rtol·|want| + atol·max|want| + abs, element by element.
func (c *vectorCase) close(t *testing.T, name string, got, want data.Array) {
	t.Helper()
	if !assert.Equal(t, []int(want.Shape()), []int(got.Shape()), "shape of %s", name) {
		return
	}
	c.closeValues(t, name, floats(t, got), floats(t, want))
}

func (c *vectorCase) closeValues(t *testing.T, name string, got, want []float64) {
	t.Helper()
	tol := c.Tolerance
	if o, ok := c.Overrides[name]; ok {
		tol = o
	}
	if tol.Skip {
		return
	}
	largest := 0.0
	for _, w := range want {
		if !math.IsInf(w, 0) && !math.IsNaN(w) {
			largest = max(largest, math.Abs(w))
		}
	}
	worst, at := 0.0, -1
	for i, w := range want {
		g := got[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		allowed := tol.RTol*math.Abs(w) + tol.ATol*largest + tol.Abs
		if ratio := math.Abs(g-w) / allowed; !(ratio <= max(1, worst)) {
			worst, at = ratio, i
		}
	}
	if at >= 0 {
		t.Errorf("%s[%d]: got %.9g, Keras has %.9g, %.3g times the tolerance", name, at, got[at], want[at], worst)
	}
}

func (c *vectorCase) checkRefusal(t *testing.T, status int, stderr string) {
	if status == 0 && c.Expect.MaySucceed {
		return
	}
	require.Equal(t, 1, status, stderr)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line is expected: %s", stderr)
	assert.NotContains(t, stderr, "internal error")
	assert.True(t, slices.ContainsFunc(c.Expect.MessageAny, func(w string) bool {
		return strings.Contains(strings.ToLower(stderr), strings.ToLower(w))
	}), "the message names none of %q: %s", c.Expect.MessageAny, stderr)
	assert.NoFileExists(t, c.path("out.npy"))
}

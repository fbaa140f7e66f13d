package randomtraining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
)

// weightedCase is what weighted.py drew: calls of fit with weights and masks, and what Keras has after each.
type weightedCase struct {
	Number int
	Policy string
	Seed   uint64 // of the weights
	Model  json.RawMessage
	Data   []struct {
		X, Y, W []spec
		Sizes   []int
	}
	Calls []weightedCall
}

// weightedCall is a call of fit, of evaluate and of predict, on devices.
type weightedCall struct {
	Data       int
	Epochs     int
	BatchSize  int `json:"batch_size"`
	Batches    bool
	Weights    bool
	Classes    map[string]float64 `json:"class_weight"`
	Steps      int                `json:"steps_per_epoch"`
	Split      float64            `json:"validation_split"`
	Validation *struct {
		Data    int
		Weights bool
	}
	InBatches int `json:"validation_batch_size"`
	Evaluate  struct {
		Data      int
		Weights   bool
		BatchSize int `json:"batch_size"`
	}
	Devices, By string // where it is computed, and how the model goes on from it
	Interrupt   int
	Backup      json.RawMessage
	Answer      struct {
		Error       string
		History     map[string][][]number
		Scores      map[string][]number
		Predictions []result
		Weights     [][]number
	}
}

// TestWeighted trains with weights and masks, on devices that change between calls. RANDOM_WEIGHTED is another file of
// cases.
func TestWeighted(t *testing.T) {
	checkAll[*weightedCase](t, "RANDOM_WEIGHTED", "testdata/weighted.json.gz")
}

// TestFreshWeighted has weighted.py draw.
func TestFreshWeighted(t *testing.T) {
	checkFresh[*weightedCase](t, "weighted.py", "RANDOM_WEIGHTED", "8")
}

func (c *weightedCase) number() int { return c.Number }

// check makes the calls on the devices that were drawn.
func (c *weightedCase) check(t *testing.T) string {
	r := &weightedRun{c: c, t: t, caller: caller{c: &sequence{Wide: c.Policy == "float64", Exact: true}, t: t}}
	r.rough = map[string]float64{"float64": 1e-5, "float32": 5e-3}[c.Policy]
	if r.rough == 0 {
		r.rough = 8e-2
	}
	m, err := keras.ModelFromJSON(c.Model, scopeOf(t, c.Calls[0].Devices)...)
	require.NoError(t, err)
	require.NoError(t, setWeights(m, c.Seed))
	r.m = m
	for i := range c.Calls {
		text, err := r.call(&c.Calls[i])
		if c.Calls[i].Answer.Error != "" {
			return ""
		}
		if err != nil {
			text = err.Error()
		}
		if text != "" {
			return fmt.Sprintf("call %d on %s, in %s: %s", i, c.Calls[i].Devices, c.Policy, text)
		}
		if i+1 < len(c.Calls) {
			if err := r.handOver(c.Calls[i].By, c.Calls[i+1].Devices); err != nil {
				return fmt.Sprintf("after call %d, by %s from %s to %s: %v", i, c.Calls[i].By, c.Calls[i].Devices, c.Calls[i+1].Devices, err)
			}
		}
	}
	return ""
}

// scopeOf are options that put a model on devices.
func scopeOf(t *testing.T, devices string) []keras.Option {
	t.Helper()
	names := []string{"cpu:0", "cpu:1", "cpu:2"}
	var s distribute.Strategy
	var err error
	kind, n, _ := strings.Cut(devices, " ")
	switch kind {
	case "mirrored":
		s, err = distribute.NewMirroredStrategy(names[:n[0]-'0']...)
	case "central":
		s, err = distribute.NewCentralStorageStrategy(names[:n[0]-'0']...)
	default:
		return nil
	}
	require.NoError(t, err)
	return []keras.Option{distribute.Scope(s)}
}

// weightedRun is a case on its way.
type weightedRun struct {
	caller
	c *weightedCase
	t *testing.T
}

func (r *weightedRun) arrays(k int, weights bool) *data.ArraySource {
	s := r.c.Data[k]
	if !weights {
		s.W = nil
	}
	return source(r.t, r.m, s.X, s.Y, s.W)
}

// batches are arrays in batches of given sizes.
type batches struct {
	arrays *data.ArraySource
	sizes  []int
}

func (b *batches) Len() int { return len(b.sizes) }

func (b *batches) At(_ context.Context, i int) (data.Batch, error) {
	lo := 0
	for _, n := range b.sizes[:i] {
		lo += n
	}
	return b.arrays.Slice(lo, lo+b.sizes[i]).All(), nil
}

// call trains, evaluates and predicts.
func (r *weightedRun) call(a *weightedCall) (string, error) {
	h, err := r.fit(a)
	if err != nil {
		return "", err
	}
	want := a.Answer.History
	if a.By == "backup" { // what was before the interruption is in the history of the first run
		for name, v := range want {
			want[name] = v[len(v)-min(len(v), len(h.Epoch)):]
		}
	}
	if got := slices.Sorted(maps.Keys(h.Logs)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) && len(got) > 0 {
		return fmt.Sprintf("names %v, not %v", got, slices.Sorted(maps.Keys(want))), nil
	}
	for name, values := range want {
		got := h.Logs[name]
		if v := h.Vectors[name]; v != nil {
			got = slices.Concat(v...)
		}
		if text := r.near(got, slices.Concat(values...)); text != "" {
			return fmt.Sprintf("history, %s: %s", name, text), nil
		}
	}
	weights, err := r.m.GetWeights()
	if err != nil {
		return "", err
	}
	if r.c.Policy == "float64" {
		if text := r.same(weights, a.Answer.Weights); text != "" {
			return "weights: " + text, nil
		}
	}
	return r.evaluate(a)
}

// near compares losses and metrics. In 16 bits Keras rounds predictions to a 256th, which may be all that is left of a
// mean of cosines; here they stay as they are on their way to the loss.
func (r *weightedRun) near(got []float64, want []number) string {
	if r.c.Policy == "mixed_bfloat16" && len(got) == 1 && len(want) == 1 && math.Abs(got[0]-float64(want[0])) <= 1.0/256 {
		return ""
	}
	return near(got, want, r.rough)
}

func (r *weightedRun) evaluate(a *weightedCall) (string, error) {
	ds, size := r.arrays(a.Evaluate.Data, a.Evaluate.Weights), keras.BatchSize(a.Evaluate.BatchSize)
	logs, err := r.m.EvaluateLogs(context.Background(), ds, size)
	if err != nil {
		return "", err
	}
	for name, w := range a.Answer.Scores {
		if text := r.near(logs.Vector(name), w); text != "" {
			return fmt.Sprintf("score %s: %s", name, text), nil
		}
	}
	out, err := r.m.PredictAll(context.Background(), ds, size)
	if err != nil {
		return "", err
	}
	for i, y := range out {
		if text := a.Answer.Predictions[i].differs(y.Shape(), y.Float64s(), r.rough); text != "" {
			return fmt.Sprintf("output %d: %s", i, text), nil
		}
	}
	return "", nil
}

// fit trains; a run with a backup is interrupted, and goes on in a model that was made anew.
func (r *weightedRun) fit(a *weightedCall) (*keras.History, error) {
	folder := r.t.TempDir()
	before, err := r.m.ToJSON()
	if err != nil {
		return nil, err
	}
	options := []keras.FitOption{keras.Shuffle(false), keras.Epochs(a.Epochs), keras.ValidationSplit(a.Split)}
	if a.Steps > 0 {
		options = append(options, keras.StepsPerEpoch(a.Steps))
	}
	if a.Classes != nil {
		options = append(options, keras.ClassWeight(classes(a.Classes)))
	}
	if a.Validation != nil {
		options = append(options, keras.ValidationData(r.arrays(a.Validation.Data, a.Validation.Weights)))
	}
	if a.InBatches > 0 {
		options = append(options, keras.ValidationBatchSize(a.InBatches))
	}
	var ds data.Dataset = r.arrays(a.Data, a.Weights)
	if a.Batches {
		ds = data.FromSequence(&batches{r.arrays(a.Data, a.Weights), r.c.Data[a.Data].Sizes}, 1, 2)
	} else {
		options = append(options, keras.BatchSize(a.BatchSize))
	}
	if a.By != "backup" {
		return r.m.Fit(context.Background(), ds, options...)
	}
	backup := func() callbacks.Callback {
		b := &callbacks.BackupAndRestore{}
		require.NoError(r.t, config.Decode(a.Backup, b))
		b.BackupDir = folder + "/backup"
		return b
	}
	h, err := r.m.Fit(context.Background(), ds, append(slices.Clone(options), keras.Callbacks(backup(), &interruptBacked{interrupt: interrupt{at: a.Interrupt}, folder: folder}))...)
	if !errors.Is(err, errInterrupted) {
		return h, err
	}
	next := r.nextDevices(a)
	if r.m, err = keras.ModelFromJSON(before, scopeOf(r.t, next)...); err != nil { // as a program does that starts again
		return nil, err
	}
	return r.m.Fit(context.Background(), ds, append(options, keras.Callbacks(backup()))...)
}

func (r *weightedRun) nextDevices(a *weightedCall) string {
	for i := range r.c.Calls[:len(r.c.Calls)-1] {
		if &r.c.Calls[i] == a {
			return r.c.Calls[i+1].Devices
		}
	}
	return a.Devices
}

// handOver carries the model to other devices.
func (r *weightedRun) handOver(by, devices string) error {
	path, scope := filepath.Join(r.t.TempDir(), "m."+by), scopeOf(r.t, devices)
	if by == "keras" {
		if err := r.m.Save(path); err != nil {
			return err
		}
		var options []keras.LoadModelOption
		if len(scope) > 0 {
			options = append(options, scope[0].(keras.LoadModelOption))
		}
		m, err := keras.LoadModel(path, options...)
		r.m = m
		return err
	}
	document, err := r.m.ToJSON()
	if err != nil {
		return err
	}
	m, err := keras.ModelFromJSON(document, scope...)
	if err != nil {
		return err
	}
	if _, err := m.TrainOnBatch(context.Background(), r.arrays(0, false)); err != nil { // as only then there is a place for the optimizer's variables
		return err
	}
	old := r.m
	r.m = m
	switch by {
	case "weights.h5":
		if err := old.SaveWeights(path); err != nil {
			return err
		}
		return m.LoadWeights(path)
	case "weights.json":
		if err := old.SaveShardedWeights(path, 1000); err != nil {
			return err
		}
		return m.LoadWeights(path)
	}
	weights, err := old.GetWeights()
	if err != nil {
		return err
	}
	slots, err := old.OptimizerArrays()
	if err != nil {
		return err
	}
	if err := m.SetOptimizerArrays(slots); err != nil {
		return err
	}
	return m.SetWeights(weights)
}

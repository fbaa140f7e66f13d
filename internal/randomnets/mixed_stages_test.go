package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// mixedRun is a network on its way through the stages.
type mixedRun struct {
	c       *mixedCase
	m       *keras.Model
	x       any
	folder  string
	apart   bool        // something worked that is an error in Keras
	loaded  bool        // from a file, which names the policies of layers alone: no global one scales losses any more
	last    *mixedStage // that is done
	trained *mixedStage // the last step
}

func (r *mixedRun) stage(s *mixedStage) error {
	if err := r.set(s.Start); err != nil {
		return fmt.Errorf("weights before: %w", err)
	}
	err := r.act(s)
	if s.Kind == "quantize" && s.Error == "" && len(s.Start) == len(s.Weights) && err != nil && strings.Contains(err.Error(), "no layer that can be quantized") {
		err = nil // Keras warns
	}
	if s.Error != "" {
		r.apart = err == nil
		if err == nil && !ownErrors.MatchString(s.Error) {
			return fmt.Errorf("taken, Keras says %q", s.Error)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.weights(s); err != nil {
		return err
	}
	if err := r.set(s.Weights); err != nil {
		return fmt.Errorf("weights after: %w", err)
	}
	if r.last = s; s.Kind == "step" {
		r.trained = s
	}
	return r.predict(s)
}

// ownErrors are those of Keras at what works here; see "Differences from Keras" in docs/quantization.md.
var ownErrors = regexp.MustCompile(`Cannot convert 'map_|object of type 'int' has no len|doesn't work well with compute_dtype='float16'`)

var odd = regexp.MustCompile(`[13579]$`)

func (r *mixedRun) act(s *mixedStage) (err error) {
	switch s.Kind {
	case "step":
		return r.step(s)
	case "quantize":
		return r.m.Quantize(s.Mode, func(l layers.Layer) bool { return !s.Odd || odd.MatchString(layers.Name(l)) })
	case "lora":
		err := fmt.Errorf("no layer %s that can have LoRA", s.Layer)
		layers.Walk(r.m, func(l layers.Layer) {
			if e, ok := l.(layers.LoraEnabler); ok && layers.Name(l) == s.Layer {
				err = e.EnableLora(s.Rank, layers.LoraOptions{Alpha: float64(s.Alpha)})
			}
		})
		return err
	case "file":
		r.m, err = keras.LoadModel(filepath.Join(r.folder, s.File))
		r.loaded = true
		return err
	}
	return nil
}

func (r *mixedRun) step(s *mixedStage) error {
	var optimizer any = &optimizers.SGD{LearningRate: s.Optimizer.Rate, Momentum: s.Optimizer.Momentum}
	if s.Optimizer.Adam {
		optimizer = &optimizers.Adam{LearningRate: s.Optimizer.Rate / 10, Epsilon: new(0.01)}
	}
	if r.loaded && s.Scaled {
		optimizer = optimizers.WithLossScale(optimizer.(optimizers.Optimizer))
	}
	if err := r.m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: "mse"}); err != nil {
		return err
	}
	y, err := arrays(s.Targets)
	if err != nil {
		return err
	}
	_, scaled := r.m.Optimizer().(*optimizers.LossScaleOptimizer)
	if scaled != s.Scaled {
		return fmt.Errorf("a scale of the loss: %v, Keras: %v", scaled, s.Scaled)
	}
	scores, err := r.m.TrainOnBatch(context.Background(), data.Arrays(r.x, y))
	if err != nil {
		return err
	}
	if off := abs(scores["loss"] - s.Loss); !(off <= r.c.Narrow*max(1, abs(s.Loss))+4*s.Off.Loss) {
		return fmt.Errorf("the loss is %g, Keras's %g", scores["loss"], s.Loss)
	}
	slots, err := r.m.OptimizerArrays()
	if err != nil {
		return err
	}
	if len(slots) != len(s.Slots) {
		return fmt.Errorf("%d variables of the optimizer, Keras has %d", len(slots), len(s.Slots))
	}
	for i, v := range slots {
		if got, want := typeText(v), s.Slots[i].typeText(); got != want && len(v.Shape()) > 0 {
			return fmt.Errorf("variable %d of the optimizer is %s, Keras's %s", i, got, want)
		}
	}
	return nil
}

func abs(v float64) float64 { return max(v, -v) }

// set gives the weights values.
func (r *mixedRun) set(values []typed) error {
	own := r.m.Weights()
	if len(own) != len(values) {
		return fmt.Errorf("%d weights, Keras has %d", len(own), len(values))
	}
	list := make([]kernels.Array, len(values))
	for i, v := range values {
		if got, want := fmt.Sprintf("%v%v", own[i].Type().DType, []int(own[i].Type().Shape)), v.typeText(); got != want {
			return fmt.Errorf("weight %d, %s, is %s, Keras's %s", i, own[i].Path(), got, want)
		}
		a, err := v.array()
		if err != nil {
			return err
		}
		list[i] = a
	}
	return r.m.SetWeights(list)
}

// weights compares what an action made of the weights: changes by training are as near as the narrowest type allows.
func (r *mixedRun) weights(s *mixedStage) error {
	own := r.m.Weights()
	if len(own) != len(s.Weights) {
		return fmt.Errorf("%d weights, Keras has %d: %s", len(own), len(s.Weights), s.Paths)
	}
	if s.Scaled && r.skipped(s) {
		return nil
	}
	for i, w := range s.Weights {
		got, err := own[i].Value()
		if err != nil {
			return err
		}
		if a, b := typeText(got), w.typeText(); a != b {
			return fmt.Errorf("weight %d, %s, is %s, Keras's %s of %s", i, own[i].Path(), a, b, s.Paths[i])
		}
		if strings.Contains(s.Paths[i], "lora_") && s.Kind == "lora" { // drawn afterwards
			continue
		}
		allowed := map[string]float64{"float16": 1e-3, "bfloat16": 8e-3}[w.DType]*largest(w) + 1e-6
		if s.Kind == "step" {
			allowed += r.c.Narrow*r.changed(s, i) + 6*s.Off.Weights[i]
		} else if allowed += 1e-4 * largest(w); strings.HasSuffix(w.DType, "int8") {
			allowed = 1
		}
		packed := s.Mode == "int4" && w.DType == "int8"
		for k, v := range got.Float64s() {
			if !(abs(v-*w.Data[k]) <= allowed || packed && nearHalves(int(v), int(*w.Data[k]))) {
				return fmt.Errorf("weight %d, %s, has %g at %d, Keras %g (allowed %g, changed by %g)", i, own[i].Path(), v, k, *w.Data[k], allowed, r.changed(s, i))
			}
		}
	}
	return nil
}

// nearHalves reports whether the two numbers of four bits in a byte differ by one at most: they are rounded.
func nearHalves(a, b int) bool {
	low := func(v int) int { return int(int8(v<<4)) >> 4 }
	return abs(float64(low(a)-low(b))) <= 1 && abs(float64(a>>4-b>>4)) <= 1
}

// skipped reports whether Keras's gradients in float16 have overflown; ours may have passed as float32.
func (r *mixedRun) skipped(s *mixedStage) bool {
	for i := range s.Weights {
		if !strings.Contains(s.Paths[i], "moving_") && r.changed(s, i) > 0 {
			return false
		}
	}
	return true
}

// changed is the largest change of a weight.
func (r *mixedRun) changed(s *mixedStage, i int) (most float64) {
	if len(s.Start) != len(s.Weights) {
		return 0
	}
	for k, v := range s.Weights[i].Data {
		most = max(most, abs(*v-*s.Start[i].Data[k]))
	}
	return most
}

func largest(a typed) (most float64) {
	for _, v := range a.Data {
		most = max(most, abs(*v))
	}
	return most
}

func (r *mixedRun) predict(s *mixedStage) error {
	got, err := r.m.PredictAll(context.Background(), data.Arrays(r.x, nil))
	if err != nil {
		return err
	}
	if len(got) != len(s.Y) {
		return fmt.Errorf("%d outputs, Keras has %d", len(got), len(s.Y))
	}
	for i, w := range s.Y {
		if a, b := fmt.Sprint(got[i].Shape()), fmt.Sprint(w.Shape); a != b {
			return fmt.Errorf("output %d is %s, Keras's %s", i, a, b)
		}
		allowed := r.c.Narrow*max(1, largest(w)) + 4*s.Off.Y[i]
		for k, v := range got[i].Float64s() {
			if !(abs(v-*w.Data[k]) <= allowed) {
				return fmt.Errorf("output %d has %g at %d, Keras %g (allowed %g)", i, v, k, *w.Data[k], allowed)
			}
		}
	}
	return nil
}

// save writes the network, and beside it what Keras has to find in the file, as we find it: predictions, policies, and
// the loss of the next step.
func (r *mixedRun) save() error {
	if last := r.c.Stages[len(r.c.Stages)-1]; r.last == nil || r.apart || last.Kind == "file" && last.Error != "" {
		return nil // Keras writes no such file, or does not open it
	}
	path := filepath.Join(r.folder, fmt.Sprintf("%d.ours.keras", r.c.Number))
	if err := r.m.Save(path); err != nil {
		return err
	}
	m, err := keras.LoadModel(path)
	if err != nil {
		return fmt.Errorf("our file: %w", err)
	}
	found := struct {
		Y       []untyped `json:"y"`
		Off     []float64 `json:"off"`
		DTypes  [][2]any  `json:"dtypes"`
		Targets []untyped `json:"targets,omitempty"`
		Loss    float64   `json:"loss"`
		LossOff float64   `json:"loss_off"`
	}{Off: r.last.Off.Y, LossOff: r.last.Off.Loss}
	y, err := m.PredictAll(context.Background(), data.Arrays(r.x, nil))
	if err != nil {
		return fmt.Errorf("our file: %w", err)
	}
	for _, a := range y {
		found.Y = append(found.Y, untyped{a.Type.DType.String(), a.Shape(), a.Float64s()})
	}
	policies, err := policiesOf(m)
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(policies)) {
		found.DTypes = append(found.DTypes, [2]any{k, policies[k]})
	}
	if m.Optimizer() != nil && r.trained != nil {
		targets, err := arrays(r.trained.Targets)
		if err != nil {
			return err
		}
		scores, err := m.TrainOnBatch(context.Background(), data.Arrays(r.x, targets))
		if err != nil {
			return fmt.Errorf("our file: %w", err)
		}
		found.Loss = scores["loss"]
		for _, a := range r.trained.Targets {
			d, err := a.array()
			if err != nil {
				return err
			}
			found.Targets = append(found.Targets, untyped{a.DType, a.Shape, d.Float64s()})
		}
		found.LossOff = max(found.LossOff, r.trained.Off.Loss)
	}
	b, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return os.WriteFile(path+".json", b, 0o600)
}

// untyped is an array as randommixed.py reads it.
type untyped struct {
	DType string    `json:"dtype"`
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

func typeText(a data.Array) string { return fmt.Sprintf("%v%v", a.Type.DType, []int(a.Shape())) }

func (a typed) typeText() string { return fmt.Sprintf("%s%v", a.DType, a.Shape) }

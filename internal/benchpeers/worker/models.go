package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// made is the answer to --make for one model.
type made struct {
	Name      string `json:"name"`
	Keras     string `json:"keras"`               // the file
	ONNX      string `json:"onnx,omitempty"`      // our export, where the model can be exported
	Optimizer string `json:"optimizer,omitempty"` // of drawn models
}

// makeModels writes each model to the folder as a .keras file and as our ONNX export, and prints a line of JSON for
// each. A name is that of an image network, applications (all of them), drawn-N (a network drawn at random),
// composed-N (one in the manner of published examples), either with :POLICY behind it (under a dtype policy, such as
// float64), or a .keras file, which is read where it is. Networks under a policy are not exported: the others compute
// them in float32.
func makeModels(w io.Writer, folder string, names []string) error {
	if slices.Equal(names, []string{"applications"}) {
		names = applicationNames()
	}
	for _, name := range names {
		m, line, err := makeModel(folder, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !strings.Contains(line.Name, ":") {
			path := filepath.Join(folder, line.Name+".onnx")
			if _, err = os.Stat(path); err != nil {
				err = m.Export(path)
			}
			if line.ONNX = path; err != nil {
				line.ONNX = ""
				fmt.Fprintln(os.Stderr, "worker:", name, err)
			}
		}
		if err := json.NewEncoder(w).Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func makeModel(folder, name string) (m *keras.Model, line made, err error) {
	if strings.HasSuffix(name, ".keras") {
		m, err = keras.LoadModel(name)
		return m, made{Name: strings.TrimSuffix(filepath.Base(name), ".keras"), Keras: name}, err
	}
	line = made{Name: name, Keras: filepath.Join(folder, strings.ReplaceAll(name, ":", "-")+".keras")}
	number, isDrawn := strings.CutPrefix(name, "drawn-")
	by := draw
	if !isDrawn {
		number, isDrawn = strings.CutPrefix(name, "composed-")
		by = composed
	}
	number, policy, hasPolicy := strings.Cut(number, ":")
	build := imageNetworks[name]
	switch {
	case isDrawn:
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, line, fmt.Errorf("expected a number after drawn- or composed-: %w", err)
		}
		var more []keras.Option
		if hasPolicy {
			more = append(more, keras.DTypePolicy(policy))
		}
		d, err := by(n, more...)
		if err != nil {
			return nil, line, err
		}
		m, line.Optimizer = d.model, d.optimizer
	case build != nil:
		if m, err = build(); err != nil {
			return nil, line, err
		}
	default:
		return nil, line, fmt.Errorf("unknown model; expected a .keras file, drawn-N, composed-N, either with :POLICY, or one of %s", strings.Join(applicationNames(), ", "))
	}
	if _, err := os.Stat(line.Keras); err == nil {
		return m, line, nil
	}
	return m, line, m.Save(line.Keras)
}

// Open axes get these lengths.
const (
	openLength = 32
	openImage  = 224 // height and width of images
)

// inputsFor makes a batch for the model: random numbers, or small integers.
func inputsFor(m *keras.Model, batch int) ([]data.Array, error) {
	return inputsWith(m, batch, func(rank int) int {
		if rank == 4 {
			return openImage
		}
		return openLength
	})
}

// inputsWith is inputsFor with the lengths that length returns for open axes of arrays of a rank.
func inputsWith(m *keras.Model, batch int, length func(rank int) int) ([]data.Array, error) {
	var list []data.Array
	for _, in := range m.Inputs() {
		shape := append([]int{batch}, in.Shape()[1:]...)
		for i, n := range shape {
			if n == layers.Unknown {
				shape[i] = length(len(shape))
			}
		}
		r, values := source(), make([]float64, ir.Shape(shape).Size())
		for i := range values {
			if values[i] = r.NormFloat64(); !in.DType().IsFloat() {
				values[i] = float64(r.IntN(10))
			}
		}
		a, err := kernels.FromFloat64s(in.DType(), shape, values)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// newModelJob makes the job of a key FILE@bBATCH:predict or FILE@bBATCH:OPTIMIZER, which trains with the mean squared
// error, or FILE@bBATCH:step or FILE@bBATCH:evaluate, which trains and evaluates as the file says.
func newModelJob(key string) (*job, error) {
	at := strings.LastIndex(key, "@b")
	size, variant, ok := strings.Cut(key[at+2:], ":")
	batch, err := strconv.Atoi(size)
	if !ok || err != nil || batch < 1 {
		return nil, fmt.Errorf("unknown key %q, expected for example net.keras@b8:predict or net.keras@b16:adam", key)
	}
	var step func() error
	switch variant {
	case "step", "evaluate":
		step, err = compiledStep(key[:at], variant == "step")
	default:
		step, err = modelStep(key[:at], batch, variant)
	}
	if err != nil {
		return nil, err
	}
	j := &job{key: key, work: &workload{units: 1}, batch: batch, units: float64(batch), lat: true}
	j.run = func() (int, float64, error) {
		begin, busy := time.Now(), processTime()
		err := step()
		wall, spent := time.Since(begin).Seconds(), processTime()-busy
		if runtime.GOMAXPROCS(0) > 1 { // threads that wait cost time as well
			spent = wall
		}
		j.least = least(j.least, spent)
		return 1, wall, err
	}
	return j, nil
}

// modelStep predicts with a model, or trains it to make the predictions that it makes.
func modelStep(path string, batch int, variant string) (func() error, error) {
	m, err := keras.LoadModel(path, keras.WithoutCompile())
	if err != nil {
		return nil, err
	}
	x, err := inputsFor(m, batch)
	if err != nil {
		return nil, err
	}
	inputs := data.Arrays(x, nil)
	y, err := m.PredictAll(runs, inputs, keras.BatchSize(batch))
	if err != nil || variant == "predict" {
		return func() error { return m.PredictOnBatchInto(runs, inputs, y...) }, err
	}
	opt, err := optimizer(variant)
	if err != nil {
		return nil, err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: opt, Loss: &losses.MeanSquaredError{}}); err != nil {
		return nil, err
	}
	examples := data.Arrays(x, y)
	return func() error {
		_, err := m.TrainOnBatch(runs, examples)
		return err
	}, nil
}

// compiledStep trains or evaluates a model as it was compiled, with the arrays beside its file.
func compiledStep(path string, trains bool) (func() error, error) {
	m, examples, err := compiledModel(path)
	if err != nil {
		return nil, err
	}
	return asCompiled(m, examples, trains), nil
}

// asCompiled trains or evaluates a model.
func asCompiled(m *keras.Model, examples *data.ArraySource, trains bool) func() error {
	return func() error {
		if trains {
			_, err := m.TrainOnBatch(runs, examples)
			return err
		}
		_, err := m.TestOnBatch(runs, examples)
		return err
	}
}

// compiledModel reads a model and the batch beside its file.
func compiledModel(path string) (*keras.Model, *data.ArraySource, error) {
	m, err := keras.LoadModel(path)
	if err != nil {
		return nil, nil, err
	}
	stem := strings.TrimSuffix(path, ".keras")
	x, err := data.LoadNPY(stem + ".x.npy")
	if err != nil {
		return nil, nil, err
	}
	y, err := data.LoadNPY(stem + ".y.npy")
	if err != nil {
		return nil, nil, err
	}
	return m, data.Arrays(x, y), nil
}

// least is the smaller of two times, the first of which is 0 before there is one.
func least(old, now float64) float64 {
	if old == 0 || now < old {
		return now
	}
	return old
}

package randomnets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// properties are what holds of every model that was recorded: examples do not depend on those beside them, not in one
// bit, replicas compute what one computes, and inputs that do not fit are errors.
func (c *recording) properties(path string) error {
	if err := c.singly(path); err != nil {
		return err
	}
	if err := c.apart(path); err != nil {
		return err
	}
	if err := c.replicated(path); err != nil {
		return err
	}
	return c.misused(path)
}

// singly predicts in batches of one and of two examples, whose last one is shorter.
func (c *recording) singly(path string) error {
	m, err := keras.LoadModel(path)
	if err != nil {
		return err
	}
	x, err := arrays(c.X)
	if err != nil {
		return err
	}
	for _, n := range []int{1, 2} {
		got, err := m.PredictAll(context.Background(), data.Arrays(x, nil), keras.BatchSize(n))
		if err != nil {
			return fmt.Errorf("batches of %d: %w", n, err)
		}
		for i, w := range c.Y {
			if text := w.differs(got[i].Float64s()); text != "" {
				return fmt.Errorf("batches of %d, output %d: %s", n, i, text)
			}
		}
	}
	return nil
}

// replicated trains the same step on two to four replicas, one of which may have nothing to do.
func (c *recording) replicated(path string) error {
	if c.Targets == nil || c.Alone {
		return nil
	}
	replicas := 2 + c.Seed%3
	m, err := loadOn(path, replicas)
	if err != nil {
		return err
	}
	for _, l := range m.Layers() {
		if strings.Contains(fmt.Sprintf("%T", l), "BatchNormalization") || strings.Contains(fmt.Sprintf("%T", l), "TimeDistributed") {
			return nil // the statistics of a batch are those of a replica's part of it
		}
	}
	x, err := arrays(c.X)
	if err != nil {
		return err
	}
	y, err := arrays(c.Targets)
	if err != nil {
		return err
	}
	scores, err := m.TrainOnBatch(context.Background(), data.Arrays(x, y))
	if err != nil {
		return fmt.Errorf("%d replicas: %w", replicas, err)
	}
	if got := scores["loss"]; !c.near(got, c.Loss) {
		return fmt.Errorf("%d replicas: the loss is %g, one replica's %g", replicas, got, c.Loss)
	}
	if err := predicts(m, x, c.After); err != nil {
		return fmt.Errorf("after a step of %d replicas: %w", replicas, err)
	}
	return nil
}

// misused gives the model inputs that do not fit.
func (c *recording) misused(path string) error {
	m, err := keras.LoadModel(path)
	if err != nil {
		return err
	}
	var good []data.Array
	for _, x := range c.X {
		a, err := x.array()
		if err != nil {
			return err
		}
		good = append(good, a)
	}
	declared := m.Inputs()
	for i, in := range declared {
		for what, bad := range wrong(good[i], in) {
			given := slices.Clone(good)
			given[i] = bad
			err := attempt(m, given)
			if strings.HasPrefix(fmt.Sprint(err), "panic") {
				return fmt.Errorf("input %d with %s: %w", i, what, err)
			}
			if err == nil && strings.HasPrefix(what, "!") {
				return fmt.Errorf("input %d of %v with %s %v: no error", i, in, what, bad.Type)
			}
		}
	}
	for _, given := range [][]data.Array{good[:len(good)-1], append(slices.Clone(good), good[0]), nil} {
		if err := attempt(m, given); err == nil || strings.HasPrefix(err.Error(), "panic") {
			return fmt.Errorf("%d inputs for %d: %v", len(given), len(declared), err)
		}
	}
	return nil
}

// wrong are variations of an input. The names of those that must be refused begin with "!".
func wrong(a data.Array, in *layers.KerasTensor) map[string]data.Array {
	shape, out := a.Type.Shape, map[string]data.Array{}
	of := func(d ir.DType, s ir.Shape) data.Array { return kernels.NewArray(ir.Type{DType: d, Shape: s}) }
	d := a.Type.DType
	for axis, n := range in.Shape() {
		s := shape.Clone()
		s[axis] = 0
		out[fmt.Sprint("nothing along axis ", axis)] = of(d, s)
		if axis > 0 && n != layers.Unknown {
			s := shape.Clone()
			s[axis]++
			out[fmt.Sprint("! another length of axis ", axis)] = of(d, s)
		}
	}
	out["! two axes more"] = of(d, append(shape.Clone(), 1, 2))
	out["no axis but that of the examples"] = of(d, shape[:1])
	for _, other := range []ir.DType{ir.Bool, ir.Int64, ir.Uint8, ir.Float64, ir.Float16, ir.BFloat16} {
		out["type "+other.String()] = of(other, shape)
	}
	return out
}

func attempt(m *keras.Model, given []data.Array) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	list := make([]any, len(given))
	for i, a := range given {
		list[i] = a
	}
	_, err = m.PredictAll(context.Background(), data.Arrays(list, nil))
	return err
}

// loadOn reads a model for so many replicas.
func loadOn(path string, replicas int) (*keras.Model, error) {
	var devices []string
	for i := range replicas {
		devices = append(devices, fmt.Sprint("cpu:", i))
	}
	strategy, err := distribute.NewMirroredStrategy(devices...)
	if err != nil {
		return nil, err
	}
	return keras.LoadModel(path, distribute.Scope(strategy))
}

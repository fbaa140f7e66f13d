package randomnets

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// pictures is a layer that changes images, and what Keras makes of some: the results where nothing is left to chance,
// otherwise quantiles of sums over the results of many copies of an image.
type pictures struct {
	Number, Seed int
	Object       json.RawMessage
	Class, Error string
	Inference    bool
	Inputs       map[string]typed
	Outputs      map[string]typed
	Copies       int
	Quantiles    [][]float64
}

// TestRecordedImages compares with layers that were drawn and recorded before. RANDOM_IMAGES is another file of cases.
func TestRecordedImages(t *testing.T) {
	file := "testdata/images.json.gz"
	if other := os.Getenv("RANDOM_IMAGES"); other != "" {
		file = other
	}
	compareImages(t, file, testing.Short())
}

// TestFreshImages draws layers that change images.
func TestFreshImages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "images.json.gz")
	drawTo(t, pythonOf(t), "randomimages.py", "RANDOM_IMAGES", "50", file)
	compareImages(t, file, false)
}

func compareImages(t *testing.T, file string, short bool) {
	t.Helper()
	all := recorded.JSON[[]pictures](t, file)
	require.NotEmpty(t, all)
	for _, c := range all {
		if short && c.Number%4 > 0 {
			continue
		}
		if err := c.compare(); err != nil {
			t.Errorf("case of seed %d, %s of %v: %v", c.Seed, c.Object, c.shapes(), err)
		}
	}
	t.Logf("%d layers", len(all))
}

func (c *pictures) compare() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	l, err := layers.FromObject(c.Object)
	if err != nil {
		if c.Error != "" {
			return nil
		}
		return err
	}
	given := c.Inputs
	if c.Copies > 0 {
		given = map[string]typed{"images": c.copies()}
	}
	got, err := c.through(l, given)
	switch {
	case c.Error != "" && err == nil:
		return fmt.Errorf("taken, Keras says %q", c.Error)
	case err != nil || c.Error != "":
		if c.Error != "" {
			err = nil
		}
		return err
	case c.Copies > 0:
		return c.distribution(got["images"])
	}
	for _, name := range []string{"images", "boxes", "box_labels", "masks", "labels"} {
		want, ok := c.Outputs[name]
		if a, has := got[name]; has != ok {
			return fmt.Errorf("%s: %v, Keras %v", name, has, ok)
		} else if ok {
			if name == "images" && a.Type.DType.String() != want.DType && !c.Inference {
				return fmt.Errorf("%s are %v, Keras's %s", name, a.Type, want.DType)
			}
			if !slices.Equal(a.Shape(), want.Shape) {
				return fmt.Errorf("%s have the shape %v, Keras's %v", name, a.Shape(), want.Shape)
			}
			if c.Class == "Resizing" && name == "images" && a.Type.DType.IsInteger() { // rounded, maybe half a step
				want = typed{"float16", want.Shape, want.Data}
			}
			if text := want.differs(a.Float64s()); text != "" {
				return fmt.Errorf("%s: %s", name, text)
			}
		}
	}
	return nil
}

func (c *pictures) shapes() string {
	text := ""
	for name, a := range c.Inputs {
		text += fmt.Sprintf("%s %s%v ", name, a.DType, a.Shape)
	}
	return text
}

// copies are the image and the other one in turns.
func (c *pictures) copies() typed {
	a := typed{DType: c.Inputs["image"].DType, Shape: append([]int{c.Copies}, c.Inputs["image"].Shape...)}
	for i := range c.Copies {
		a.Data = append(a.Data, c.Inputs[[]string{"image", "other"}[i%2]].Data...)
	}
	return a
}

// parts are the names of what a layer takes and returns, in the order of its inputs.
var parts = []string{"images", "boxes", "box_labels", "labels", "masks"}

func places(e *layers.LabelledImages) []**ops.Tensor {
	return []**ops.Tensor{&e.Images, &e.Boxes, &e.BoxLabels, &e.Labels, &e.Masks}
}

// through runs the layer, in training unless the case says otherwise.
func (c *pictures) through(l layers.Layer, inputs map[string]typed) (map[string]kernels.Array, error) {
	var given []kernels.Array
	var which []int
	for i, name := range parts {
		if x, ok := inputs[name]; ok {
			a, err := x.array()
			if err != nil {
				return nil, err
			}
			given, which = append(given, a), append(which, i)
		}
	}
	var names []string
	out, err := testdevice.CallOne(func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		var e layers.LabelledImages
		for k, i := range which {
			*places(&e)[i] = in[k]
		}
		call := r.Inference()
		call.Training = !c.Inference
		e = e.Through(l, call)
		names = nil
		var out []*ops.Tensor
		for i, place := range places(&e) {
			if *place != nil {
				names, out = append(names, parts[i]), append(out, *place)
			}
		}
		return out
	}, given...)
	if err != nil {
		return nil, err
	}
	got := map[string]kernels.Array{}
	for i, name := range names {
		got[name] = out[i]
	}
	return got, nil
}

// distribution compares how sums over the results are distributed.
func (c *pictures) distribution(images kernels.Array) error {
	values, n := images.Float64s(), c.Copies
	size := len(values) / n
	sums := [2][]float64{make([]float64, n), make([]float64, n)}
	for i := range n {
		for k, v := range values[i*size : (i+1)*size] {
			if v != v {
				v = 0
			}
			sums[0][i] += v / float64(size)
			sums[1][i] += v * float64(k*37%11-5) / float64(size)
		}
	}
	for j, s := range sums {
		sort.Float64s(s)
		want := c.Quantiles[j]
		slack := 1e-4 * (1 + math.Abs(want[0]) + math.Abs(want[len(want)-1]))
		for k, q := range want {
			below, upTo := sort.SearchFloat64s(s, q-slack), sort.SearchFloat64s(s, q+slack)
			level, reach := float64(k)/float64(len(want)-1), 0.17
			if float64(below)/float64(n) > level+reach || float64(upTo)/float64(n) < level-reach {
				return fmt.Errorf("sum %d: quantile %.3f of Keras, %v, has %d to %d of %d here below it; from %v to %v, Keras from %v to %v", j, level, q, below, upTo, n, s[0], s[n-1], want[0], want[len(want)-1])
			}
		}
		if low, high := want[0], want[len(want)-1]; high-low > 0 && (s[0] < low-0.6*(high-low)-slack || s[n-1] > high+0.6*(high-low)+slack) {
			return fmt.Errorf("sum %d: from %v to %v, Keras from %v to %v", j, s[0], s[n-1], low, high)
		}
	}
	return nil
}

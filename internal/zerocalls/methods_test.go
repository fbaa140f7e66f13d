package zerocalls_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

var (
	methodChains = flag.Int("method-chains", 60, "how many objects TestRandomMethods uses")
	methodSeed   = flag.Uint64("method-seed", 1, "of TestRandomMethods")
)

// distant are methods for callbacks and backups, which have an order.
var distant = regexp.MustCompile(`^(OnChief|JoinsRunningJob|TakePartInBackup|Forward|Call|CallAll|ComputeMask)$`)

// live returns an object of a user: a model that has been trained or not, or data.
func (d *drawn) live() any {
	n := d.IntN(9) + 1
	x, y := make([]float32, 4*n), make([]float32, 2*n)
	for i := range x {
		x[i] = float32(d.NormFloat64())
	}
	source := data.Arrays(data.Must(data.ArrayOf(x, n, 4)), data.Must(data.ArrayOf(y, n, 2)))
	switch d.IntN(5) {
	case 0:
		return source
	case 1:
		return source.Elements()
	case 2:
		return source.Loader(d.IntN(4)+1, d.IntN(2) == 0, 1)
	}
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Activation: "relu"}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 2}}, keras.InputShape(4))
	if err != nil {
		return err
	}
	if d.IntN(4) > 0 {
		config := keras.CompileConfig{Optimizer: "adam", Loss: "mse", Metrics: []any{"mae"}}
		if d.IntN(4) == 0 {
			d.fill(reflect.ValueOf(&config).Elem(), 0)
		}
		err = m.Compile(config)
	}
	if err == nil && d.IntN(2) == 0 {
		_, _ = m.Fit(d.ctx, source, keras.Verbose(0))
	}
	d.source = source
	return m
}

// chain calls random methods of a random object, and of what they return.
func (d *drawn) chain(tried *[]string) (wrong string) {
	object := reflect.ValueOf(d.live())
	for range d.IntN(5) + 1 {
		k := d.IntN(object.NumMethod())
		name := object.Type().Method(k).Name
		if distant.MatchString(name) {
			continue
		}
		in, text := d.arguments(object.Method(k).Type())
		*tried = append(*tried, fmt.Sprintf("%v.%s(%s)", object.Type(), name, text))
		out, wrong := outputOf(object.Method(k), in)
		if wrong != "" {
			return wrong
		}
		for _, y := range out {
			if wrong := drained(d.ctx, y); wrong != "" {
				return wrong
			}
			if y.Type() == object.Type() && !y.IsNil() {
				object = y
			}
		}
	}
	if wrong := drained(d.ctx, object); wrong != "" {
		return wrong
	}
	if m, ok := object.Interface().(*keras.Model); ok { // it still works, or says why not
		*tried = append(*tried, "Fit and Predict")
		_, wrong := outputOf(reflect.ValueOf(func() error {
			if _, err := m.Fit(d.ctx, d.source, keras.Verbose(0)); err != nil {
				return err
			}
			_, err := m.Predict(d.ctx, d.source)
			return err
		}), nil)
		return wrong
	}
	return ""
}

// drained reads the first batches of data.
func drained(ctx context.Context, v reflect.Value) string {
	if v.Kind() == reflect.Pointer && v.IsNil() || !v.CanInterface() {
		return ""
	}
	ds, ok := v.Interface().(data.Dataset)
	if !ok || v.Kind() == reflect.Interface && v.IsNil() {
		return ""
	}
	_, wrong := outputOf(reflect.ValueOf(func() error {
		seen := 0
		for b, err := range ds.Batches(ctx, 0) {
			if err != nil {
				return err
			}
			_ = b.String()
			if seen++; seen > 20 {
				break
			}
		}
		return nil
	}), nil)
	return wrong
}

// TestRandomMethods calls random methods of models and data with random arguments, in chains: nothing panics, nothing
// outlives its context, and the object can still be used.
func TestRandomMethods(t *testing.T) {
	debug.SetMemoryLimit(6 << 30)
	t.Chdir(t.TempDir())
	for n := range *methodChains {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		d := newDrawn(rand.New(rand.NewPCG(*methodSeed, uint64(n))))
		d.ctx = ctx
		var tried []string
		ended := make(chan string, 1)
		go func() { ended <- d.chain(&tried) }()
		select {
		case wrong := <-ended:
			if wrong != "" {
				t.Errorf("chain %d: %s\n%s", n, wrong, strings.Join(tried, "\n"))
			}
		case <-time.After(3 * time.Minute):
			t.Fatalf("chain %d does not return: %s", n, strings.Join(tried, "\n"))
		}
		cancel()
	}
}

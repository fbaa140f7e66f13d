package harvest

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/keras/saving"
)

// tolerance is the allowed difference: |got-want| <= rtol·|want| + atol·max|want| + 1e-6.
type tolerance struct{ rtol, atol float64 }

// Two backends of Keras differ from each other by the same amount.
var (
	predicted     = tolerance{1e-5, 1e-5}
	halfPrecision = tolerance{2e-2, 1e-2}
	evaluated     = tolerance{2e-5, 1e-5}
	trained       = tolerance{5e-5, 2e-5}
)

// compare reports the first number that differs; both have equal lengths.
func (t tolerance) compare(got, want []float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers instead of %d", len(got), len(want))
	}
	largest := 0.0
	for _, w := range want {
		if !math.IsInf(w, 0) && !math.IsNaN(w) {
			largest = max(largest, math.Abs(w))
		}
	}
	bad, first := 0, 0
	for i, w := range want {
		g := got[i]
		same := g == w || math.IsNaN(g) && math.IsNaN(w)
		if same || math.Abs(g-w) <= t.rtol*math.Abs(w)+t.atol*largest+1e-6 && !math.IsInf(w, 0) {
			continue
		}
		if bad == 0 {
			first = i
		}
		bad++
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d values differ, as %d: %.9g instead of %.9g", bad, len(want), first, got[first], want[first])
}

// numbers returns the values of an array as float64.
func numbers(d data.Array) []float64 { return d.Float64s() }

// flatten returns the numbers of nested lists in JSON; words such as "NaN" stand for themselves.
func flatten(v any) []float64 {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case string:
		if v == "NaN" {
			return []float64{math.NaN()}
		}
		if strings.HasPrefix(v, "-") {
			return []float64{math.Inf(-1)}
		}
		return []float64{math.Inf(1)}
	case []any:
		var out []float64
		for _, e := range v {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return nil
}

// compareWeights compares the weights of two .keras files, name by name. States of random generators do not count as
// weights.
func compareWeights(got, want []byte) error {
	g, err := weightsOf(got)
	if err != nil {
		return err
	}
	w, err := weightsOf(want)
	if err != nil {
		return err
	}
	if a, b := slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(w)); !slices.Equal(a, b) {
		return fmt.Errorf("the trained file has %v instead of %v", a, b)
	}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if err := trained.compare(g[name], w[name]); err != nil {
			return fmt.Errorf("differs: weight %s: %w", name, err)
		}
	}
	return nil
}

// weightsOf reads all datasets of a .keras file.
func weightsOf(file []byte) (map[string][]float64, error) {
	archive, err := saving.NewArchive(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	r, size, err := archive.Member(saving.WeightsFile)
	if err != nil {
		return nil, err
	}
	f, err := hdf5.Open(r, size)
	if err != nil {
		return nil, err
	}
	all := map[string][]float64{}
	err = f.Root().Walk(func(path string, o hdf5.Object) error {
		d, ok := o.(*hdf5.Dataset)
		if !ok || strings.Contains(path, "seed_generator") {
			return nil
		}
		if d.Type().Class == hdf5.ClassString {
			return nil
		}
		var err error
		all[path], err = d.Float64s()
		return err
	})
	return all, err
}

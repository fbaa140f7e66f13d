package randomtraining

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// spec is an array that is made from a seed; numbers in draw.py makes the same.
type spec struct {
	Kind  string
	Seed  uint64
	Shape []int
	DType string
	Below int64
	From  int64
}

func (s spec) values() []float64 {
	n, state := ir.Shape(s.Shape).Size(), s.Seed
	drawn := make([]int64, n)
	for i := range drawn {
		state = (state*1664525 + 1013904223) % (1 << 32)
		drawn[i] = int64(state >> 8)
	}
	width := 1
	if len(s.Shape) > 0 {
		width = s.Shape[len(s.Shape)-1]
	}
	v := make([]float64, n)
	for i, k := range drawn {
		switch s.Kind {
		case "grid":
			v[i] = float64(k%401-200) / 100
		case "large":
			v[i] = float64(k%401-200) / 2
		case "positive":
			v[i] = float64(k%300+1) / 100
		case "fraction":
			v[i] = float64(k%101) / 100
		case "inner":
			v[i] = float64(k%97+2) / 100
		case "integer":
			v[i] = float64(k%s.Below + s.From)
		case "sign":
			v[i] = float64(k%2*2 - 1)
		case "onehot":
			if first := drawn[i/width*width]; int(first)%width == i%width {
				v[i] = 1
			}
		case "simplex":
			sum := 0.0
			for _, other := range drawn[i/width*width : (i/width+1)*width] {
				sum += float64(other%100 + 1)
			}
			v[i] = float64(k%100+1) / sum
		default:
			panic(s.Kind)
		}
	}
	return v
}

func (s spec) array(t testing.TB) kernels.Array {
	t.Helper()
	d, err := ir.ParseDType(s.DType)
	require.NoError(t, err)
	a, err := kernels.FromFloat64s(d, s.Shape, s.values())
	require.NoError(t, err)
	return a
}

// number is one that JSON may not know.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	switch s := strings.Trim(string(text), `"`); s {
	case "NaN":
		*n = number(math.NaN())
	case "Infinity":
		*n = number(math.Inf(1))
	case "-Infinity":
		*n = number(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// result is an array of Keras's.
type result struct {
	Shape []int
	Data  []number
}

// differs says how an array differs from Keras's, "" for not at all. Floats may differ by a part of themselves and of
// the largest.
func (r result) differs(shape []int, got []float64, tolerance float64) string {
	if !slices.Equal(shape, r.Shape) && len(shape)+len(r.Shape) > 0 {
		return fmt.Sprintf("shape %v, not %v", shape, r.Shape)
	}
	return near(got, r.Data, tolerance)
}

func near(got []float64, want []number, tolerance float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d numbers, not %d", len(got), len(want))
	}
	size := 0.0
	for _, w := range want {
		if f := math.Abs(float64(w)); f > size && !math.IsInf(f, 0) {
			size = f
		}
	}
	for i, x := range got {
		y := float64(want[i])
		if x == y || x != x && y != y || math.Abs(x-y) <= tolerance*(math.Abs(y)+size/4+1e-3)+5e-7 {
			continue
		}
		return fmt.Sprintf("element %d is %v, not %v", i, x, y)
	}
	return ""
}

func load[T any](t testing.TB, environment, file string) []T {
	t.Helper()
	if other := os.Getenv(environment); other != "" {
		file = other
	}
	return recorded.JSON[[]T](t, file)
}

// drawn is a case with the number of its draw. check returns what is not as in Keras.
type drawn interface {
	number() int
	check(t *testing.T) string
}

// checkFresh checks cases that a script draws now.
func checkFresh[T drawn](t *testing.T, script, variable, count string) {
	t.Helper()
	drawFresh(t, script, variable, count)
	checkAll[T](t, variable, "")
}

// drawFresh has a script draw cases into a file, which the environment variable then names, unless it names one that
// was drawn before. VARIABLE_COUNT and VARIABLE_SEED are how many and the first seed.
func drawFresh(t *testing.T, script, variable, count string) {
	t.Helper()
	if os.Getenv(variable) != "" {
		return
	}
	path := filepath.Join(t.TempDir(), "drawn.json.gz")
	out, err := exec.CommandContext(t.Context(), freshPython(t), script, environment(variable+"_COUNT", count), environment(variable+"_SEED", "1000000"), path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv(variable, path)
}

// freshPython is the Python that draws; without one the test is skipped.
func freshPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs GOKERAS_PYTHON, a Python with Keras; make random-networks runs it")
	}
	return python
}

// checkAll checks the cases of a file, one in three of them if time is short.
func checkAll[T drawn](t *testing.T, environment, file string) {
	t.Helper()
	for i, c := range load[T](t, environment, file) {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(fmt.Sprint(c.number()), func(t *testing.T) {
			t.Parallel()
			if text := c.check(t); text != "" {
				t.Error(text)
			}
		})
	}
}

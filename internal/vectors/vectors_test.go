package vectors

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder stands in for a test and keeps what was reported.
type recorder struct {
	testing.TB
	messages []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func close(got, want []float64, rtol, atol float64) (bool, []string) {
	r := &recorder{}
	ok := AllClose(r, "x", got, Array{Shape: []int{len(want)}, Data: want}, rtol, atol)
	return ok, r.messages
}

func TestAllClose(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name       string
		got, want  []float64
		rtol, atol float64
		pass       bool
	}{
		{"equal", []float64{1, 2}, []float64{1, 2}, 0, 0, true},
		{"inside rtol", []float64{100.9}, []float64{100}, 0.01, 0, true},
		{"outside rtol", []float64{101.1}, []float64{100}, 0.01, 0, false},
		{"inside atol", []float64{0.009}, []float64{0}, 0, 0.01, true},
		{"outside atol", []float64{0.011}, []float64{0}, 0, 0.01, false},
		{"no tolerance", []float64{1 + 1e-16, math.Nextafter(1, 2)}, []float64{1, 1}, 0, 0, false},
		{"NaN got", []float64{nan}, []float64{1}, 1e9, 1e9, false},
		{"NaN wanted", []float64{1}, []float64{nan}, 1e9, 1e9, false},
		{"NaN both", []float64{nan}, []float64{nan}, 1e9, 1e9, false},
		{"same infinity", []float64{inf, -inf}, []float64{inf, -inf}, 0, 0, true},
		{"other infinity", []float64{-inf}, []float64{inf}, 1, 1, false},
		{"infinity got", []float64{inf}, []float64{1}, 1, inf, false},
		{"fewer values", []float64{1}, []float64{1, 2}, 1, 1, false},
		{"more values", []float64{1, 2, 3}, []float64{1, 2}, 1, 1, false},
		{"negative tolerance", []float64{1}, []float64{2}, -1, 0, false},
		{"empty", nil, nil, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ok, messages := close(c.got, c.want, c.rtol, c.atol)
			require.Equal(t, c.pass, ok)
			require.Equal(t, c.pass, len(messages) == 0, "%v", messages)
		})
	}
}

func TestAllCloseNamesTheWorstElement(t *testing.T) {
	r := &recorder{}
	want := Array{Shape: []int{2, 3}, Data: []float64{0, 1, 2, 3, 4, 5}}
	require.False(t, AllClose(r, "kernel", []float64{0, 1.5, 2, 3, 4, 7}, want, 0, 0.1))
	require.Len(t, r.messages, 1)
	require.Contains(t, r.messages[0], "kernel: 2 of 6 values differ; worst at [1 2]: got 7, Keras has 5")
}

func TestCaseCloseChecksShapeAndTolerance(t *testing.T) {
	c := Case{RTol: 0, ATol: 0.01}
	want := Array{Shape: []int{1, 2}, Data: []float64{1, 2}}
	r := &recorder{}
	require.False(t, c.Close(r, "y", []float64{1, 2}, []int{2, 1}, want))
	require.Contains(t, r.messages[0], "shape [2 1], Keras has [1 2]")
	require.False(t, c.Close(&recorder{}, "y", []float64{1, 2.1}, []int{1, 2}, want))
	want.ATol = 0.2
	require.True(t, c.Close(&recorder{}, "y", []float64{1, 2.1}, []int{1, 2}, want))
}

func pack(t *testing.T, text string) []byte {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buffer.Bytes()
}

func TestDecode(t *testing.T) {
	file, err := decodeFile("x", pack(t, `{"generator":"g.py","versions":{"keras":"3"},"seed":7,"cases":[
		{"name":"a/float32","class":"Dense","config":{"units":2},"dtype":"float32","rtol":1e-5,"atol":1e-6,
		 "inputs":[{"name":"x","shape":[2,2],"dtype":"float32","data":[0.1,"NaN","Infinity","-Infinity"],"atol":0.5}]}]}`))
	require.NoError(t, err)
	require.Equal(t, int64(7), file.Seed)
	c := file.Cases[0]
	x := c.Input(t, "x")
	require.Equal(t, float64(float32(0.1)), x.Data[0], "float32 values are rounded to float32")
	require.True(t, math.IsNaN(x.Data[1]))
	require.True(t, math.IsInf(x.Data[2], 1))
	require.True(t, math.IsInf(x.Data[3], -1))
	require.Equal(t, 0.5, x.ATol)
	require.Equal(t, float32(0.1), x.Float32()[0])
	var config struct{ Units int }
	c.DecodeConfig(t, &config)
	require.Equal(t, 2, config.Units)
	_, ok := c.Outputs.Get("x")
	require.False(t, ok)
}

func TestDecodeRefusesDamage(t *testing.T) {
	_, err := decodeFile("x", []byte("plain"))
	require.ErrorContains(t, err, `set "x"`)
	_, err = decodeFile("x", pack(t, `{"cases":[{"inputs":[{"name":"x","shape":[2,2],"data":[1,2,3]}]}]}`))
	require.ErrorContains(t, err, `array "x": shape [2 2] needs 4 values, the file holds 3`)
	_, err = decodeFile("x", pack(t, `{"cases":[{"inputs":[{"name":"x","shape":[1],"data":["inf"]}]}]}`))
	require.ErrorContains(t, err, `array "x", value 0`)
	_, err = read("nothing")
	require.ErrorContains(t, err, `no set "nothing"`)
}

// TestSets reads every file and holds it to the format: unique names, a dtype, tolerances, versions, a generator.
func TestSets(t *testing.T) {
	require.NotEmpty(t, Sets())
	total := 0
	for _, name := range Sets() {
		t.Run(name, func(t *testing.T) {
			file := Load(t, name)
			require.Same(t, file, Load(t, name))
			require.NotEmpty(t, file.Cases)
			require.True(t, strings.HasSuffix(file.Generator, ".py"), file.Generator)
			for _, key := range []string{"python", "keras", "numpy", "backend"} {
				require.NotEmpty(t, file.Versions[key], key)
			}
			seen := map[string]bool{}
			for _, c := range file.Cases {
				require.False(t, seen[c.Name], "two cases named %s", c.Name)
				seen[c.Name] = true
				require.True(t, strings.HasSuffix(c.Name, "/"+c.DType), "%s does not end in its dtype %s", c.Name, c.DType)
				require.Greater(t, c.RTol, 0.0, c.Name)
				require.Greater(t, c.ATol, 0.0, c.Name)
			}
		})
		packed, err := files.ReadFile("testdata/" + name + ".json.gz")
		require.NoError(t, err)
		total += len(packed)
	}
	require.Less(t, total, 6<<20, "the embedded sets stay below 6 MB")
}

package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// promotions is keras.backend.result_type of Keras 3.15.1 (TensorFlow backend) for each pair, in the order of
// ir.DTypes. Where Keras truncates uint64 to uint32, uint64 stays.
const promotions = `
bool     int8     int16    int32    int64    uint8    uint16   uint32   uint64   float16  bfloat16 float32  float64
int8     int8     int16    int32    int64    int16    int32    int64    float32  float16  bfloat16 float32  float64
int16    int16    int16    int32    int64    int16    int32    int64    float32  float16  bfloat16 float32  float64
int32    int32    int32    int32    int64    int32    int32    int64    float32  float16  bfloat16 float32  float64
int64    int64    int64    int64    int64    int64    int64    int64    float32  float16  bfloat16 float32  float64
uint8    int16    int16    int32    int64    uint8    uint16   uint32   uint64   float16  bfloat16 float32  float64
uint16   int32    int32    int32    int64    uint16   uint16   uint32   uint64   float16  bfloat16 float32  float64
uint32   int64    int64    int64    int64    uint32   uint32   uint32   uint64   float16  bfloat16 float32  float64
uint64   float32  float32  float32  float32  uint64   uint64   uint64   uint64   float16  bfloat16 float32  float64
float16  float16  float16  float16  float16  float16  float16  float16  float16  float16  float32  float32  float64
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 float32  bfloat16 float32  float64
float32  float32  float32  float32  float32  float32  float32  float32  float32  float32  float32  float32  float64
float64  float64  float64  float64  float64  float64  float64  float64  float64  float64  float64  float64  float64`

func TestPromote(t *testing.T) {
	types := ir.DTypes()
	rows := strings.Split(strings.TrimSpace(promotions), "\n")
	require.GreaterOrEqual(t, len(types), len(rows)) // the types that all of Keras's functions accept come first
	for i, row := range rows {
		for j, want := range strings.Fields(row) {
			require.Equal(t, want, ops.Promote(types[i], types[j]).String(), "%v with %v", types[i], types[j])
		}
	}
}

func TestParseDTypePolicy(t *testing.T) {
	for name, want := range map[string]ops.DTypePolicy{
		"":              {Name: "float32", Compute: ir.Float32, Variable: ir.Float32},
		"mixed_float16": {Name: "mixed_float16", Compute: ir.Float16, Variable: ir.Float32},
		"int32":         {Name: "int32", Compute: ir.Int32, Variable: ir.Int32},
	} {
		got, err := ops.ParseDTypePolicy(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ops.ParseDTypePolicy("mixed_float64")
	require.ErrorContains(t, err, `unknown dtype policy "mixed_float64"; known: bfloat16, float16`)
	half, err := ops.ParseDTypePolicy("bfloat16")
	require.NoError(t, err)
	require.Equal(t, ir.Float32, half.Float())
	double, err := ops.ParseDTypePolicy("float64")
	require.NoError(t, err)
	require.Equal(t, ir.Float64, double.Float())
}

package randomops

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// TestLargeWholeNumbers: whole numbers that no float tells apart keep their order where NaN is left out, as in Keras.
func TestLargeWholeNumbers(t *testing.T) {
	for op, numbers := range map[string][]int64{"nanargmin": {-2147483647, -2147483648, 5}, "nanargmax": {2147483646, 2147483647, 5}} {
		in := array{DType: "int32", Shape: []int{3}}
		for _, n := range numbers {
			in.Data = append(in.Data, value{float64(n), n})
		}
		c := &call{Op: op, Args: []json.RawMessage{json.RawMessage(`{"input":0}`)}, Inputs: []array{in}}
		want := answer{Outputs: []array{{DType: "int32", Shape: []int{}, Data: []value{{1, 1}}}}}
		if text := agrees(c, compute(c, plain, rand.New(rand.NewPCG(1, 2))), want); text != "" {
			t.Errorf("%s: %s", op, text)
		}
	}
}

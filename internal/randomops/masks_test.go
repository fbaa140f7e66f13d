package randomops

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Calls that the drawing has found, with the answers of Keras: a query that sees no key sees all of them alike; numbers
// are true or false by themselves, whatever the type of what they meet; no axis is named twice, and one that is empty
// is no obstacle; other names of functions are known; what is added is halved before.
func TestFound(t *testing.T) {
	const v = `{"dtype":"float32","shape":[1,2,1,2],"data":[1,2,5,6]},{"dtype":"bool","shape":[1,1,2,2],"data":[false,false,true,false]}`
	for _, text := range []string{
		`{"op":"dot_product_attention","args":[{"input":0},{"input":0},{"input":0}],"kwargs":{"mask":{"input":1}},"inputs":[` + v + `],
			"answer":{"outputs":[{"dtype":"float32","shape":[1,2,1,2],"data":[3,4,1,2]}]}}`,
		`{"op":"dot_product_attention","args":[{"input":0},{"input":0},{"input":0}],"kwargs":{"mask":{"input":1},"is_causal":true},"inputs":[` + v + `],
			"answer":{"outputs":[{"dtype":"float32","shape":[1,2,1,2],"data":[3,4,1,2]}]}}`,
		`{"op":"logical_xor","args":[{"input":0},-2],"inputs":[{"dtype":"uint32","shape":[2],"data":[3,0]}],"answer":{"outputs":[{"dtype":"bool","shape":[2],"data":[0,1]}]}}`,
		`{"op":"logical_and","args":[{"input":0},0.5],"inputs":[{"dtype":"uint32","shape":[2],"data":[3,0]}],"answer":{"outputs":[{"dtype":"bool","shape":[2],"data":[1,0]}]}}`,
		`{"op":"median","args":[{"input":0},[0,-2]],"inputs":[{"dtype":"float32","shape":[2,1],"data":[3,0]}],"answer":{"error":"repeated axis"}}`,
		`{"op":"percentile","args":[{"input":0},50,[0,-2]],"inputs":[{"dtype":"float32","shape":[2,1],"data":[3,0]}],"answer":{"error":"repeated axis"}}`,
		`{"op":"median","args":[{"input":0},[1,2]],"inputs":[{"dtype":"float32","shape":[0,3,2],"data":[]}],"answer":{"outputs":[{"dtype":"float32","shape":[0],"data":[]}]}}`,
		`{"op":"trapezoid","args":[{"input":0}],"inputs":[{"dtype":"float32","shape":[3],"data":[3,3e38,1.5]}],"answer":{"outputs":[{"dtype":"float32","shape":[],"data":[3e38]}]}}`,
		`{"op":"swish","args":[{"input":0}],"inputs":[{"dtype":"float32","shape":[2],"data":[0,1]}],"answer":{"outputs":[{"dtype":"float32","shape":[2],"data":[0,0.7310586]}]}}`,
		`{"op":"hard_swish","args":[{"input":0}],"inputs":[{"dtype":"float32","shape":[2],"data":[0,3]}],"answer":{"outputs":[{"dtype":"float32","shape":[2],"data":[0,3]}]}}`,
	} {
		var c call
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		require.Empty(t, agrees(&c, compute(&c, plain, nil), c.Answer), text)
	}
}

package keras_test

import (
	"fmt"
	"testing"

	"github.com/gokeras/gokeras/keras"
)

// FuzzModelFromJSON reads documents of graphs with operations: they may be refused, but must not panic, hang or use
// excessive memory. What is read can be written and read again.
func FuzzModelFromJSON(f *testing.F) {
	for _, o := range []struct{ class, config, args string }{
		{"Add", `{}`, `X,1.5`}, {"GetItem", `{}`, `X,[{"class_name":"__slice__","config":{"start":null,"stop":-1,"step":2}},{"class_name":"__ellipsis__","config":{}},null]`},
		{"Mean", `{"axis":[-1],"keepdims":true}`, `X`}, {"Reshape", `{"newshape":[-1,3]}`, `X`}, {"Concatenate", `{"axis":-1}`, `[X,X]`},
		{"Repeat", `{"repeats":[1,2,3],"axis":1}`, `X`}, {"Pad", `{"pad_width":[[0,0],[1,2]],"mode":"reflect"}`, `X`}, {"Split", `{"indices_or_sections":3,"axis":1}`, `X`},
		{"Take", `{"axis":1}`, `X,{"class_name":"__numpy__","config":{"value":[0,2],"dtype":"int32"}}`}, {"Einsum", `{"subscripts":"ij,kj->ik"}`, `X,X`},
		{"Where", `{}`, `X,X,0.0`}, {"Quantile", `{"axis":1,"method":"linear","keepdims":false}`, `X,[0.1,0.9]`}, {"Tile", `{"repeats":[1,1000]}`, `X`},
		{"Linspace", `{"num":5,"endpoint":true,"axis":0}`, `X,1.0`}, {"Clip", `{"x_min":-Infinity,"x_max":NaN}`, `X`}, {"OneHot", `{"num_classes":9}`, `X`},
	} {
		f.Add(o.class, o.config, o.args)
	}
	f.Fuzz(func(t *testing.T, class, config, args string) {
		x := symbolText("x", 0, 0)
		arguments := ""
		for _, r := range args {
			if r == 'X' {
				arguments += x
			} else {
				arguments += string(r)
			}
		}
		document := fmt.Sprintf(`{"class_name":"Functional","config":{"name":"f","layers":[
			{"module":"keras.layers","class_name":"InputLayer","name":"x","config":{"batch_shape":[null,3],"dtype":"float32","name":"x"},"inbound_nodes":[]},
			{"module":"keras.src.ops.numpy","class_name":%q,"name":"o","config":%s,"inbound_nodes":[{"args":[%s],"kwargs":{}}]}],
			"input_layers":["x",0,0],"output_layers":["o",0,0]}}`, class, config, arguments)
		m, err := keras.ModelFromJSON([]byte(document))
		if err != nil {
			return
		}
		again, err := m.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err = keras.ModelFromJSON(again); err != nil {
			t.Fatalf("%v: %s", err, again)
		}
	})
}

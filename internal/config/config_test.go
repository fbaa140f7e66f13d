package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
)

// color is of a kind of its own, with a field that has a default.
type color struct {
	Red *int `keras:"red,default=7"`
}

func init() {
	config.RegisterKind("test_color", func(v any) (any, error) {
		switch v := v.(type) {
		case nil:
			return nil, nil
		case *color:
			return v, nil
		case string:
			if v == "red" {
				return &color{}, nil
			}
		case config.Object:
			c := &color{}
			return c, config.Decode(v.Config, c)
		}
		return nil, errors.New("no such color")
	})
	config.RegisterKindWith("test_word", func(v any) (any, error) { return v, nil }, func(v any) (any, error) { return v.(string) + "!", nil })
}

type common struct {
	Shared int `keras:"shared"`
}

type sample struct {
	common

	Name     string             `keras:"name"`
	DType    string             `keras:"dtype"`
	Plain    string             `keras:"plain,default=valid"`
	Off      bool               `keras:"on,not"`
	Flag     bool               `keras:"flag"`
	Size     int                `keras:"size"`
	Rate     float64            `keras:"rate"`
	Limit    *float64           `keras:"limit"`
	Seed     *int               `keras:"seed"`
	Pool     []int              `keras:"pool,length=2,default=3"`
	Axis     []int              `keras:"axis,scalar,default=-1"`
	Shape    []int              `keras:"shape,shape"`
	Pairs    [][]int            `keras:"pairs,default=[[1,1],[1,1]]"`
	Factors  []float64          `keras:"factors,scalar"`
	Limits   map[string]float64 `keras:"limits,default=null"`
	Color    any                `keras:"kernel_test_color,default=red"`
	Word     any                `keras:"test_word"`
	Anything any                `keras:"anything"`
	Extra    int                `keras:"extra,omitempty"`
	Colors   []any              `keras:"test_colors"`
	Letters  string             `keras:"letters,default=null"`

	hidden int
	Ignore int
}

func (*sample) IgnoredConfig() []string { return []string{"old", "fancy=null"} }

func (*sample) MigrateConfig(keys map[string]json.RawMessage) error {
	if v, ok := keys["previous_size"]; ok {
		keys["size"] = v
		delete(keys, "previous_size")
	}
	if _, ok := keys["impossible"]; ok {
		return errors.New("this cannot be read")
	}
	return nil
}

func encode(t *testing.T, v any) string {
	t.Helper()
	c, err := config.Encode(v)
	require.NoError(t, err)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	return string(text)
}

const defaults = `{"shared":0,"plain":"valid","on":true,"flag":false,"size":0,"rate":0,"limit":null,"seed":null,"pool":[3,3],"axis":-1,
	"shape":null,"pairs":[[1,1],[1,1]],"factors":null,"limits":null,"test_word":null,"anything":null,"letters":null,"test_colors":null,
	"kernel_test_color":{"module":null,"class_name":"color","config":{"red":7},"registered_name":"Custom>color"}}`

func TestZeroValueIsTheDefault(t *testing.T) {
	assert.JSONEq(t, defaults, encode(t, sample{hidden: 3, Ignore: 4}))
	var s sample
	require.NoError(t, config.Decode(nil, &s))
	assert.Equal(t, sample{}, s)
	require.NoError(t, config.Decode(json.RawMessage(`{}`), &s))
	assert.Equal(t, sample{}, s)
}

func TestRoundTrip(t *testing.T) {
	full := sample{
		common: common{4}, Name: "n", DType: "mixed_bfloat16", Plain: "same", Off: true, Flag: true, Size: -3, Rate: 0.25, Limit: new(0.0), Seed: new(5),
		Pool: []int{2, 4}, Axis: []int{1, 2}, Shape: []int{-1, 7}, Pairs: [][]int{{1, 2}, {3, 4}}, Factors: []float64{0.5}, Limits: map[string]float64{"high": 2},
		Color: &color{new(0)}, Word: "hi", Anything: "free", Extra: 9, Letters: "ab", Colors: []any{&color{new(1)}},
	}
	text := encode(t, &full)
	assert.JSONEq(t, `{"shared":4,"name":"n","dtype":{"module":"keras","class_name":"DTypePolicy","config":{"name":"mixed_bfloat16"},"registered_name":null},
		"plain":"same","on":false,"flag":true,"size":-3,"rate":0.25,"limit":0,"seed":5,"pool":[2,4],"axis":[1,2],"shape":[null,7],"pairs":[[1,2],[3,4]],"factors":0.5,
		"limits":{"high":2},"kernel_test_color":{"module":null,"class_name":"color","config":{"red":0},"registered_name":"Custom>color"},
		"test_word":"hi!","anything":"free","extra":9,"letters":"ab","test_colors":[{"module":null,"class_name":"color","config":{"red":1},"registered_name":"Custom>color"}]}`, text)
	var back sample
	require.NoError(t, config.Decode(json.RawMessage(text), &back))
	full.Word = "hi!"
	assert.Equal(t, full, back)
}

func TestForms(t *testing.T) {
	for _, row := range []struct {
		text string
		want sample
	}{
		{`{"pool":5}`, sample{Pool: []int{5}}},
		{`{"pool":[2.0,4]}`, sample{Pool: []int{2, 4}}},
		{`{"pairs":2}`, sample{Pairs: [][]int{{2}}}},
		{`{"pairs":[1,2]}`, sample{Pairs: [][]int{{1}, {2}}}},
		{`{"dtype":"float64"}`, sample{DType: "float64"}},
		{`{"dtype":{"module":"keras","class_name":"DTypePolicy","config":{"name":"float16"},"registered_name":null}}`, sample{DType: "float16"}},
		{`{"dtype":{"module":"keras.dtype_policies","class_name":"DTypePolicyMap","config":{"default_policy":"float64","policy_map":{}}}}`, sample{DType: "float64"}},
		{`{"dtype":{"class_name":"DTypePolicyMap","config":{"default_policy":{"class_name":"DTypePolicy","config":{"name":"float16"}},"policy_map":{}}}}`, sample{DType: "float16"}},
		{`{"seed":{"class_name":"SeedGenerator","config":{"seed":3}}}`, sample{Seed: new(3)}},
		{`{"seed":null}`, sample{}},
		{`{"factors":{"class_name":"__numpy__","config":{"value":[1,2],"dtype":"float64"}}}`, sample{Factors: []float64{1, 2}}},
		{`{"rate":{"class_name":"__numpy__","config":{"value":0.5,"dtype":"float32"}}}`, sample{Rate: 0.5}},
		{`{"rate":"Infinity"}`, sample{Rate: math.Inf(1)}},
		{`{"rate":true,"limit":false}`, sample{Rate: 1, Limit: new(0.0)}},
		{`{"size":true}`, sample{Size: 1}},
		{`{"size":[4]}`, sample{Size: 4}},
		{`{"previous_size":8}`, sample{Size: 8}},
		{`{"old":[1,{"x":2}],"fancy":null}`, sample{}},
		{`{"fancy":false}`, sample{}},
		{`{"kernel_test_color":"red"}`, sample{Color: &color{}}},
		{`{"anything":[1,"x"]}`, sample{Anything: []any{1.0, "x"}}},
	} {
		var s sample
		require.NoError(t, config.Decode(json.RawMessage(row.text), &s), row.text)
		assert.Equal(t, row.want, s, row.text)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"sice":3}`:                     `unknown key "sice"; known: anything, axis,`,
		`{"size":2.5}`:                   "whole number",
		`{"size":[1,2]}`:                 "whole number",
		`{"size":"x"}`:                   "whole number",
		`{"rate":"fast"}`:                "expected a number",
		`{"on":3}`:                       "true or false",
		`{"flag":"yes"}`:                 "expected true or false",
		`{"pool":[1,null]}`:              "element 1 is null",
		`{"pool":[1,"x"]}`:               "element 1",
		`{"fancy":{"mode":"int8"}}`:      "not supported",
		`{"kernel_test_color":"mauve"}`:  "no such color",
		`{"test_colors":3}`:              "expected a list",
		`{"test_colors":["red","blue"]}`: "element 1",
		`{"impossible":1}`:               "this cannot be read",
		`[1]`:                            "JSON object",
		`{"plain":{"class_name":"DTypePolicyMap","config":{"default_policy":7}}}`:                               "expected that of a layer",
		`{"plain":{"class_name":"DTypePolicyMap","config":{"default_policy":"float32","policy_map":{"a":[]}}}}`: "the entry \"a\"",
		`{"plain":{"class_name":"QuantizedDTypePolicy","config":{}}}`:                                           "expected a mode",
		`{"kernel_test_color":{"a":[1]}}`:                                                                       "no such color",
	} {
		var s sample
		assert.ErrorContains(t, config.Decode(json.RawMessage(text), &s), want, text)
	}
	assert.Error(t, config.Decode(json.RawMessage(`{}`), sample{}))
	assert.Error(t, config.Decode(json.RawMessage(`{}`), new(int)))
	for _, bad := range []any{nil, 3, (*sample)(nil), sample{Rate: math.NaN()}, sample{Anything: func() {}}} {
		_, err := config.Encode(bad)
		assert.Error(t, err)
	}
	require.NoError(t, config.Decode(json.RawMessage(`{"sice":3}`), new(sample), "sice"))
}

func TestObjects(t *testing.T) {
	o, err := config.ParseObject(json.RawMessage(`{"module":null,"class_name":"function","config":"relu","registered_name":"function"}`))
	require.NoError(t, err)
	name, ok := o.FunctionName()
	assert.True(t, ok)
	assert.Equal(t, "relu", name)
	_, ok = config.Object{ClassName: "Dense"}.FunctionName()
	assert.False(t, ok)
	for _, bad := range []string{`{}`, `3`, `{"config":{}}`} {
		_, err := config.ParseObject(json.RawMessage(bad))
		assert.Error(t, err, bad)
	}
	assert.Equal(t, "sample", config.ClassName(&sample{}))
	assert.Equal(t, "", config.Module(assert.Assertions{}))
	c, err := config.EncodeObject(assert.Assertions{})
	require.NoError(t, err)
	assert.Equal(t, "Custom>Assertions", c["registered_name"])
	assert.Nil(t, c["module"])
	assert.Panics(t, func() { config.RegisterKind("test_color", nil) })
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{defaults, `{"pool":[[[]]]}`, `{"dtype":{"class_name":"DTypePolicy","config":3}}`, `{"pairs":[[1,2],null]}`, `{"shape":[null,"x"]}`, `{"seed":1e400}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s sample
		if config.Decode(json.RawMessage(text), &s) == nil {
			_, _ = config.Encode(s) // must not panic either
		}
	})
}

type pooling struct {
	Size    []int  `keras:"pool_size,length=2,default=2"`
	Padding string `keras:"padding,default=valid"`
}

func ExampleEncode() {
	c, _ := config.Encode(pooling{Padding: "same"})
	text, _ := json.Marshal(c)
	fmt.Println(string(text))
	// Output: {"padding":"same","pool_size":[2,2]}
}

func ExampleDecode() {
	var p pooling
	err := config.Decode(json.RawMessage(`{"pool_size":3,"padding":"same"}`), &p)
	fmt.Println(p, err)
	// Output: {[3] same} <nil>
}

// Null is None, not a key that is missing.
func TestNull(t *testing.T) {
	for _, text := range []string{`{"size":null}`, `{"rate":null}`, `{"plain":null}`, `{"pool":null}`, `{"axis":null}`, `{"pairs":null}`, `{"kernel_test_color":null}`, `{"size":[null]}`} {
		require.ErrorContains(t, config.Decode(json.RawMessage(text), &sample{}), "received", text)
	}
	var s sample
	require.NoError(t, config.Decode(json.RawMessage(`{"name":null,"dtype":null,"limit":null,"limits":null,"letters":null,"test_word":null,"flag":null,"on":null,"factors":null}`), &s))
	assert.Equal(t, sample{Off: true}, s)

	var r struct {
		Rate float64 `keras:"rate,required"`
		Most int     `keras:"most,null"`
	}
	require.NoError(t, config.Decode(json.RawMessage(`{"rate":0,"most":null}`), &r))
	require.ErrorContains(t, config.Decode(json.RawMessage(`{"most":3}`), &r), `the key "rate" is missing`)
	require.ErrorContains(t, config.Decode(json.RawMessage(`{"rate":null}`), &r), "expected a number, received null; if the zero value is to stand for None, say so in the tag: `keras:\"rate,null\"`")
}

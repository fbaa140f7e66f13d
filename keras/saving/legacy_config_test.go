package saving_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/saving"
)

func modern(t *testing.T, config string) string {
	t.Helper()
	out, err := saving.ModernConfig([]byte(config))
	require.NoError(t, err)
	return string(out)
}

func TestModernConfig(t *testing.T) {
	kt := func(name string) string {
		return `{"class_name":"__keras_tensor__","config":{"shape":null,"dtype":"float32","keras_history":["` + name + `",0,0]}}`
	}
	for name, c := range map[string][2]string{
		"Keras 1: a list of layers, the first of which tells the input": {
			`{"class_name":"Sequential","config":[{"class_name":"Dense","config":{"name":"d","batch_input_shape":[null,3],"units":2,"input_dtype":"float32"}}]}`,
			`{"class_name":"Sequential","config":{"layers":[
				{"class_name":"InputLayer","module":"keras.layers","registered_name":null,"config":{"batch_shape":[null,3],"dtype":"float32","name":"d_input"}},
				{"class_name":"Dense","config":{"name":"d","units":2}}]}}`,
		},
		"policies are names, initializers have no type": {
			`{"class_name":"Dense","config":{"name":"d","dtype":{"class_name":"Policy","config":{"name":"mixed_float16"}},"kernel_initializer":{"class_name":"GlorotUniform","config":{"seed":null,"dtype":"float32"}}}}`,
			`{"class_name":"Dense","config":{"name":"d","dtype":"mixed_float16","kernel_initializer":{"class_name":"GlorotUniform","config":{"seed":null}}}}`,
		},
		"calls of a graph": {
			`{"class_name":"Model","config":{"layers":[
				{"class_name":"InputLayer","name":"x","config":{"batch_input_shape":[null,5],"name":"x"},"inbound_nodes":[]},
				{"class_name":"Add","name":"a","config":{"name":"a"},"inbound_nodes":[[["x",0,0,{}],["y",0,0,{}]]]},
				{"class_name":"MultiHeadAttention","name":"m","config":{"name":"m"},"inbound_nodes":[[["x",0,0,{"value":["y",0,0],"training":false}]]]}]}}`,
			`{"class_name":"Functional","config":{"layers":[
				{"class_name":"InputLayer","name":"x","config":{"batch_shape":[null,5],"name":"x"},"inbound_nodes":[]},
				{"class_name":"Add","name":"a","config":{"name":"a"},"inbound_nodes":[{"args":[[` + kt("x") + `,` + kt("y") + `]],"kwargs":{}}]},
				{"class_name":"MultiHeadAttention","name":"m","config":{"name":"m"},"inbound_nodes":[{"args":[` + kt("x") + `],"kwargs":{"value":` + kt("y") + `,"training":false}}]}]}}`,
		},
		"arithmetic outside of layers": {
			`{"class_name":"TFOpLambda","name":"t","config":{"name":"t","function":"math.add"},"inbound_nodes":[["x",0,0,{"y":["z",0,0],"name":null}]]}`,
			`{"class_name":"Add","module":"keras.src.ops.numpy","registered_name":null,"name":"t","config":{"name":"t"},"inbound_nodes":[{"args":[` + kt("x") + `,` + kt("z") + `],"kwargs":{}}]}`,
		},
		"and with a number": {
			`{"class_name":"TFOpLambda","name":"t","config":{"name":"t","function":"math.multiply"},"inbound_nodes":[["x",0,0,{"y":2.5,"name":null}]]}`,
			`{"class_name":"Multiply","module":"keras.src.ops.numpy","registered_name":null,"name":"t","config":{"name":"t"},"inbound_nodes":[{"args":[` + kt("x") + `,2.5],"kwargs":{}}]}`,
		},
		"what Keras 3 writes stays": {
			`{"class_name":"Dense","config":{"units":2},"inbound_nodes":[{"args":[1,[2]],"kwargs":{}}]}`,
			`{"class_name":"Dense","config":{"units":2},"inbound_nodes":[{"args":[1,[2]],"kwargs":{}}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) { require.JSONEq(t, c[1], modern(t, c[0])) })
	}
	for _, c := range [][2]string{
		{`[`, "not JSON"},
		{`{"class_name":"TFOpLambda","config":{"name":"t","function":"linalg.svd"},"inbound_nodes":[]}`, "linalg.svd"},
		{`{"class_name":"Dense","config":{},"inbound_nodes":[[["x",0]]]}`, "must be named by"},
	} {
		_, err := saving.ModernConfig([]byte(c[0]))
		require.ErrorContains(t, err, c[1])
	}
}

func TestModernTraining(t *testing.T) {
	out, err := saving.ModernTraining([]byte(`{"loss":"mse","weighted_metrics":null,"metrics":[[{"class_name":"MeanMetricWrapper","config":{"name":"mae","dtype":"float32","fn":"mean_absolute_error"}}]],
		"optimizer_config":{"class_name":"Custom>Adam","config":{"name":"Adam","lr":0.5,"decay":0.0,"jit_compile":false,"is_legacy_optimizer":false,"beta_1":0.9}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"loss":"mse","weighted_metrics":null,"metrics":["mae"],"optimizer":{"class_name":"Adam","config":{"name":"Adam","learning_rate":0.5,"beta_1":0.9}}}`, string(out))
	_, err = saving.ModernTraining([]byte(`[]`))
	require.ErrorContains(t, err, "training_config")
}

func FuzzModernConfig(f *testing.F) {
	f.Add(`{"class_name":"Model","config":{"layers":[{"class_name":"Add","config":{"name":"a"},"inbound_nodes":[[["x",0,0,{}],["y",0,0,{}]]]}]}}`)
	f.Add(`{"class_name":"Sequential","config":[{"class_name":"Dense","config":{"batch_input_shape":[null,3]}}]}`)
	f.Add(`{"class_name":"TFOpLambda","config":{"function":"math.add"},"inbound_nodes":[["x",0,0,{"y":["z",0,0]}]]}`)
	f.Fuzz(func(t *testing.T, config string) {
		if saving.CheckDepth([]byte(config)) != nil {
			return
		}
		_, _ = saving.ModernConfig([]byte(config))
		_, _ = saving.ModernTraining([]byte(config))
	})
}

package cpu_test

import (
	"maps"
	"math/rand/v2"
)

// settings are those of a layer, a loss or an optimizer, under Keras's names.
type settings map[string]any

// configured is a class with its settings.
type configured struct {
	class string
	settings
}

// object returns the form that Keras's files use.
func (c configured) object() map[string]any {
	config := map[string]any{}
	for k, v := range c.settings {
		switch v := v.(type) {
		case configured:
			config[k] = v.object()
		case []configured:
			var all []any
			for _, e := range v {
				all = append(all, e.object())
			}
			config[k] = all
		default:
			config[k] = v
		}
	}
	return map[string]any{"module": "keras.layers", "class_name": c.class, "config": config, "registered_name": nil}
}

// layerDraw draws layers. Large ones are shared by several workers, or use kernels for many rows, long rows or many
// channels.
type layerDraw struct {
	*rand.Rand
	large bool
}

func of[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

func (r layerDraw) yes(in int) bool { return r.IntN(in) == 0 }

// maybe adds a setting to half of the layers.
func (r layerDraw) maybe(c settings, key string, choices ...any) {
	if r.yes(2) {
		c[key] = of(r.Rand, choices...)
	}
}

func (r layerDraw) activation() string {
	return of(r.Rand, "linear", "linear", "relu", "relu", "relu", "relu6", "tanh", "sigmoid", "gelu", "elu", "selu", "silu", "softplus", "softsign", "hard_sigmoid",
		"hard_silu", "leaky_relu", "mish", "exponential", "celu", "glu", "log_sigmoid", "hard_tanh", "hard_shrink", "soft_shrink", "squareplus",
		"sparse_plus", "tanh_shrink", "threshold", "softmax", "log_softmax", "sparsemax")
}

// weights adds regularizers and constraints to one kind of weights, in one layer out of six.
func (r layerDraw) weights(c settings, kinds ...string) {
	if !r.yes(6) {
		return
	}
	kind := of(r.Rand, kinds...)
	switch r.IntN(3) {
	case 0:
		c[kind+"_constraint"] = of(r.Rand, "max_norm", "non_neg", "unit_norm", "min_max_norm")
	case 1:
		c["activity_regularizer"] = of(r.Rand, "l1", "l2", "l1_l2")
		return
	}
	c[kind+"_regularizer"] = of(r.Rand, "l1", "l2", "l1_l2")
}

func (r layerDraw) channels() int {
	if r.large {
		return of(r.Rand, 1, 3, 8, 16, 16, 24, 32, 32, 33, 48, 64, 64, 600)
	}
	return of(r.Rand, 1, 2, 3, 4, 5, 8, 16, 17)
}

func (r layerDraw) perAxis(d int, choices ...int) any {
	if r.IntN(4) > 0 {
		return of(r.Rand, choices...)
	}
	list := make([]int, d)
	for i := range list {
		list[i] = of(r.Rand, choices...)
	}
	return list
}

// axes returns the name of a class for d spatial axes.
func axes(class string, d int, more ...string) string {
	class += string(rune('0'+d)) + "D"
	for _, m := range more {
		class += m
	}
	return class
}

func (r layerDraw) convolution(d int) configured {
	c := settings{"kernel_size": r.perAxis(d, 1, 2, 3, 3, 3, 5), "padding": of(r.Rand, "valid", "same", "same"), "filters": r.channels()}
	if r.yes(2) {
		c["activation"] = of(r.Rand, "relu", r.activation())
	}
	r.maybe(c, "use_bias", true, false)
	if r.yes(8) {
		c["data_format"] = "channels_first"
	}
	kind := r.IntN(10)
	if kind == 0 {
		c["strides"] = r.perAxis(d, 1, 2, 3)
		r.weights(c, "kernel", "bias")
		return configured{axes("Conv", d, "Transpose"), c}
	}
	c["strides"] = of(r.Rand, 1, 1, 1, 2, 3)
	if c["strides"] == 1 && r.yes(3) {
		c["dilation_rate"] = r.perAxis(d, 1, 2)
	}
	if kind < 4 && d < 3 { // by channels
		delete(c, "filters")
		c["depth_multiplier"] = of(r.Rand, 1, 1, 1, 2, 3)
		if kind == 1 {
			c["filters"] = r.channels()
			r.weights(c, "depthwise", "pointwise", "bias")
			return configured{axes("SeparableConv", d), c}
		}
		r.weights(c, "depthwise", "bias")
		return configured{axes("DepthwiseConv", d), c}
	}
	if r.yes(3) {
		c["groups"] = of(r.Rand, 2, 3, 4, 8, 16)
		c["filters"] = c["groups"].(int) * of(r.Rand, 1, 2, 4)
	}
	if d == 1 && r.yes(4) {
		c["padding"] = "causal"
		delete(c, "data_format")
	}
	r.weights(c, "kernel", "bias")
	return configured{axes("Conv", d), c}
}

func (r layerDraw) pooling(d int) configured {
	kind := of(r.Rand, "Max", "Average")
	switch r.IntN(6) {
	case 0:
		return configured{axes("Global"+kind+"Pooling", d), settings{"keepdims": r.yes(2)}}
	case 1:
		return configured{axes("Adaptive"+kind+"Pooling", d), settings{"output_size": of(r.Rand, 1, 2, 3)}}
	}
	c := settings{"pool_size": r.perAxis(d, 2, 2, 3), "padding": of(r.Rand, "valid", "same")}
	r.maybe(c, "strides", 1, 2, 3)
	return configured{axes(kind+"Pooling", d), c}
}

func (r layerDraw) spatial(d int) configured {
	switch k := r.IntN(12); {
	case k < 7:
		return r.convolution(d)
	case k < 9:
		return r.pooling(d)
	case k == 9:
		return configured{axes("SpatialDropout", d), settings{"rate": 0.3}}
	case k == 10:
		c := settings{"size": of(r.Rand, 2, 3)}
		if d == 2 {
			r.maybe(c, "interpolation", "bilinear", "nearest", "bicubic", "lanczos3")
		}
		return configured{axes("UpSampling", d), c}
	}
	if r.yes(2) {
		return configured{axes("ZeroPadding", d), settings{"padding": of(r.Rand, 1, 2)}}
	}
	return configured{axes("Cropping", d), settings{"cropping": 1}}
}

// cell draws a recurrent layer, or a cell of one.
func (r layerDraw) cell(suffix string) configured {
	class := of(r.Rand, "LSTM", "GRU", "SimpleRNN")
	c := settings{"units": r.channels()}
	if r.yes(3) {
		c["activation"] = of(r.Rand, "relu", "sigmoid", "tanh", "elu", "softsign")
	}
	if class != "SimpleRNN" && r.yes(4) {
		c["recurrent_activation"] = of(r.Rand, "hard_sigmoid", "tanh")
	}
	if class == "GRU" {
		r.maybe(c, "reset_after", true, false)
	}
	if r.yes(6) {
		c[of(r.Rand, "dropout", "recurrent_dropout")] = 0.3
	}
	r.maybe(c, "use_bias", true, false)
	r.weights(c, "kernel", "recurrent", "bias")
	if suffix != "" {
		delete(c, "activity_regularizer")
	}
	return configured{class + suffix, c}
}

func (r layerDraw) recurrent() configured {
	l := r.cell("")
	l.settings["return_sequences"] = r.IntN(3) > 0
	r.maybe(l.settings, "go_backwards", true, false, false)
	r.maybe(l.settings, "unroll", false)
	return l
}

func (r layerDraw) sequence() configured {
	switch r.IntN(9) {
	case 0:
		return configured{"Bidirectional", settings{"layer": r.recurrent(), "merge_mode": of(r.Rand, "concat", "sum", "mul", "ave")}}
	case 1:
		cells := []configured{r.cell("Cell"), r.cell("Cell")}
		c := settings{"cell": cells[0], "return_sequences": r.yes(2)}
		if r.yes(2) {
			c["cell"] = configured{"StackedRNNCells", settings{"cells": cells}}
		}
		return configured{"RNN", c}
	case 2:
		return configured{"TimeDistributed", settings{"layer": r.anything(2)}}
	case 3:
		return configured{"GroupQueryAttention", settings{"head_dim": of(r.Rand, 2, 4), "num_query_heads": 4, "num_key_value_heads": of(r.Rand, 1, 2, 4), "dropout": of(r.Rand, 0, 0, 0.2)}}
	case 4, 5:
		c := settings{"num_heads": of(r.Rand, 1, 2, 3, 4), "key_dim": of(r.Rand, 2, 4, 8, 16), "dropout": of(r.Rand, 0, 0, 0.2)}
		r.maybe(c, "use_bias", false)
		r.maybe(c, "value_dim", 3, 8)
		r.weights(c, "kernel", "bias")
		return configured{"MultiHeadAttention", c}
	case 6:
		return configured{of(r.Rand, "Attention", "AdditiveAttention"), settings{}}
	}
	return r.recurrent()
}

func (r layerDraw) anything(rank int) configured {
	switch k := r.IntN(20); {
	case k < 5:
		c := settings{"units": r.channels()}
		if r.yes(2) {
			c["activation"] = r.activation()
		}
		r.maybe(c, "use_bias", true, false)
		r.weights(c, "kernel", "bias")
		return configured{"Dense", c}
	case k < 8:
		c := settings{"momentum": of(r.Rand, 0.9, 0.99), "epsilon": of(r.Rand, 0.001, 0.1)}
		r.maybe(c, "scale", false)
		r.maybe(c, "center", false)
		if rank > 2 && r.yes(5) {
			c["axis"] = 1
		}
		if r.yes(10) {
			c["renorm"] = true
		}
		return configured{"BatchNormalization", c}
	case k < 10:
		return configured{"Activation", settings{"activation": r.activation()}}
	case k == 10:
		c := settings{}
		if rank > 2 {
			r.maybe(c, "axis", []int{-1}, []int{-2, -1}, []int{1})
		}
		return configured{"LayerNormalization", c}
	case k == 11 && rank > 2: // of groups of one element nothing but rounding is left
		return configured{"GroupNormalization", settings{"groups": of(r.Rand, 1, 2, 4, -1)}}
	case k == 12:
		return configured{of(r.Rand, "UnitNormalization", "RMSNormalization"), settings{}}
	case k == 13:
		c := settings{}
		if rank > 2 {
			r.maybe(c, "shared_axes", []int{1})
		}
		return configured{"PReLU", c}
	case k == 14:
		return configured{"SpectralNormalization", settings{"layer": configured{"Dense", settings{"units": 4}}}}
	case k == 15:
		return configured{"EinsumDense", settings{"equation": "...x,xy->...y", "output_shape": append(make([]any, rank-2), r.channels()), "bias_axes": of[any](r.Rand, nil, "y"), "activation": r.activation()}}
	case k == 16:
		dims := make([]int, rank-1)
		for i, p := range r.Perm(rank - 1) {
			dims[i] = p + 1
		}
		return configured{"Permute", settings{"dims": dims}}
	case k == 17 && rank == 2:
		return configured{"RepeatVector", settings{"n": of(r.Rand, 2, 5)}}
	}
	simple := []configured{
		{"ReLU", settings{}}, {"ReLU", settings{"max_value": 1.0, "negative_slope": 0.1}}, {"LeakyReLU", settings{}}, {"ELU", settings{}}, {"Softmax", settings{}},
		{"Dropout", settings{"rate": 0.5}}, {"GaussianNoise", settings{"stddev": 0.1}}, {"GaussianDropout", settings{"rate": 0.2}}, {"AlphaDropout", settings{"rate": 0.2}},
		{"Masking", settings{}}, {"ActivityRegularization", settings{"l2": 0.1, "l1": 0.05}}, {"Rescaling", settings{"scale": 2.0, "offset": 0.5}}, {"Flatten", settings{}},
	}
	l := of(r.Rand, simple...)
	return configured{l.class, maps.Clone(l.settings)}
}

// layer draws a layer for tensors of the given rank.
func (r layerDraw) layer(rank int) configured {
	d := rank - 2
	if d < 1 || r.IntN(3) == 0 {
		return r.anything(rank)
	}
	if d == 2 && r.yes(12) {
		return of(r.Rand, configured{"Resizing", settings{"height": of(r.Rand, 4, 9), "width": of(r.Rand, 3, 8), "interpolation": of(r.Rand, "bilinear", "nearest", "bicubic")}},
			configured{"RandomFlip", settings{"seed": 1}}, configured{"RandomRotation", settings{"factor": 0.1, "seed": 1}}, configured{"CenterCrop", settings{"height": 4, "width": 3}},
			configured{"ConvLSTM1D", settings{"filters": 2, "kernel_size": of(r.Rand, 1, 2, 3), "padding": "same", "return_sequences": r.yes(2)}})
	}
	if d == 3 && r.yes(8) {
		return configured{"ConvLSTM2D", settings{"filters": 2, "kernel_size": of(r.Rand, 1, 2, 3), "padding": "same", "return_sequences": r.yes(2)}}
	}
	if d == 1 && r.yes(2) {
		return r.sequence()
	}
	return r.spatial(min(d, 3))
}

func (r layerDraw) merge() configured {
	return of(r.Rand, configured{"Add", nil}, configured{"Add", nil}, configured{"Subtract", nil}, configured{"Multiply", nil}, configured{"Average", nil}, configured{"Maximum", nil},
		configured{"Minimum", nil}, configured{"Concatenate", settings{"axis": -1}}, configured{"Concatenate", settings{"axis": 1}}, configured{"Dot", settings{"axes": -1, "normalize": r.yes(2)}})
}

func (r layerDraw) optimizer() configured {
	c := settings{"learning_rate": of(r.Rand, 0.001, 0.01, 0.1)}
	class := of(r.Rand, "SGD", "SGD", "SGD", "Adam", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion", "Lamb", "Adafactor", "Muon", "ScheduleFreeAdamW")
	switch class {
	case "SGD":
		c["momentum"], c["nesterov"] = of(r.Rand, 0, 0, 0.9), r.yes(2)
	case "RMSprop":
		c["momentum"], c["centered"] = of(r.Rand, 0, 0.9), r.yes(3)
	case "Adam":
		c["amsgrad"] = r.yes(4)
	}
	if r.yes(6) {
		c[of(r.Rand, "clipnorm", "clipvalue", "global_clipnorm")] = 0.5
	}
	if r.yes(6) && class != "Lamb" {
		c["weight_decay"] = 0.01
	}
	if r.yes(8) {
		c["use_ema"] = true
	}
	return configured{class, c}
}

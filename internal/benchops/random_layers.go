package main

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
)

// Random layers: of configurations, ranks and sizes that no row has.

// drawnLayer is a family of layers. Its operands have the number of axes that it says, the batch included; -1 is any
// from two to five.
type drawnLayer struct {
	classes string // separated by spaces
	rank    int
	config  func(r *rand.Rand, s []int) map[string]any
}

const drawnActivations = "relu gelu silu tanh sigmoid elu selu softplus softsign hard_sigmoid leaky_relu relu6 mish hard_silu log_softmax softmax exponential celu hard_tanh tanh_shrink soft_shrink"

type settings = map[string]any

// drawnLayers are the families. What depends on the operands' sizes is drawn for them.
var drawnLayers = []drawnLayer{
	{"Dense", -1, func(r *rand.Rand, _ []int) settings {
		return settings{"units": pick(r, 1, 3, 10, 17, 64, 100, 256), "use_bias": r.IntN(4) > 0, "activation": drawActivation(r)}
	}},
	{"Conv1D", 3, convolution(1)}, {"Conv2D Conv2D", 4, convolution(2)}, {"Conv3D", 5, convolution(3)},
	{"Conv1DTranspose", 3, transposedConvolution(1)}, {"Conv2DTranspose", 4, transposedConvolution(2)},
	{"DepthwiseConv1D", 3, depthwise(1)}, {"DepthwiseConv2D", 4, depthwise(2)},
	{"SeparableConv1D", 3, separable(1)}, {"SeparableConv2D", 4, separable(2)},
	{"MaxPooling1D AveragePooling1D", 3, pooling(1)}, {"MaxPooling2D AveragePooling2D", 4, pooling(2)}, {"MaxPooling3D AveragePooling3D", 5, pooling(3)},
	{"GlobalMaxPooling1D GlobalAveragePooling1D", 3, keepsAxes}, {"GlobalMaxPooling2D GlobalAveragePooling2D", 4, keepsAxes},
	{"BatchNormalization UnitNormalization Softmax", -1, someAxis}, {"LayerNormalization RMSNormalization", -1, lastAxes},
	{"GroupNormalization", 4, func(r *rand.Rand, s []int) settings { return settings{"groups": divisor(r, s[3])} }},
	{"UpSampling1D", 3, func(r *rand.Rand, _ []int) settings { return settings{"size": 2 + r.IntN(2)} }},
	{"UpSampling2D", 4, func(r *rand.Rand, _ []int) settings {
		return settings{"size": []int{1 + r.IntN(3), 1 + r.IntN(3)}, "interpolation": pick(r, "nearest", "bilinear")}
	}},
	{"ZeroPadding1D", 3, func(r *rand.Rand, _ []int) settings { return settings{"padding": []int{r.IntN(3), r.IntN(3)}} }},
	{"ZeroPadding2D", 4, func(r *rand.Rand, _ []int) settings {
		return settings{"padding": [][]int{{r.IntN(3), r.IntN(3)}, {r.IntN(3), r.IntN(3)}}}
	}},
	{"Cropping2D", 4, func(r *rand.Rand, s []int) settings {
		return settings{"cropping": [][]int{{r.IntN(s[1]), 0}, {0, r.IntN(s[2])}}}
	}},
	{"LeakyReLU ELU", -1, func(*rand.Rand, []int) settings { return settings{} }},
	{"ReLU", -1, func(r *rand.Rand, _ []int) settings {
		return settings{"max_value": 0.5, "threshold": 0.1, "negative_slope": pick(r, 0, 0.2)}
	}},
	{"PReLU", 4, func(r *rand.Rand, _ []int) settings {
		return settings{"shared_axes": pick(r, []int{1, 2}, []int{3}, []int{1, 2, 3})}
	}},
	{"Activation", -1, func(r *rand.Rand, _ []int) settings {
		return settings{"activation": pick(r, strings.Fields(drawnActivations)...)}
	}},
	{"Embedding", 2, func(r *rand.Rand, _ []int) settings {
		return settings{"input_dim": 100, "output_dim": pick(r, 1, 3, 16, 33, 64)}
	}},
	{"RepeatVector", 2, func(r *rand.Rand, _ []int) settings { return settings{"n": 2 + r.IntN(4)} }},
	{"Permute", 4, func(r *rand.Rand, _ []int) settings {
		dims := r.Perm(3)
		for i := range dims {
			dims[i]++
		}
		return settings{"dims": dims}
	}},
	{"Resizing", 4, func(r *rand.Rand, s []int) settings {
		return settings{"height": 1 + r.IntN(2*s[1]), "width": 1 + r.IntN(2*s[2]), "interpolation": pick(r, "nearest", "bilinear", "bicubic")}
	}},
	{"Rescaling", -1, func(*rand.Rand, []int) settings { return settings{"scale": 0.5, "offset": 0.1} }},
	{"Add Multiply Maximum Minimum Average Subtract", -1, func(*rand.Rand, []int) settings { return settings{} }},
	{"Concatenate", -1, someAxis},
	{"LSTM GRU SimpleRNN", 3, func(r *rand.Rand, _ []int) settings {
		return settings{"units": pick(r, 3, 10, 32, 64), "return_sequences": r.IntN(2) == 0, "go_backwards": r.IntN(4) == 0}
	}},
	{"MultiHeadAttention", 3, func(r *rand.Rand, _ []int) settings {
		return settings{"num_heads": pick(r, 1, 2, 3, 4), "key_dim": pick(r, 5, 16, 32), "use_bias": r.IntN(2) == 0}
	}},
}

func drawActivation(r *rand.Rand) any {
	if r.IntN(2) == 0 {
		return nil
	}
	return pick(r, strings.Fields(drawnActivations)...)
}

// some returns a number for each of n axes, from low to high.
func some(r *rand.Rand, n, low, high int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = low + r.IntN(high-low+1)
	}
	return list
}

func convolution(n int) func(*rand.Rand, []int) settings {
	return func(r *rand.Rand, s []int) settings {
		c := settings{"filters": pick(r, 1, 3, 8, 16, 20, 32), "kernel_size": some(r, n, 1, 4), "padding": pick(r, "same", "valid"),
			"use_bias": r.IntN(4) > 0, "activation": drawActivation(r)}
		switch r.IntN(3) {
		case 0:
			c["strides"] = slices.Repeat([]int{2}, n)
		case 1:
			c["dilation_rate"] = slices.Repeat([]int{2}, n)
		}
		if g := divisor(r, s[len(s)-1]); r.IntN(5) == 0 {
			c["groups"], c["filters"] = g, g*pick(r, 1, 2, 4)
		}
		return c
	}
}

func transposedConvolution(n int) func(*rand.Rand, []int) settings {
	return func(r *rand.Rand, _ []int) settings {
		return settings{"filters": pick(r, 1, 3, 8, 16), "kernel_size": some(r, n, 2, 4), "strides": slices.Repeat([]int{1 + r.IntN(2)}, n), "padding": pick(r, "same", "valid")}
	}
}

func depthwise(n int) func(*rand.Rand, []int) settings {
	return func(r *rand.Rand, _ []int) settings {
		return settings{"kernel_size": some(r, n, 2, 5), "strides": slices.Repeat([]int{1 + r.IntN(2)}, n), "padding": pick(r, "same", "valid"),
			"depth_multiplier": pick(r, 1, 1, 2), "activation": drawActivation(r)}
	}
}

func separable(n int) func(*rand.Rand, []int) settings {
	return func(r *rand.Rand, s []int) settings {
		c := depthwise(n)(r, s)
		c["filters"] = pick(r, 3, 8, 16)
		return c
	}
}

func pooling(n int) func(*rand.Rand, []int) settings {
	return func(r *rand.Rand, _ []int) settings {
		c := settings{"pool_size": some(r, n, 1, 3), "padding": pick(r, "same", "valid")}
		if r.IntN(2) == 0 {
			c["strides"] = some(r, n, 1, 3)
		}
		return c
	}
}

func keepsAxes(r *rand.Rand, _ []int) settings { return settings{"keepdims": r.IntN(2) == 0} }

func someAxis(r *rand.Rand, s []int) settings { return settings{"axis": 1 + r.IntN(len(s)-1)} }

func lastAxes(r *rand.Rand, s []int) settings {
	axes := []int{len(s) - 1}
	if len(s) > 2 && r.IntN(3) == 0 {
		axes = []int{len(s) - 2, len(s) - 1}
	}
	return settings{"axis": axes}
}

// divisor returns one of the divisors of n.
func divisor(r *rand.Rand, n int) int {
	var list []int
	for i := 1; i <= n; i++ {
		if n%i == 0 {
			list = append(list, i)
		}
	}
	return pick(r, list...)
}

// drawLayer returns the call of a random layer on about n elements, and its name.
func drawLayer(r *rand.Rand, n int) benchmark {
	f := drawFamily(r)
	class := pick(r, strings.Fields(f.classes)...)
	s := f.shape(r, n)
	b := benchmark{Layer: class, Config: f.config(r, s), Training: inTraining.MatchString(class)}
	x := floats(s...)
	switch class {
	case "Embedding":
		x = tensor{"int32", s, 0, 100}
	case "LSTM", "GRU", "SimpleRNN":
		x.Shape = []int{max(s[0]/4, 1), min(s[1], 24), min(s[2], 64)}
	}
	b.Arguments = []argument{one(x)}
	if slices.Contains(strings.Fields("Add Multiply Maximum Minimum Average Subtract Concatenate"), class) {
		b.Arguments = []argument{{Tensors: []tensor{x, x}, List: true}}
	} else if class == "MultiHeadAttention" {
		b.Arguments = []argument{one(x), one(x)}
	}
	config, _ := json.Marshal(b.Config)
	b.Name = "layers." + class + " " + nameOf(b.Arguments) + " " + strings.ReplaceAll(string(config), `"`, "")
	return b
}

// drawFamily returns a family, with the shape of its operands.
func drawFamily(r *rand.Rand) shapedLayer {
	i := r.IntN(len(drawnLayers) + len(shapedLayers))
	if i >= len(drawnLayers) {
		return shapedLayers[i-len(drawnLayers)]
	}
	f := drawnLayers[i]
	return shapedLayer{f, func(r *rand.Rand, n int) []int {
		if f.rank < 0 {
			return drawLayerShape(r, n, 2+r.IntN(4))
		}
		return drawLayerShape(r, n, f.rank)
	}}
}

// drawLayerShape returns about n elements in a batch of one or more, with axes of middling lengths.
func drawLayerShape(r *rand.Rand, n, rank int) []int {
	s := make([]int, rank)
	size := 1
	for i := 1; i < rank; i++ {
		s[i] = pick(r, 3, 7, 8, 10, 16, 17, 32, 33, 64)
		if rank > 3 {
			s[i] = pick(r, 3, 5, 8, 10, 14, 16, 17)
		}
		size *= s[i]
	}
	s[0] = max(n/size, 1)
	return s
}

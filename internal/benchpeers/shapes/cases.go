package main

import "strconv"

// spec describes one layer or model with its data; the other framework's program builds the same from its JSON form.
type spec struct {
	Key      string `json:"key"`
	Kind     string `json:"kind"`
	Input    []int  `json:"input"`              // batch first, channels last; attention: batch, steps, heads, size of a head
	Filters  int    `json:"filters,omitempty"`  // of convolutions, units of dense layers
	Kernel   int    `json:"kernel,omitempty"`   // length of the window on every axis
	Stride   int    `json:"stride,omitempty"`   // on every axis
	Dilation int    `json:"dilation,omitempty"` // on every axis
	Groups   int    `json:"groups,omitempty"`   // of convolutions and normalizations
	Causal   bool   `json:"causal,omitempty"`
	Masked   bool   `json:"masked,omitempty"`   // keys at the ends of the sequences are hidden
	Heads    int    `json:"heads,omitempty"`    // of attention layers, whose heads have Filters features
	Shared   int    `json:"shared,omitempty"`   // heads of the query for each of key and value
	Rows     int    `json:"rows,omitempty"`     // of an embedding's table
	Widths   []int  `json:"widths,omitempty"`   // of a perceptron's layers
	Double   bool   `json:"double,omitempty"`   // float64
	Bilinear bool   `json:"bilinear,omitempty"` // of upsampling by Stride; false: it repeats

	// Of the layers in every.go, whose Kernel, Stride and Dilation are 0: one number for each axis.
	Windows   []int  `json:"windows,omitempty"`
	Strides   []int  `json:"strides,omitempty"`
	Dilations []int  `json:"dilations,omitempty"`
	Padding   string `json:"padding,omitempty"` // not empty: the layer is one of those
	First     bool   `json:"first,omitempty"`   // the channels are axis 1 of the input, here and in the other framework

	// Of the layers in options.go.
	Axes      []int   `json:"axes,omitempty"`      // of normalizations and permutations
	Sizes     []int   `json:"sizes,omitempty"`     // of results that are resized, cells that are added or taken at ends, output padding
	Steps     int     `json:"steps,omitempty"`     // of the keys of attention, or how often vectors are repeated
	Mode      string  `json:"mode,omitempty"`      // of interpolation
	Antialias bool    `json:"antialias,omitempty"` // while resizing
	Backwards bool    `json:"backwards,omitempty"` // sequences are read from their ends
	Last      bool    `json:"last,omitempty"`      // of sequences only the last result
	Dropout   float64 `json:"dropout,omitempty"`   // fraction that is dropped in training
}

// cases lists what is measured. Images have batches of 16 so that operands do not fit into the second-level cache.
func cases() []spec {
	var list []spec
	add := func(s spec) { list = append(list, s) }
	for _, c := range []int{32, 64, 96, 7, 33} {
		add(spec{Key: "depthwise3x3-c" + strconv.Itoa(c), Kind: "depthwise", Input: []int{16, 32, 32, c}, Kernel: 3, Stride: 1})
	}
	add(spec{Key: "depthwise3x3-s2-c64", Kind: "depthwise", Input: []int{16, 32, 32, 64}, Kernel: 3, Stride: 2})
	add(spec{Key: "depthwise5x5-c64", Kind: "depthwise", Input: []int{16, 32, 32, 64}, Kernel: 5, Stride: 1})
	add(spec{Key: "depthwise3x3-m2-c32", Kind: "depthwise", Input: []int{16, 32, 32, 32}, Kernel: 3, Stride: 1, Filters: 2})
	conv := func(name string, input []int, filters, kernel, stride, dilation, groups int) {
		add(spec{Key: name, Kind: "conv", Input: input, Filters: filters, Kernel: kernel, Stride: stride, Dilation: dilation, Groups: groups})
	}
	for _, c := range []int{3, 5, 17, 33, 64} {
		conv("conv3x3-c"+strconv.Itoa(c), []int{16, 32, 32, c}, c, 3, 1, 1, 1)
	}
	conv("conv1x1-c64", []int{16, 32, 32, 64}, 64, 1, 1, 1, 1)
	conv("conv1x1-c33", []int{16, 32, 32, 33}, 33, 1, 1, 1, 1)
	conv("conv1x1-s2-c64", []int{16, 32, 32, 64}, 128, 1, 2, 1, 1)
	conv("conv5x5-c32", []int{16, 32, 32, 32}, 32, 5, 1, 1, 1)
	conv("conv7x7-s2-c3", []int{8, 112, 112, 3}, 64, 7, 2, 1, 1)
	conv("conv3x3-s2-c64", []int{16, 32, 32, 64}, 128, 3, 2, 1, 1)
	conv("conv3x3-d2-c64", []int{16, 32, 32, 64}, 64, 3, 1, 2, 1)
	conv("conv3x3-g4-c64", []int{16, 32, 32, 64}, 64, 3, 1, 1, 4)
	conv("conv3x3-b1-c64", []int{1, 32, 32, 64}, 64, 3, 1, 1, 1)
	conv("conv3x3-c64-to3", []int{16, 32, 32, 64}, 3, 3, 1, 1, 1)
	conv("conv5x5-c128-to20", []int{16, 16, 16, 128}, 20, 5, 1, 1, 1)
	conv("conv3x3-g4-c208-to20", []int{16, 8, 8, 208}, 20, 3, 1, 1, 4)
	conv("conv1x1-g16-c256", []int{16, 16, 16, 256}, 256, 1, 1, 1, 16)
	conv("conv1d3-c64", []int{16, 256, 64}, 64, 3, 1, 1, 1)
	conv("conv1d5-s2-c40", []int{16, 256, 40}, 100, 5, 2, 1, 1)
	conv("conv1d3-d4-c64", []int{16, 256, 64}, 64, 3, 1, 4, 1)
	conv("conv3d3-c16", []int{4, 16, 16, 16, 16}, 32, 3, 1, 1, 1)
	transpose := func(name string, input []int, filters, kernel, stride int) {
		add(spec{Key: name, Kind: "transpose", Input: input, Filters: filters, Kernel: kernel, Stride: stride})
	}
	transpose("transpose3x3-s2-c64", []int{16, 16, 16, 64}, 32, 3, 2)
	transpose("transpose4x4-s2-c64", []int{16, 16, 16, 64}, 32, 4, 2)
	transpose("transpose2x2-s2-c64", []int{16, 16, 16, 64}, 32, 2, 2)
	transpose("transpose5x5-s1-c17", []int{16, 16, 16, 17}, 33, 5, 1)
	transpose("transpose1d4-s2-c64", []int{16, 128, 64}, 32, 4, 2)
	for _, size := range []int{8, 16, 24, 48, 64, 80, 128} {
		add(spec{Key: "attention-t128-d" + strconv.Itoa(size), Kind: "attention", Input: []int{8, 128, 4, size}})
	}
	add(spec{Key: "attention-t50-d64", Kind: "attention", Input: []int{8, 50, 4, 64}})
	add(spec{Key: "attention-t300-d64", Kind: "attention", Input: []int{4, 300, 4, 64}})
	add(spec{Key: "attention-t300-d48-causal", Kind: "attention", Input: []int{4, 300, 4, 48}, Causal: true})
	add(spec{Key: "attention-t50-d24-causal", Kind: "attention", Input: []int{8, 50, 4, 24}, Causal: true})
	image := []int{16, 32, 32, 64}
	add(spec{Key: "groupnorm-g8-c64", Kind: "groupnorm", Input: image, Groups: 8})
	add(spec{Key: "groupnorm-g32-c64", Kind: "groupnorm", Input: image, Groups: 32})
	add(spec{Key: "instancenorm-c64", Kind: "groupnorm", Input: image, Groups: 64})
	add(spec{Key: "groupnorm-g3-c33", Kind: "groupnorm", Input: []int{16, 32, 32, 33}, Groups: 3})
	add(spec{Key: "batchnorm-c64", Kind: "batchnorm", Input: image})
	add(spec{Key: "batchnorm-c33", Kind: "batchnorm", Input: []int{16, 32, 32, 33}})
	for _, c := range []int{32, 100, 128, 768} {
		add(spec{Key: "layernorm-c" + strconv.Itoa(c), Kind: "layernorm", Input: []int{1 << 20 / c / 8 * 8, c}})
	}
	add(spec{Key: "maxpool3x3-s2-c64", Kind: "maxpool", Input: image, Kernel: 3, Stride: 2})
	add(spec{Key: "maxpool2x2-c7", Kind: "maxpool", Input: []int{16, 32, 32, 7}, Kernel: 2, Stride: 2})
	add(spec{Key: "avgpool3x3-s2-c64", Kind: "avgpool", Input: image, Kernel: 3, Stride: 2})
	add(spec{Key: "avgpool2x2-c64", Kind: "avgpool", Input: image, Kernel: 2, Stride: 2})
	add(spec{Key: "upsampling2x2-c64", Kind: "upsampling", Input: []int{16, 16, 16, 64}, Stride: 2})
	add(spec{Key: "upsampling2x2-c3", Kind: "upsampling", Input: []int{16, 64, 64, 3}, Stride: 2})
	add(spec{Key: "upsampling2x2-bilinear-c64", Kind: "upsampling", Input: []int{16, 16, 16, 64}, Stride: 2, Bilinear: true})
	add(spec{Key: "upsampling2x2x2-c16", Kind: "upsampling", Input: []int{4, 16, 16, 16, 16}, Stride: 2})
	add(spec{Key: "globalpool-c64", Kind: "globalpool", Input: image})
	add(spec{Key: "softmax-1000", Kind: "softmax", Input: []int{1024, 1000}})
	add(spec{Key: "softmax-10", Kind: "softmax", Input: []int{65536, 10}})
	add(spec{Key: "embedding-100kx64", Kind: "embedding", Input: []int{64, 50}, Rows: 100000, Filters: 64})
	add(spec{Key: "embedding-5kx300", Kind: "embedding", Input: []int{64, 50}, Rows: 5000, Filters: 300})
	add(spec{Key: "convlstm3x3-c16", Kind: "convlstm", Input: []int{4, 8, 16, 16, 16}, Filters: 16, Kernel: 3})
	add(spec{Key: "einsumdense-8x32", Kind: "einsumdense", Input: []int{8, 128, 256}, Heads: 8, Filters: 32})
	add(spec{Key: "bidirectional-64", Kind: "bidirectional", Input: []int{16, 32, 64}, Filters: 64})
	add(spec{Key: "mha-t128-8x32-masked", Kind: "mha", Input: []int{8, 128, 256}, Heads: 8, Filters: 32, Shared: 1, Masked: true})
	add(spec{Key: "gqa-t128-8x32-by4-causal", Kind: "gqa", Input: []int{8, 128, 256}, Heads: 8, Filters: 32, Shared: 4, Causal: true})
	perceptron := func(name string, batch int, double bool, widths ...int) {
		add(spec{Key: name, Kind: "mlp", Input: []int{batch, widths[0]}, Widths: widths[1:], Double: double})
	}
	perceptron("mlp-100", 64, false, 100, 100, 100, 10)
	perceptron("mlp-257", 64, false, 257, 257, 257, 10)
	perceptron("mlp-1000", 64, false, 1000, 1000, 1000, 10)
	perceptron("mlp-512-double", 64, true, 784, 512, 512, 10)
	perceptron("mlp-512-b1", 1, false, 784, 512, 512, 10)
	perceptron("mlp-512-b3", 3, false, 784, 512, 512, 10)
	add(spec{Key: "cnn-b1", Kind: "cnn", Input: []int{1, 28, 28, 1}})
	add(spec{Key: "cnn-b64-double", Kind: "cnn", Input: []int{64, 28, 28, 1}, Double: true})
	add(spec{Key: "conv3x3-c33-double", Kind: "conv", Input: []int{16, 32, 32, 33}, Filters: 33, Kernel: 3, Stride: 1, Dilation: 1, Groups: 1, Double: true})
	return list
}

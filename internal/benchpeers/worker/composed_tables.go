package main

import (
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// messages passes messages along the edges of graphs, each of which multiplies the states of its source by a matrix of
// its own.
func (c composer) messages() ([]*layers.KerasTensor, *layers.KerasTensor) {
	nodes, edges, width := c.between(8, 32), c.between(16, 64), pick(c.drawer, 16, 32, 48)
	features, of := keras.Input(keras.Shape(nodes, c.between(8, 32))), keras.Input(keras.Shape(edges, c.between(4, 12)))
	from, to := keras.Input(keras.Shape(edges), keras.DType("int32")), keras.Input(keras.Shape(edges), keras.DType("int32"))
	x := layers.Apply(&layers.Dense{Units: width}, features)
	matrices := layers.Op("reshape", layers.Apply(&layers.Dense{Units: width * width}, of), []int{-1, edges, width, width})
	sources, targets := layers.Op("one_hot", from, nodes), layers.Op("one_hot", to, nodes)
	for range c.between(1, 3) {
		sent := layers.Op("expand_dims", layers.Op("einsum", "ben,bnd->bed", sources, x), -1)
		sent = layers.Op("squeeze", layers.Op("matmul", matrices, sent), -1)
		got := layers.Op("einsum", "ben,bed->bnd", targets, sent)
		x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: width, Activation: c.activation()}, got))
	}
	x = layers.Apply(&layers.GlobalAveragePooling1D{}, x)
	return []*layers.KerasTensor{features, of, from, to}, layers.Apply(&layers.Dense{Units: 1, Activation: "sigmoid"}, x)
}

// selected weights the columns of a table, each of which has a small gated network of its own.
func (c composer) selected() (inputs []*layers.KerasTensor, y *layers.KerasTensor) {
	width := pick(c.drawer, 16, 20, 32)
	var columns []*layers.KerasTensor
	for range c.between(3, 12) {
		input := keras.Input(keras.Shape(1), keras.DType("int32"))
		inputs = append(inputs, input)
		row := layers.Apply(&layers.Embedding{InputDim: c.between(10, 100), OutputDim: width}, input)
		columns = append(columns, layers.Apply(&layers.Flatten{}, row))
	}
	for range c.between(2, 6) {
		input := keras.Input(keras.Shape(1))
		inputs, columns = append(inputs, input), append(columns, layers.Apply(&layers.Dense{Units: width}, input))
	}
	gated := func(x *layers.KerasTensor) *layers.KerasTensor {
		h := layers.Apply(&layers.Dense{Units: width}, layers.Apply(&layers.Dense{Units: width, Activation: "elu"}, x))
		h = layers.Apply(&layers.Dropout{Rate: 0.1}, h)
		h = layers.Op("multiply", layers.Apply(&layers.Dense{Units: width}, h), layers.Apply(&layers.Dense{Units: width, Activation: "sigmoid"}, h))
		if x.Shape()[1] != width {
			x = layers.Apply(&layers.Dense{Units: width}, x)
		}
		return layers.Apply(&layers.LayerNormalization{}, layers.Op("add", x, h))
	}
	weights := layers.Apply(&layers.Dense{Units: len(columns), Activation: "softmax"}, gated(layers.Apply(&layers.Concatenate{}, columns...)))
	for i := range columns {
		columns[i] = gated(columns[i])
	}
	all := layers.Op("stack", columns, layers.Keywords{"axis": 1})
	y = layers.Op("squeeze", layers.Op("matmul", layers.Op("expand_dims", weights, 1), all), 1)
	return inputs, layers.Apply(&layers.Dense{Units: 1, Activation: "sigmoid"}, y)
}

// experts sends each word to one of several networks, which take as many words of a text as they have room for.
func (c composer) experts() ([]*layers.KerasTensor, *layers.KerasTensor) {
	steps, width, count := pick(c.drawer, 32, 64), pick(c.drawer, 32, 64), c.between(4, 10)
	room := steps / count
	input := keras.Input(keras.Shape(steps), keras.DType("int32"))
	x := layers.Apply(&layers.Embedding{InputDim: 5000, OutputDim: width}, input)
	best := layers.OpAll("top_k", layers.Apply(&layers.Dense{Units: count, Activation: "softmax"}, x), layers.Keywords{"k": 1})
	chosen := layers.Op("one_hot", layers.Op("squeeze", best[1], -1), count)
	place := layers.Op("multiply", layers.Op("cumsum", chosen, layers.Keywords{"axis": 1}), chosen)
	chosen = layers.Op("multiply", chosen, layers.Op("cast", layers.Op("less", place, room), "float32"))
	places := layers.Op("one_hot", layers.Op("cast", layers.Op("sum", place, layers.Keywords{"axis": -1}), "int32"), room)
	sent := layers.Op("multiply", layers.Op("expand_dims", chosen, -1), layers.Op("expand_dims", places, 2))
	parts := layers.Op("einsum", "btd,btec->becd", x, sent)
	var outputs []*layers.KerasTensor
	for _, part := range layers.OpAll("unstack", parts, layers.Keywords{"axis": 1}) {
		outputs = append(outputs, layers.Apply(&layers.Dense{Units: width}, layers.Apply(&layers.Dense{Units: width, Activation: "relu"}, part)))
	}
	sent = layers.Op("multiply", sent, layers.Op("expand_dims", best[0], -1))
	y := layers.Op("einsum", "becd,btec->btd", layers.Op("stack", outputs, layers.Keywords{"axis": 1}), sent)
	x = layers.Apply(&layers.LayerNormalization{}, layers.Op("add", x, y))
	return alone(input), layers.Apply(&layers.Dense{Units: 2, Activation: "softmax"}, layers.Apply(&layers.GlobalAveragePooling1D{}, x))
}

// states carries states along a sequence, whose decay and inputs depend on each step, and reads them with weights of
// that step.
func (c composer) states() ([]*layers.KerasTensor, *layers.KerasTensor) {
	steps, width, count := pick(c.drawer, 48, 96), pick(c.drawer, 32, 64), pick(c.drawer, 8, 16)
	input := keras.Input(keras.Shape(steps, c.between(3, 32)))
	x := layers.Apply(&layers.Dense{Units: width}, input)
	for range c.between(1, 2) {
		u := layers.Apply(&layers.Conv1D{Filters: width, KernelSize: []int{4}, Padding: "causal", Groups: width, Activation: "silu"}, x)
		weights := func() *layers.KerasTensor {
			return layers.Apply(&layers.Dense{Units: count, NoBias: true}, u)
		}
		change := layers.Apply(&layers.Dense{Units: width, Activation: "softplus"}, u)
		decay := layers.Op("exp", layers.Op("multiply", layers.Op("cumsum", change, layers.Keywords{"axis": 1}), -0.01))
		decay = layers.Op("expand_dims", decay, -1)
		added := layers.Op("multiply", layers.Op("expand_dims", layers.Op("multiply", change, u), -1), layers.Op("expand_dims", weights(), 2))
		sums := layers.Op("cumsum", layers.Op("divide", added, decay), layers.Keywords{"axis": 1})
		y := layers.Op("einsum", "bldn,bln->bld", layers.Op("multiply", sums, decay), weights())
		x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: width}, layers.Op("add", y, u)))
	}
	return alone(input), layers.Apply(&layers.Dense{Units: 1}, layers.Apply(&layers.GlobalAveragePooling1D{}, x))
}

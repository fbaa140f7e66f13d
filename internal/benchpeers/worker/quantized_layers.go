package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// quantizedLayerKind is the kind of single layers that are measured in fewer bits.
const quantizedLayerKind = "quantized-layers"

// drawnQuantizedLayers are count layers that predict 1, 8 and 64 examples.
func drawnQuantizedLayers(first uint64, count int) []policyWork {
	var list []policyWork
	for i := range uint64(count) {
		for _, key := range []string{"1", "8", "64"} {
			list = append(list, policyWork{quantizedLayerKind + stepOf(key), fmt.Sprintf("%d %s", first+i, key), func() (*job, error) { return quantizedLayerJob(first+i, key) }})
		}
	}
	return list
}

// quantizedLayerJob predicts with a layer in the mode that policy names. Layers that follow each other are of all kinds
// in turn.
func quantizedLayerJob(number uint64, key string) (*job, error) {
	mode := policy
	defer func() { policy = mode }()
	policy = ""
	q := &quantizedDrawer{drawer: drawer{rand.New(rand.NewPCG(number, 20))}, mode: mode}
	q.block = pick(q.drawer, 32, 64, 128, 128, 256, -1)
	q.lora = q.IntN(8) == 0
	inputs, y, what := q.layer(int(number % quantizedLayers))
	if q.lora {
		what += " LoRA"
	}
	return q.job(number, key, inputs, y, what)
}

const quantizedLayers = 6

// layer draws one of a kind below quantizedLayers, of lengths from 16 to 4096 that are powers of two as often as not,
// and says what it is.
func (q *quantizedDrawer) layer(kind int) (input, y *layers.KerasTensor, what string) {
	d, apply := q.drawer, layers.Apply
	width := func(low, high float64) int {
		log := math.Log2(low) + math.Log2(high/low)*d.Float64()
		if d.IntN(2) == 0 {
			log = math.Round(log)
		}
		return int(math.Exp2(log))
	}
	steps := func() int { return width(2, 64) }
	activation := pick(d, "relu", "gelu", "")
	switch kind {
	case 0, 1:
		input = keras.Input(keras.Shape(width(16, 4096)))
		y = q.dense(width(16, 4096), activation, input)
	case 2:
		input = keras.Input(keras.Shape(steps(), width(16, 1024)))
		y = q.dense(width(16, 1024), activation, input)
	case 3:
		heads, size := pick(d, 2, 4, 8), pick(d, 8, 16, 32, 64)
		switch d.IntN(3) {
		case 0:
			input = keras.Input(keras.Shape(steps(), width(16, 1024)))
			y = q.einsum("abc,cde->abde", []int{layers.Unknown, heads, size}, pick(d, "", "de"), input)
			what = "abc,cde->abde "
		case 1:
			input = keras.Input(keras.Shape(steps(), heads, size))
			y = q.einsum("abcd,cde->abe", []int{layers.Unknown, width(16, 1024)}, pick(d, "", "e"), input)
			what = "abcd,cde->abe "
		default:
			input = keras.Input(keras.Shape(steps(), width(16, 512)))
			y = q.einsum("abc,cd->abd", []int{layers.Unknown, width(16, 512)}, pick(d, "", "d"), input)
			what = "abc,cd->abd "
		}
	case 4:
		input = keras.Input(keras.Shape(steps()), keras.DType("int32"))
		n := pick(d, 100, 1000, 10000)
		y = apply(&layers.Embedding{InputDim: n, OutputDim: width(16, 2048)}, input)
		what = fmt.Sprint("Embedding of ", n, " ")
	default:
		input = keras.Input(keras.Shape(steps(), width(16, 512)))
		table := &layers.ReversibleEmbedding{InputDim: pick(d, 100, 500, 2000), OutputDim: input.Shape()[2], UntiedWeights: d.IntN(3) == 0}
		y = table.ApplyReverse(input)
		what = fmt.Sprint("scores ", map[bool]string{true: "untied ", false: ""}[table.UntiedWeights])
	}
	return input, y, fmt.Sprint(what, input.Shape()[1:], " to ", y.Shape()[1:], " ", activation)
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// oneCase is what is measured under a name that peer.py has too.
type oneCase struct {
	name    string
	prepare func() error // beforehand; nil for nothing
	run     func() error
}

// numbers are values without a pattern that peer.py makes too.
func numbers(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i*7919%9973) / 97
	}
	return out
}

func cases(folder string) ([]oneCase, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "texts.txt"))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	words, ids, small := make([]string, 1000000), make([]int64, 1000000), make([]int64, 1000000)
	for i := range words {
		words[i], ids[i] = fmt.Sprintf("w%d", i*7919%30011), int64(i*7919%30011)
		small[i] = ids[i] % 64
	}
	x := numbers(20000 * 1280)
	list := layerCases(inputs{
		"texts":  {data.Must(data.Text(lines, len(lines))), "string", nil},
		"words":  {data.Must(data.Text(words, len(words), 1)), "string", []int{1}},
		"ids":    {data.Must(data.ArrayOf(ids, len(ids), 1)), "int64", []int{1}},
		"small":  {data.Must(data.ArrayOf(small, len(ids), 1)), "int64", []int{1}},
		"wide":   {data.Must(data.ArrayOf(x, 20000, 1280)), "float32", []int{1280}},
		"narrow": {data.Must(data.ArrayOf(x[:4000000], 1000000, 4)), "float32", []int{4}},
		"images": {data.Must(data.ArrayOf(x[:100*64*64*32], 3200, 64, 64)), "float32", []int{64, 64}},
	})
	return append(list, dataCases(folder, x)...), nil
}

// inputs are arrays with the type and the shape of one example, by their names.
type inputs map[string]struct {
	values data.Array
	dtype  string
	shape  []int
}

func layerCases(of inputs) []oneCase {
	var list []oneCase
	for _, c := range []struct {
		name, input string
		make        func() layers.Layer
	}{
		{"Normalization", "wide", func() layers.Layer { return &layers.Normalization{} }},
		{"Normalization, one mean", "wide", func() layers.Layer { return &layers.Normalization{Axis: []int{}} }},
		{"Normalization, axis 1", "images", func() layers.Layer { return &layers.Normalization{Axis: []int{1}} }},
		{"Discretization", "narrow", func() layers.Layer { return &layers.Discretization{NumBins: 20} }},
		{"TextVectorization", "texts", func() layers.Layer { return &layers.TextVectorization{MaxTokens: 20000, OutputSequenceLength: 200} }},
		{"TextVectorization, tf_idf", "texts", func() layers.Layer { return &layers.TextVectorization{MaxTokens: 1000, OutputMode: "tf_idf"} }},
		{"TextVectorization, pairs", "texts", func() layers.Layer {
			return &layers.TextVectorization{MaxTokens: 20000, NGrams: []int{2}, OutputSequenceLength: 200}
		}},
		{"TextVectorization, characters", "texts", func() layers.Layer {
			return &layers.TextVectorization{Split: "character", OutputSequenceLength: 200}
		}},
		{"StringLookup", "words", func() layers.Layer { return &layers.StringLookup{} }},
		{"StringLookup, multi_hot", "words", func() layers.Layer { return &layers.StringLookup{MaxTokens: 64, OutputMode: "multi_hot"} }},
		{"IntegerLookup", "ids", func() layers.Layer { return &layers.IntegerLookup{} }},
		{"Hashing", "words", func() layers.Layer { return &layers.Hashing{NumBins: 1000} }},
		{"CategoryEncoding", "small", func() layers.Layer { return &layers.CategoryEncoding{NumTokens: 64, OutputMode: "multi_hot"} }},
	} {
		x, l := of[c.input], c.make()
		adapt := func(l layers.Layer) error { return keras.Adapt(context.Background(), l, data.Arrays(x.values, nil)) }
		var model *keras.Model
		prepare := func() error {
			in := keras.Input(keras.Shape(x.shape...), keras.DType(x.dtype))
			if learns(l) {
				if err := adapt(l); err != nil {
					return err
				}
			}
			var err error
			model, err = keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(l, in)))
			return err
		}
		if learns(l) {
			list = append(list, oneCase{"adapt " + c.name, nil, func() error { return adapt(c.make()) }})
		}
		list = append(list, oneCase{"call " + c.name, prepare, func() error {
			for b, err := range data.Arrays(x.values, nil).Loader(1024, false, 0).Batches(context.Background(), 0) {
				if err != nil {
					return err
				}
				if _, err := model.PredictOnBatch(context.Background(), data.Arrays(b.X.Single(), nil)); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return list
}

// learns reports whether a layer is adapted to data.
func learns(l layers.Layer) bool {
	switch l.(type) {
	case layers.NumberAdapter, layers.TextAdapter:
		return true
	}
	return false
}

func dataCases(folder string, x []float32) []oneCase {
	read := func(ds data.Dataset, err error) error {
		if err != nil {
			return err
		}
		for _, err := range ds.Batches(context.Background(), 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	images := func(kind string, options ...data.ImageOption) func() error {
		return func() error {
			ds, err := data.ImageFolder(filepath.Join(folder, kind), 224, 224, append(options, data.ImagesInOrder())...)
			return read(ds, err)
		}
	}
	sequences := make([][]int32, 50000)
	for i := range sequences {
		sequences[i] = make([]int32, 20+i%200)
	}
	rows := data.Must(data.ArrayOf(x[:200000*32], 200000, 32))
	return []oneCase{
		{"JPEG files to 224 x 224", nil, images("jpg")},
		{"PNG files to 224 x 224", nil, images("png")},
		{"PNG files, bicubic", nil, images("png", data.ImageInterpolation(data.Bicubic))},
		{"PNG files, area", nil, images("png", data.ImageInterpolation(data.Area))},
		{"PNG files, lanczos3", nil, images("png", data.ImageInterpolation(data.Lanczos3))},
		{"PNG files, cropped", nil, images("png", data.CropToAspectRatio())},
		{"CSV of 100,000 x 20", nil, func() error { _, err := data.LoadCSV(filepath.Join(folder, "table.csv")); return err }},
		{"PadSequences of 50,000", nil, func() error { _, err := data.PadSequences(sequences); return err }},
		{"windows of a time series", nil, func() error {
			return read(data.TimeseriesDatasetFromArray(data.Must(data.ArrayOf(x[:200000*8], 200000, 8)), nil, 24), nil)
		}},
		{"arrays, shuffled, in batches", nil, func() error {
			return read(data.FromTensorSlices(rows, nil).Shuffle(10000, 1).Batch(64, false).Prefetch(2), nil)
		}},
		{"arrays, mapped, in batches", nil, func() error {
			same := func(_ context.Context, b data.Batch) (data.Batch, error) { return b, nil }
			return read(data.FromTensorSlices(rows, nil).Map(same).Batch(64, false), nil)
		}},
	}
}

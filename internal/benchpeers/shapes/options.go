package main

import (
	"math/rand/v2"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Layers with options that the other kinds leave alone: very few and very many channels, distances and output padding
// of transposed convolutions, recurrent layers that read backwards, masked or with dropout, attention between two
// sequences, normalization along any axis, resizing, large tables, and layers that only move or drop numbers.

// optionKinds are the kinds of such layers, each with how one is drawn.
var optionKinds = []struct {
	kind string
	draw func(r *rand.Rand) spec
}{
	{"extremechannels", func(r *rand.Rand) spec {
		s := anyWindow(r, "conv", 1+r.IntN(3), 5)
		few := func() int { return between(r, 1, 3) }
		many := func() int { return between(r, 700, 2500) }
		from, to := []func() int{few, few, many, many}, []func() int{many, few, few, many}
		k := r.IntN(4)
		s.Input[s.channelsAxis()], s.Filters, s.Groups = from[k](), to[k](), 1
		for i := range s.Windows {
			if s.Input[s.channelsAxis()]*s.Filters*ir.Shape(s.Windows).Size() > 8e6 {
				s.Windows[i] = 1
			}
		}
		s.Input[0] = between(r, 1, 33)
		return s.smaller()
	}},
	{"distanttranspose", func(r *rand.Rand) spec {
		s := anyWindow(r, "transpose", 1+r.IntN(3), 6)
		s.Filters, s.Sizes = between(r, 1, 128), make([]int, len(s.Windows))
		for i := range s.Strides {
			if s.Windows[i] = max(s.Windows[i], 2); r.IntN(2) == 0 { // Keras has either strides or distances, on all axes
				s.Windows[i]++
			}
			s.Strides[i], s.Dilations[i] = 1, 1
		}
		if r.IntN(3) == 0 {
			for i := range s.Dilations {
				s.Dilations[i] = 2 + r.IntN(2)
			}
		} else {
			for i := range s.Strides {
				s.Strides[i] = 2 + r.IntN(2)
				s.Sizes[i] = r.IntN(s.Strides[i])
			}
		}
		for s.Input[0] > 1 && ir.Shape(s.Input).Size()*ir.Shape(s.Strides).Size()*s.Filters/s.Input[s.channelsAxis()] > 8e6 {
			s.Input[0] /= 2
		}
		return s
	}},
	{"recurrent", func(r *rand.Rand) spec {
		s := recurrent(r, []string{"lstm", "gru", "simplernn", "bidirectional"}[r.IntN(4)])
		s.Masked, s.Last = r.IntN(2) == 0, r.IntN(2) == 0
		if s.Kind != "bidirectional" {
			s.Backwards = !s.Masked && r.IntN(2) == 0
		}
		if r.IntN(3) == 0 {
			s.Dropout = 0.1 * float64(1+r.IntN(5))
		}
		return s
	}},
	{"crossattention", func(r *rand.Rand) spec {
		s := heads(r, []string{"mha", "gqa"}[r.IntN(2)], 1)
		s.Shared, s.Causal, s.Steps = 1, false, between(r, 4, 512)
		if s.Kind == "gqa" {
			s.Shared = 1 << (1 + r.IntN(3))
			s.Heads = roundUp(s.Heads, s.Shared)
		}
		return s
	}},
	{"additive", func(r *rand.Rand) spec {
		return spec{Kind: "additive", Input: []int{between(r, 1, 16), between(r, 4, 128), between(r, 8, 256)}}
	}},
	{"anynorm", func(r *rand.Rand) spec {
		s := spec{Kind: []string{"axisbatchnorm", "axeslayernorm", "firstgroupnorm", "rms", "unit"}[r.IntN(5)], Input: images(r, 1+r.IntN(3), 3, 256)}
		rank := len(s.Input)
		switch s.Kind {
		case "axisbatchnorm":
			s.Axes = []int{1 + r.IntN(rank-1)}
		case "axeslayernorm":
			for k := 1 + r.IntN(rank-1); k < rank; k++ {
				s.Axes = append(s.Axes, k)
			}
		case "firstgroupnorm":
			last := s.Input[rank-1]
			s.Groups = 1 << r.IntN(6)
			s.Input = slices.Insert(s.Input[:rank-1:rank-1], 1, roundUp(last, s.Groups))
		default:
			s.Axes = []int{rank - 1}
		}
		return s.smaller()
	}},
	{"lookup", func(r *rand.Rand) spec {
		s := spec{Kind: "lookup", Input: []int{between(r, 1, 512), between(r, 1, 256)}, Rows: between(r, 100, 1000000), Filters: between(r, 1, 1024)}
		for s.Rows*s.Filters > 3e7 {
			s.Rows /= 2
		}
		for s.Input[0]*s.Input[1]*s.Filters > 8e6 {
			s.Input[0] = max(1, s.Input[0]/2)
			s.Filters = max(1, s.Filters/2)
		}
		return s
	}},
	{"resizing", func(r *rand.Rand) spec {
		s := spec{Kind: "resizing", Input: images(r, 2, 1, 64), Mode: []string{"nearest", "bilinear", "bicubic"}[r.IntN(3)]}
		side := s.Input[1]
		s.Sizes = []int{between(r, max(side/4, 1), 4*side), between(r, max(side/4, 1), 4*side)}
		s.Antialias = s.Mode != "nearest" && r.IntN(2) == 0
		for s.Input[0] > 1 && s.Input[0]*s.Sizes[0]*s.Sizes[1]*s.Input[3] > 8e6 {
			s.Input[0] /= 2
		}
		return s
	}},
	{"moves", func(r *rand.Rand) spec {
		s := spec{Kind: []string{"zeros", "crop", "permute", "repeat"}[r.IntN(4)], Input: images(r, 1+r.IntN(3), 1, 256)}
		switch axes := len(s.Input) - 2; s.Kind {
		case "zeros", "crop":
			for i := range axes {
				s.Sizes = append(s.Sizes, r.IntN(min(4, (s.Input[i+1]+1)/2)), r.IntN(min(4, (s.Input[i+1]+1)/2)))
			}
		case "permute":
			s.Axes = r.Perm(axes + 1)
			for i := range s.Axes {
				s.Axes[i]++
			}
		default:
			s.Input = []int{s.Input[0], s.Input[len(s.Input)-1]}
			s.Steps = between(r, 2, 512)
		}
		return s
	}},
	{"drops", func(r *rand.Rand) spec {
		return spec{Kind: []string{"dropout", "spatialdropout", "prelu"}[r.IntN(3)], Input: images(r, 2, 1, 256), Dropout: 0.1 * float64(1+r.IntN(8))}
	}},
}

// optionLayer returns the layer of a spec of these kinds; nil where it has another one.
func (s *spec) optionLayer() layers.Layer {
	switch s.Kind {
	case "lstm":
		return &layers.LSTM{Units: s.Filters, ReturnSequences: !s.Last, GoBackwards: s.Backwards, Dropout: s.Dropout}
	case "gru":
		return &layers.GRU{Units: s.Filters, ReturnSequences: !s.Last, GoBackwards: s.Backwards, Dropout: s.Dropout}
	case "simplernn":
		return &layers.SimpleRNN{Units: s.Filters, ReturnSequences: !s.Last, GoBackwards: s.Backwards, Dropout: s.Dropout}
	case "bidirectional":
		return &layers.Bidirectional{Layer: &layers.LSTM{Units: s.Filters, ReturnSequences: !s.Last, Dropout: s.Dropout}}
	case "additive":
		return &layers.AdditiveAttention{}
	case "axisbatchnorm":
		return &layers.BatchNormalization{Axis: s.Axes[0]}
	case "axeslayernorm":
		return &layers.LayerNormalization{Axis: s.Axes}
	case "firstgroupnorm":
		return &layers.GroupNormalization{Groups: s.Groups, Axis: 1}
	case "rms":
		return &layers.RMSNormalization{}
	case "unit":
		return &layers.UnitNormalization{}
	case "lookup":
		return &layers.Embedding{InputDim: s.Rows, OutputDim: s.Filters}
	case "resizing":
		return &layers.Resizing{Height: s.Sizes[0], Width: s.Sizes[1], Interpolation: layers.Interpolation(s.Mode), Antialias: s.Antialias}
	case "permute":
		return &layers.Permute{Dims: s.Axes}
	case "repeat":
		return &layers.RepeatVector{N: s.Steps}
	case "dropout":
		return &layers.Dropout{Rate: s.Dropout}
	case "spatialdropout":
		return &layers.SpatialDropout2D{Rate: s.Dropout}
	case "prelu":
		return &layers.PReLU{SharedAxes: []int{1, 2}}
	}
	return s.edgesLayer()
}

// edgesLayer returns a layer that adds or takes cells at the ends of axes; nil where it has another one.
func (s *spec) edgesLayer() layers.Layer {
	if s.Kind != "zeros" && s.Kind != "crop" {
		return nil
	}
	var pairs [][]int
	for i := 0; i < len(s.Sizes); i += 2 {
		pairs = append(pairs, s.Sizes[i:i+2])
	}
	zeros := s.Kind == "zeros"
	switch {
	case len(pairs) == 1 && zeros:
		return &layers.ZeroPadding1D{Padding: pairs[0]}
	case len(pairs) == 1:
		return &layers.Cropping1D{Cropping: pairs[0]}
	case len(pairs) == 2 && zeros:
		return &layers.ZeroPadding2D{Padding: pairs}
	case len(pairs) == 2:
		return &layers.Cropping2D{Cropping: pairs}
	case zeros:
		return &layers.ZeroPadding3D{Padding: pairs}
	}
	return &layers.Cropping3D{Cropping: pairs}
}

// optionCall calls such a layer with all its inputs.
func (s *spec) optionCall(l layers.Layer, c *layers.Context, in []*ops.Tensor) *ops.Tensor {
	x := in[0]
	switch {
	case s.Kind == "additive":
		return layers.Invoke(l, c, x, x)
	case s.Steps > 0 && len(in) > 1:
		return layers.Invoke(l, c, x, s.withMask(in[1]))
	}
	return layers.Invoke(l, c, s.withMask(x))
}

// withMask hides the ends of sequences if the spec is masked: those of the last one from half of it on.
func (s *spec) withMask(x *ops.Tensor) *ops.Tensor {
	if !s.Masked {
		return x
	}
	batch, steps := x.Dim(0), x.Dim(1)
	inside := make([]float64, batch*steps)
	for i := range inside {
		if i%steps < steps-(i/steps)*steps/(2*batch) {
			inside[i] = 1
		}
	}
	return x.WithMask(ops.Constant(x, ir.Bool, ir.Shape{batch, steps}, inside))
}

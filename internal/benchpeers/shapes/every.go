package main

import (
	"math/rand/v2"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Layers with windows of their own on each axis, strides and distances, images that are not square, other paddings and
// the channels in front: what the kinds in random.go leave out.

// everyShape are the kinds of such layers, each with how one is drawn.
var everyShape = []struct {
	kind string
	draw func(r *rand.Rand) spec
}{
	{"anyconv", func(r *rand.Rand) spec {
		s := anyWindow(r, "conv", 1+r.IntN(3), 7)
		s.Filters, s.Groups = between(r, 1, 512), 1
		if s.Padding == "valid" && len(s.Input) == 3 && r.IntN(2) == 0 {
			s.Padding, s.First = "causal", false
		}
		if r.IntN(4) == 0 {
			s.Groups = between(r, 2, 16)
			last := s.channelsAxis()
			s.Input[last], s.Filters = roundUp(s.Input[last], s.Groups), roundUp(s.Filters, s.Groups)
		}
		return s
	}},
	{"anydepthwise", func(r *rand.Rand) spec {
		s := anyWindow(r, "depthwise", 1+r.IntN(2), 9)
		s.Filters = 1 + r.IntN(6)/5
		return s
	}},
	{"anyseparable", func(r *rand.Rand) spec {
		s := anyWindow(r, "separable", 1+r.IntN(2), 7)
		s.Filters = between(r, 1, 512)
		return s
	}},
	{"anytranspose", func(r *rand.Rand) spec {
		s := anyWindow(r, "transpose", 1+r.IntN(3), 6)
		s.Filters, s.Dilations = between(r, 1, 256), nil
		for i := range s.Strides {
			s.Windows[i] = max(s.Windows[i], 2)
			s.Strides[i] = 1 + r.IntN(min(s.Windows[i], 3))
		}
		return s
	}},
	{"anypool", func(r *rand.Rand) spec {
		s := anyWindow(r, []string{"maxpool", "avgpool"}[r.IntN(2)], 1+r.IntN(3), 7)
		s.Dilations = nil
		for i := range s.Strides {
			s.Windows[i] = max(s.Windows[i], 2)
			s.Strides[i] = 1 + r.IntN(s.Windows[i])
		}
		return s
	}},
	{"anyglobal", func(r *rand.Rand) spec {
		s := anyWindow(r, []string{"globalmax", "globalavg"}[r.IntN(2)], 1+r.IntN(3), 1)
		s.Dilations, s.Strides = nil, nil
		return s
	}},
	{"anyfew", func(r *rand.Rand) spec { // pooling of few channels, often over long windows
		s := anyWindow(r, []string{"maxpool", "avgpool"}[r.IntN(2)], 1+r.IntN(3), 7)
		s.Input[s.channelsAxis()], s.Dilations = between(r, 1, 8), nil
		if len(s.Windows) == 1 {
			s.Windows[0] = min(between(r, 2, 256), s.spatial()[0])
		}
		for i := range s.Strides {
			s.Windows[i] = max(s.Windows[i], 2)
			s.Strides[i] = 1 + r.IntN(s.Windows[i])
		}
		return s.larger()
	}},
	{"anyadaptive", func(r *rand.Rand) spec {
		s := anyWindow(r, []string{"adaptivemax", "adaptiveavg"}[r.IntN(2)], 1+r.IntN(3), 1)
		s.Dilations, s.Strides = nil, nil
		for i, n := range s.spatial() {
			s.Windows[i] = between(r, 1, n)
		}
		return s
	}},
	{"anyupsampling", func(r *rand.Rand) spec {
		s := anyWindow(r, "upsampling", 1+r.IntN(3), 1)
		s.Dilations, s.Strides = nil, nil
		for i := range s.Windows {
			s.Windows[i] = 1 + r.IntN(4)
		}
		s.Bilinear = len(s.Windows) == 2 && r.IntN(2) == 0
		s.First = s.First && len(s.Windows) > 1 // UpSampling1D has no such argument
		for _, axis := range []int{0, s.channelsAxis()} {
			for s.Input[axis] > 1 && ir.Shape(s.Input).Size()*ir.Shape(s.Windows).Size() > 8e6 {
				s.Input[axis] /= 2
			}
		}
		return s
	}},
	{"anygroups", func(r *rand.Rand) spec {
		s := anyWindow(r, "conv", 1+r.IntN(3), 6)
		s.Groups = between(r, 2, 32)
		s.Input[s.channelsAxis()], s.Filters = s.Groups*between(r, 1, 32), s.Groups*between(r, 1, 64)
		return s.smaller()
	}},
	{"anylong", func(r *rand.Rand) spec { // long sums with few results, of which none fills a vector
		s := anyWindow(r, "conv", 1+r.IntN(3), 7)
		s.Groups = 1 + r.IntN(2)*between(r, 1, 16)
		s.Input[s.channelsAxis()], s.Filters = s.Groups*between(r, 8, 256), s.Groups*between(r, 1, 7)
		return s.smaller()
	}},
	{"anyedge", func(r *rand.Rand) spec { // the first layer of a network of images, or the last of one that makes them
		s := anyWindow(r, "conv", 1+r.IntN(2), 7)
		s.Groups = 1
		few, many := 1+r.IntN(4), between(r, 4, 256)
		if r.IntN(2) == 0 {
			few, many = many, few
		}
		s.Input[s.channelsAxis()], s.Filters = few, many
		return s.smaller()
	}},
	{"anyfirst", func(r *rand.Rand) spec { // the channels in front, half of them with a window of one
		s := anyWindow(r, "conv", 1+r.IntN(3), 5)
		if s.Filters, s.Groups = between(r, 1, 512), 1; r.IntN(4) == 0 {
			s.Groups = between(r, 2, 16)
		}
		channels, last := roundUp(s.Input[s.channelsAxis()], s.Groups), s.channelsAxis()
		s.Input, s.Filters = slices.Insert(slices.Delete(s.Input, last, last+1), 1, channels), roundUp(s.Filters, s.Groups)
		if s.First = true; r.IntN(2) == 0 {
			for i := range s.Windows {
				s.Windows[i] = 1
			}
		}
		return s.smaller()
	}},
}

// anyWindow draws a layer with a window of at most the given length on each axis.
func anyWindow(r *rand.Rand, kind string, axes, longest int) spec {
	s := spec{Kind: kind, Padding: []string{"same", "valid"}[r.IntN(2)], First: r.IntN(6) == 0}
	channels, batch, numbers := between(r, 1, 512), between(r, 1, 64), 1
	var sides []int
	side := between(r, 4, map[int]int{1: 4096, 2: 224, 3: 32}[axes])
	window, stride, dilation := 1+r.IntN(longest), 1+r.IntN(3)/2*(1+r.IntN(3)), 1+r.IntN(4)/3*(1+r.IntN(3))
	own := r.IntN(3) == 0 // each axis is drawn for itself
	for range axes {
		if own {
			side, window = min(between(r, max(side/2, 4), 2*side), 4096), 1+r.IntN(longest)
		}
		if kind == "conv" || kind == "separable" || kind == "depthwise" { // Keras has either strides or distances
			if stride > 1 {
				dilation = 1
			}
		}
		size := max(side, (window-1)*dilation+1)
		sides = append(sides, size)
		numbers *= size
		s.Windows, s.Strides, s.Dilations = append(s.Windows, window), append(s.Strides, stride), append(s.Dilations, dilation)
	}
	for batch > 1 && batch*channels*numbers > 4e6 {
		batch /= 2
	}
	s.Input = append([]int{batch}, sides...)
	if s.First {
		s.Input = append([]int{batch, channels}, sides...)
	} else {
		s.Input = append(s.Input, channels)
	}
	return s
}

// smaller takes fewer examples where there are too many numbers.
func (s spec) smaller() spec {
	for s.Input[0] > 1 && ir.Shape(s.Input).Size() > 4e6 {
		s.Input[0] /= 2
	}
	return s
}

// larger takes more examples where there are few numbers.
func (s spec) larger() spec {
	for s.Input[0] < 64 && ir.Shape(s.Input).Size() < 1e5 {
		s.Input[0] *= 2
	}
	return s
}

// spatial returns the lengths of the axes that are neither the batch's nor the channels'.
func (s *spec) spatial() []int {
	if s.First {
		return s.Input[2:]
	}
	return s.Input[1 : len(s.Input)-1]
}

// channelsAxis is the axis of the input that has its channels.
func (s *spec) channelsAxis() int {
	if s.First {
		return 1
	}
	return len(s.Input) - 1
}

// anyLayer returns the layer of a spec with windows of its own on each axis; nil where there is none.
func (s *spec) anyLayer() layers.Layer {
	axes := len(s.Input) - 2
	padding, format := layers.Padding(s.Padding), layers.ChannelsLast
	if s.First {
		format = layers.ChannelsFirst
	}
	switch s.Kind {
	case "conv":
		switch axes {
		case 1:
			return &layers.Conv1D{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Groups: s.Groups, Padding: padding, DataFormat: format}
		case 2:
			return &layers.Conv2D{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Groups: s.Groups, Padding: padding, DataFormat: format}
		}
		return &layers.Conv3D{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Groups: s.Groups, Padding: padding, DataFormat: format}
	case "depthwise":
		if axes == 1 {
			return &layers.DepthwiseConv1D{KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Padding: padding, DepthMultiplier: s.Filters, DataFormat: format}
		}
		return &layers.DepthwiseConv2D{KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Padding: padding, DepthMultiplier: s.Filters, DataFormat: format}
	case "separable":
		if axes == 1 {
			return &layers.SeparableConv1D{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Padding: padding, DataFormat: format}
		}
		return &layers.SeparableConv2D{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, Padding: padding, DataFormat: format}
	case "transpose":
		switch axes {
		case 1:
			return &layers.Conv1DTranspose{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, OutputPadding: s.Sizes, Padding: padding, DataFormat: format}
		case 2:
			return &layers.Conv2DTranspose{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, OutputPadding: s.Sizes, Padding: padding, DataFormat: format}
		}
		return &layers.Conv3DTranspose{Filters: s.Filters, KernelSize: s.Windows, Strides: s.Strides, DilationRate: s.Dilations, OutputPadding: s.Sizes, Padding: padding, DataFormat: format}
	}
	return s.anyPooling(axes, padding, format)
}

func (s *spec) anyPooling(axes int, padding layers.Padding, format layers.DataFormat) layers.Layer {
	list := map[string][]layers.Layer{
		"adaptivemax": {&layers.AdaptiveMaxPooling1D{OutputSize: s.Windows, DataFormat: format},
			&layers.AdaptiveMaxPooling2D{OutputSize: s.Windows, DataFormat: format}, &layers.AdaptiveMaxPooling3D{OutputSize: s.Windows, DataFormat: format}},
		"adaptiveavg": {&layers.AdaptiveAveragePooling1D{OutputSize: s.Windows, DataFormat: format},
			&layers.AdaptiveAveragePooling2D{OutputSize: s.Windows, DataFormat: format}, &layers.AdaptiveAveragePooling3D{OutputSize: s.Windows, DataFormat: format}},
		"upsampling": {&layers.UpSampling1D{Size: s.Windows[0]},
			&layers.UpSampling2D{Size: s.Windows, DataFormat: format, Interpolation: map[bool]layers.Interpolation{true: layers.Bilinear}[s.Bilinear]},
			&layers.UpSampling3D{Size: s.Windows, DataFormat: format}},
		"maxpool": {&layers.MaxPooling1D{PoolSize: s.Windows, Strides: s.Strides, Padding: padding, DataFormat: format},
			&layers.MaxPooling2D{PoolSize: s.Windows, Strides: s.Strides, Padding: padding, DataFormat: format},
			&layers.MaxPooling3D{PoolSize: s.Windows, Strides: s.Strides, Padding: padding, DataFormat: format}},
		"avgpool": {&layers.AveragePooling1D{PoolSize: s.Windows, Strides: s.Strides, Padding: padding, DataFormat: format},
			&layers.AveragePooling2D{PoolSize: s.Windows, Strides: s.Strides, Padding: padding, DataFormat: format},
			&layers.AveragePooling3D{PoolSize: s.Windows, Strides: s.Strides, Padding: padding, DataFormat: format}},
		"globalmax": {&layers.GlobalMaxPooling1D{DataFormat: format}, &layers.GlobalMaxPooling2D{DataFormat: format}, &layers.GlobalMaxPooling3D{DataFormat: format}},
		"globalavg": {&layers.GlobalAveragePooling1D{DataFormat: format}, &layers.GlobalAveragePooling2D{DataFormat: format}, &layers.GlobalAveragePooling3D{DataFormat: format}},
	}[s.Kind]
	if list == nil {
		return nil
	}
	return list[axes-1]
}

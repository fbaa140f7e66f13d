package layers_test

import (
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/layertest"
)

// smallInts are integers from 0 to 3.
var smallInts = []opstest.Array{opstest.Ints([]int{2, 3}, 1, 0, 3, 2, 2, 0)}

// repeats are layers that do the same in each training step, with these settings or always; stepped are piecewise
// constant, with no slope.
var (
	repeats = map[string]bool{"ContrastLimitedAdaptiveHistogramEqualization": true, "RandomCrop": true, "Equalization": true, "AutoContrast": true}
	stepped = map[string]bool{"ContrastLimitedAdaptiveHistogramEqualization": true, "Equalization": true, "RandomPosterization": true, "RandAugment": true, "AugMix": true}
)

func init() {
	byName := map[string][]layertest.Case{
		"CategoryEncoding": {
			{New: func() layers.Layer { return &layers.CategoryEncoding{NumTokens: 4} }, Inputs: smallInts, Output: []int{2, 4}, NotCast: true},
			{New: func() layers.Layer { return &layers.CategoryEncoding{NumTokens: 4, OutputMode: layers.OneHotMode} }, Inputs: smallInts, Output: []int{2, 3, 4}, NotCast: true},
		},
		"Discretization": {
			{New: func() layers.Layer { return &layers.Discretization{BinBoundaries: []float64{-0.5, 0.5}} }, Inputs: normal(2, 3), Output: []int{2, 3}, NotCast: true},
			{New: func() layers.Layer {
				return &layers.Discretization{BinBoundaries: []float64{0}, OutputMode: layers.CountMode}
			}, Inputs: normal(2, 3), Output: []int{2, 2}},
		},
		"IntegerLookup": {
			{New: func() layers.Layer { return &layers.IntegerLookup{Vocabulary: []int{3, 1, 7}, MaskToken: new(0)} }, Inputs: smallInts, Output: []int{2, 3}, NotCast: true},
			{New: func() layers.Layer {
				return &layers.IntegerLookup{Vocabulary: []int{3, 1}, IDFWeights: []float64{0.5, 2}, OutputMode: layers.TFIDFMode}
			}, Inputs: smallInts, Output: []int{2, 3}, NotCast: true},
		},
		"Resizing": {
			{New: func() layers.Layer { return &layers.Resizing{Height: 3, Width: 5} }, Inputs: normal(2, 4, 3, 2), Output: []int{2, 3, 5, 2}},
			{New: func() layers.Layer {
				return &layers.Resizing{Height: 2, Width: 2, Interpolation: "lanczos3", Antialias: true, DataFormat: layers.ChannelsFirst}
			}, Inputs: normal(2, 1, 6, 5), Output: []int{2, 1, 2, 2}},
		},
		"Pipeline": {
			{New: func() layers.Layer {
				return &layers.Pipeline{Layers: []layers.Layer{&layers.Rescaling{Scale: []float64{2}}, &layers.Dense{Units: 3}, &layers.Dense{Units: 2}}}
			}, Inputs: normal(2, 4), Output: []int{2, 2}, Weights: 4, Trainable: 4},
		},
		"STFTSpectrogram": {
			{New: func() layers.Layer { return &layers.STFTSpectrogram{FrameLength: 4, Mode: "stft"} }, Inputs: normal(2, 9, 2), Output: []int{2, 3, 12}, Weights: 2, Trainable: 2},
			{New: func() layers.Layer {
				return &layers.STFTSpectrogram{FrameLength: 5, FrameStep: new(2), Mode: "real", Padding: "same", Scaling: "none", Window: "hamming", Periodic: true, ExpandDims: true, DataFormat: layers.ChannelsFirst}
			}, Inputs: normal(2, 3, 7), Output: []int{2, 3, 4, 5}, Weights: 1, Trainable: 1},
		},
		"MelSpectrogram": {
			{New: func() layers.Layer {
				return &layers.MelSpectrogram{FFTLength: 8, SequenceStride: 4, NumMelBins: 2, SamplingRate: 100}
			}, Inputs: normal(2, 20), Output: []int{2, 2, 6}},
			{New: func() layers.Layer {
				return &layers.MelSpectrogram{FFTLength: 9, SequenceStride: 4, SequenceLength: 6, Window: "hamming", NumMelBins: 3, SamplingRate: 100, NoPowerToDB: true}
			}, Inputs: normal(2, 20), Output: []int{2, 3, 5}},
			{New: func() layers.Layer { // computed by transforms, which shorter pieces are not
				return &layers.MelSpectrogram{FFTLength: 32, SequenceStride: 16, NumMelBins: 2, SamplingRate: 100, NoPowerToDB: true}
			}, Inputs: normal(1, 40), Output: []int{1, 2, 3}},
		},
		"CenterCrop": {{New: func() layers.Layer { return &layers.CenterCrop{Height: 2, Width: 3} }, Inputs: normal(2, 4, 5, 2), Output: []int{2, 2, 3, 2}}},
	}
	for name, l := range map[string]func() layers.Layer{
		"RandomFlip":     func() layers.Layer { return &layers.RandomFlip{Seed: new(1)} },
		"RandomRotation": func() layers.Layer { return &layers.RandomRotation{Factor: []float64{0.3}} },
		"RandomZoom":     func() layers.Layer { return &layers.RandomZoom{HeightFactor: []float64{0.3}} },
		"RandomTranslation": func() layers.Layer {
			return &layers.RandomTranslation{HeightFactor: []float64{0.3}, WidthFactor: []float64{0.3}}
		},
		"RandomContrast": func() layers.Layer {
			return &layers.RandomContrast{Factor: []float64{0.3}, ValueRange: []float64{-90, 90}}
		},
		"RandomBrightness": func() layers.Layer {
			return &layers.RandomBrightness{Factor: []float64{0.3}, ValueRange: []float64{-90, 90}}
		},
		"RandomGrayscale":  func() layers.Layer { return &layers.RandomGrayscale{Seed: new(3)} },
		"RandomInvert":     func() layers.Layer { return &layers.RandomInvert{Factor: []float64{0.5, 0.5}, Seed: new(1)} },
		"RandomSaturation": func() layers.Layer { return &layers.RandomSaturation{Factor: []float64{0.1, 0.4}} },
		"RandomHue":        func() layers.Layer { return &layers.RandomHue{Factor: []float64{0.3}, ValueRange: []float64{-90, 90}} },
		"RandomSharpness": func() layers.Layer {
			return &layers.RandomSharpness{Factor: []float64{0.3}, ValueRange: []float64{-90, 90}}
		},
		"RandomShear": func() layers.Layer { return &layers.RandomShear{XFactor: []float64{0.3}} },
		"RandomColorDegeneration": func() layers.Layer {
			return &layers.RandomColorDegeneration{Factor: []float64{0.3}, ValueRange: []float64{-90, 90}}
		},
		"Solarization": func() layers.Layer {
			return &layers.Solarization{AdditionFactor: []float64{0.3}, ValueRange: []float64{-90, 90}}
		},
		"RandomPosterization": func() layers.Layer {
			return &layers.RandomPosterization{Factor: []int{2, 4}, ValueRange: []float64{-9, 9}}
		},
		"RandomErasing": func() layers.Layer { return &layers.RandomErasing{Factor: []float64{1, 1}, Scale: []float64{0.5, 0.9}} },
		"RandomGaussianBlur": func() layers.Layer {
			return &layers.RandomGaussianBlur{Factor: []float64{1, 1}, Sigma: []float64{0.5, 2}, ValueRange: []float64{-90, 90}}
		},
		"RandomColorJitter": func() layers.Layer {
			return &layers.RandomColorJitter{BrightnessFactor: []float64{0.2}, HueFactor: []float64{0.2}, ValueRange: []float64{-90, 90}}
		},
		"Equalization": func() layers.Layer { return &layers.Equalization{ValueRange: []float64{-9, 9}} },
		"MixUp":        func() layers.Layer { return &layers.MixUp{Alpha: new(0.8), Seed: new(3)} },
		"CutMix":       func() layers.Layer { return &layers.CutMix{Factor: []float64{0.9, 1}, Seed: new(2)} },
		"RandAugment": func() layers.Layer {
			return &layers.RandAugment{NumOps: 3, Factor: []float64{0.4}, ValueRange: []float64{-9, 9}, Seed: new(1)}
		},
		"AugMix": func() layers.Layer {
			return &layers.AugMix{NumChains: 2, ChainDepth: 2, Factor: []float64{0.2, 0.4}, ValueRange: []float64{-9, 9}}
		},
		"RandomPerspective": func() layers.Layer {
			return &layers.RandomPerspective{Factor: []float64{1, 1}, Scale: new(0.6), FillValue: 0.5}
		},
		"RandomElasticTransform": func() layers.Layer {
			return &layers.RandomElasticTransform{Factor: []float64{1, 1}, Scale: []float64{0.5}, ValueRange: []float64{-90, 90}}
		},
		"AutoContrast": func() layers.Layer { return &layers.AutoContrast{} },
		"ContrastLimitedAdaptiveHistogramEqualization": func() layers.Layer {
			return &layers.ContrastLimitedAdaptiveHistogramEqualization{TileGridSize: []int{2, 3}, ValueRange: []float64{-9, 9}, ClipLimit: 0.5}
		},
		"RandomCrop": func() layers.Layer { return &layers.RandomCrop{Height: 4, Width: 5} },
	} {
		byName[name] = []layertest.Case{{New: l, Inputs: normal(2, 4, 5, 3), Output: []int{2, 4, 5, 3}, Random: !repeats[name], NoGradient: stepped[name], NotCast: name == "RandomCrop"}}
	}
	images := normal(2, 4, 5, 3)
	byName["MixUp"] = append(byName["MixUp"], layertest.Case{
		New:    func() layers.Layer { return &layers.MixUp{Seed: new(1)} },
		Inputs: several(images, normal(2, 3), normal(2, 4, 5, 1)), Output: []int{2, 4, 5, 3}, Random: true, NotCast: true,
	})
	byName["CutMix"] = append(byName["CutMix"], layertest.Case{
		New:    func() layers.Layer { return &layers.CutMix{Factor: []float64{1, 1}} },
		Inputs: several(images, normal(2, 3), normal(2, 4, 5, 1)), Output: []int{2, 4, 5, 3}, Random: true, NotCast: true,
	})
	byName["MaxNumBoundingBoxes"] = []layertest.Case{{
		New:    func() layers.Layer { return &layers.MaxNumBoundingBoxes{MaxNumber: 3, BoundingBoxFormat: "xyxy"} },
		Inputs: images, Output: []int{2, 4, 5, 3},
	}}
	for name, cases := range byName {
		conformance[name] = cases
	}
}

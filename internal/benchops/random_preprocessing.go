package main

import (
	"math/rand/v2"
	"regexp"
)

// Random layers of data pipelines, and others whose operands have shapes of their own.

// inTraining matches the layers that compute something else in training.
var inTraining = regexp.MustCompile(`^(Random|AutoContrast|Equalization|Solarization|BatchNormalization)`)

// shapedLayer is a family whose operands have shapes of their own.
type shapedLayer struct {
	drawnLayer
	shape func(r *rand.Rand, n int) []int
}

// shapedLayers are families beside drawnLayers.
var shapedLayers = []shapedLayer{
	{drawnLayer{"RandomRotation", 0, warp("factor")}, thumbnails},
	{drawnLayer{"RandomPerspective", 0, func(r *rand.Rand, _ []int) settings {
		return settings{"interpolation": pick(r, "bilinear", "nearest")}
	}}, thumbnails},
	{drawnLayer{"RandomZoom", 0, warp("height_factor")}, thumbnails},
	{drawnLayer{"RandomTranslation", 0, warp("height_factor", "width_factor")}, thumbnails},
	{drawnLayer{"RandomShear", 0, warp("x_factor", "y_factor")}, thumbnails},
	{drawnLayer{"RandomHue RandomSaturation", 0, ofValues}, colorThumbnails},
	{drawnLayer{"RandomBrightness RandomContrast RandomSharpness RandomColorDegeneration", 0, ofValues}, thumbnails},
	{drawnLayer{"RandomGaussianBlur RandomErasing RandomInvert RandomGrayscale", 0, func(*rand.Rand, []int) settings { return settings{"factor": 0.5} }}, thumbnails},
	{drawnLayer{"RandomPosterization", 0, func(r *rand.Rand, _ []int) settings { return settings{"factor": 1 + r.IntN(8)} }}, thumbnails},
	{drawnLayer{"RandomCrop", 0, func(r *rand.Rand, s []int) settings {
		return settings{"height": 1 + r.IntN(s[1]), "width": 1 + r.IntN(s[2])}
	}}, thumbnails},
	{drawnLayer{"RandomFlip", 0, func(r *rand.Rand, _ []int) settings {
		return settings{"mode": pick(r, "horizontal", "vertical", "horizontal_and_vertical")}
	}}, thumbnails},
	{drawnLayer{"AutoContrast Equalization Solarization RandomElasticTransform", 0, func(*rand.Rand, []int) settings { return settings{"value_range": []int{0, 1}} }}, thumbnails},
	{drawnLayer{"Resizing", 0, func(r *rand.Rand, s []int) settings {
		return settings{"height": 1 + r.IntN(2*s[1]), "width": 1 + r.IntN(2*s[2]), "interpolation": pick(r, "bilinear", "bicubic", "lanczos3", "lanczos5")}
	}}, thumbnails},
	{drawnLayer{"Discretization", -1, func(r *rand.Rand, _ []int) settings {
		bins := make([]float64, pick(r, 1, 3, 7, 16, 40))
		for i := range bins {
			bins[i] = float64(2*i-len(bins)) / float64(len(bins)+1)
		}
		return settings{"bin_boundaries": bins}
	}}, anyShape},
	{drawnLayer{"Discretization", 0, func(r *rand.Rand, _ []int) settings {
		return settings{"bin_boundaries": []float64{-0.5, 0, 0.5}, "output_mode": pick(r, "one_hot", "multi_hot", "count")}
	}}, columns},
	{drawnLayer{"GroupNormalization", -1, func(r *rand.Rand, s []int) settings {
		axis := 1 + r.IntN(len(s)-1)
		return settings{"groups": divisor(r, s[axis]), "axis": axis, "scale": r.IntN(4) > 0}
	}}, anyShape},
	{drawnLayer{"BatchNormalization", -1, someAxis}, anyShape},
	{drawnLayer{"Normalization", -1, func(r *rand.Rand, _ []int) settings {
		return settings{"axis": nil, "mean": 0.1, "variance": 0.5, "invert": r.IntN(2) == 0}
	}}, anyShape},
	{drawnLayer{"UpSampling2D", 0, func(r *rand.Rand, _ []int) settings {
		return settings{"size": 2 + r.IntN(3), "interpolation": pick(r, "nearest", "bilinear", "bicubic"), "data_format": pick(r, "channels_first", "channels_last")}
	}}, pictures3},
	{drawnLayer{"MaxPooling2D AveragePooling2D", 0, func(r *rand.Rand, s []int) settings {
		c := pooling(2)(r, s)
		c["data_format"] = pick(r, "channels_first", "channels_last")
		return c
	}}, pictures3},
	{drawnLayer{"ZeroPadding2D", 0, func(r *rand.Rand, _ []int) settings {
		return settings{"padding": [][]int{{r.IntN(3), r.IntN(3)}, {r.IntN(3), 1}}, "data_format": pick(r, "channels_first", "channels_last")}
	}}, pictures3},
	{drawnLayer{"Cropping2D", 0, func(r *rand.Rand, s []int) settings {
		return settings{"cropping": [][]int{{r.IntN(2), r.IntN(2)}, {1, r.IntN(2)}}, "data_format": pick(r, "channels_first", "channels_last")}
	}}, pictures3},
	{drawnLayer{"STFTSpectrogram", 0, func(r *rand.Rand, _ []int) settings {
		frame := pick(r, 64, 100, 256, 400)
		return settings{"frame_length": frame, "frame_step": frame / pick(r, 1, 2, 4), "mode": pick(r, "log", "magnitude", "psd", "real", "imag", "angle")}
	}}, func(_ *rand.Rand, n int) []int { return []int{max(n/4096, 1), 4096, 1} }},
	{drawnLayer{"MelSpectrogram", 0, func(r *rand.Rand, _ []int) settings {
		frame := pick(r, 128, 256, 512)
		return settings{"fft_length": frame, "sequence_stride": frame / pick(r, 1, 2, 4), "num_mel_bins": pick(r, 20, 64, 128), "power_to_db": r.IntN(2) == 0}
	}}, func(_ *rand.Rand, n int) []int { return []int{max(n/4096, 1), 4096} }},
	{drawnLayer{"MultiHeadAttention", 0, func(r *rand.Rand, _ []int) settings {
		return settings{"num_heads": pick(r, 1, 2, 8), "key_dim": pick(r, 1, 4, 8, 64)}
	}}, func(r *rand.Rand, n int) []int { return []int{max(n/(32*32), 1), pick(r, 7, 32), 32} }},
}

// warp configures layers that move pixels, by amounts of the given keys.
func warp(factors ...string) func(*rand.Rand, []int) settings {
	return func(r *rand.Rand, _ []int) settings {
		c := settings{"interpolation": pick(r, "bilinear", "nearest"), "fill_mode": pick(r, "reflect", "constant", "wrap", "nearest")}
		for _, f := range factors {
			c[f] = 0.2
		}
		return c
	}
}

func ofValues(r *rand.Rand, _ []int) settings {
	return settings{"factor": 0.3, "value_range": pick(r, []int{0, 1}, []int{0, 255})}
}

func colorThumbnails(r *rand.Rand, n int) []int {
	s := thumbnails(r, n)
	s[3] = 3
	return s
}

// thumbnails are small pictures of one or three channels.
func thumbnails(r *rand.Rand, n int) []int {
	height, width, channels := pick(r, 8, 16, 24, 32, 33), pick(r, 8, 16, 28, 32), pick(r, 3, 3, 1)
	if n < 1<<12 {
		height = 8
	}
	return []int{max(n/(height*width*channels), 1), height, width, channels}
}

// pictures3 are pictures of any number of channels, which may come first.
func pictures3(r *rand.Rand, n int) []int {
	a, b, c := pick(r, 3, 4, 7, 16, 32), pick(r, 8, 16, 20), pick(r, 3, 4, 7, 16, 64)
	return []int{max(n/(a*b*c), 1), a, b, c}
}

func columns(_ *rand.Rand, n int) []int { return []int{n / 8, 1} }

func anyShape(r *rand.Rand, n int) []int { return drawLayerShape(r, n, 2+r.IntN(4)) }

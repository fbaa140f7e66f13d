package data

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
)

// Interpolation says how an image is resized. Pixel i of the new image is at position (i + 0.5) * in/out - 0.5 on an
// axis of the old image, and is the mean of the pixels around that position, weighted by their distance.
type Interpolation string

const (
	Bilinear      Interpolation = "bilinear"      // 1 - d below 1; the zero value "" also means Bilinear
	Nearest       Interpolation = "nearest"       // pixel floor((i + 0.5) * in/out) alone
	Bicubic       Interpolation = "bicubic"       // Keys's cubic with a = -0.5, of radius 2
	Lanczos3      Interpolation = "lanczos3"      // sinc(d) * sinc(d/3), of radius 3
	Lanczos5      Interpolation = "lanczos5"      // sinc(d) * sinc(d/5), of radius 5
	Gaussian      Interpolation = "gaussian"      // exp(-2 d²), of radius 1.5
	MitchellCubic Interpolation = "mitchellcubic" // the cubic of Mitchell and Netravali with B = C = 1/3, of radius 2
	Area          Interpolation = "area"          // the mean over the area that the new pixel covers
)

// weightings gives the weight at a distance, and the distance beyond which weights are 0.
var weightings = map[Interpolation]struct {
	radius float64
	weight func(d float64) float64
}{
	Bilinear:      {1, func(d float64) float64 { return 1 - d }},
	Bicubic:       {2, func(d float64) float64 { return cubic(d, 0, 0.5) }},
	MitchellCubic: {2, func(d float64) float64 { return cubic(d, 1.0/3, 1.0/3) }},
	Lanczos3:      {3, func(d float64) float64 { return sinc(d) * sinc(d/3) }},
	Lanczos5:      {5, func(d float64) float64 { return sinc(d) * sinc(d/5) }},
	Gaussian:      {1.5, func(d float64) float64 { return math.Exp(-2 * d * d) }},
}

// cubic is the family of Mitchell and Netravali, "Reconstruction Filters in Computer Graphics", 1988, equation 8.
func cubic(d, b, c float64) float64 {
	if d < 1 {
		return ((12-9*b-6*c)*d*d*d + (-18+12*b+6*c)*d*d + 6 - 2*b) / 6
	}
	return ((-b-6*c)*d*d*d + (6*b+30*c)*d*d + (-12*b-48*c)*d + 8*b + 24*c) / 6
}

func sinc(d float64) float64 {
	if d == 0 {
		return 1
	}
	return math.Sin(math.Pi*d) / (math.Pi * d)
}

func (m Interpolation) check() error {
	if _, ok := weightings[m]; ok || m == "" || m == Nearest || m == Area {
		return nil
	}
	all := []Interpolation{Nearest, Area}
	for k := range weightings {
		all = append(all, k)
	}
	slices.Sort(all)
	return fmt.Errorf("interpolation %q; expected one of %q", m, all)
}

// axisWeights holds, for each new position on an axis, the old positions that it is computed from and their weights.
type axisWeights struct {
	first   []int
	weights [][]float64
}

// weightsOf computes the weights for an axis.
func (m Interpolation) weightsOf(in, out int) axisWeights {
	w := axisWeights{make([]int, out), make([][]float64, out)}
	kernel := weightings[m]
	for i := range out {
		var first, last int
		weight := func(int) float64 { return 1 }
		switch m {
		case Nearest:
			first = (2*i + 1) * in / (2 * out)
			last = first
		case Area:
			low, high := float64(i)*float64(in)/float64(out), float64(i+1)*float64(in)/float64(out)
			first, last = int(low), min(int(math.Ceil(high)), in)-1
			weight = func(j int) float64 { return min(high, float64(j+1)) - max(low, float64(j)) }
		default:
			at := (float64(i)+0.5)*float64(in)/float64(out) - 0.5
			first, last = max(int(math.Floor(at-kernel.radius))+1, 0), min(int(math.Ceil(at+kernel.radius))-1, in-1)
			weight = func(j int) float64 { return kernel.weight(math.Abs(at - float64(j))) }
		}
		values, sum := make([]float64, last-first+1), 0.0
		for j := range values {
			values[j] = weight(first + j)
			sum += values[j]
		}
		for j := range values {
			values[j] /= sum
		}
		w.first[i], w.weights[i] = first, values
	}
	return w
}

// pixels holds the channels of an image, row-major.
type pixels struct {
	height, width, channels int
	values                  []float32
}

// pixelsOf reads the part of an image that begins at the given row and column.
func pixelsOf(img image.Image, channels, top, left, height, width int) pixels {
	p := pixels{height, width, channels, make([]float32, height*width*channels)}
	from := img.Bounds().Min.Add(image.Pt(left, top))
	columns, row := make([]int, width), make([]color.NRGBA, width)
	for x := range columns {
		columns[x] = from.X + x
	}
	read := columnReader(img, columns)
	for y := range height {
		read(from.Y+y, row)
		channelsOf(row, channels, p.values[y*width*channels:])
	}
	return p
}

// resize changes the size of an image: first the rows, then the columns.
func (p pixels) resize(height, width int, m Interpolation) pixels {
	if m == "" {
		m = Bilinear
	}
	c := p.channels
	columns, rows := m.weightsOf(p.width, width), m.weightsOf(p.height, height)
	wide := make([]float64, p.height*width*c)
	for y := range p.height {
		row, out := p.values[y*p.width*c:], wide[y*width*c:]
		for x := range width {
			weightedSum(out[x*c:][:c], row[columns.first[x]*c:], columns.weights[x])
		}
	}
	out := pixels{height, width, c, make([]float32, height*width*c)}
	sums := make([]float64, width*c)
	for y := range height {
		clear(sums)
		for j, weight := range rows.weights[y] {
			for x, v := range wide[(rows.first[y]+j)*width*c : (rows.first[y]+j+1)*width*c] {
				sums[x] += weight * v
			}
		}
		for x, v := range sums {
			out.values[y*width*c+x] = float32(v)
		}
	}
	return out
}

// weightedSum computes one pixel as the weighted sum of neighbouring pixels.
func weightedSum(out []float64, pixels []float32, weights []float64) {
	if len(out) == 3 {
		var r, g, b float64
		for _, w := range weights {
			p := (*[3]float32)(pixels)
			r, g, b = r+w*float64(p[0]), g+w*float64(p[1]), b+w*float64(p[2])
			pixels = pixels[3:]
		}
		out[0], out[1], out[2] = r, g, b
		return
	}
	for j, w := range weights {
		for k := range out {
			out[k] += w * float64(pixels[j*len(out)+k])
		}
	}
}

// fitMode says how an image is fitted into another aspect ratio.
type fitMode int

const (
	stretch   fitMode = iota
	cropToFit         // the largest part of the new proportions, from the middle
	padToFit          // the whole image, with a black border
)

// resizeImage changes the size of an image.
func resizeImage(img image.Image, channels, height, width int, m Interpolation, fit fitMode) []float32 {
	size := img.Bounds().Size()
	switch fit {
	case cropToFit:
		h := max(min(size.Y, size.X*height/width), 1)
		w := max(min(size.X, size.Y*width/height), 1)
		return pixelsOf(img, channels, (size.Y-h)/2, (size.X-w)/2, h, w).resize(height, width, m).values
	case padToFit:
		return padded(pixelsOf(img, channels, 0, 0, size.Y, size.X), height, width, m)
	}
	if m == "" || m == Bilinear {
		return resizeBilinear(img, channels, height, width)
	}
	return pixelsOf(img, channels, 0, 0, size.Y, size.X).resize(height, width, m).values
}

// padded fits an image into a size and centres it in zeros, as tf.image.resize_with_pad does, with the same precision.
func padded(p pixels, height, width int, m Interpolation) []float32 {
	ratio := max(float32(p.width)/float32(width), float32(p.height)/float32(height))
	fitHeight, fitWidth := float32(p.height)/ratio, float32(p.width)/ratio
	h, w := min(max(int(fitHeight), 1), height), min(max(int(fitWidth), 1), width)
	top, left := int((float32(height)-fitHeight)/2), int((float32(width)-fitWidth)/2)
	top, left = min(max(top, 0), height-h), min(max(left, 0), width-w)
	p = p.resize(h, w, m)
	out := make([]float32, height*width*p.channels)
	for y := range h {
		copy(out[((top+y)*width+left)*p.channels:], p.values[y*w*p.channels:(y+1)*w*p.channels])
	}
	return out
}

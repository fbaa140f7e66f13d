package data

import (
	"image"
	"image/color"
)

// resizeBilinear resizes an image and returns its channels in row-major order.
//
// Output pixel i lies at (i + 0.5) * in/out - 0.5 on each axis of the input (half-pixel centres) and is interpolated
// linearly between the two input pixels around it; beyond the edge, the outermost pixels repeat. There is no
// antialiasing: shrinking by more than 2 skips pixels. It is TensorFlow's tf.image.resize(method="bilinear"), which
// Keras calls.
func resizeBilinear(img image.Image, channels, height, width int) []float32 {
	bounds := img.Bounds()
	rows := newWidenedRows(img, channels, width)
	out := make([]float32, height*width*channels)
	for y, r := range resizePoints(bounds.Dy(), height) {
		top, bottom := rows.two(bounds.Min.Y+r.lower, bounds.Min.Y+r.upper)
		line := out[y*width*channels:][:width*channels]
		top, bottom = top[:len(line)], bottom[:len(line)]
		for i := range line {
			line[i] = between(top[i], bottom[i], r.weight)
		}
	}
	return out
}

// widenedRows holds rows of an image, interpolated at the new columns. It keeps the last two rows: the next output row
// lies between them, or starts from the second.
type widenedRows struct {
	columns  []resizePoint
	channels int
	read     func(y int, row []color.NRGBA)
	pixels   []color.NRGBA // left and right of each column
	number   [2]int
	values   [2][]float32
}

func newWidenedRows(img image.Image, channels, width int) *widenedRows {
	bounds := img.Bounds()
	w := &widenedRows{columns: resizePoints(bounds.Dx(), width), channels: channels}
	places := make([]int, 0, 2*width)
	for _, c := range w.columns {
		places = append(places, bounds.Min.X+c.lower, bounds.Min.X+c.upper)
	}
	w.read, w.pixels = columnReader(img, places), make([]color.NRGBA, 2*width)
	for i := range w.values {
		w.number[i], w.values[i] = bounds.Min.Y-1, make([]float32, width*channels)
	}
	return w
}

// two returns two neighbouring rows, or the same row twice.
func (w *widenedRows) two(top, bottom int) (upper, lower []float32) {
	if w.number[1] == top {
		w.number[0], w.number[1] = w.number[1], w.number[0]
		w.values[0], w.values[1] = w.values[1], w.values[0]
	}
	w.load(0, top)
	if bottom == top {
		return w.values[0], w.values[0]
	}
	w.load(1, bottom)
	return w.values[0], w.values[1]
}

func (w *widenedRows) load(i, y int) {
	if w.number[i] == y {
		return
	}
	w.number[i] = y
	w.read(y, w.pixels)
	out := w.values[i]
	switch w.channels {
	case 1:
		for x, c := range w.columns {
			out[x] = between(luma(w.pixels[2*x]), luma(w.pixels[2*x+1]), c.weight)
		}
	case 3:
		for x, c := range w.columns {
			left, right, p := w.pixels[2*x], w.pixels[2*x+1], out[3*x:][:3]
			p[0] = between(float32(left.R), float32(right.R), c.weight)
			p[1] = between(float32(left.G), float32(right.G), c.weight)
			p[2] = between(float32(left.B), float32(right.B), c.weight)
		}
	default:
		for x, c := range w.columns {
			left, right, p := w.pixels[2*x], w.pixels[2*x+1], out[4*x:][:4]
			p[0] = between(float32(left.R), float32(right.R), c.weight)
			p[1] = between(float32(left.G), float32(right.G), c.weight)
			p[2] = between(float32(left.B), float32(right.B), c.weight)
			p[3] = between(float32(left.A), float32(right.A), c.weight)
		}
	}
}

func between(a, b, weight float32) float32 { return a + float32((b-a)*weight) }

// resizePoint is the position of an output pixel between two input pixels on an axis.
type resizePoint struct {
	lower, upper int
	weight       float32 // of upper
}

func resizePoints(in, out int) []resizePoint {
	points := make([]resizePoint, out)
	scale := float32(in) / float32(out)
	for i := range points {
		at := float32((float32(i)+0.5)*scale) - 0.5
		floor := int(at)
		if at < 0 {
			floor = -1
		}
		points[i] = resizePoint{lower: max(floor, 0), upper: min(floor+1, in-1), weight: at - float32(floor)}
	}
	return points
}

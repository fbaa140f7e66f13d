package layers

import "github.com/gokeras/gokeras/keras/ops"

// affineMap says for each image where its cells come from: the cell in column x and row y of the result is sampled at column
// a0·x + a1·y + a2 and row b0·x + b1·y + b2. Each entry is a vector with one number for each image.
type affineMap struct{ a0, a1, a2, b0, b1, b2 *ops.Tensor }

// sampling is how images are read between cells and outside of them.
type sampling struct {
	interpolation string  // "bilinear" or "nearest"
	fillMode      string  // "reflect", "wrap", "nearest" or "constant"; "mirror", which few layers have
	fillValue     float64 // of "constant"
}

// check reports unknown names.
func (s sampling) check(g *ops.Graph) {
	needChoice(g, "Interpolation", s.interpolation, "bilinear", "nearest")
	needChoice(g, "FillMode", s.fillMode, "reflect", "wrap", "nearest", "constant")
}

// samplingOf reads the three fields, whose defaults are "bilinear" and "reflect".
func samplingOf(interpolation, fillMode string, fillValue float64) sampling {
	if interpolation == "" {
		interpolation = "bilinear"
	}
	if fillMode == "" {
		fillMode = "reflect"
	}
	return sampling{interpolation, fillMode, fillValue}
}

// affineImages samples images x (batch, height, width, channels), which have a float type.
func (s sampling) affineImages(x *ops.Tensor, m affineMap) *ops.Tensor {
	wide := m.a0.DType()
	n, h, w := x.Dim(0), x.Dim(1), x.Dim(2)
	column, row := ops.Iota(x, wide, 2, 1, 1, w), ops.Iota(x, wide, 1, 1, h, 1)
	per := func(v *ops.Tensor) *ops.Tensor { return ops.Reshape(v, n, 1, 1) }
	at := func(p, q, r *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Add(ops.Multiply(per(q), row), ops.Multiply(per(p), column)), per(r))
	}
	return s.read(x, at(m.b0, m.b1, m.b2), at(m.a0, m.a1, m.a2))
}

// read samples images x (batch, height, width, channels) at rows and columns (batch, height', width').
func (s sampling) read(x, rows, columns *ops.Tensor) *ops.Tensor {
	return ops.SampleImages(x, rows, columns, s.options())
}

func (s sampling) options() ops.ImageSampling {
	return ops.ImageSampling{Interpolation: s.interpolation, FillMode: s.fillMode, FillValue: s.fillValue}
}

// lengthNumber is the length of an axis as a number; of an open one see [ops.Number].
func lengthNumber(x ops.Traced, n int) float64 {
	return ops.Number(x, func() float64 { return float64(n) }, n) //dim:known
}

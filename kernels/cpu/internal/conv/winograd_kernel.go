package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TransformScratch returns the number of elements of scratch memory that [Winograd.Transform] needs.
func (w *Winograd) TransformScratch() int { return 4 * w.transformRows() * w.shape.OutChannels }

// transformRows is the number of input channels whose kernels are transformed together.
func (w *Winograd) transformRows() int {
	return min(max((1<<12)/w.shape.OutChannels, 1), w.shape.InChannels)
}

// Transform writes the transformed kernel G·g·Gᵀ for each group of taps, see mix, or g·Gᵀ of kernels of one row: the
// matrices in the panels of package gemm, one after the other.
func (w *Winograd) Transform(dst, kernel, scratch []float32) {
	n := &w.shape
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("transformed kernel", len(dst), w.KernelSize())
	n.need("scratch", len(scratch), w.TransformScratch())
	row := 0
	for _, line := range w.first[0] {
		for _, column := range w.first[1] {
			for first := 0; first < n.InChannels; first += w.transformRows() {
				rows := min(w.transformRows(), n.InChannels-first)
				w.transform(dst, kernel[first*n.OutChannels:], scratch, line, column, row+first, rows)
			}
			row += n.InChannels
		}
	}
}

// transform is Transform for some input channels and the group of taps that begins at a line and a column; their
// weights are rows of the matrices from a row on.
func (w *Winograd) transform(dst, kernel, scratch []float32, line, column, row, rows int) {
	n, points := &w.shape, w.points()
	size := rows * n.OutChannels
	var down, taps [3][]float32
	for i := range w.lines() {
		for j := range down {
			x := column + j*n.Strides[2]
			for k := range taps {
				y := line + k*n.Strides[1]
				if taps[k] = nil; y < n.Kernel[1] && x < n.Kernel[2] {
					taps[k] = kernel[(y*n.Kernel[2]+x)*n.InChannels*n.OutChannels:][:size]
				}
			}
			if down[j] = taps[0]; !w.flat {
				down[j] = scratch[j*size:][:size]
				w.mix(down[j], i, &taps)
			}
		}
		for j := range points {
			result := scratch[3*size:][:size]
			w.mix(result, j, &down)
			w.pack(dst[(points*i+j)*(w.KernelSize()/w.matrices()):], result, row, rows)
		}
	}
}

// mix stores the i-th of the numbers that are made of three, those that are nil being 0: the value a + b·z + c·z² of
// the polynomial at a point z, 0, ±p or ±q, by the product of that point's differences from the others; and, last, c.
// For tiles of 2x2 that is a, (a+b+c)/2, (a-b+c)/2, c.
func (w *Winograd) mix(dst []float32, i int, three *[3][]float32) {
	const p, q = vec.WinogradNear, vec.WinogradFar
	points, products := []float64{0, p, -p, q, -q}, []float64{p * p * q * q, 2 * p * p * (p*p - q*q), 2 * p * p * (p*p - q*q), 2 * q * q * (q*q - p*p), 2 * q * q * (q*q - p*p)}
	if w.side == 2 {
		points, products = []float64{0, 1, -1}, []float64{1, 2, 2}
	}
	factors := [3]float64{0, 0, 1}
	if i < len(points) {
		z := points[i]
		factors = [3]float64{1 / products[i], z / products[i], z * z / products[i]}
	}
	clear(dst)
	for _, k := range [...]int{0, 2, 1} {
		if f := float32(factors[k]); f != 0 && three[k] != nil {
			vec.Axpy(dst, f, three[k])
		}
	}
}

// pack writes rows of a matrix, the first one with the given number, into its panels.
func (w *Winograd) pack(panels, matrix []float32, first, rows int) {
	width, columns := micro.PanelWidth[float32](), w.shape.OutChannels
	for col := 0; col < columns; col += width {
		micro.PackPanel(panels[col*w.depth()+first*width:], matrix[col:], rows, min(width, columns-col), columns, 1)
	}
}

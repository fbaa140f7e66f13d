package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TransformScratch returns the number of elements of scratch memory that [Winograd.Transform] needs.
func (w *Winograd) TransformScratch() int { return 5 * w.transformRows() * w.shape.OutChannels }

// transformRows is the number of input channels whose kernels are transformed together.
func (w *Winograd) transformRows() int {
	return min(max((1<<12)/w.shape.OutChannels, 1), w.shape.InChannels)
}

// Transform writes the transformed kernel G·g·Gᵀ, where G makes a, (a+b+c)/2, (a-b+c)/2, c of three numbers for tiles
// of 2x2: the matrices in the panels of package gemm, one after the other. For tiles of 4x4 see sixesStep.
func (w *Winograd) Transform(dst, kernel, scratch []float32) {
	n := &w.shape
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("transformed kernel", len(dst), w.KernelSize())
	n.need("scratch", len(scratch), w.TransformScratch())
	size := w.transformRows() * n.OutChannels
	var h [3][]float32
	for i := range h {
		h[i] = scratch[i*size : (i+1)*size]
	}
	step, points := kernelStep, w.points()
	if w.side == 4 {
		step = sixesStep
	}
	result, spare := scratch[3*size:4*size], scratch[4*size:5*size]
	matrix := n.InChannels * n.OutChannels
	for first := 0; first < n.InChannels; first += w.transformRows() {
		rows := min(w.transformRows(), n.InChannels-first)
		length := rows * n.OutChannels
		for i := range points {
			for column := range h {
				tap := func(line int) []float32 { return kernel[(3*line+column)*matrix+first*n.OutChannels:][:length] }
				step(i, h[column][:length], tap(0), tap(1), tap(2), spare[:length])
			}
			for j := range points {
				step(j, result[:length], h[0][:length], h[1][:length], h[2][:length], spare[:length])
				w.pack(dst[(points*i+j)*(w.KernelSize()/w.matrices()):], result[:length], first, rows)
			}
		}
	}
}

// kernelStep stores the i-th of the four numbers that are made of three.
func kernelStep(i int, dst, a, b, c, spare []float32) {
	switch i {
	case 0:
		copy(dst, a)
	case 3:
		copy(dst, c)
	default:
		vec.Add(spare, a, c)
		if i == 1 {
			vec.Add(spare, spare, b)
		} else {
			vec.Sub(spare, spare, b)
		}
		vec.Scale(dst, spare, 0.5)
	}
}

// sixesStep is kernelStep for tiles of 4x4: the value a + b·z + c·z² of the polynomial at each of the points 0, ±p, ±q,
// by the product of that point's differences from the other points; and c.
func sixesStep(i int, dst, a, b, c, _ []float32) {
	const p, q = vec.WinogradNear, vec.WinogradFar
	if i == 5 {
		copy(dst, c)
		return
	}
	point := [...]float64{0, p, -p, q, -q}[i]
	product := [...]float64{p * p * q * q, 2 * p * p * (p*p - q*q), 2 * p * p * (p*p - q*q), 2 * q * q * (q*q - p*p), 2 * q * q * (q*q - p*p)}[i]
	vec.Scale(dst, a, float32(1/product))
	if i > 0 {
		vec.Axpy(dst, float32(point/product), b)
		vec.Axpy(dst, float32(point*point/product), c)
	}
}

// pack writes rows of a matrix, the first one with the given number, into its panels.
func (w *Winograd) pack(panels, matrix []float32, first, rows int) {
	width, columns := micro.PanelWidth[float32](), w.shape.OutChannels
	for col := 0; col < columns; col += width {
		micro.PackPanel(panels[col*w.shape.InChannels+first*width:], matrix[col:], rows, min(width, columns-col), columns, 1)
	}
}

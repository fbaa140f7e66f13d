package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TransformScratch returns the number of elements of scratch memory that [Winograd.Transform] needs.
func (w *Winograd) TransformScratch(workers int) int { return max(workers, 1) * w.transformLocal() }

// transformLocal is the scratch memory of a worker: four rows of blocks.
func (w *Winograd) transformLocal() int {
	_, columns := w.kernelMatrix()
	return 4 * w.transformRows() * columns
}

// kernelMatrix returns the rows and columns of each tap of the kernel in memory.
func (w *Winograd) kernelMatrix() (rows, columns int) {
	if w.turned {
		return w.shape.OutChannels, w.shape.InChannels
	}
	return w.shape.InChannels, w.shape.OutChannels
}

// transformRows returns how many rows of the kernel's taps are transformed together. Those of a turned kernel become
// columns of panels, in blocks of whole cache lines, so that no two workers write to the same line.
func (w *Winograd) transformRows() int {
	rows, columns := w.kernelMatrix()
	together, width := transformElements/columns, micro.PanelWidth[float32]()
	switch {
	case !w.turned:
		return min(max(together, 1), rows)
	case together < width:
		return width / 2
	}
	return width
}

// transformElements is how many numbers of a tap are transformed together: they stay in the second-level cache.
const transformElements = 1 << 12

// Transform writes the transformed kernel: G·g·Gᵀ for each group of taps (see mix), or g·Gᵀ for kernels of one row. The
// matrices are in the panels of package gemm, one after the other. For a gradient, the kernel is transformed with its
// taps in reverse and its channels exchanged.
func (w *Winograd) Transform(p *pool.Pool, dst, kernel, scratch []float32) {
	n := &w.shape
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("transformed kernel", len(dst), w.KernelSize())
	n.need("scratch", len(scratch), w.TransformScratch(p.Size()))
	rows, _ := w.kernelMatrix()
	w.transforms = winogradTransform{w, dst, kernel, scratch}
	p.Parallel(len(w.first[0])*len(w.first[1])*ceil(rows, w.transformRows()), 1, &w.transforms)
	w.transforms = winogradTransform{}
}

// winogradTransform transforms blocks of rows of the groups of taps.
type winogradTransform struct {
	w                    *Winograd
	dst, kernel, scratch []float32
}

// Run implements pool.Task.
func (t *winogradTransform) Run(worker, lo, hi int) {
	w := t.w
	local := w.transformLocal()
	for i := lo; i < hi; i++ {
		rows, _ := w.kernelMatrix()
		blocks := ceil(rows, w.transformRows())
		group, first := i/blocks, i%blocks*w.transformRows()
		t.block(t.scratch[worker*local:(worker+1)*local], group, first, min(w.transformRows(), rows-first))
	}
}

// block transforms rows rows of a group of taps, from row first on.
func (t *winogradTransform) block(scratch []float32, group, first, rows int) {
	w := t.w
	n, points := &w.shape, w.points()
	_, columns := w.kernelMatrix()
	size := rows * columns
	var down, taps [3][]float32
	for i := range w.lines() {
		for j := range down {
			x := w.first[1][group%len(w.first[1])] + j*n.Strides[2]
			for k := range taps {
				y := w.first[0][group/len(w.first[1])] + k*n.Strides[1]
				if taps[k] = nil; y < n.Kernel[1] && x < n.Kernel[2] {
					tap := y*n.Kernel[2] + x
					if w.turned {
						tap = n.Kernel[1]*n.Kernel[2] - 1 - tap
					}
					taps[k] = t.kernel[tap*n.InChannels*n.OutChannels+first*columns:][:size]
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
			panels := t.dst[(points*i+j)*(w.KernelSize()/w.matrices()):]
			if w.turned {
				w.packTurned(panels, result, first, rows)
			} else {
				w.pack(panels, result, group*n.InChannels+first, rows)
			}
		}
	}
}

// mix stores the i-th transform of three numbers a, b and c, of which nil ones count as 0. It is the value a + b·z +
// c·z² of their polynomial at a point z, which is 0, ±p or ±q, divided by the product of that point's differences from
// the others; the last transform is c. For tiles of 2x2 they are a, (a+b+c)/2, (a-b+c)/2, c.
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

// pack writes rows of a matrix, from row first on, into its panels.
func (w *Winograd) pack(panels, matrix []float32, first, rows int) {
	width, columns := micro.PanelWidth[float32](), w.shape.OutChannels
	for col := 0; col < columns; col += width {
		micro.PackPanel(panels[col*w.depth()+first*width:], matrix[col:], rows, min(width, columns-col), columns, 1)
	}
}

// packTurned writes rows of a matrix, from row first on, as columns into their panel.
func (w *Winograd) packTurned(panels, matrix []float32, first, rows int) {
	width, depth := micro.PanelWidth[float32](), w.depth()
	panel := panels[first/width*width*depth+first%width:]
	micro.Transpose(panel, matrix, rows, depth, width, depth)
	if end := first + rows; end == w.shape.OutChannels && end%width > 0 {
		for k := range depth {
			clear(panel[k*width+rows:][:width-end%width])
		}
	}
}

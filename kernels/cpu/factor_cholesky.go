package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// choleskyWorkOf computes in float64, except for float32 matrices so large that memory traffic dominates.
func choleskyWorkOf(b *build) matrixWork {
	if _, n := matrixLengths(b.in(0)); n <= fewestColumns {
		return choleskyWorkOfFew(b)
	}
	if b.in(0).Typ.DType == ir.Float32 && singles(b.in(0)) {
		return choleskyWork[float32](b)
	}
	return choleskyWork[float64](b)
}

// choleskyWork factors the mean of a matrix and its transpose. From the upper triangle, whose rows fill vectors, it
// computes u with uᵀ·u = a.
func choleskyWork[T block.Float](b *build) matrixWork {
	in, out := b.in(0), b.out(0)
	_, n := matrixLengths(in)
	direct := unsafe.Sizeof(T(0)) == uintptr(out.Typ.DType.Size())
	stride := unaliased[T](paddedColumns(n))
	size := inDoubles[T](n*stride) + inDoubles[T](max(n*n, choleskyRows*smallestBlock))
	return matrixWork{scratch: size, work: n*n*n/3 + n, run: func(i int, scratch []float64) {
		a, panel := scratchSlice[T](&scratch, n*stride), scratchSlice[T](&scratch, max(n*n, choleskyRows*smallestBlock))
		x := numbersAt(panel[:n*n], in, i*n*n)
		micro.Transpose(a, x, n, n, stride, n)
		for r := range n {
			row := a[r*stride:][:stride]
			for c, v := range x[r*n+r : (r+1)*n] {
				row[r+c] = (v + row[r+c]) / 2
			}
			clear(row[n:])
		}
		cholesky(a, panel, n, stride)
		for r := range n {
			clear(a[r*stride:][:r])
		}
		if x = panel[:n*n]; direct {
			x = plan.Data[T](out)[i*n*n:][:n*n]
		}
		if micro.Transpose(x, a, n, n, n, stride); !direct {
			writeNumbers(out, i*n*n, x)
		}
	}}
}

// choleskyRows is how many rows are subtracted at once from all rows below them.
const choleskyRows = 4 * smallestBlock

// cholesky works on the upper triangle of a, whose rows are padded with zeros. panel is memory for a block of columns.
func cholesky[T block.Float](a, panel []T, n, stride int) {
	for lo := 0; lo < n; lo += choleskyRows {
		hi := min(lo+choleskyRows, n)
		for k := lo; k < hi; k += smallestBlock {
			end := min(k+smallestBlock, n)
			choleskyBlock(a, panel, k, end, n, stride)
			subtractRows(a, panel, k, end, end, hi, stride)
		}
		subtractRows(a, panel, lo, hi, hi, n, stride)
	}
}

// choleskyBlock computes a few rows, from which the rows above have been subtracted already. It also writes to the left
// of the diagonal, which is never read.
func choleskyBlock[T block.Float](a, panel []T, lo, hi, n, stride int) {
	few := n-lo <= smallestBlock/2
	for k := lo; k < hi; k++ {
		if !few && k > lo {
			for i := range k - lo {
				panel[i] = -a[(lo+i)*stride+k]
			}
			vec.AddProducts(a[k*stride+lo:], panel, a[lo*stride+lo:], 1, k-lo, stride-lo, stride, smallestBlock, stride)
		}
		top := a[k*stride:][:n]
		root := T(math.Sqrt(float64(top[k])))
		top[k] = root
		if rest := top[k+1:]; len(rest) > smallestBlock {
			vec.Scale(rest, rest, 1/root)
		} else {
			for c := range rest {
				rest[c] /= root
			}
		}
		for r := k + 1; few && r < hi; r++ {
			row, f := a[r*stride+r:][:n-r], top[r]
			for c, v := range top[r:] {
				row[c] -= f * v
			}
		}
	}
}

// subtractRows subtracts the products of rows lo to hi from rows first to end, one block of these at a time.
func subtractRows[T block.Float](a, panel []T, lo, hi, first, end, stride int) {
	depth := hi - lo
	for r := first; r < end; r += smallestBlock {
		rows := min(smallestBlock, end-r)
		for k := range depth {
			for i, v := range a[(lo+k)*stride+r:][:rows] {
				panel[i*depth+k] = -v
			}
		}
		vec.AddProducts(a[r*stride+r:], panel, a[lo*stride+r:], rows, depth, stride-r, stride, depth, stride)
	}
}

// choleskyWorkOfFew subtracts without blocks, for small matrices.
func choleskyWorkOfFew(b *build) matrixWork {
	in, out := b.in(0), b.out(0)
	_, n := matrixLengths(in)
	return matrixWork{scratch: n * n, work: n*n*n/3 + n, run: func(i int, scratch []float64) {
		a := scratch[:n*n]
		readDoubles(a, in, i*n*n)
		for r := range n { // the lower triangle
			for c := range r {
				a[r*n+c], a[c*n+r] = (a[r*n+c]+a[c*n+r])/2, 0
			}
		}
		for r := range n {
			row := a[r*n:][:n]
			for c := range r {
				v, above := row[c], a[c*n:][:n]
				for k := range c {
					v -= row[k] * above[k]
				}
				v /= above[c]
				row[c] = v
				row[r] -= v * v
			}
			row[r] = math.Sqrt(row[r])
		}
		writeDoubles(out, i*n*n, a)
	}}
}

package collective

import "github.com/gokeras/gokeras/distribute/internal/numbers"

// treeReduce adds parts[1..] into parts[0] in the order of a binomial tree: rank r adds rank r+1, then r+2, r+4, ... A
// tree of workers adds in the same order, so one worker that has all parts computes the same bits.
func treeReduce(p *plan, parts [][]byte) {
	for mask := 1; mask < p.n; mask <<= 1 {
		for rank := 0; rank+mask < p.n; rank += 2 * mask {
			if p.narrow {
				roundBFloat16(numbers.View[float32](parts[rank+mask]))
			}
			reduceBytes(p.dtype, p.op, parts[rank], parts[rank], parts[rank+mask])
		}
	}
	p.finish(parts[0])
}

// chainReduce sets dst to the reduction of one chunk's parts in the order of the ring: parts(c), parts(c+1), ...
func chainReduce(p *plan, chunk int, dst []byte, parts func(rank int) []byte) {
	sum := parts(chunk)
	for i := 1; i < p.n; i++ {
		if p.narrow {
			if i == 1 {
				copy(dst, sum)
			}
			roundBFloat16(numbers.View[float32](dst))
			sum = dst
		}
		reduceBytes(p.dtype, p.op, dst, sum, parts((chunk+i)%p.n))
		sum = dst
	}
	if p.n == 1 {
		copy(dst, sum)
	}
	p.finish(dst)
}

// small is the size in bytes of the largest all-reduce that uses the tree instead of the ring.
const small = 16 << 10

package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// BlockK is the largest number of products that are added before the sum goes through memory. With the tiles of
// AVX-512, which use each number of B for 14 rows, a block of a panel, BlockK rows of 128 bytes, may come from the
// second-level cache.
const BlockK = 512

// blockK is BlockK as the active family has it: the tiles of the others are lower, and a panel block has to fit the
// first-level cache.
func blockK() int {
	if isa.Active().Has(isa.Vectors512) {
		return BlockK
	}
	return BlockK / 2
}

const (
	chunkFlops     = 1 << 20 // do not make chunks smaller than this: about 10 µs of assembly
	wantChunks     = 4       // and do not make more chunks than this for each worker, for balance alone: each reads A and B anew,
	wantMore       = 8       // unless several workers share short sums
	longSum        = 1024
	maxRows        = 224 // rows of A that stay in the second-level cache, BlockK numbers each
	shortRows      = 56  // where a sum is one block and the processor finds fewer pages at once for stores: C is then written in few pages at a time, as many as these rows may begin in
	minRows        = 32  // of a chunk, where panels are read
	maxCols        = 512
	packMinRows    = 64      // B is reused often enough for packing to pay, where the processor computes whole vectors at once and B lies across cache lines
	packFlatRows   = 96      // and for copies of weights to take the room of the weights in several workers' caches,
	packNextRows   = 144     // a B that comes through memory as a stream,
	packMuchRows   = 192     // and a B of more than so many bytes, if its rows compete for places in the cache
	packMoreRows   = 256     // or not,
	packFewRows    = 4       // up to which panels of a transposed B are made in the cache,
	packShortRows  = 12      // or of sums of up to
	packShortSums  = 320     // products, if B has
	packShortBytes = 1 << 16 // so many, and B is packed as a whole from so many bytes:
	packBytes      = 1 << 24
	packMinCols    = 96      // A is
	turnMinCols    = 24      // A is reused often enough for transposing it to pay,
	turnMinBytes   = 1 << 19 // and too large to be read by columns from the second-level cache
	turnMinSums    = 112     // of more lines than stay in the first-level cache until the next columns are read

	farBytes = 1 << 23 // of a matrix that comes through memory

	page = 1 << 12 // bytes of memory that a processor finds together

	rowGap = 16 // elements between the rows of a copied A

	sweepSums   = 64 // up to which a call for each panel costs much beside the products
	sweepRows   = 14
	sweepPanels = 4       // from which on rows beyond those go through all of them
	sweepMatrix = 1 << 18 // numbers of B, which are in the second-level cache

	fetchMinSums   = 32      // shorter sums leave no time to fetch C ahead
	fetchMinStride = 1024    // bytes
	fetchMinBytes  = 1 << 20 // of C
	fetchRow       = 1 << 12 // the processor fetches rows of C by itself that are longer than a page
)

// source says where the vector operand is read.
type source uint8

const (
	inPlace source = iota // B as the caller stores it, its last incomplete panel from scratch
	shared                // packed before the product, by all workers together
	local                 // packed block by block by each worker
	made                  // and written by Panels
)

// plan is how a product is cut up. It depends on the sizes, the strides and the number of workers; the result does not.
type plan[T Float] struct {
	source     source
	rows, cols int // of a chunk of C
	rowChunks  int
	colChunks  int
	batch      int
	transposed bool // the transpose is computed, rows of it at a time; see transposed.go
	narrow     bool // the transpose is computed, columns of it at a time; see narrow.go
	columns    bool // the transpose is computed from rows of A that are transposed; see columns.go
	few        bool // a long sum has few results; see few.go
	lined      bool // many small products are computed by one call; see lined.go
	deep       bool // blocks of the sums are chunks too; see deep.go
	tail       bool // inPlace: the last panel is incomplete and read from shared
	packA      bool // blocks of A are copied to the worker's scratch first
	turnA      bool // and transposed on the way: a tile would read each of its columns of a large A from another page
	fetchB     bool // the rows of B are too far apart for the processor to fetch them ahead by itself
	fetchC     bool // C is too large to be in the cache
	streams    bool // inPlace: B comes through memory, a few rows after the other; see stream.go
	wholeRows  bool // streams: whole rows of it, in the order of memory
	sweeps     bool // sums are short, and rows go through all panels; of B nothing is fetched ahead
	follows    bool // B is read in the order of memory; see follow.go
	gram       bool // half of C is computed; see gram.go

	shared []T // packed B or its last panel
}

func newPlan[T Float](a *Args[T], workers int) plan[T] {
	p := plan[T]{batch: a.Batch[0] * a.Batch[1]}
	if p.columns = a.isColumns(); p.columns {
		return p
	}
	if p.few = a.isFew(); p.few {
		return p
	}
	if a.isTransposed() {
		p.transposed, p.rows = true, a.transposedBlock(workers)
		return p
	}
	if a.isNarrow() {
		p.rows = a.narrowRows(workers)
		if p.narrow = !p.isDeep(a, workers, ceil(a.M, p.rows)); p.narrow {
			return p
		}
	}
	if p.lined = a.isLined(); p.lined {
		return p
	}
	width := micro.PanelWidth[T]()
	one := p.batch == 1 || a.StrideB == [2]int{}
	switch {
	case a.Panels != nil:
		p.source = made
	case a.Packed:
		p.source = inPlace
	case !a.TransB && (a.M < a.packRows(workers) || a.N <= width):
		p.source = inPlace
		p.tail = a.N%width != 0
		if p.tail && !one {
			p.source, p.tail = local, false
		}
		p.streams = one && a.streams(workers) && a.M <= streamMaxRows
	case one && !a.packsFew():
		p.source = shared
	default:
		p.source = local
	}
	switch {
	case workers <= 1:
		p.chunk(a, 1)
	case p.isFlat(a):
		p.chunkFlat(a, workers)
	case a.K <= longSum:
		p.chunk(a, wantMore*workers)
	default:
		p.chunk(a, wantChunks*workers)
	}
	if p.isDeep(a, workers, p.rowChunks*p.colChunks) {
		p.deepen(a, workers)
	}
	p.turnA = p.rows <= maxRows && a.TransA && a.N >= turnMinCols && a.K > turnMinSums && a.isLargeA()
	p.packA = p.turnA || p.rows <= maxRows && conflicts(a) && a.N >= packMinCols
	var zero T
	p.fetchB = a.K >= fetchMinSums && a.LDB*int(unsafe.Sizeof(zero)) >= fetchMinStride
	p.fetchC = a.K >= fetchMinSums && p.batch*a.M*a.N*int(unsafe.Sizeof(zero)) >= fetchMinBytes
	p.sweeps = a.K <= sweepSums && (p.source == shared || p.source == inPlace) && len(a.Ahead) == 0 || a.sweepsFew()
	if p.follows = !p.deep && !p.sweeps && a.follows(); p.follows {
		p.packA, p.turnA = false, false
	}
	p.gram = a.isGram() && !p.deep && !p.streams && !p.sweeps && !p.follows
	p.wholeRows = p.streams && p.colChunks == 1 && a.M <= streamFewRows && readsAhead() && a.K*a.N*int(sizeOf[T]()) <= followMost
	return p
}

// sweepsFew reports whether B is a small matrix in panels for a few rows, as in each step of a loop: a call for each
// panel would take a good part of the time.
func (a *Args[T]) sweepsFew() bool {
	return a.Packed && a.M <= sweepRows && a.K <= blockK() && a.K*a.N <= sweepMatrix
}

// packsFew reports whether a transposed B for so few rows is packed panel by panel in the cache, where that takes less
// time than products with the numbers of B as they lie: large ones where the processor computes whole vectors by
// halves, and where it reads ahead by itself those of short sums and those whose rows compete for places in the cache.
func (a *Args[T]) packsFew() bool {
	if a.K <= sweepSums || !a.TransB || a.Packed || a.Panels != nil || a.Batch != [2]int{1, 1} {
		return false
	}
	size := a.K * a.N * int(sizeOf[T]())
	if readsAhead() && a.K <= packShortSums {
		return a.M > 1 && a.M <= packShortRows && size >= packShortBytes
	}
	return a.M <= packFewRows && size >= turnMinBytes && size <= farBytes && (computesHalves() || readsAhead() && a.conflictsB())
}

// isFar reports whether a matrix comes through memory.
func isFar[T Float](rows, cols int) bool { return rows*cols*int(sizeOf[T]()) > farBytes }

// isLargeA reports whether A is too large to be read by columns from the second-level cache.
func (a *Args[T]) isLargeA() bool { return a.M*a.K*int(sizeOf[T]()) >= turnMinBytes }

// packRows is the number of rows of A from which on packing B pays.
func (a *Args[T]) packRows(workers int) int {
	switch {
	case a.K*a.N*int(sizeOf[T]()) > packBytes && workers <= 1 && a.conflictsB():
		return packMuchRows
	case a.K*a.N*int(sizeOf[T]()) > packBytes:
		return packMoreRows
	case a.streams(workers) && a.Batch == [2]int{1, 1}:
		return packNextRows
	case workers > 1 && a.isFlat() && a.K > sweepSums:
		return packFlatRows
	case computesHalves(), a.loadsLines(): // the loads of a tile take half the time of its products, wherever they find B
		return packMoreRows
	}
	return packMinRows
}

// loadsLines reports whether a vector of B is a cache line: where the rows of B lie otherwise, each takes two of them.
func (a *Args[T]) loadsLines() bool { return !a.across && a.spacesLines() }

// computesHalves reports whether the vectors in use are of 512 bits and computed by halves.
func computesHalves() bool { return isa.HalfUnits() && isa.Active().Has(isa.Vectors512) }

// conflicts reports whether the lines of A that one tile needs at the same time compete for the same few places in the
// first-level cache, because they lie a multiple of a large power of two apart.
func conflicts[T Float](a *Args[T]) bool { return SpacedRow[T](a.LDA) != a.LDA }

// SpacedRow returns the least row stride, of k or more elements, with which the rows of A do not compete for places in
// the cache. A product whose A has another one copies A first.
func SpacedRow[T Float](k int) int {
	var zero T
	if k*int(unsafe.Sizeof(zero))%2048 == 0 {
		return k + rowGap
	}
	return k
}

// strideA is the row stride of a copied block of A.
func (p *plan[T]) strideA(a *Args[T]) int {
	if a.TransA && !p.turnA {
		return p.rows + rowGap
	}
	return min(a.K, blockK()) + rowGap
}

// chunk chooses the block of C that one task computes, so that there are about as many as wanted.
func (p *plan[T]) chunk(a *Args[T], want int) {
	width := micro.PanelWidth[T]()
	rows := maxRows
	if a.K <= BlockK && p.source != made && isa.StorePages() < shortRows { // elsewhere more rows read B less often
		rows = min(max(shortRows, shortRows*page/(max(a.LDC, 1)*int(sizeOf[T]()))), maxRows)
	}
	p.rowChunks, p.cols = ceil(a.M, rows), min((a.N+width-1)/width*width, maxCols)
	if p.streams {
		p.rowChunks = ceil(a.M, streamMaxRows)
		p.cols = min((a.N+width-1)/width*width, a.streamCols(ceil(a.M, p.rowChunks)))
	}
	if p.source == local {
		p.rowChunks = 1 // so that each block of B is packed once
	}
	panels := p.source == shared || a.Packed
	for {
		p.rows, p.colChunks = ceil(a.M, p.rowChunks), ceil(a.N, p.cols)
		p.rowChunks = ceil(a.M, p.rows)
		if p.rowChunks*p.colChunks*p.batch >= want || 2*p.rows*p.cols*a.K < 2*chunkFlops {
			return
		}
		switch {
		case panels && p.rows >= 2*minRows: // a panel costs nothing to read again, rows of A may have to be copied for each chunk
			p.rowChunks *= 2
		case p.cols >= 4*width || p.cols > width && p.rows < 56:
			p.cols = ceil(p.cols/width, 2) * width
		case p.rows >= 56 && p.source != local && p.source != made:
			p.rowChunks *= 2
		case p.cols > width:
			p.cols = ceil(p.cols/width, 2) * width
		default:
			return
		}
	}
}

// sharedSize is the scratch that all workers read.
func (p *plan[T]) sharedSize(a *Args[T]) int {
	switch {
	case p.source == shared:
		return PackedSize[T](a.N, a.K)
	case p.tail:
		return micro.PanelWidth[T]() * a.K
	}
	return 0
}

// localSize is the scratch of one worker.
func (p *plan[T]) localSize(a *Args[T]) int {
	if p.streams {
		return p.localSizeA(a) + p.streamSize(a)
	}
	return p.localSizeA(a) + p.localSizeB(a)
}

func (p *plan[T]) localSizeA(a *Args[T]) int {
	switch {
	case !p.packA:
		return 0
	case a.TransA && !p.turnA:
		return min(a.K, BlockK) * p.strideA(a)
	}
	return p.rows * (min(a.K, BlockK) + rowGap)
}

func (p *plan[T]) localSizeB(a *Args[T]) int {
	switch p.source {
	case local:
		return micro.PanelWidth[T]() * min(a.K, BlockK)
	case made:
		return micro.PanelWidth[T]() * (min(a.K, BlockK) + PanelSlack)
	}
	return 0
}

func (p *plan[T]) scratchSize(a *Args[T], workers int) int {
	if p.transposed { // the packed A, and a block of Cᵀ for each worker
		return PackedSize[T](a.M, a.K) + p.rows*a.M*max(workers, 1)
	}
	if p.narrow { // the last panel of A
		return micro.PanelWidth[T]()*a.K + p.narrowSize(a)*max(workers, 1)
	}
	if p.lined {
		return a.linedSize() * max(workers, 1)
	}
	if p.columns {
		return a.columnsSize() * max(workers, 1)
	}
	if p.few {
		return a.fewSize(max(workers, 1))
	}
	return p.sharedSize(a) + p.deepSize(a) + p.localSize(a)*max(workers, 1)
}

func ceil(a, b int) int { return (a + b - 1) / b }

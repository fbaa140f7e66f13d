package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// BlockK is the most products that are added before a sum goes through memory. The tiles of AVX-512 use each number of
// B for 14 rows, so there a block of a panel, BlockK rows of 128 bytes, may come from the second-level cache.
const BlockK = 512

// blockK is BlockK for the active kernel family. Other families have lower tiles, so a block of a panel has to fit the
// first-level cache.
func blockK() int {
	if isa.Active().Has(isa.Vectors512) {
		return BlockK
	}
	return BlockK / 2
}

const (
	chunkFlops     = 1 << 20 // fewest operations of a chunk: about 10 µs of assembly
	wantChunks     = 4       // most chunks for each worker that are made for balance alone, because each chunk reads A and B anew,
	wantMore       = 8       // or most if several workers share short sums
	longSum        = 1024
	maxRows        = 224 // rows of A that stay in the second-level cache, BlockK numbers each
	shortRows      = 56  // rows if sums are one block and the processor holds few pages for stores: these rows of C begin in no more pages than that
	minRows        = 32  // fewest rows of a chunk where panels are read
	maxCols        = 512
	packMinRows    = 64      // rows from which on packing B pays: if the processor computes whole vectors at once and B straddles cache lines;
	packFlatRows   = 96      // if copies of the weights would take the room of the weights in several workers' caches;
	packNextRows   = 144     // for a B that is streamed from memory;
	packLargeRows  = 192     // for a B of more than packBytes whose rows compete for the same cache sets;
	packMoreRows   = 256     // for other such B, and wherever loads take at most half the time of the products
	packFewRows    = 4       // most rows for which panels of a transposed B are made in the cache,
	packShortRows  = 12      // or, with short sums of up to
	packShortSums  = 320     // products, if B has
	packShortBytes = 1 << 16 // that many bytes
	packBytes      = 1 << 24
	packMinCols    = 96      // columns from which on packing A pays
	turnMinCols    = 24      // columns from which on transposing A pays,
	turnMinBytes   = 1 << 19 // if A is too large to be read by columns from the second-level cache
	turnMinSums    = 112     // and a column has more lines than stay in the first-level cache until the next columns are read

	farBytes = 1 << 23 // bytes from which on a matrix is taken to come through memory

	page = 1 << 12 // bytes of memory that share a page lookup

	rowGap = 16 // elements between the rows of a copied A

	sweepSums   = 64 // longest sums for which a call for each panel costs much compared with the products
	sweepRows   = 14
	sweepPanels = 4       // fewest panels for which rows beyond sweepRows go through all panels too
	sweepMatrix = 1 << 18 // most numbers of B, which stay in the second-level cache

	madeRows   = 64      // fewest rows for which Panels are made in advance if sums are short,
	madeMatrix = 1 << 20 // and most numbers in these panels

	fetchMinSums   = 32      // shorter sums leave no time to prefetch C
	fetchMinStride = 1024    // bytes
	fetchMinBytes  = 1 << 20 // of C
	fetchRow       = 1 << 12 // bytes of a page: the processor itself prefetches rows of C that are longer
)

// source says where the vector operand is read.
type source uint8

const (
	inPlace source = iota // B as the caller stores it, its last incomplete panel from scratch
	shared                // packed in advance, by all workers together
	local                 // packed block by block by each worker
	made                  // packed block by block, by Panels
)

// plan says how a product is cut up. It depends on the sizes, the strides and the number of workers; the result does
// not.
type plan[T Float] struct {
	source     source
	rows, cols int // of a chunk of C
	rowChunks  int
	colChunks  int
	batch      int
	transposed bool // the transpose is computed, some of its rows at a time; see transposed.go
	narrow     bool // the transpose is computed, some of its columns at a time; see narrow.go
	columns    bool // the transpose is computed, from transposed rows of A; see columns.go
	few        bool // long sums have few results; see few.go
	lined      bool // one call computes many small products; see lined.go
	deep       bool // blocks of the sums become chunks; see deep.go
	tail       bool // inPlace: the last panel is incomplete and read from shared
	packA      bool // blocks of A are copied to the worker's scratch first
	turnA      bool // and transposed on the way, because a tile would read each column of a large A from another page
	ends       bool // inPlace, short sums in a batch: the last panel is incomplete and packed by each worker
	fetchB     bool // the rows of B are too far apart for the processor to prefetch them by itself
	fetchC     bool // C is too large for the cache
	streams    bool // inPlace: B comes through memory, a few rows at a time; see stream.go
	wholeRows  bool // streams: the few rows are whole, in the order of memory
	sweeps     bool // sums are short, and rows go through all panels; B is not prefetched
	follows    bool // B is read strictly in the order of memory; see follow.go
	gram       bool // half of C is computed, and copied to the other half; see gram.go

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
	case a.sharesMade():
		p.source = shared
	case a.Panels != nil:
		p.source = made
	case a.Packed:
		p.source = inPlace
	case !a.TransB && (a.M < a.packRows(workers) || a.N <= width || !byPackedB.Taken()):
		p.readInPlace(a, one)
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
	p.turnA = p.rows <= maxRows && a.TransA && a.N >= turnMinCols && a.K > turnMinSums && a.isLargeA() && byPackedA.Taken()
	p.packA = p.turnA || p.rows <= maxRows && conflicts(a) && a.N >= packMinCols && byPackedA.Taken()
	var zero T
	p.fetchB = a.K >= fetchMinSums && a.LDB*int(unsafe.Sizeof(zero)) >= fetchMinStride
	p.fetchC = a.K >= fetchMinSums && p.batch*a.M*a.N*int(unsafe.Sizeof(zero)) >= fetchMinBytes
	p.sweeps = a.K <= sweepSums && (p.source == shared || p.source == inPlace) && len(a.Ahead) == 0 || a.sweepsFew()
	p.sweeps = p.sweeps && bySweeps.Taken()
	if p.follows = !p.deep && !p.sweeps && a.follows(); p.follows {
		p.packA, p.turnA = false, false
	}
	p.gram = a.isGram() && !p.deep && !p.streams && !p.sweeps && !p.follows
	p.wholeRows = p.streams && p.colChunks == 1 && a.M <= streamFewRows && readsAhead() && a.K*a.N*int(sizeOf[T]()) <= followMost
	return p
}

// readInPlace has B read as it lies, but for an incomplete last panel. Each entry of a batch has one of its own: it is
// packed where short sums go through all panels in one call; otherwise so are all panels.
func (p *plan[T]) readInPlace(a *Args[T], one bool) {
	width := micro.PanelWidth[T]()
	p.source, p.tail = inPlace, a.N%width != 0
	if p.tail && !one {
		if p.tail, p.ends = false, a.K <= sweepSums && a.N >= sweepPanels*width; !p.ends {
			p.source = local
		}
	}
}

// sweepsFew reports whether B is a small packed matrix for a few rows, as in each step of a loop: one call for each
// panel would take a good part of the time.
func (a *Args[T]) sweepsFew() bool {
	return a.Packed && a.M <= sweepRows && a.K <= blockK() && a.K*a.N <= sweepMatrix
}

// sharesMade reports whether all panels are made in advance, because rows of a large C with short sums are stored in
// less time whole than panel by panel.
func (a *Args[T]) sharesMade() bool {
	return a.Panels != nil && a.K <= sweepSums && a.M >= madeRows && a.K*a.N <= madeMatrix && a.Batch == [2]int{1, 1}
}

// packsFew reports whether a transposed B is packed panel by panel in the cache, although there are few rows, because
// that takes less time than multiplying with B as it lies. That is so for large B where the processor computes vectors
// by halves. Where it prefetches well by itself, it is so for short sums, and for large B whose rows compete for cache
// sets.
func (a *Args[T]) packsFew() bool {
	if a.K <= sweepSums || !a.TransB || a.Packed || a.Panels != nil || a.Batch != [2]int{1, 1} {
		return false
	}
	size := a.K * a.N * int(sizeOf[T]())
	pays := a.M <= packFewRows && size >= turnMinBytes && size <= farBytes && (computesHalves() || readsAhead() && a.conflictsB())
	if readsAhead() && a.K <= packShortSums {
		pays = a.M > 1 && a.M <= packShortRows && size >= packShortBytes
	}
	return pays && byPackedFew.Taken()
}

// isFar reports whether a matrix comes through memory.
func isFar[T Float](rows, cols int) bool { return rows*cols*int(sizeOf[T]()) > farBytes }

// isLargeA reports whether A is too large to be read by columns from the second-level cache.
func (a *Args[T]) isLargeA() bool { return a.M*a.K*int(sizeOf[T]()) >= turnMinBytes }

// packRows returns the number of rows of A from which on packing B pays.
func (a *Args[T]) packRows(workers int) int {
	switch {
	case a.K*a.N*int(sizeOf[T]()) > packBytes && workers <= 1 && a.conflictsB():
		return packLargeRows
	case a.K*a.N*int(sizeOf[T]()) > packBytes:
		return packMoreRows
	case a.streams(workers) && a.Batch == [2]int{1, 1}:
		return packNextRows
	case workers > 1 && a.isFlat() && a.K > sweepSums:
		return packFlatRows
	case computesHalves(), a.loadsLines(): // the loads of a tile take at most half the time of its products, packed or not
		return packMoreRows
	}
	return packMinRows
}

// loadsLines reports whether each vector of B is one cache line. Elsewhere it straddles two.
func (a *Args[T]) loadsLines() bool { return !a.across && a.spacesLines() }

// computesHalves reports whether the vectors in use have 512 bits and are computed in halves.
func computesHalves() bool { return isa.HalfUnits() && isa.Active().Has(isa.Vectors512) }

// conflicts reports whether the lines of A that a tile needs at the same time compete for the same few sets of the
// first-level cache, because they are a multiple of a large power of two apart.
func conflicts[T Float](a *Args[T]) bool { return SpacedRow[T](a.LDA) != a.LDA }

// SpacedRow returns the least row stride, at least k elements, for which the rows of A do not compete for the same
// cache sets. A product copies an A with another stride first.
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

// chunk chooses the size of the chunks of C so that there are about as many as wanted.
func (p *plan[T]) chunk(a *Args[T], want int) {
	width := micro.PanelWidth[T]()
	rows := maxRows
	if a.K <= BlockK && p.source != made && isa.StorePages() < shortRows { // on other processors, more rows read B less often
		rows = min(max(shortRows, shortRows*page/(max(a.LDC, 1)*int(sizeOf[T]()))), maxRows)
	}
	p.rowChunks, p.cols = ceil(a.M, rows), min((a.N+width-1)/width*width, maxCols)
	if p.streams {
		p.rowChunks = ceil(a.M, streamMaxRows)
		p.cols = min((a.N+width-1)/width*width, a.streamCols(ceil(a.M, p.rowChunks)))
	}
	if p.source == local {
		p.rowChunks = 1 // so that each block of B is packed only once
	}
	panels := p.source == shared || a.Packed
	for {
		p.rows, p.colChunks = ceil(a.M, p.rowChunks), ceil(a.N, p.cols)
		p.rowChunks = ceil(a.M, p.rows)
		if p.rowChunks*p.colChunks*p.batch >= want || 2*p.rows*p.cols*a.K < 2*chunkFlops {
			return
		}
		switch {
		case panels && p.rows >= 2*minRows: // reading a panel again costs nothing, but each chunk may have to copy rows of A
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

// sharedSize is the scratch memory that all workers read.
func (p *plan[T]) sharedSize(a *Args[T]) int {
	switch {
	case p.source == shared:
		return PackedSize[T](a.N, a.K)
	case p.tail:
		return micro.PanelWidth[T]() * a.K
	}
	return 0
}

// localSize is the scratch memory of one worker.
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
	if p.ends {
		return micro.PanelWidth[T]() * a.K
	}
	switch p.source {
	case local:
		return micro.PanelWidth[T]() * min(a.K, BlockK)
	case shared:
		if a.Panels == nil {
			return 0
		}
		fallthrough // a panel is made here, and then copied
	case made:
		return micro.PanelWidth[T]() * (min(a.K, BlockK) + PanelSlack)
	}
	return 0
}

func (p *plan[T]) scratchSize(a *Args[T], workers int) int {
	if p.transposed { // for the packed A, and a block of Cᵀ for each worker
		return PackedSize[T](a.M, a.K) + p.rows*a.M*max(workers, 1)
	}
	if p.narrow { // for the last panel of A
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

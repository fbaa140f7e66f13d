package conv

import "sync/atomic"

// How an operation is computed depends on its shape alone, but finding that out takes about two microseconds: longer
// than the products of a tiny layer. So a shape may remember it ([Shape.Remember]).

// known is what a shape remembers.
type known struct {
	of        Shape // for which it holds, with the pointer to this: whoever changes a copy of a shape has another shape
	decisions [3][2]atomic.Pointer[decisions]
}

// Remember makes all operations on the shape, and on unchanged copies of it, remember what follows from the shape. That
// costs a few kilobytes.
func (s *Shape) Remember() {
	s.known = &known{}
	s.known.of = *s
}

// decisions are what follows from a shape, for one operation and type.
type decisions struct {
	shape        Shape // as the operation computes it, see checked
	x, y, kernel int   // numbers of elements
	way          way
	rows         tapRows     // if wayTapRows
	abreast      abreastPlan // if wayAbreast
	frame        frame       // if wayTiles, of results and input gradients
	phases       dataPhases  // if wayTiles, of input gradients
	parts        [2]Shape    // that are operations of their own: of some images, and of the rest of the batch
	scratch      [2]atomic.Uint64
	tiles        *rememberedTiles    // nil if they are not remembered
	gradient     *rememberedGradient // the same
}

// way is a way to compute an operation.
type way int

const (
	wayTiles    way = iota // tiles over rows, or taps: the general way
	wayEmpty               // there is nothing to multiply
	wayProduct             // pointwise.go
	wayCovered             // covered_channels.go
	wayAbreast             // abreast.go
	waySplit               // split.go
	wayUnfold              // unfold.go
	wayTapRows             // tap_rows.go
	wayPad                 // padded.go
	wayOverlap             // overlapped.go
	wayRepeat              // filters.go
	wayPlanes              // planes.go
	wayApart               // apart.go
	wayWinograd            // winograd_weights.go
	wayStacked             // stacked.go
)

// typeOf is an index for the type.
func typeOf[T Float]() int {
	if single[T]() {
		return 0
	}
	return 1
}

// decisionsOf returns what the shape remembers, or else decides now, in local.
func decisionsOf[T Float](s *Shape, o operation, local *decisions) *decisions {
	if s.known == nil || s.known.of != *s {
		decide[T](local, s, o)
		return local
	}
	at := &s.known.decisions[o][typeOf[T]()]
	d := at.Load()
	if d == nil {
		d = &decisions{}
		decide[T](d, s, o)
		remember[T](d, o)
		at.Store(d)
	}
	return d
}

// decide decides about an operation on the shape.
func decide[T Float](d *decisions, s *Shape, o operation) {
	d.shape = s.checked(o)
	n := &d.shape
	n.known = nil
	d.x, d.y, d.kernel = n.sizeX(), n.sizeY(), n.sizeKernel()
	switch o {
	case ofForward:
		d.way = wayForward[T](d)
	case ofData:
		d.way = wayData[T](d)
	default:
		d.way = wayWeights[T](n)
		d.y = n.sizeDY()
	}
	switch d.way {
	case wayTiles:
		if o == ofForward {
			d.frame = framesForward[T](n)
		} else if o == ofData {
			d.phases, d.frame = dataPhasesOf[T](n), framesBackward[T](n)
		}
	case wayAbreast:
		d.abreast = abreastPlanOf(n, o)
		d.parts = d.abreast.shapes(n)
	case waySplit:
		unfolds := n.unfoldsRows(o)
		images := n.splitImages(unfolds)
		d.parts = [2]Shape{n.rowsOf(images, unfolds), n.rowsOf(n.Batch%images, unfolds)}
	case wayPad:
		images := n.paddedImages()
		d.parts = [2]Shape{n.padded(images), n.padded(n.Batch % images)}
	case wayRepeat:
		d.parts[0] = n.repeated()
	case wayPlanes:
		d.parts[0], d.parts[1] = n.planesShapes()
	}
}

func wayForward[T Float](d *decisions) way {
	n := &d.shape
	switch {
	case n.without():
		return wayEmpty
	case n.pointwise():
		return wayProduct
	case coversChannels[T](n):
		return wayCovered
	case abreast[T](n, ofForward):
		return wayAbreast
	case splitsForward[T](n):
		return waySplit
	case n.unfolds():
		return wayUnfold
	}
	rows := false
	if d.rows, rows = newTapRows[T](n, ofForward); rows {
		return wayTapRows
	}
	switch {
	case pads[T](n):
		return wayPad
	case repeats[T](n, ofForward):
		return wayRepeat
	case planes[T](n):
		return wayPlanes
	case apart[T](n):
		return wayApart
	}
	return wayTiles
}

func wayData[T Float](d *decisions) way {
	n := &d.shape
	switch {
	case n.without():
		return wayEmpty
	case n.pointwise():
		return wayProduct
	case coversChannels[T](n):
		return wayCovered
	case abreast[T](n, ofData):
		return wayAbreast
	case splitsGradients[T](n, ofData):
		return waySplit
	case overlaps[T](n):
		return wayOverlap
	}
	rows := false
	if d.rows, rows = newTapRows[T](n, ofData); rows {
		return wayTapRows
	}
	switch {
	case repeats[T](n, ofData):
		return wayRepeat
	case planesData[T](n):
		return wayPlanes
	case overlapsPhases[T](n):
		return wayOverlap
	}
	return wayTiles
}

func wayWeights[T Float](n *Shape) way {
	switch {
	case n.without():
		return wayEmpty
	case n.Stacked:
		return wayStacked
	case n.pointwiseWeights():
		return wayProduct
	case coversChannels[T](n):
		return wayCovered
	case abreast[T](n, ofWeights):
		return wayAbreast
	case splitsGradients[T](n, ofWeights):
		return waySplit
	case repeats[T](n, ofWeights):
		return wayRepeat
	case planesWeights[T](n):
		return wayPlanes
	case hasWinogradWeights[T](n):
		return wayWinograd
	}
	return wayTiles
}

// remember completes decisions that are kept.
func remember[T Float](d *decisions, o operation) {
	for i := range d.parts {
		if d.parts[i].Groups > 0 {
			d.parts[i].Remember()
		}
	}
	switch {
	case d.way != wayTiles:
	case o == ofWeights:
		d.gradient = rememberGradient[T](&d.shape)
	case o == ofData:
		d.tiles = rememberPhases[T](d)
	default:
		d.tiles = rememberForward[T](d)
	}
}

// partOf returns the operation on some images, as a part that is remembered, if it is one.
func (d *decisions) partOf(images int) *Shape {
	if d.parts[0].Batch == images {
		return &d.parts[0]
	}
	return &d.parts[1]
}

// scratchBits are those of a number of elements; the others are a number of workers.
const scratchBits = 48

// scratchOf returns the number of elements of scratch memory that an operation needs, with a bias or without.
func scratchOf[T Float](d *decisions, o operation, workers int, bias bool) int {
	at := &d.scratch[0]
	if bias {
		at = &d.scratch[1]
	}
	if v := at.Load(); v>>scratchBits == uint64(workers)+1 {
		return int(v & (1<<scratchBits - 1))
	}
	size := 0
	switch o {
	case ofForward:
		size = forwardScratch[T](d, workers)
	case ofData:
		size = dataScratch[T](d, workers, bias)
	default:
		size = weightsScratch[T](d, workers)
	}
	at.Store((uint64(workers)+1)<<scratchBits | uint64(size))
	return size
}

// scratchOfParts is the scratch memory of the larger of the parts.
func scratchOfParts[T Float](d *decisions, o operation, workers int, bias bool) (size int) {
	for i := range d.parts {
		r := &d.parts[i]
		switch {
		case r.Groups == 0 || r.Batch == 0 && d.parts[0].Batch > 0:
		case o == ofForward:
			size = max(size, ForwardScratch[T](r, workers))
		case o == ofData:
			size = max(size, TransposedScratch[T](r, workers, bias))
		default:
			size = max(size, BackwardWeightsScratch[T](r, workers))
		}
	}
	return size
}

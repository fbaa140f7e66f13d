package cudnn

import (
	"fmt"
	"unsafe"
)

// Constants of cudnn_backend.h (or cudnn_graph.h): kinds of descriptors, types of attributes, attributes.
const (
	pointwise        = 0
	convolutionOf    = 1
	engine           = 2
	engineConfig     = 3
	engineHeuristics = 4
	executionPlan    = 5
	convolveForward  = 10
	convolveFilter   = 11
	convolveData     = 12
	applyPointwise   = 13
	operationGraph   = 15
	variantPack      = 16
	tensorOf         = 17

	typeHandle     = 0
	typeDataType   = 1
	typeBoolean    = 2
	typeInt64      = 3
	typeFloat      = 4
	typePointer    = 6
	typeConvMode   = 7
	typeHeurMode   = 8
	typeNaN        = 10
	typeNote       = 11
	typePointMode  = 14
	typeDescriptor = 15

	pointMode      = 0
	pointPrecision = 1
	pointNaN       = 2

	convType      = 100
	convMode      = 101
	convDilations = 102
	convStrides   = 103
	convPadHigh   = 104
	convPadLow    = 105
	convAxes      = 106

	heurMode    = 200
	heurGraph   = 201
	heurResults = 202

	configEngine = 300

	planHandle    = 400
	planConfig    = 401
	planWorkspace = 402

	// The first attribute of each of the three operations: alpha, beta and the convolution, then the tensors noted
	// here.
	forwardFirst = 700 // w, x, y
	dataFirst    = 706 // w, dx, dy
	filterFirst  = 712 // dw, x, dy

	pointWhat  = 750
	pointX     = 751
	pointB     = 752
	pointY     = 753
	pointAdd   = 0
	pointReLU  = 100
	passNaN    = 1
	crossCorr  = 1
	heurNow    = 0
	heurOthers = 2

	graphHandle     = 800
	graphOperations = 801

	tensorAlignment = 900
	tensorType      = 901
	tensorShape     = 902
	tensorStrides   = 903
	tensorID        = 906
	tensorVirtual   = 907

	packIDs       = 1000
	packAddresses = 1001
	packWorkspace = 1003

	engineNotes = 1303
)

// Numerical notes: how an engine computes.
const (
	noteTensorCore    = 0
	noteDownConvert   = 1
	noteReduced       = 2
	noteFFT           = 3
	noteUndetermined  = 4
	noteWinograd      = 5
	firstNotes        = 6 // the notes known to all versions
	alignment         = 16
	configsFromOneAsk = 16
)

// builder makes descriptors until a call fails; later calls do nothing.
type builder struct {
	l    *library
	made []uintptr
	err  error
}

func (b *builder) create(kind uintptr) (d uintptr) {
	if b.err == nil {
		if b.err = b.l.call(descCreate, kind, uintptr(unsafe.Pointer(&d))); b.err == nil {
			b.made = append(b.made, d)
		}
	}
	return d
}

func (b *builder) finalize(d uintptr) {
	if b.err == nil {
		b.err = b.l.call(descFinalize, d)
	}
}

// set sets an attribute of a descriptor.
func set[T any](b *builder, d uintptr, name, typ uintptr, values ...T) {
	if b.err == nil {
		b.err = b.l.call(descSet, d, name, typ, uintptr(len(values)), uintptr(unsafe.Pointer(unsafe.SliceData(values))))
	}
}

// get reads an attribute and returns its number of elements.
func get[T any](b *builder, d uintptr, name, typ uintptr, into []T) int {
	var n int64
	if b.err == nil {
		b.err = b.l.call(descGet, d, name, typ, uintptr(len(into)), uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(unsafe.SliceData(into))))
	}
	return int(n)
}

// drop destroys the descriptors, the last ones first.
func (b *builder) drop() {
	for i := len(b.made) - 1; i >= 0; i-- {
		if b.made[i] != 0 {
			b.l.call(descDestroy, b.made[i]) // nothing can be done if that fails
		}
	}
	b.made = nil
}

// tensor describes a tensor. One with a negative id is virtual: it is not stored in memory.
func (b *builder) tensor(t tensor, id int64) uintptr {
	d := b.create(tensorOf)
	set(b, d, tensorType, typeDataType, int32(t.typ))
	set(b, d, tensorShape, typeInt64, t.shape...)
	set(b, d, tensorStrides, typeInt64, t.stride...)
	set(b, d, tensorAlignment, typeInt64, int64(alignment))
	if id < 0 {
		set(b, d, tensorVirtual, typeBoolean, byte(1))
	}
	set(b, d, tensorID, typeInt64, id)
	b.finalize(d)
	return d
}

// graph creates the problem's graph of operations.
func (c *convolution) graph(p Problem) (uintptr, error) {
	b := &builder{l: c.l}
	conv := b.create(convolutionOf)
	set(b, conv, convType, typeDataType, int32(Float32))
	set(b, conv, convMode, typeConvMode, int32(crossCorr))
	set(b, conv, convAxes, typeInt64, int64(len(p.X)))
	set(b, conv, convDilations, typeInt64, p.Dilation...)
	set(b, conv, convStrides, typeInt64, p.Stride...)
	set(b, conv, convPadLow, typeInt64, p.PadLow...)
	set(b, conv, convPadHigh, typeInt64, p.PadHigh...)
	b.finalize(conv)
	c.ids = []int64{1, 2, 3}
	x, w := b.tensor(p.x(), 1), b.tensor(p.w(), 2)
	after := p.Kind == Forward && (p.Bias || p.ReLU)
	result := int64(3)
	first := p.y()
	if after {
		result, first.typ = -1, Float32
	}
	y := b.tensor(first, result)
	kind, attribute := map[Kind]uintptr{Forward: convolveForward, InputGrad: convolveData, KernelGrad: convolveFilter}[p.Kind], map[Kind]uintptr{Forward: forwardFirst, InputGrad: dataFirst, KernelGrad: filterFirst}[p.Kind]
	operation := b.create(kind)
	set(b, operation, attribute, typeFloat, float32(1))
	set(b, operation, attribute+1, typeFloat, float32(0))
	set(b, operation, attribute+2, typeDescriptor, conv)
	set(b, operation, attribute+3, typeDescriptor, w)
	set(b, operation, attribute+4, typeDescriptor, x)
	set(b, operation, attribute+5, typeDescriptor, y)
	b.finalize(operation)
	operations := []uintptr{operation}
	if after && p.Bias {
		c.ids = append(c.ids, 4)
		ones := make([]int64, len(p.Y))
		for i := range ones {
			ones[i] = 1
		}
		operations, y = c.pointwise(b, operations, pointAdd, y, b.tensor(dense(p.Type, 1, p.Out, ones), 4), p, !p.ReLU)
	}
	if after && p.ReLU {
		operations, _ = c.pointwise(b, operations, pointReLU, y, 0, p, true)
	}
	graph := b.create(operationGraph)
	if c.l.handle != 0 { // the handle is 0 without a GPU
		set(b, graph, graphHandle, typeHandle, c.l.handle)
	}
	set(b, graph, graphOperations, typeDescriptor, operations...)
	b.finalize(graph)
	c.made = append(c.made, b.made...)
	return graph, b.err
}

// pointwise appends an elementwise operation; the last one makes y.
func (c *convolution) pointwise(b *builder, operations []uintptr, mode int32, x, with uintptr, p Problem, last bool) ([]uintptr, uintptr) {
	what := b.create(pointwise)
	set(b, what, pointMode, typePointMode, mode)
	set(b, what, pointPrecision, typeDataType, int32(Float32))
	if mode == pointReLU { // by default it turns NaN into 0
		set(b, what, pointNaN, typeNaN, int32(passNaN))
	}
	b.finalize(what)
	result, id := p.y(), int64(3)
	if !last {
		result.typ, id = Float32, -2
	}
	y := b.tensor(result, id)
	operation := b.create(applyPointwise)
	set(b, operation, pointWhat, typeDescriptor, what)
	set(b, operation, pointX, typeDescriptor, x)
	if with != 0 {
		set(b, operation, pointB, typeDescriptor, with)
	}
	set(b, operation, pointY, typeDescriptor, y)
	b.finalize(operation)
	return append(operations, operation), y
}

// choose asks for engines and takes the first one that is acceptable.
func (c *convolution) choose(graph uintptr, p Problem) error {
	last := fmt.Errorf("cudnn: no engine for %+v", p)
	for _, mode := range []int32{heurNow, heurOthers} {
		b := &builder{l: c.l}
		ask := b.create(engineHeuristics)
		set(b, ask, heurGraph, typeDescriptor, graph)
		set(b, ask, heurMode, typeHeurMode, mode)
		b.finalize(ask)
		configs := make([]uintptr, configsFromOneAsk)
		for i := range configs {
			configs[i] = b.create(engineConfig)
		}
		n := min(get(b, ask, heurResults, typeDescriptor, configs), len(configs))
		c.made = append(c.made, b.made...)
		if b.err != nil {
			last = b.err
			continue
		}
		for _, config := range configs[:n] {
			err := c.plans(config, p)
			if err == nil {
				return nil
			}
			last = err
		}
	}
	return last
}

// plans makes a plan of an engine, if its numerics are acceptable.
func (c *convolution) plans(config uintptr, p Problem) error {
	b := &builder{l: c.l}
	defer func() { c.made = append(c.made, b.made...) }()
	engines := []uintptr{b.create(engine)}
	get(b, config, configEngine, typeDescriptor, engines)
	notes := make([]int32, firstNotes)
	n := get(b, engines[0], engineNotes, typeNote, notes)
	if b.err != nil {
		return b.err
	}
	if n > firstNotes {
		return fmt.Errorf("cudnn: an engine has %d notes", n)
	}
	for _, note := range notes[:n] {
		if p.refuses(note) {
			return fmt.Errorf("cudnn: an engine that computes otherwise (note %d)", note)
		}
	}
	plan := b.create(executionPlan)
	set(b, plan, planHandle, typeHandle, c.l.handle)
	set(b, plan, planConfig, typeDescriptor, config)
	b.finalize(plan)
	bytes := make([]int64, 1)
	get(b, plan, planWorkspace, typeInt64, bytes)
	switch {
	case b.err != nil:
		return b.err
	case bytes[0] > WorkspaceBytes:
		return fmt.Errorf("cudnn: an engine wants %d bytes of memory", bytes[0])
	}
	c.plan = plan
	return nil
}

// refuses reports whether engines with a numerical note are unacceptable.
func (p Problem) refuses(note int32) bool {
	switch note {
	case noteReduced, noteFFT, noteUndetermined, noteWinograd:
		return true
	case noteTensorCore, noteDownConvert:
		return p.Type == Float32 && !p.TF32
	}
	return false
}

package cublas

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Constants of cublasLt.h.
const (
	compute32F        = 68
	compute32FTF32    = 77
	descTransA        = 3
	descTransB        = 4
	layoutBatchCount  = 5
	layoutBatchStride = 6
	prefWorkspace     = 1
	prefReduction     = 3
	transposed        = 1
	// The permitted reduction schemes for sums split along k: a separate kernel adds up the parts, in the type of the
	// sums or of the result, but not in place.
	reductions  = 2 | 4
	resultBytes = 96 // cublasLtMatmulHeuristicResult_t
	algoBytes   = 64 // cublasLtMatmulAlgo_t, which the former begins with
	stateOffset = 72
)

// library is libcublasLt, with a handle for one device's context.
type library struct {
	handle uintptr
	calls  [callCount]uintptr
}

const (
	create = iota
	destroy
	descCreate
	descDestroy
	descSet
	layoutCreate
	layoutDestroy
	layoutSet
	prefCreate
	prefDestroy
	prefSet
	heuristic
	matmul
	callCount
)

var names = [callCount]string{
	"cublasLtCreate", "cublasLtDestroy", "cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
	"cublasLtMatrixLayoutDestroy", "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy",
	"cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul",
}

// Open loads the library from a path, for the device of the current context.
func Open(path string) (API, error) {
	at, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("cublas: %w", err)
	}
	l := &library{}
	var missing []error
	for i, name := range names {
		l.calls[i], err = purego.Dlsym(at, name)
		missing = append(missing, err)
	}
	if err := errors.Join(missing...); err != nil {
		return nil, fmt.Errorf("cublas: %s: %w", path, err)
	}
	if err := l.call(create, uintptr(unsafe.Pointer(&l.handle))); err != nil {
		return nil, err
	}
	return l, nil
}

// call makes a call with integer and pointer arguments.
//
//go:uintptrescapes
func (l *library) call(which int, args ...uintptr) error {
	r, _, _ := purego.SyscallN(l.calls[which], args...)
	return check(Status(int32(r)), names[which])
}

// Close destroys the handle.
func (l *library) Close() error { return l.call(destroy, l.handle) }

// product holds a problem's descriptors.
type product struct {
	l                         *library
	desc, left, right, result uintptr
	algorithm                 [algoBytes]byte
	one, zero                 float32
	args                      [16]uintptr
}

// Prepare creates the descriptors and asks for an algorithm.
func (l *library) Prepare(p Problem) (Product, error) {
	q := &product{l: l, one: 1}
	if err := q.describe(p); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

func (q *product) describe(p Problem) error {
	l, compute := q.l, uintptr(compute32F)
	if p.TF32 {
		compute = compute32FTF32
	}
	if err := l.call(descCreate, uintptr(unsafe.Pointer(&q.desc)), compute, uintptr(Float32)); err != nil {
		return err
	}
	left, right, result := p.views()
	for attribute, v := range map[uintptr]view{descTransA: left, descTransB: right} {
		if v.transposed {
			operation := int32(transposed)
			if err := l.call(descSet, q.desc, attribute, uintptr(unsafe.Pointer(&operation)), unsafe.Sizeof(operation)); err != nil {
				return err
			}
		}
	}
	for _, m := range []struct {
		to *uintptr
		v  view
		t  Type
	}{{&q.left, left, p.In}, {&q.right, right, p.In}, {&q.result, result, p.Out}} {
		if err := q.layout(m.to, m.v, m.t, p.Batch); err != nil {
			return err
		}
	}
	return q.choose()
}

// layout creates a matrix's layout descriptor.
func (q *product) layout(to *uintptr, v view, t Type, batch int64) error {
	l := q.l
	if err := l.call(layoutCreate, uintptr(unsafe.Pointer(to)), uintptr(t), uintptr(v.rows), uintptr(v.columns), uintptr(v.stride)); err != nil || batch == 1 {
		return err
	}
	count := int32(batch)
	if err := l.call(layoutSet, *to, layoutBatchCount, uintptr(unsafe.Pointer(&count)), unsafe.Sizeof(count)); err != nil {
		return err
	}
	return l.call(layoutSet, *to, layoutBatchStride, uintptr(unsafe.Pointer(&v.batch)), unsafe.Sizeof(v.batch))
}

// choose asks for an algorithm.
func (q *product) choose() error {
	l := q.l
	var preference uintptr
	if err := l.call(prefCreate, uintptr(unsafe.Pointer(&preference))); err != nil {
		return err
	}
	defer l.call(prefDestroy, preference) // nothing can be done if that fails
	bytes, mask := uint64(WorkspaceBytes), uint32(reductions)
	if err := l.call(prefSet, preference, prefWorkspace, uintptr(unsafe.Pointer(&bytes)), unsafe.Sizeof(bytes)); err != nil {
		return err
	}
	if err := l.call(prefSet, preference, prefReduction, uintptr(unsafe.Pointer(&mask)), unsafe.Sizeof(mask)); err != nil {
		return err
	}
	var found [resultBytes]byte
	var count int32
	err := l.call(heuristic, l.handle, q.desc, q.left, q.right, q.result, q.result, preference, 1, uintptr(unsafe.Pointer(&found)), uintptr(unsafe.Pointer(&count)))
	if err == nil && count == 0 {
		err = check(NotSupported, names[heuristic])
	}
	if err == nil {
		err = check(*(*Status)(unsafe.Pointer(&found[stateOffset])), names[heuristic])
	}
	copy(q.algorithm[:], found[:])
	return err
}

// Run does not allocate.
func (q *product) Run(a, b, c, workspace, stream uint64) error {
	q.args = [16]uintptr{
		q.l.handle, q.desc, uintptr(unsafe.Pointer(&q.one)), uintptr(b), q.left, uintptr(a), q.right, uintptr(unsafe.Pointer(&q.zero)),
		uintptr(c), q.result, uintptr(c), q.result, uintptr(unsafe.Pointer(&q.algorithm)), uintptr(workspace), WorkspaceBytes, uintptr(stream),
	}
	r, _, _ := purego.SyscallN(q.l.calls[matmul], q.args[:]...)
	runtime.KeepAlive(q)
	return check(Status(int32(r)), names[matmul])
}

// Close destroys the descriptors.
func (q *product) Close() {
	for which, list := range map[int][]uintptr{layoutDestroy: {q.left, q.right, q.result}, descDestroy: {q.desc}} {
		for _, h := range list {
			if h != 0 {
				q.l.call(which, h) // nothing can be done if that fails
			}
		}
	}
	q.desc, q.left, q.right, q.result = 0, 0, 0, 0
}

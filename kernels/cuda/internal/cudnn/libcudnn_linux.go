package cudnn

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// The library is called through its backend interface, descriptors with attributes, which is the same in versions 8 and
// 9. The older interface, with one function for each kind of convolution, does not support asymmetric padding and is
// being removed.

// library is libcudnn, with a handle for one device's context.
type library struct {
	handle uintptr
	calls  [callCount]uintptr
	reason func(Status) *byte
}

const (
	create = iota
	destroy
	setStream
	descCreate
	descDestroy
	descSet
	descGet
	descFinalize
	execute
	callCount
)

var names = [callCount]string{
	"cudnnCreate", "cudnnDestroy", "cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendDestroyDescriptor", "cudnnBackendSetAttribute",
	"cudnnBackendGetAttribute", "cudnnBackendFinalize", "cudnnBackendExecute",
}

// Open loads the library from a path, for the device of the current context.
func Open(path string) (API, error) {
	l, err := load(path)
	if err != nil {
		return nil, err
	}
	if err := l.call(create, uintptr(unsafe.Pointer(&l.handle))); err != nil {
		return nil, err
	}
	return l, nil
}

func load(path string) (*library, error) {
	at, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL) // libcudnn loads further libraries, which must find its symbols
	if err != nil {
		return nil, fmt.Errorf("cudnn: %w", err)
	}
	l := &library{}
	var missing []error
	for i, name := range names {
		l.calls[i], err = purego.Dlsym(at, name)
		missing = append(missing, err)
	}
	reason, err := purego.Dlsym(at, "cudnnGetErrorString")
	if err := errors.Join(append(missing, err)...); err != nil {
		return nil, fmt.Errorf("cudnn: %s: %w", path, err)
	}
	purego.RegisterFunc(&l.reason, reason)
	return l, nil
}

func (l *library) check(s Status, call string) error {
	if s == 0 {
		return nil
	}
	text := "a failure that is not known"
	if c := l.reason(s); c != nil {
		text = unix.BytePtrToString(c)
	}
	return &Error{call, s, text}
}

// call makes a call with integer and pointer arguments.
//
//go:uintptrescapes
func (l *library) call(which int, args ...uintptr) error {
	r, _, _ := purego.SyscallN(l.calls[which], args...)
	if r == 0 {
		return nil
	}
	return l.check(Status(int32(r)), names[which])
}

// Close destroys the handle.
func (l *library) Close() error { return l.call(destroy, l.handle) }

// convolution is an execution plan and the descriptors that it was made from.
type convolution struct {
	l    *library
	made []uintptr
	plan uintptr
	ids  []int64
	pack uintptr // the variant pack: a descriptor of addresses
	at   Places
}

// Prepare creates the descriptors and asks for an engine.
func (l *library) Prepare(p Problem) (Convolution, error) {
	c := &convolution{l: l}
	graph, err := c.graph(p.flat())
	if err == nil {
		err = c.choose(graph, p)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Run does not allocate if the addresses are those of the previous run.
func (c *convolution) Run(at Places, stream uint64) error {
	if c.pack == 0 || c.at != at {
		if err := c.bind(at); err != nil {
			return err
		}
	}
	if err := c.l.call(setStream, c.l.handle, uintptr(stream)); err != nil {
		return err
	}
	err := c.l.call(execute, c.l.handle, c.plan, c.pack)
	runtime.KeepAlive(c)
	return err
}

// bind passes the addresses to the library.
func (c *convolution) bind(at Places) error {
	if c.pack != 0 {
		err := c.l.call(descDestroy, c.pack)
		if c.pack = 0; err != nil {
			return err
		}
	}
	b := &builder{l: c.l}
	pack := b.create(variantPack)
	addresses := []uint64{at.X, at.W, at.Y, at.Bias}[:len(c.ids)]
	set(b, pack, packIDs, typeInt64, c.ids...)
	set(b, pack, packAddresses, typePointer, addresses...)
	set(b, pack, packWorkspace, typePointer, at.Workspace)
	b.finalize(pack)
	if b.err != nil {
		b.drop()
		return b.err
	}
	c.pack, c.at = pack, at
	return nil
}

// Close destroys the descriptors.
func (c *convolution) Close() {
	b := &builder{l: c.l, made: append(c.made, c.pack)}
	b.drop()
	c.made, c.pack, c.plan = nil, 0, 0
}

package layers

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
)

// panicked is the error for a panic in a method of a custom layer.
type panicked struct {
	method string
	*distribute.PanicError
}

// Error returns the message of the panic.
func (p *panicked) Error() string {
	return fmt.Sprintf("%s panicked: %v; see Stack of the wrapped *distribute.PanicError for the place", p.method, p.Value)
}

// Unwrap returns the error that holds the location.
func (p *panicked) Unwrap() error { return p.PanicError }

// guard calls a method of a layer. A panic in a layer from outside this module is its author's mistake, not ours. It
// becomes an error with the location of the panic.
func guard(l Layer, t ops.Traced, method string, f func()) {
	if config.Module(l) != "" {
		f()
		return
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ops.Error:
			panic(r)
		default:
			ops.Fail(t.Graph(), &panicked{method, &distribute.PanicError{Value: r, Stack: debug.Stack()}})
		}
	}()
	f()
}

// guardedForward is Forward, guarded.
func guardedForward(l Layer, c *Context) func(in []*ops.Tensor) []*ops.Tensor {
	return func(in []*ops.Tensor) (out []*ops.Tensor) {
		guard(l, c, "Forward", func() { out = l.Forward(c, in) })
		return out
	}
}

// findMade adopts the layers that the Build of a custom layer has put into exported fields. They replace those of a
// failed call.
func (b *Builder) findMade() {
	if config.Module(b.base.self) != "" {
		return
	}
	found := LayersIn(reflect.Indirect(reflect.ValueOf(b.base.self)))
	gone := func(l Layer) bool { return !slices.Contains(found, l) && slices.Contains(b.base.made, l) }
	b.base.sublayers = slices.DeleteFunc(slices.Clone(b.base.sublayers), gone)
	for _, l := range found {
		if m := attach(l); !m.contains(b.base) && !m.insideOf(b.base) {
			b.Adopt(l)
			b.base.made = append(b.base.made, l)
		}
	}
	b.checkNames()
}

// checkNames reports a method MemberAttributes that does not name each part of a user's layer: files would lack some.
func (b *Builder) checkNames() {
	namer, ok := b.base.self.(AttributeNamer)
	if !ok {
		return
	}
	names, members := namer.MemberAttributes(), Sublayers(b.base.self)
	if len(names) == len(members) {
		return
	}
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = Name(m)
	}
	b.Fail("MemberAttributes of %T returns %d names, %q, for %d layers inside, %q: name each, first those in exported fields, then the adopted ones; or leave out the method, keep the layers in exported fields, and say the names in tags such as `keras:\"name,attribute\"`",
		b.base.self, len(names), names, len(members), parts)
}

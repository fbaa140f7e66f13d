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

// panicked is the error for a panic in a method of a user's layer.
type panicked struct {
	method string
	*distribute.PanicError
}

// Error says what the panic was about.
func (p *panicked) Error() string {
	return fmt.Sprintf("%s panicked: %v; see Stack of the wrapped *distribute.PanicError for the place", p.method, p.Value)
}

// Unwrap returns the error that has the place.
func (p *panicked) Unwrap() error { return p.PanicError }

// guard calls a method of a layer. A panic in one from outside of this module is its author's mistake, not ours, and
// becomes an error with the place where it happened.
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

// findMade adopts what the Build of a user's layer has put into exported fields, in place of what that of a call that
// failed has.
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

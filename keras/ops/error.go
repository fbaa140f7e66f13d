package ops

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Error is a mistake found while a graph was built. It is the only value that graph-building code panics with.
type Error struct {
	// Path is the layer in which it happened, such as "model/dense_1", or "" outside of all layers.
	Path string
	// Err says what was received, what was expected and what to do.
	Err error
}

// Error returns "path: message". The path of an operation that is a layer, such as "transpose", may be in the message.
func (e *Error) Error() string {
	text := e.Err.Error()
	if e.Path == "" || strings.HasPrefix(text, e.Path+": ") {
		return text
	}
	return e.Path + ": " + text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Failf reports a mistake at the current place of g (nil if there is none) by panicking with *Error.
func Failf(g *Graph, format string, args ...any) {
	Fail(g, fmt.Errorf(format, args...))
}

// Fail is Failf with a ready error. An error that already has a path is passed on unchanged.
func Fail(g *Graph, err error) {
	if err == nil {
		err = errors.New("failed for a reason that was not given")
	}
	if text := err.Error(); dim.Readable(text) != text {
		err = &readable{err, dim.Readable(text)}
	}
	var e *Error
	if errors.As(err, &e) && e.Path != "" {
		panic(&Error{Err: err})
	}
	path := ""
	if g != nil {
		path = g.Path()
	}
	panic(&Error{Path: path, Err: err})
}

// readable is an error whose text shows open lengths as None or as an expression.
type readable struct {
	err  error
	text string
}

func (r *readable) Error() string { return r.text }
func (r *readable) Unwrap() error { return r.err }

// Catch turns the panic of Fail into an error; any other panic continues. Use it as
//
//	defer ops.Catch(&err)
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

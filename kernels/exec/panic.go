package exec

import (
	"fmt"
	"runtime/debug"

	"github.com/gokeras/gokeras/keras/ops"
)

// PanicError is the error of a run whose step function panicked. No replica has begun then: functions are traced before
// anything runs.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic; the stack is in the field.
func (e *PanicError) Error() string { return fmt.Sprintf("the step function panicked: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded runs a user's function; its panics become errors of the trace.
func guarded(r *Replica, f func()) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *ops.Error:
			panic(v)
		default:
			ops.Fail(r.graph, &PanicError{v, debug.Stack()})
		}
	}()
	f()
}

package data

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// PanicError is the value with which a pass panics if one of your functions has panicked in a goroutine of the pass (a
// stage before Prefetch, the function of ParallelMap, a Sequence). The panic continues in the loop that ranges over the
// pass, as it would without goroutines, so it can be recovered there. The error says where it came from.
type PanicError struct {
	Value any    // what the function panicked with
	Stack []byte // of the goroutine that it ran in
}

// Error holds the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("data: panic in a goroutine of the pass: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errDied stands for the result of a task that panicked.
var errDied = errors.New("the task panicked")

// grave keeps the first panic of the goroutines of a pass until they have ended.
type grave struct {
	mu   sync.Mutex
	died *PanicError
}

// bury is deferred in each goroutine.
func (g *grave) bury() {
	v := recover()
	if v == nil {
		return
	}
	e, ok := v.(*PanicError) // of an inner stage: it knows better where it came from
	if !ok {
		e = &PanicError{Value: v, Stack: debug.Stack()}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.died == nil {
		g.died = e
	}
}

// rise is deferred by the goroutine that ranges over the pass, so that it runs when all others have ended.
func (g *grave) rise() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.died != nil {
		panic(g.died)
	}
}

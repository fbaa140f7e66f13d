package keras

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"weak"
)

// Assembler is implemented by types for [NewModel] that create their layers from their settings. NewModel calls
// Assemble before it looks for the layers. So does [LoadModel], after it has read the settings of a registered type;
// see [RegisterModel]. Assemble is called once for each value: a second model of the same value would take the layers
// away from the first.
type Assembler interface {
	// Assemble creates the layers and stores them in exported fields.
	Assemble() error
}

// assembly identifies a value that has been assembled, without keeping it alive.
type assembly struct {
	at weak.Pointer[byte]
	of reflect.Type // a struct has the address of its first field
}

// assembled holds the assemblies of the values that a model has or is about to have.
var assembled sync.Map

// assemble creates the layers of a user's type. The caller must call done: if no model was made, the value may be
// assembled again. A panic in Assemble becomes an error, like a panic in Call.
func assemble(a Assembler) (done func(made bool), err error) {
	done, err = claim(a)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Method: "Assemble", Value: r, Stack: debug.Stack()}
		}
		if err != nil {
			done(false)
			err = fmt.Errorf("Assemble: %w", err)
		}
	}()
	return done, a.Assemble()
}

// claim refuses a value that already belongs to a model.
func claim(a Assembler) (done func(made bool), err error) {
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 {
		return func(bool) {}, nil // a copy, or a type without fields: it keeps no layers
	}
	at := (*byte)(v.UnsafePointer())
	key := assembly{weak.Make(at), v.Type()}
	if _, taken := assembled.LoadOrStore(key, nil); taken {
		return nil, fmt.Errorf("a model was made of this value before, and Assemble would replace the layers that it trains; use that model, or pass a new value")
	}
	return func(made bool) {
		if made {
			runtime.AddCleanup(at, func(key assembly) { assembled.Delete(key) }, key)
			return
		}
		assembled.Delete(key)
	}, nil
}

package keras

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"weak"
)

// Assembler is implemented by types of [NewModel] that make their layers from their settings. NewModel calls Assemble
// before it looks for the layers, and so does [LoadModel], once it has read the settings of a type that is registered;
// see [RegisterModel]. It does so once for a value: a second model of it would take the first one's layers away.
type Assembler interface {
	// Assemble makes the layers and keeps them in exported fields.
	Assemble() error
}

// assembly says which value has been assembled, without keeping it alive.
type assembly struct {
	at weak.Pointer[byte]
	of reflect.Type // a struct begins where its first field does
}

// assembled has the assemblies of values that a model has, or is about to have.
var assembled sync.Map

// assemble makes the layers of a user's type. done ends it: where the model did not come about, the value may be
// assembled again. A panic in Assemble is an error, as one in Call is.
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

// claim refuses values that an earlier model has.
func claim(a Assembler) (done func(made bool), err error) {
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 {
		return func(bool) {}, nil // a copy, or one without a field: it keeps no layers
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

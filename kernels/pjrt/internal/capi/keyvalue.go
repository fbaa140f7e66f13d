//go:build linux

package capi

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Store is where the processes of a client that spans several find what the others have put. The plugin calls it from
// threads of its own, some at the same time.
type Store interface {
	// Get returns the value of a key, and waits for another process to put it, up to the timeout.
	Get(key string, timeout time.Duration) ([]byte, error)
	// TryGet returns the value of a key, or an [*Error] of code [NotFound].
	TryGet(key string) ([]byte, error)
	Put(key string, value []byte) error
}

// Functions for C are never freed, so there is one of each, made when the first client asks for it; a number says whose
// store is meant.
var (
	callbacks = sync.OnceValue(func() [3]uintptr {
		return [3]uintptr{purego.NewCallback(kvGet), purego.NewCallback(kvPut), purego.NewCallback(kvTryGet)}
	})
	deleter = sync.OnceValue(func() uintptr { return purego.NewCallback(kvDelete) })

	stores storeTable
)

// storeTable knows the stores of clients, and the values that plugins have not given back.
type storeTable struct {
	mu     sync.Mutex
	all    map[uintptr]Store
	last   uintptr
	values map[uintptr][]byte // by address
}

func (t *storeTable) add(s Store) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all, t.values = map[uintptr]Store{}, map[uintptr][]byte{}
	}
	t.last++
	t.all[t.last] = s
	return t.last
}

func (t *storeTable) remove(number uintptr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, number)
}

func (t *storeTable) at(number uintptr) (Store, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.all[number]; s != nil {
		return s, nil
	}
	return nil, errors.New("pjrt: the client is closed")
}

// lend returns the address of a copy of a value, which stays until the plugin gives it back: Go's objects do not move.
func (t *storeTable) lend(value []byte) uintptr {
	kept := append(make([]byte, 0, len(value)+1), value...)
	address := uintptr(unsafe.Pointer(unsafe.SliceData(kept)))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[address] = kept
	return address
}

func kvDelete(address uintptr) uintptr {
	stores.mu.Lock()
	defer stores.mu.Unlock()
	delete(stores.values, address)
	return 0
}

// refuse makes the plugin's object for an error by the function that a callback was given for that.
func refuse(function uintptr, err error) uintptr {
	code := int32(Internal)
	var e *Error
	if errors.As(err, &e) {
		code = e.Code
	}
	message := append([]byte(err.Error()), 0)
	object, _, _ := purego.SyscallN(uintptr(words(function, 1)[0]), uintptr(code), uintptr(unsafe.Pointer(unsafe.SliceData(message))), uintptr(len(message)-1))
	runtime.KeepAlive(message)
	return object
}

// protect turns a panic of a store into an error: nothing may unwind through C.
func protect(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("pjrt: the store of keys: %v", p)
	}
}

func kvGet(a uintptr) uintptr {
	w := words(a, 10)
	value, err := func() (value []byte, err error) {
		defer protect(&err)
		s, err := stores.at(uintptr(w[6]))
		if err != nil {
			return nil, err
		}
		return s.Get(text(w[2], w[3]), time.Duration(int32(w[4]))*time.Millisecond)
	}()
	if err != nil {
		return refuse(uintptr(w[5]), err)
	}
	w[7], w[8], w[9] = uint64(stores.lend(value)), uint64(len(value)), uint64(deleter())
	return 0
}

func kvTryGet(a uintptr) uintptr {
	w := words(a, 9)
	value, err := func() (value []byte, err error) {
		defer protect(&err)
		s, err := stores.at(uintptr(w[5]))
		if err != nil {
			return nil, err
		}
		return s.TryGet(text(w[2], w[3]))
	}()
	if err != nil {
		return refuse(uintptr(w[4]), err)
	}
	w[6], w[7], w[8] = uint64(stores.lend(value)), uint64(len(value)), uint64(deleter())
	return 0
}

func kvPut(a uintptr) uintptr {
	w := words(a, 8)
	err := func() (err error) {
		defer protect(&err)
		s, err := stores.at(uintptr(w[7]))
		if err != nil {
			return err
		}
		return s.Put(text(w[2], w[3]), []byte(text(w[4], w[5])))
	}()
	if err != nil {
		return refuse(uintptr(w[6]), err)
	}
	return 0
}

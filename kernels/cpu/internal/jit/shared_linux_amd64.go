package jit

import (
	"encoding/binary"
	"runtime"
	"sync"
	"weak"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Equal steps share their code. A model repeats its activations and updates, and its programs for batches and sequences
// of other lengths mostly differ in the number of elements alone, which code does not know.

// shared holds the code that somebody uses, by what it was made from.
var shared struct {
	sync.Mutex
	codes map[string]weak.Pointer[Code]
}

// sharedCode returns the code with the given key, or nil.
func sharedCode(key []byte) *Code {
	shared.Lock()
	defer shared.Unlock()
	return shared.codes[string(key)].Value()
}

// share makes code the one with the given key. It returns the one that there is already, if another goroutine was
// faster.
func (c *Code) share(key string) *Code {
	shared.Lock()
	defer shared.Unlock()
	if first := shared.codes[key].Value(); first != nil {
		return first
	}
	if shared.codes == nil {
		shared.codes = map[string]weak.Pointer[Code]{}
	}
	shared.codes[key] = weak.Make(c)
	runtime.AddCleanup(c, forget, key)
	return c
}

// forget removes the code with the given key, unless new code has been made in the meantime.
func forget(key string) {
	shared.Lock()
	defer shared.Unlock()
	if shared.codes[key].Value() == nil {
		delete(shared.codes, key)
	}
}

// appendKey appends everything that the code depends on.
func appendKey(key []byte, steps []Step, size int, isNumber func(pointer uint8) bool) []byte {
	le := binary.LittleEndian
	key = le.AppendUint32(key, uint32(isa.Active()))
	key = append(key, byte(size))
	flag := func(b bool) byte {
		if b {
			return 1
		}
		return 0
	}
	for i := range steps {
		s := &steps[i]
		key = le.AppendUint32(key, uint32(s.Op))
		key = append(key, s.Dst, s.In[0], s.In[1], s.In[2], byte(s.From), byte(s.To),
			flag(s.Stored)|flag(isNumber(s.Dst))<<1|flag(isNumber(s.In[0]))<<2|flag(isNumber(s.In[1]))<<3|flag(isNumber(s.In[2]))<<4|flag(s.Lookup != nil)<<5)
		if t := s.Lookup; t != nil {
			key = le.AppendUint32(append(key, byte(t.Size), flag(t.Clips), t.Failure), t.Last)
			key = le.AppendUint32(key, uint32(t.Number))
		}
	}
	return key
}

package unreachable

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type thing struct {
	inner *thing
	gone  *atomic.Int32
}

func (x *thing) Discard() { x.gone.Add(1) }

// What is reached only through another watched object goes after it, in one call; what was forgotten does not go, nor
// what somebody holds.
func TestCollect(t *testing.T) {
	var l List
	gone := new(atomic.Int32)
	add := func(inner *thing) *thing {
		x := &thing{inner, gone}
		l.Watch(x)
		return x
	}
	for range 100 {
		add(add(nil))
		Forget(add(nil))
	}
	held := add(nil)
	l.Collect()
	require.EqualValues(t, 200, gone.Load())
	held.Discard()
	require.EqualValues(t, 201, gone.Load())
}

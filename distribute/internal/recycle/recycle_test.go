package recycle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPool(t *testing.T) {
	p := new(Pool)
	for _, n := range []int{0, 1, 2, 3, 1000, 1024, 1025} {
		b := p.Get(n)
		require.Len(t, *b, n)
		p.Put(b)
		require.Len(t, *p.Get(n), n)
	}
	odd := make([]byte, 3)
	p.Put(&odd)
	require.GreaterOrEqual(t, cap(*p.Get(4)), 4)
}

package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestShape(t *testing.T) {
	s := Shape{2, 3, 5}
	assert.Equal(t, 30, s.Size())
	assert.Equal(t, 1, Shape(nil).Size())
	assert.Equal(t, 0, Shape{3, 0}.Size())
	assert.Equal(t, 3, s.Rank())
	assert.Equal(t, []int{15, 5, 1}, s.Strides())
	assert.Equal(t, Shape{3}, s.Without(0, 2))
	assert.Equal(t, s, s.Without())
	assert.Equal(t, Shape{1, 3, 1}, s.WithOnes(0, 2))
	assert.Equal(t, Shape{2, 3, 5}, s, "nothing above changes the shape")
	assert.True(t, s.Equal(s.Clone()))
	assert.True(t, Shape{}.Equal(nil))
	assert.False(t, s.Equal(Shape{2, 3}))
	clone := s.Clone()
	clone[0] = 9
	assert.Equal(t, 2, s[0])
	assert.Equal(t, "[2 3 5]", s.String())
	assert.Equal(t, "[]", Shape(nil).String())
}

func TestBroadcastShapes(t *testing.T) {
	for _, c := range []struct{ a, b, want Shape }{
		{nil, nil, Shape{}},
		{nil, Shape{2, 3}, Shape{2, 3}},
		{Shape{3}, Shape{2, 3}, Shape{2, 3}},
		{Shape{2, 1, 5}, Shape{4, 1}, Shape{2, 4, 5}},
		{Shape{1}, Shape{0}, Shape{0}},
		{Shape{0}, Shape{0}, Shape{0}},
	} {
		for _, pair := range [][2]Shape{{c.a, c.b}, {c.b, c.a}} {
			got, err := BroadcastShapes(pair[0], pair[1])
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		}
	}
	_, err := BroadcastShapes(Shape{2, 3}, Shape{4, 3})
	assert.EqualError(t, err, "shapes [2 3] and [4 3] do not broadcast: axis 0 has lengths 2 and 4, which must be equal or 1")
	_, err = BroadcastShapes(Shape{0}, Shape{2})
	assert.Error(t, err)
}

func TestType(t *testing.T) {
	x := Type{Float16, Shape{2, 3}}
	assert.Equal(t, 12, x.Bytes())
	assert.Equal(t, "float16[2 3]", x.String())
	assert.True(t, x.Equal(Type{Float16, Shape{2, 3}}))
	assert.False(t, x.Equal(Type{BFloat16, Shape{2, 3}}))
	assert.False(t, x.Equal(Type{Float16, Shape{3, 2}}))
	assert.NoError(t, x.check())
	assert.Error(t, Type{}.check())
	assert.Error(t, Type{Float32, Shape{2, -1}}.check())
}

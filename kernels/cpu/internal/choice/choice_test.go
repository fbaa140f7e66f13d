package choice

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// set replaces the choices of the package for a test.
func set(t *testing.T, names ...string) []*Choice {
	before := all
	t.Cleanup(func() { all = before })
	all = nil
	var made []*Choice
	for _, name := range names {
		made = append(made, New(name))
	}
	return made
}

func TestWithout(t *testing.T) {
	c := set(t, "a")[0]
	assert.True(t, c.Taken())
	restore := c.Without()
	assert.False(t, c.Taken())
	inner := c.Without()
	inner()
	assert.False(t, c.Taken(), "the outer one is still in force")
	restore()
	assert.True(t, c.Taken())
}

func TestRecord(t *testing.T) {
	c := set(t, "b", "c", "a")
	c[1].Taken() // outside Record
	assert.Equal(t, []*Choice{c[2], c[0]}, Record(func() { c[0].Taken(); c[2].Taken() }))
	assert.Equal(t, []*Choice{c[1]}, Record(func() { c[1].Taken() }))
	assert.Equal(t, "[a b c]", fmt.Sprint(All()))
}

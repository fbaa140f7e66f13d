package ptx

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A module is split into modules of one kernel each; those of equal kernels are equal.
func TestSplit(t *testing.T) {
	kernel := func(line string) *Kernel {
		k := &Kernel{MaxThreads: 64}
		k.Param()
		k.Line("%s", line)
		return k
	}
	var one, two Module
	a, b := one.Add(kernel("bar.sync 0")), one.Add(kernel("exit"))
	two.Add(kernel("trap"))
	c := two.Add(kernel("exit"))
	require.NotEqual(t, a, b)
	first, second := Split(one.String()), Split(two.String())
	require.Len(t, first, 2)
	require.Len(t, second, 2)
	assert.Equal(t, []string{a, b, c}, []string{first[0].Name, first[1].Name, second[1].Name})
	assert.NotEqual(t, first[0].Text, first[1].Text)
	assert.Equal(t, first[1].Text, second[1].Text)
	assert.Equal(t, first[1].Alone, second[1].Alone)
	k := kernel("exit")
	assert.Equal(t, Header+k.Text(first[1].Alone), first[1].Text)
	assert.Empty(t, Split(Header))
	var ampere Module
	k.Ampere = true
	ampere.Add(k)
	assert.NotEqual(t, first[1].Alone, Split(ampere.String())[0].Alone, "another target")
}

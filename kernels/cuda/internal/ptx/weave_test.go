package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Instructions of independent bodies alternate. A body that jumps, or is too long, is written once, and different
// bodies are not interleaved.
func TestWeave(t *testing.T) {
	text := func(write func(k *Kernel)) string {
		k := &Kernel{}
		write(k)
		_, body, _ := strings.Cut(k.Text("f"), "{\n")
		return strings.ReplaceAll(body, "\tret;\n}\n", "")
	}
	lines := func(names ...string) (all string) {
		for _, name := range names {
			all += "\t" + name + ";\n"
		}
		return all
	}
	woven := text(func(k *Kernel) {
		assert.Equal(t, 3, k.Weave(3, 100, func(i int) { k.Line("ld %d", i); k.Line("st %d", i) }))
	})
	assert.Equal(t, lines("ld 0", "ld 1", "ld 2", "st 0", "st 1", "st 2"), woven)
	woven = text(func(k *Kernel) {
		assert.Equal(t, 2, k.Weave(4, 5, func(i int) { k.Line("ld %d", i); k.Line("st %d", i) }))
	})
	assert.Equal(t, lines("ld 0", "ld 1", "st 0", "st 1"), woven, "too many instructions for four")
	woven = text(func(k *Kernel) {
		assert.Equal(t, 2, k.Weave(2, 100, func(i int) { k.Line("ld%d", i); k.Line("st %d", i) }))
	})
	assert.Equal(t, lines("ld0", "st 0", "ld1", "st 1"), woven, "they differ")
	for _, jump := range []func(k *Kernel){func(k *Kernel) { k.Place(k.Label()) }, func(k *Kernel) { k.Barrier() }, func(k *Kernel) { k.Branch(k.Label()) }} {
		text(func(k *Kernel) { assert.Equal(t, 1, k.Weave(4, 100, func(int) { jump(k) })) })
	}
	inner := text(func(k *Kernel) {
		later := k.Later(func() {
			k.Weave(2, 100, func(i int) { k.Line("%s", fmt.Sprint("in ", i)) })
		})
		k.Line("before")
		later()
	})
	assert.Equal(t, lines("before", "in 0", "in 1"), inner)
}

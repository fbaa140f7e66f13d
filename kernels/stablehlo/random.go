package stablehlo

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.RngBits] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.RngAttrs)
		return []value{e.rngBits(a, in[0])}
	}
}

// rngBits calls the function that makes as many blocks as are needed, and drops the words beyond the end.
func (e *emitter) rngBits(a ir.RngAttrs, state value) value {
	size := a.Shape.Size()
	if size == 0 {
		return e.splat(ir.Type{DType: ir.Uint32, Shape: a.Shape}, 0)
	}
	blocks := (size + 3) / 4
	stream := e.splat(ir.Type{DType: ir.Uint32}, float64(a.Stream))
	t := ir.Type{DType: ir.Uint32, Shape: ir.Shape{blocks * 4}}
	words := e.definef(t, "func.call @%s(%s, %s) : (%s, %s) -> %s", e.philox(blocks), state.name, stream.name, tensor(state.typ), tensor(stream.typ), tensor(t))
	return e.reshape(e.slice(words, []int{0}, []int{size}, []int{1}), a.Shape...)
}

// philox writes the function Philox4x32-10 for blocks 0, 1, ... of a stream: (state, stream) -> words. See ir.RngAttrs.
func (e *emitter) philox(blocks int) string {
	name := fmt.Sprintf("philox_%d", blocks)
	if _, written := e.functions[name]; written {
		return name
	}
	f := &emitter{text: &strings.Builder{}, indent: 2, locations: map[string]int{}}
	scalar, vector := ir.Type{DType: ir.Uint32}, ir.Type{DType: ir.Uint32, Shape: ir.Shape{blocks}}
	state, stream := value{"%state", ir.Type{DType: ir.Uint32, Shape: ir.Shape{4}}}, value{"%stream", scalar}
	word := func(i int) value {
		return f.broadcast(f.reshape(f.slice(state, []int{i}, []int{i + 1}, []int{1})), vector.Shape)
	}
	key := [2]value{word(0), word(1)}
	counter := [4]value{f.iota(vector, 0), f.broadcast(stream, vector.Shape), word(2), word(3)}
	factors := [2]value{f.splat(vector, 0xD2511F53), f.splat(vector, 0xCD9E8D57)}
	steps := [2]value{f.splat(vector, 0x9E3779B9), f.splat(vector, 0xBB67AE85)}
	for range 10 {
		low, high := f.product(counter[0], factors[0])
		low2, high2 := f.product(counter[2], factors[1])
		counter = [4]value{
			f.binary("xor", f.binary("xor", high2, counter[1]), key[0]), low2,
			f.binary("xor", f.binary("xor", high, counter[3]), key[1]), low,
		}
		key = [2]value{f.binary("add", key[0], steps[0]), f.binary("add", key[1], steps[1])}
	}
	columns := make([]value, 4)
	for i, c := range counter {
		columns[i] = f.reshape(c, blocks, 1)
	}
	words := f.reshape(f.concat(1, columns...), blocks*4)
	f.linef("return %s : %s", words.name, tensor(words.typ))
	e.functions[name] = fmt.Sprintf("  func.func private @%s(%s: %s, %s: %s) -> %s {\n%s  }\n", name, state.name, tensor(state.typ), stream.name, tensor(scalar), tensor(words.typ), f.text)
	e.functionOrder = append(e.functionOrder, name)
	return name
}

// product returns the low and the high word of x·y.
func (e *emitter) product(x, y value) (low, high value) {
	wide := e.binary("multiply", e.convert(x, ir.Uint64), e.convert(y, ir.Uint64))
	return e.binary("multiply", x, y), e.convert(e.binary("shift_right_logical", wide, e.like(wide, 32)), ir.Uint32)
}

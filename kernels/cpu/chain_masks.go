package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A chain holds the result of its last comparison, a mask, beside its value. Selects read the mask there, and
// operations on bools combine it with others.

var chainMasks = map[ir.Op]vec.ChainOp{ir.BitAnd: vec.ChainAndBytes, ir.BitOr: vec.ChainOrBytes, ir.BitXor: vec.ChainXorBytes}

// maskForm returns the form of an operation on bools.
func maskForm(op ir.Op) chainForm {
	if op == ir.Not {
		return chainForm{ok: true, unary: true, masks: true, first: vec.ChainNotHeld}
	}
	f, ok := chainMasks[op]
	return chainForm{ok: ok, masks: true, first: f}
}

// compareMasks returns the form of a comparison of bools.
func compareMasks(d ir.Direction) chainForm {
	switch d {
	case ir.Eq:
		return chainForm{ok: true, masks: true, first: vec.ChainSameBytes}
	case ir.Ne:
		return chainForm{ok: true, masks: true, first: vec.ChainXorBytes}
	}
	return chainForm{}
}

// takesMask reports whether the operation needs the mask only where the chain holds it.
func (op *vmOp) takesMask(mask uint8) bool {
	switch {
	case op.chain.chooses:
		return op.a == mask && op.b != mask && op.c != mask
	case op.chain.masks && op.chain.unary:
		return op.a == mask
	}
	return op.chain.masks && (op.a == mask) != (op.b == mask)
}

// addMask appends the steps of operation i, which works on bools. The chain ends before operation last.
func (c *chainBuilder) addMask(i, last int) {
	op := &c.b.prog.ops[i]
	other := op.b
	switch {
	case c.holdsMask && op.takesMask(c.mask):
		if c.taken++; op.b == c.mask && !op.chain.unary {
			other = op.a
		}
	default:
		c.steps = append(c.steps, vmStep{op: vec.ChainHoldBytes, x: op.a})
	}
	c.steps = append(c.steps, vmStep{op: op.chain.first, x: other})
	c.holdsMask, c.mask = true, op.dst
	if store, _ := c.b.maskUses(i, last); store {
		c.steps = append(c.steps, vmStep{op: vec.ChainStoreHeld, x: op.dst})
	}
}

// maskUses reports whether the mask computed by operation i is needed in memory, and whether an operation of the chain
// takes it while it is held, that is before the next mask. The chain ends before operation last.
func (b *vmBuilder) maskUses(i, last int) (stored, taken bool) {
	ops, ptr := b.prog.ops, b.prog.ops[i].dst
	stored = !b.isRegister(ptr)
	held := true
	for j := i + 1; j < len(ops); j++ {
		op := &ops[j]
		held = held && j < last
		switch reads := op.a == ptr || op.b == ptr || op.c == ptr; {
		case held && op.takesMask(ptr):
			taken = true
		case reads && !op.onlyFillsUnused(ptr):
			stored = true
		}
		if op.dst == ptr {
			return stored, taken
		}
		held = held && !op.chain.makesMask()
	}
	return stored || b.readLast(ptr), taken
}

// onlyFillsUnused reports whether the pointer's number appears in the operation only in place of operands that it
// lacks.
func (op *vmOp) onlyFillsUnused(ptr uint8) bool {
	reads := 0
	for _, p := range []uint8{op.a, op.b, op.c} {
		if p == ptr {
			reads++
		}
	}
	return op.chain.ok && reads == op.unusedReads(ptr)
}

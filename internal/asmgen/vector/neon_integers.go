package vector

import . "github.com/gokeras/gokeras/internal/asmgen/arm64"

// integer writes instructions on integers, and conversions.
func (n *neon) integer(i *instruction) bool {
	k := Float32s
	switch i.op {
	case opToInt:
		n.each(i, func(d, x V) { n.Two(k, "fcvtns", 0x4e21a800, d, x) })
	case opTruncateToInt:
		n.each(i, func(d, x V) { n.Two(k, "fcvtzs", 0x4ea1b800, d, x) })
	case opToFloat:
		if n.double { // the integers are in the first of two registers
			d, x := n.pair(i.operands[0]), n.pair(i.operands[1])[0]
			n.Asm("VEXT $8, %v.B16, %v.B16, %v.B16", x, x, n.spare())
			for h, from := range []V{x, n.spare()} {
				n.Asm("WORD $0x%08x // sshll v%d.2d, v%d.2s, #0", 0x0f20a400|uint32(from)<<5|uint32(d[h]), d[h], from)
				n.Two(n.kind, "scvtf", 0x4e21d800, d[h], d[h])
			}
			break
		}
		n.each(i, func(d, x V) { n.Two(k, "scvtf", 0x4e21d800, d, x) })
	case opMultiplyLongs:
		b, x, d := n.source(i.operands[2], 0), n.pair(i.operands[1]), n.pair(i.operands[0])
		for h := range d {
			n.Asm("WORD $0x%08x // xtn v%d.2s, v%d.2d", 0x0ea12800|uint32(x[h])<<5|uint32(n.spare()), n.spare(), x[h])
			n.Asm("WORD $0x%08x // umull v%d.2d, v%d.2s, v%d.2s", 0x2ea0c000|uint32(b[h])<<16|uint32(n.spare())<<5|uint32(d[h]), d[h], n.spare(), b[h])
		}
	case opShiftLeft:
		n.each(i, func(d, x V) { n.shift("shl", 0x4f005400, 8*n.kind.Size+i.number, i.number, d, x) })
	case opShiftRightSigned:
		n.each(i, func(d, x V) { n.shift("sshr", 0x4f000400, 64-i.number, i.number, d, x) })
	case opShiftRight:
		n.each(i, func(d, x V) { n.shift("ushr", 0x6f000400, 16*n.kind.Size-i.number, i.number, d, x) })
	case opShiftLeftBy, opShiftRightBy, opShiftRightSignedBy:
		n.shiftBy(i)
	case opBroadcastByte:
		base, offset := n.address(i.operands[1].(Memory))
		d := n.pair(i.operands[0])
		n.Asm("ADD $%d, %s, R19", offset, base)
		n.Asm("VLD1R (R19), [%v.B16]", d[0])
		n.Move(d[1], d[0])
	case opWidenBytes:
		n.widenBytes(i.operands[1].(Memory), n.pair(i.operands[0]))
	case opWidenWords:
		d := n.pair(i.operands[0])
		t := n.loadQuad(i.operands[1].(Memory))
		n.Asm("VUSHLL $0, %v.H4, %v.S4", t, d[0])
		n.Asm("VUSHLL2 $0, %v.H8, %v.S4", t, d[1])
	case opStoreLowWords:
		n.storeQuad(i, "xtn", 0x0e612800)
	case opWidenSignedBytes, opWidenSignedWords:
		n.widenSigned(i)
	case opPacked:
		p, b, x, d := neonPacked[Packed(i.number)], n.source(i.operands[2], 0), n.source(i.operands[1], 2), n.pair(i.operands[0])
		for h := range d {
			n.Three(k, p.name, p.code, d[h], x[h], b[h])
		}
	case opShiftLeftWords:
		n.each(i, func(d, x V) { n.shift("shl.8h", 0x4f005400, 16+i.number, i.number, d, x) })
	case opShiftRightWords:
		n.each(i, func(d, x V) { n.shift("ushr.8h", 0x6f000400, 32-i.number, i.number, d, x) })
	case opStoreLowBytes:
		n.storeLowBytes(i.operands[0].(Memory), n.pair(i.operands[1]))
	case opRoundFloat16:
		d, t := n.pair(i.operands[0]), n.spare()
		for _, v := range d {
			n.Asm("WORD $0x%08x // fcvtn v%d.4h, v%d.4s", 0x0e216800|uint32(v)<<5|uint32(t), t, v)
			n.Asm("WORD $0x%08x // fcvtl v%d.4s, v%d.4h", 0x0e217800|uint32(t)<<5|uint32(v), v, t)
		}
	case opWidenFloats:
		d := n.pair(i.operands[0])
		t := n.loadQuad(i.operands[1].(Memory))
		n.Asm("WORD $0x%08x // fcvtl v%d.2d, v%d.2s", 0x0e617800|uint32(t)<<5|uint32(d[0]), d[0], t)
		n.Asm("WORD $0x%08x // fcvtl2 v%d.2d, v%d.4s", 0x4e617800|uint32(t)<<5|uint32(d[1]), d[1], t)
	case opStoreFloats:
		x, t := n.pair(i.operands[1]), n.spare()
		n.Asm("WORD $0x%08x // fcvtn v%d.2s, v%d.2d", 0x0e616800|uint32(x[0])<<5|uint32(t), t, x[0])
		n.Asm("WORD $0x%08x // fcvtn2 v%d.4s, v%d.2d", 0x4e616800|uint32(x[1])<<5|uint32(t), t, x[1])
		base, offset := n.address(i.operands[0].(Memory))
		n.Asm("FMOVQ F%d, %d(%s)", t, offset, base)
	case opLoadFloat16:
		d := n.pair(i.operands[0])
		t := n.loadQuad(i.operands[1].(Memory))
		n.Asm("WORD $0x%08x // fcvtl v%d.4s, v%d.4h", 0x0e217800|uint32(t)<<5|uint32(d[0]), d[0], t)
		n.Asm("WORD $0x%08x // fcvtl2 v%d.4s, v%d.8h", 0x0e217800|1<<30|uint32(t)<<5|uint32(d[1]), d[1], t)
	case opStoreFloat16:
		n.storeQuad(i, "fcvtn", 0x0e216800)
	default:
		return false
	}
	return true
}

// neonPacked are the instructions for [Packed].
var neonPacked = map[Packed]struct {
	name string
	code uint32
}{
	AddBytes: {"add.16b", 0x4e208400}, SubtractBytes: {"sub.16b", 0x6e208400}, MaxInt8: {"smax.16b", 0x4e206400}, MaxUint8: {"umax.16b", 0x6e206400},
	MinInt8: {"smin.16b", 0x4e206c00}, MinUint8: {"umin.16b", 0x6e206c00}, AddWords: {"add.8h", 0x4e608400}, SubtractWords: {"sub.8h", 0x6e608400},
	MultiplyWords: {"mul.8h", 0x4e609c00}, MaxInt16: {"smax.8h", 0x4e606400}, MaxUint16: {"umax.8h", 0x6e606400}, MinInt16: {"smin.8h", 0x4e606c00},
	MinUint16: {"umin.8h", 0x6e606c00}, MaxUint32: {"umax", 0x6ea06400}, MinUint32: {"umin", 0x6ea06c00},
}

// widenSigned widens eight smaller signed integers.
func (n *neon) widenSigned(i *instruction) {
	from, d := i.operands[1].(Memory), n.pair(i.operands[0])
	if i.op == opWidenSignedWords {
		t := n.loadQuad(from)
		n.WidenSigned(d[0], t, 2, false)
		n.WidenSigned(d[1], t, 2, true)
		return
	}
	base, offset := n.address(from)
	t := n.spare()
	n.Asm("FMOVD %d(%s), F%d", offset, base, t)
	n.WidenSigned(t, t, 1, false)
	n.WidenSigned(d[0], t, 2, false)
	n.WidenSigned(d[1], t, 2, true)
}

// storeLowBytes stores the lowest byte of eight integers.
func (n *neon) storeLowBytes(to Memory, x [2]V) {
	t := n.spare()
	n.Asm("WORD $0x%08x // xtn v%d.4h, v%d.4s", 0x0e612800|uint32(x[0])<<5|uint32(t), t, x[0])
	n.Asm("WORD $0x%08x // xtn2 v%d.8h, v%d.4s", 0x4e612800|uint32(x[1])<<5|uint32(t), t, x[1])
	n.Asm("WORD $0x%08x // xtn v%d.8b, v%d.8h", 0x0e212800|uint32(t)<<5|uint32(t), t, t)
	base, offset := n.address(to)
	n.Asm("FMOVD F%d, %d(%s)", t, offset, base)
}

func (n *neon) shift(name string, code uint32, field, by int, d, x V) {
	n.Asm("WORD $0x%08x // %s v%d, v%d, #%d", code|uint32(field)<<16|uint32(x)<<5|uint32(d), name, d, x, by)
}

// shiftBy shifts by numbers in a register. The instruction uses one signed byte of each, and shifts right by negative
// ones.
func (n *neon) shiftBy(i *instruction) {
	b, x, d := n.source(i.operands[2], 0), n.source(i.operands[1], 2), n.pair(i.operands[0])
	name, code := "ushl", uint32(0x6ea04400)
	if i.op == opShiftRightSignedBy {
		name, code = "sshl", 0x4ea04400
	}
	t := n.spare()
	for h := range n.count(i) {
		n.Asm("WORD $0x%08x // movi v%d.4s, #32", 0x4f010400|uint32(t), t)
		n.Three(Float32s, "umin", 0x6ea06c00, t, t, b[h])
		if i.op != opShiftLeftBy {
			n.Two(Float32s, "neg", 0x6ea0b800, t, t)
		}
		n.Three(Float32s, name, code, d[h], x[h], t)
	}
}

// loadQuad loads eight 16-bit numbers.
func (n *neon) loadQuad(from Memory) V {
	base, offset := n.address(from)
	n.Asm("FMOVQ %d(%s), F%d", offset, base, n.spare())
	return n.spare()
}

// storeQuad stores eight 16-bit numbers; an instruction narrows four at a time.
func (n *neon) storeQuad(i *instruction, name string, code uint32) {
	x, t := n.pair(i.operands[1]), n.spare()
	n.Asm("WORD $0x%08x // %s v%d.4h, v%d.4s", code|uint32(x[0])<<5|uint32(t), name, t, x[0])
	n.Asm("WORD $0x%08x // %s2 v%d.8h, v%d.4s", code|1<<30|uint32(x[1])<<5|uint32(t), name, t, x[1])
	base, offset := n.address(i.operands[0].(Memory))
	n.Asm("FMOVQ F%d, %d(%s)", t, offset, base)
}

// widenBytes widens eight bytes to 32-bit integers, or, in functions with 64-bit floats, four bytes in the first
// register.
func (n *neon) widenBytes(from Memory, d [2]V) {
	base, offset := n.address(from)
	t := n.spare()
	if n.double {
		n.Asm("FMOVS %d(%s), F%d", offset, base, t)
		n.Asm("VUSHLL $0, %v.B8, %v.H8", t, t)
		n.Asm("VUSHLL $0, %v.H4, %v.S4", t, d[0])
		return
	}
	n.Asm("FMOVD %d(%s), F%d", offset, base, t)
	n.Asm("VUSHLL $0, %v.B8, %v.H8", t, t)
	n.Asm("VUSHLL $0, %v.H4, %v.S4", t, d[0])
	n.Asm("VUSHLL2 $0, %v.H8, %v.S4", t, d[1])
}

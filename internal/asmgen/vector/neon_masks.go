package vector

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/arm64"
)

// arm64's comparisons.
const (
	fcmgt = 0x6ea0e400
	fcmge = 0x6e20e400
	fcmeq = 0x4e20e400
	cmgt  = 0x4ea03400
	cmeq  = 0x6ea08c00
)

// masked writes operations that make or use masks, which are vectors of all ones or zeros.
func (n *neon) masked(i *instruction) bool {
	k, a := Float32s, i.operands
	switch i.op {
	case opSigns: // the vector is the mask; of 64-bit elements, amd64 uses only the sign
		if n.double {
			for _, v := range n.pair(a[1]) {
				n.shift("sshr", 0x4f000400, 128-63, 63, v, v)
			}
		}
	case opCompare:
		n.compare(Predicate(i.number), n.source(a[2], 0), n.source(a[1], 2), n.pair(a[0]))
	case opCompareInt:
		b, x, d := n.source(a[2], 0), n.source(a[1], 2), n.pair(a[0])
		for h := range d {
			if Predicate(i.number) == Equal {
				n.Three(n.kind, "cmeq", cmeq, d[h], x[h], b[h])
			} else {
				n.Three(n.kind, "cmgt", cmgt, d[h], x[h], b[h])
			}
		}
	case opZeroBytes:
		d, zero := n.pair(a[0]), n.pair(a[2])
		n.widenBytes(a[1].(Memory), d)
		for h := range d {
			n.Three(k, "cmeq", cmeq, d[h], d[h], zero[h])
		}
	case opLoadMask:
		n.loadMask(a[1].(Memory), n.pair(a[0]))
	case opStoreMask:
		n.storeMask(a[0].(Memory), n.pair(a[1]))
	case opNot:
		d, x := n.pair(a[0]), n.pair(a[1])
		for h := range d {
			n.not(d[h], x[h])
		}
	case opEither, opSetWhere:
		d, b := n.pair(a[0]), n.pair(a[1])
		for h := range d {
			n.Three(k, "orr", 0x4ea01c00, d[h], b[h], d[h])
		}
	case opBlend:
		mask, b, d := n.pair(a[2]), n.source(a[1], 0), n.pair(a[0])
		for h := range d {
			n.Asm("VBIT %v.B16, %v.B16, %v.B16", mask[h], b[h], d[h])
		}
	case opChoose:
		mask, yes, no, d, t := n.pair(a[3]), n.pair(a[2]), n.pair(a[1]), n.pair(a[0]), n.spare()
		for h := range d {
			n.Move(t, mask[h])
			n.Three(k, "bsl", 0x6e601c00, t, yes[h], no[h])
			n.Move(d[h], t)
		}
	case opKeep:
		b, mask, d := n.source(a[2], 0), n.pair(a[1]), n.pair(a[0])
		for h := range d {
			n.Three(k, "and", 0x4e201c00, d[h], mask[h], b[h])
		}
	default:
		return false
	}
	return true
}

func (n *neon) not(d, x V) {
	n.Asm("WORD $0x%08x // not v%d.16b, v%d.16b", 0x6e205800|uint32(x)<<5|uint32(d), d, x)
}

// compare writes x predicate b.
func (n *neon) compare(p Predicate, b, x, d [2]V) {
	k, t := n.kind, n.spare()
	for h := range d {
		switch p {
		case Equal:
			n.Three(k, "fcmeq", fcmeq, d[h], x[h], b[h])
		case Unordered:
			n.Three(k, "fcmeq", fcmeq, t, b[h], b[h])
			n.Three(k, "fcmeq", fcmeq, d[h], x[h], x[h])
			n.Three(Float32s, "and", 0x4e201c00, t, t, d[h])
			n.not(d[h], t)
		case LessThan:
			n.Three(k, "fcmgt", fcmgt, d[h], b[h], x[h])
		case LessEqual:
			n.Three(k, "fcmge", fcmge, d[h], b[h], x[h])
		case NotEqual:
			n.Three(k, "fcmeq", fcmeq, t, x[h], b[h])
			n.not(d[h], t)
		case GreaterThan:
			n.Three(k, "fcmgt", fcmgt, d[h], x[h], b[h])
		case GreaterEqual:
			n.Three(k, "fcmge", fcmge, d[h], x[h], b[h])
		case NotLessEqual:
			n.Three(k, "fcmge", fcmge, t, b[h], x[h])
			n.not(d[h], t)
		default:
			panic(fmt.Sprint("predicate ", p))
		}
	}
}

// loadMask makes a mask from one byte for each element.
func (n *neon) loadMask(from Memory, d [2]V) {
	t := n.spare()
	n.widenBytes(from, d)
	if n.double {
		n.Asm("VUSHLL2 $0, %v.S4, %v.D2", d[0], d[1])
		n.Asm("VUSHLL $0, %v.S2, %v.D2", d[0], d[0])
	}
	n.Zero(t)
	for h := range d {
		n.Three(n.kind, "cmgt", cmgt, d[h], d[h], t)
	}
}

// storeMask narrows a mask to bytes of 1 and 0.
func (n *neon) storeMask(to Memory, x [2]V) {
	t, one := n.spare(), n.scratch[len(n.scratch)-2]
	move := "FMOVD"
	if n.double {
		n.Asm("WORD $0x%08x // xtn v%d.2s, v%d.2d", 0x0ea12800|uint32(x[0])<<5|uint32(t), t, x[0])
		n.Asm("WORD $0x%08x // xtn2 v%d.4s, v%d.2d", 0x4ea12800|uint32(x[1])<<5|uint32(t), t, x[1])
		x, move = [2]V{t, t}, "FMOVS" // its bytes are duplicated
	}
	n.Asm("WORD $0x%08x // xtn v%d.4h, v%d.4s", 0x0e612800|uint32(x[0])<<5|uint32(t), t, x[0])
	n.Asm("WORD $0x%08x // xtn2 v%d.8h, v%d.4s", 0x4e612800|uint32(x[1])<<5|uint32(t), t, x[1])
	n.Asm("WORD $0x%08x // xtn v%d.8b, v%d.8h", 0x0e212800|uint32(t)<<5|uint32(t), t, t)
	n.Asm("VMOVI $1, %v.B8", one)
	n.Asm("VAND %v.B8, %v.B8, %v.B8", one, t, t)
	base, offset := n.address(to)
	n.Asm("%s F%d, %d(%s)", move, t, offset, base)
}

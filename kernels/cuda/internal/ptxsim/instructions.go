package ptxsim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

type exec = func(t *thread, in *instruction)

func f32(x uint64) float32 { return math.Float32frombits(uint32(x)) }
func bits32(x float32) uint64 {
	if x != x { // instructions return this NaN, whatever the payload of their operands
		return 0x7fffffff
	}
	return uint64(math.Float32bits(x))
}

// toHalf rounds to float16.
func toHalf(x uint64) uint64 {
	if f := f32(x); f != f {
		return 0x7fff
	}
	return uint64(ir.Float16FromFloat32(f32(x)))
}
func f64(x uint64) float64    { return math.Float64frombits(x) }
func bits64(x float64) uint64 { return math.Float64bits(x) }
func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// instructions maps full names to the known instructions.
var instructions = map[string]exec{}

// Instructions returns the sorted names of the instructions that single threads execute.
func Instructions() []string { return slices.Sorted(maps.Keys(instructions)) }

func init() {
	one := func(name string, f func(a uint64) uint64) {
		instructions[name] = func(t *thread, in *instruction) { t.regs[in.d] = f(t.regs[in.a]) }
	}
	two := func(name string, f func(a, b uint64) uint64) {
		instructions[name] = func(t *thread, in *instruction) { t.regs[in.d] = f(t.regs[in.a], t.regs[in.b]) }
	}
	three := func(name string, f func(a, b, c uint64) uint64) {
		instructions[name] = func(t *thread, in *instruction) { t.regs[in.d] = f(t.regs[in.a], t.regs[in.b], t.regs[in.c]) }
	}
	moves(one, three)
	integers(one, two, three)
	floats(one, two, three)
	conversions(one)
	comparisons(two)
	memory()
}

func moves(one func(string, func(a uint64) uint64), three func(string, func(a, b, c uint64) uint64)) {
	for _, typ := range []string{"u64", "b64", "f64", "pred"} {
		one("mov."+typ, func(a uint64) uint64 { return a })
	}
	for _, typ := range []string{"u32", "b32", "f32", "s32"} {
		one("mov."+typ, func(a uint64) uint64 { return a & math.MaxUint32 })
	}
	one("ld.param.u64", func(a uint64) uint64 { return a })
	one("cvta.to.global.u64", func(a uint64) uint64 { return a })
	for _, typ := range []string{"b32", "b64", "f32", "f64"} {
		three("selp."+typ, func(a, b, c uint64) uint64 {
			if c != 0 {
				return a
			}
			return b
		})
	}
}

func integers(one func(string, func(a uint64) uint64), two func(string, func(a, b uint64) uint64), three func(string, func(a, b, c uint64) uint64)) {

	two("add.u32", func(a, b uint64) uint64 { return uint64(uint32(a) + uint32(b)) })
	two("sub.u32", func(a, b uint64) uint64 { return uint64(uint32(a) - uint32(b)) })
	two("mul.lo.u32", func(a, b uint64) uint64 { return uint64(uint32(a) * uint32(b)) })
	three("mad.lo.u32", func(a, b, c uint64) uint64 { return uint64(uint32(a)*uint32(b) + uint32(c)) })
	two("min.u32", func(a, b uint64) uint64 { return uint64(uint32(min(uint32(a), uint32(b)))) })
	two("max.u32", func(a, b uint64) uint64 { return uint64(uint32(max(uint32(a), uint32(b)))) })
	two("div.u32", func(a, b uint64) uint64 {
		if uint32(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint32(uint32(a) / uint32(b)))
	})
	two("rem.u32", func(a, b uint64) uint64 {
		if uint32(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint32(uint32(a) % uint32(b)))
	})
	two("shr.u32", func(a, b uint64) uint64 { return uint64(uint32(uint32(a) >> uint32(b))) })
	two("add.s32", func(a, b uint64) uint64 { return uint64(uint32(a) + uint32(b)) })
	two("sub.s32", func(a, b uint64) uint64 { return uint64(uint32(a) - uint32(b)) })
	two("mul.lo.s32", func(a, b uint64) uint64 { return uint64(uint32(a) * uint32(b)) })
	three("mad.lo.s32", func(a, b, c uint64) uint64 { return uint64(uint32(a)*uint32(b) + uint32(c)) })
	two("min.s32", func(a, b uint64) uint64 { return uint64(uint32(min(int32(a), int32(b)))) })
	two("max.s32", func(a, b uint64) uint64 { return uint64(uint32(max(int32(a), int32(b)))) })
	two("div.s32", func(a, b uint64) uint64 {
		if int32(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint32(int32(a) / int32(b)))
	})
	two("rem.s32", func(a, b uint64) uint64 {
		if int32(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint32(int32(a) % int32(b)))
	})
	two("shr.s32", func(a, b uint64) uint64 { return uint64(uint32(int32(a) >> uint32(b))) })
	two("shl.b32", func(a, b uint64) uint64 { return uint64(uint32(a) << uint32(b)) })
	one("not.b32", func(a uint64) uint64 { return uint64(^uint32(a)) })
	one("neg.s32", func(a uint64) uint64 { return uint64(-uint32(a)) })
	one("abs.s32", func(a uint64) uint64 {
		if int32(a) < 0 {
			return uint64(-uint32(a))
		}
		return uint64(uint32(a))
	})
	two("and.b32", func(a, b uint64) uint64 { return uint64(uint32(a) & uint32(b)) })
	two("or.b32", func(a, b uint64) uint64 { return uint64(uint32(a) | uint32(b)) })
	two("xor.b32", func(a, b uint64) uint64 { return uint64(uint32(a) ^ uint32(b)) })
	two("add.u64", func(a, b uint64) uint64 { return uint64(uint64(a) + uint64(b)) })
	two("sub.u64", func(a, b uint64) uint64 { return uint64(uint64(a) - uint64(b)) })
	two("mul.lo.u64", func(a, b uint64) uint64 { return uint64(uint64(a) * uint64(b)) })
	three("mad.lo.u64", func(a, b, c uint64) uint64 { return uint64(uint64(a)*uint64(b) + uint64(c)) })
	two("min.u64", func(a, b uint64) uint64 { return uint64(uint64(min(uint64(a), uint64(b)))) })
	two("max.u64", func(a, b uint64) uint64 { return uint64(uint64(max(uint64(a), uint64(b)))) })
	two("div.u64", func(a, b uint64) uint64 {
		if uint64(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint64(uint64(a) / uint64(b)))
	})
	two("rem.u64", func(a, b uint64) uint64 {
		if uint64(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint64(uint64(a) % uint64(b)))
	})
	two("shr.u64", func(a, b uint64) uint64 { return uint64(uint64(uint64(a) >> uint32(b))) })
	two("add.s64", func(a, b uint64) uint64 { return uint64(uint64(a) + uint64(b)) })
	two("sub.s64", func(a, b uint64) uint64 { return uint64(uint64(a) - uint64(b)) })
	two("mul.lo.s64", func(a, b uint64) uint64 { return uint64(uint64(a) * uint64(b)) })
	three("mad.lo.s64", func(a, b, c uint64) uint64 { return uint64(uint64(a)*uint64(b) + uint64(c)) })
	two("min.s64", func(a, b uint64) uint64 { return uint64(uint64(min(int64(a), int64(b)))) })
	two("max.s64", func(a, b uint64) uint64 { return uint64(uint64(max(int64(a), int64(b)))) })
	two("div.s64", func(a, b uint64) uint64 {
		if int64(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint64(int64(a) / int64(b)))
	})
	two("rem.s64", func(a, b uint64) uint64 {
		if int64(b) == 0 {
			return math.MaxUint64 // unspecified
		}
		return uint64(uint64(int64(a) % int64(b)))
	})
	two("shr.s64", func(a, b uint64) uint64 { return uint64(uint64(int64(a) >> uint32(b))) })
	two("shl.b64", func(a, b uint64) uint64 { return uint64(uint64(a) << uint32(b)) })
	one("not.b64", func(a uint64) uint64 { return uint64(^uint64(a)) })
	one("neg.s64", func(a uint64) uint64 { return uint64(-uint64(a)) })
	one("abs.s64", func(a uint64) uint64 {
		if int64(a) < 0 {
			return uint64(-uint64(a))
		}
		return uint64(uint64(a))
	})
	two("and.b64", func(a, b uint64) uint64 { return uint64(uint64(a) & uint64(b)) })
	two("or.b64", func(a, b uint64) uint64 { return uint64(uint64(a) | uint64(b)) })
	two("xor.b64", func(a, b uint64) uint64 { return uint64(uint64(a) ^ uint64(b)) })
	two("mul.wide.u32", func(a, b uint64) uint64 { return uint64(uint32(a)) * uint64(uint32(b)) })
	two("mul.wide.s32", func(a, b uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b))) })
	three("mad.wide.u32", func(a, b, c uint64) uint64 { return uint64(uint32(a))*uint64(uint32(b)) + c })
	two("mul.hi.u32", func(a, b uint64) uint64 { return uint64(uint32(a)) * uint64(uint32(b)) >> 32 })
	two("mul.hi.u64", func(a, b uint64) uint64 { h, _ := bits.Mul64(a, b); return h })
	two("and.pred", func(a, b uint64) uint64 { return a & b })
	two("or.pred", func(a, b uint64) uint64 { return a | b })
	two("xor.pred", func(a, b uint64) uint64 { return a ^ b })
	one("not.pred", func(a uint64) uint64 { return a ^ 1 })
}

func floats(one func(string, func(a uint64) uint64), two func(string, func(a, b uint64) uint64), three func(string, func(a, b, c uint64) uint64)) {

	two("add.rn.f32", func(a, b uint64) uint64 { return bits32(f32(a) + f32(b)) })
	two("sub.rn.f32", func(a, b uint64) uint64 { return bits32(f32(a) - f32(b)) })
	two("mul.rn.f32", func(a, b uint64) uint64 { return bits32(f32(a) * f32(b)) })
	two("div.rn.f32", func(a, b uint64) uint64 { return bits32(f32(a) / f32(b)) })
	two("min.f32", func(a, b uint64) uint64 { return bits32(least(f32(a), f32(b))) })
	two("max.f32", func(a, b uint64) uint64 { return bits32(greatest(f32(a), f32(b))) })
	two("add.rn.f64", func(a, b uint64) uint64 { return bits64(f64(a) + f64(b)) })
	two("sub.rn.f64", func(a, b uint64) uint64 { return bits64(f64(a) - f64(b)) })
	two("mul.rn.f64", func(a, b uint64) uint64 { return bits64(f64(a) * f64(b)) })
	two("div.rn.f64", func(a, b uint64) uint64 { return bits64(f64(a) / f64(b)) })
	two("min.f64", func(a, b uint64) uint64 { return bits64(least(f64(a), f64(b))) })
	two("max.f64", func(a, b uint64) uint64 { return bits64(greatest(f64(a), f64(b))) })

	three("fma.rn.f32", func(a, b, c uint64) uint64 { return bits32(fma32(f32(a), f32(b), f32(c))) })
	three("fma.rn.f64", func(a, b, c uint64) uint64 { return bits64(math.FMA(f64(a), f64(b), f64(c))) })
	one("neg.f32", func(a uint64) uint64 { return bits32(-f32(a)) })
	one("abs.f32", func(a uint64) uint64 { return bits32(math.Float32frombits(uint32(a) &^ (1 << 31))) })
	one("neg.f64", func(a uint64) uint64 { return signless(a, a^1<<63) })
	one("abs.f64", func(a uint64) uint64 { return signless(a, a&^(1<<63)) })
	one("sqrt.rn.f32", func(a uint64) uint64 { return bits32(float32(math.Sqrt(float64(f32(a))))) })
	one("sqrt.rn.f64", func(a uint64) uint64 { return bits64(math.Sqrt(f64(a))) })
	two("copysign.f32", func(a, b uint64) uint64 { return a&(1<<31) | b&^(1<<31)&math.MaxUint32 })
	two("copysign.f64", func(a, b uint64) uint64 { return a&(1<<63) | b&^(1<<63) })
	for name, round := range map[string]func(float64) float64{"rni": math.RoundToEven, "rmi": math.Floor, "rpi": math.Ceil, "rzi": math.Trunc} {
		one("cvt."+name+".f32.f32", func(a uint64) uint64 { return bits32(float32(round(float64(f32(a))))) })
		one("cvt."+name+".f64.f64", func(a uint64) uint64 { return bits64(round(f64(a))) })
	}
}

// signless returns b, a float64 whose sign was changed; if it is NaN it returns a, whose sign does not change.
func signless(a, b uint64) uint64 {
	if x := f64(a); x != x {
		return a | 1<<51
	}
	return b
}

// fma32 rounds once: the product is exact in float64, and the sum is rounded to odd before it is rounded to float32.
func fma32(a, b, c float32) float32 {
	x, y := float64(a)*float64(b), float64(c)
	sum := x + y
	if math.IsInf(sum, 0) || sum != sum {
		return float32(sum)
	}
	z := sum - x
	if lost := (x - (sum - z)) + (y - z); lost != 0 {
		if u := math.Float64bits(sum); u&1 == 0 {
			if (lost > 0) == (sum > 0) {
				sum = math.Float64frombits(u + 1)
			} else {
				sum = math.Float64frombits(u - 1)
			}
		}
	}
	return float32(sum)
}

// least and greatest return the other operand if one is NaN, as the instructions do.
func least[T float32 | float64](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b)
}

func greatest[T float32 | float64](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// saturated converts x, which has an integral value, to an integer of the given width. NaN gives 0, or the sign bit if
// either type has 64 bits.
func saturated(x float64, signed bool, width int, from64 bool) uint64 {
	if x != x {
		if from64 || width == 64 {
			return 1 << (width - 1)
		}
		return 0
	}
	low, high := 0.0, math.Ldexp(1, width)
	if signed {
		low, high = -math.Ldexp(1, width-1), math.Ldexp(1, width-1)
	}
	mask := ^uint64(0) >> (64 - width)
	switch {
	case x >= high && signed:
		return mask >> 1
	case x >= high:
		return mask
	case x < low && signed:
		return 1 << (width - 1)
	case x < low:
		return 0
	case signed:
		return uint64(int64(x)) & mask
	}
	return uint64(x)
}

func conversions(one func(string, func(a uint64) uint64)) {
	for name, round := range map[string]func(float64) float64{"rni": math.RoundToEven, "rmi": math.Floor, "rpi": math.Ceil, "rzi": math.Trunc} {
		for to, width := range map[string]int{"32": 32, "64": 64} {
			for _, sign := range []string{"u", "s"} {
				one("cvt."+name+"."+sign+to+".f32", func(a uint64) uint64 { return saturated(round(float64(f32(a))), sign == "s", width, false) })
				one("cvt."+name+"."+sign+to+".f64", func(a uint64) uint64 { return saturated(round(f64(a)), sign == "s", width, true) })
			}
		}
	}
	one("cvt.f64.f32", func(a uint64) uint64 { return bits64(float64(f32(a))) })
	one("cvt.rn.f32.f64", func(a uint64) uint64 { return narrowed(a, float32(f64(a))) })
	one("cvt.rz.f32.f64", func(a uint64) uint64 { return narrowed(a, toZero(f64(a))) })
	one("cvt.rn.f32.s32", func(a uint64) uint64 { return bits32(float32(int32(a))) })
	one("cvt.rn.f32.u32", func(a uint64) uint64 { return bits32(float32(uint32(a))) })
	one("cvt.rn.f32.s64", func(a uint64) uint64 { return bits32(float32(int64(a))) })
	one("cvt.rn.f32.u64", func(a uint64) uint64 { return bits32(float32(a)) })
	one("cvt.rn.f64.s32", func(a uint64) uint64 { return bits64(float64(int32(a))) })
	one("cvt.rn.f64.u32", func(a uint64) uint64 { return bits64(float64(uint32(a))) })
	one("cvt.rn.f64.s64", func(a uint64) uint64 { return bits64(float64(int64(a))) })
	one("cvt.rn.f64.u64", func(a uint64) uint64 { return bits64(float64(a)) })
	one("cvt.u64.u32", func(a uint64) uint64 { return a & math.MaxUint32 })
	one("cvt.s64.s32", func(a uint64) uint64 { return uint64(int64(int32(a))) })
	one("cvt.u32.u64", func(a uint64) uint64 { return a & math.MaxUint32 })
	one("cvt.s32.s8", func(a uint64) uint64 { return uint64(uint32(int32(int8(a)))) })
	one("cvt.s32.s16", func(a uint64) uint64 { return uint64(uint32(int32(int16(a)))) })
	one("cvt.u32.u16", func(a uint64) uint64 { return a & 0xffff })
	one("cvt.u16.u32", func(a uint64) uint64 { return a & 0xffff })
	one("cvt.f32.f16", func(a uint64) uint64 { return bits32(ir.Float16ToFloat32(uint16(a))) })
	one("cvt.rn.f16.f32", toHalf)
}

// narrowed returns x, the float32 of a float64 with the bits a; of NaN's payload it keeps what fits.
func narrowed(a uint64, x float32) uint64 {
	if x != x {
		return a>>63<<31 | 0x7fc00000 | a>>29&0x3fffff
	}
	return bits32(x)
}

// toZero rounds towards zero.
func toZero(x float64) float32 {
	y := float32(x)
	if math.Abs(float64(y)) > math.Abs(x) {
		return math.Nextafter32(y, 0)
	}
	return y
}

func comparisons(two func(string, func(a, b uint64) uint64)) {

	two("setp.eq.s32", func(a, b uint64) uint64 { return truth(int32(a) == int32(b)) })
	two("setp.ne.s32", func(a, b uint64) uint64 { return truth(int32(a) != int32(b)) })
	two("setp.lt.s32", func(a, b uint64) uint64 { return truth(int32(a) < int32(b)) })
	two("setp.le.s32", func(a, b uint64) uint64 { return truth(int32(a) <= int32(b)) })
	two("setp.gt.s32", func(a, b uint64) uint64 { return truth(int32(a) > int32(b)) })
	two("setp.ge.s32", func(a, b uint64) uint64 { return truth(int32(a) >= int32(b)) })
	two("setp.eq.u32", func(a, b uint64) uint64 { return truth(uint32(a) == uint32(b)) })
	two("setp.ne.u32", func(a, b uint64) uint64 { return truth(uint32(a) != uint32(b)) })
	two("setp.lt.u32", func(a, b uint64) uint64 { return truth(uint32(a) < uint32(b)) })
	two("setp.le.u32", func(a, b uint64) uint64 { return truth(uint32(a) <= uint32(b)) })
	two("setp.gt.u32", func(a, b uint64) uint64 { return truth(uint32(a) > uint32(b)) })
	two("setp.ge.u32", func(a, b uint64) uint64 { return truth(uint32(a) >= uint32(b)) })
	two("setp.eq.b32", func(a, b uint64) uint64 { return truth(uint32(a) == uint32(b)) })
	two("setp.ne.b32", func(a, b uint64) uint64 { return truth(uint32(a) != uint32(b)) })
	two("setp.eq.s64", func(a, b uint64) uint64 { return truth(int64(a) == int64(b)) })
	two("setp.ne.s64", func(a, b uint64) uint64 { return truth(int64(a) != int64(b)) })
	two("setp.lt.s64", func(a, b uint64) uint64 { return truth(int64(a) < int64(b)) })
	two("setp.le.s64", func(a, b uint64) uint64 { return truth(int64(a) <= int64(b)) })
	two("setp.gt.s64", func(a, b uint64) uint64 { return truth(int64(a) > int64(b)) })
	two("setp.ge.s64", func(a, b uint64) uint64 { return truth(int64(a) >= int64(b)) })
	two("setp.eq.u64", func(a, b uint64) uint64 { return truth(uint64(a) == uint64(b)) })
	two("setp.ne.u64", func(a, b uint64) uint64 { return truth(uint64(a) != uint64(b)) })
	two("setp.lt.u64", func(a, b uint64) uint64 { return truth(uint64(a) < uint64(b)) })
	two("setp.le.u64", func(a, b uint64) uint64 { return truth(uint64(a) <= uint64(b)) })
	two("setp.gt.u64", func(a, b uint64) uint64 { return truth(uint64(a) > uint64(b)) })
	two("setp.ge.u64", func(a, b uint64) uint64 { return truth(uint64(a) >= uint64(b)) })
	two("setp.eq.b64", func(a, b uint64) uint64 { return truth(uint64(a) == uint64(b)) })
	two("setp.ne.b64", func(a, b uint64) uint64 { return truth(uint64(a) != uint64(b)) })
	two("setp.eq.f32", func(a, b uint64) uint64 { return truth(f32(a) == f32(b)) })
	two("setp.neu.f32", func(a, b uint64) uint64 { return truth(f32(a) != f32(b)) })
	two("setp.lt.f32", func(a, b uint64) uint64 { return truth(f32(a) < f32(b)) })
	two("setp.le.f32", func(a, b uint64) uint64 { return truth(f32(a) <= f32(b)) })
	two("setp.gt.f32", func(a, b uint64) uint64 { return truth(f32(a) > f32(b)) })
	two("setp.ge.f32", func(a, b uint64) uint64 { return truth(f32(a) >= f32(b)) })
	two("setp.eq.f64", func(a, b uint64) uint64 { return truth(f64(a) == f64(b)) })
	two("setp.neu.f64", func(a, b uint64) uint64 { return truth(f64(a) != f64(b)) })
	two("setp.lt.f64", func(a, b uint64) uint64 { return truth(f64(a) < f64(b)) })
	two("setp.le.f64", func(a, b uint64) uint64 { return truth(f64(a) <= f64(b)) })
	two("setp.gt.f64", func(a, b uint64) uint64 { return truth(f64(a) > f64(b)) })
	two("setp.ge.f64", func(a, b uint64) uint64 { return truth(f64(a) >= f64(b)) })
}

func memory() {
	little := binary.LittleEndian
	for _, n := range []int{2, 4} { // vector loads and stores
		instructions[fmt.Sprintf("ld.shared.v%d.f32", n)] = func(t *thread, in *instruction) {
			if m := t.local(t.regs[in.list[n]]+uint64(in.offset), 4*n, false); m != nil {
				for i := range n {
					t.regs[in.list[i]] = uint64(little.Uint32(m[4*i:]))
				}
			}
		}
	}
	for typ, size := range map[string]int{"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u32": 4, "s32": 4, "b32": 4, "f32": 4, "u64": 8, "s64": 8, "b64": 8, "f64": 8} {
		load := func(m []byte) uint64 {
			switch size {
			case 1:
				return uint64(m[0])
			case 2:
				return uint64(little.Uint16(m))
			case 4:
				return uint64(little.Uint32(m))
			}
			return little.Uint64(m)
		}
		switch typ {
		case "s8":
			load = func(m []byte) uint64 { return uint64(uint32(int32(int8(m[0])))) }
		case "s16":
			load = func(m []byte) uint64 { return uint64(uint32(int32(int16(little.Uint16(m))))) }
		}
		store := func(m []byte, x uint64) {
			switch size {
			case 1:
				m[0] = byte(x)
			case 2:
				little.PutUint16(m, uint16(x))
			case 4:
				little.PutUint32(m, uint32(x))
			default:
				little.PutUint64(m, x)
			}
		}
		instructions["ld.global."+typ] = func(t *thread, in *instruction) {
			if m := t.global(t.regs[in.a]+uint64(in.offset), size, false); m != nil {
				t.regs[in.d] = load(m)
			}
		}
		instructions["st.global."+typ] = func(t *thread, in *instruction) {
			if m := t.global(t.regs[in.d]+uint64(in.offset), size, true); m != nil {
				store(m, t.regs[in.a])
			}
		}
		instructions["ld.shared."+typ] = func(t *thread, in *instruction) {
			if m := t.local(t.regs[in.a]+uint64(in.offset), size, false); m != nil {
				t.regs[in.d] = load(m)
			}
		}
		instructions["st.shared."+typ] = func(t *thread, in *instruction) {
			if m := t.local(t.regs[in.d]+uint64(in.offset), size, true); m != nil {
				store(m, t.regs[in.a])
			}
		}
	}
}

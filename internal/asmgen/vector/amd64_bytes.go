package vector

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Neither avo nor Go's assembler supports VDPBF16PS. Its operands and its place in the opcode tables are those of
// VPDPWSSD, from which it differs only in the mandatory prefix. So generators record VPDPWSSD, to which avo assigns
// registers, and its lines are replaced by bytes when the text is written.
var halfPairs = regexp.MustCompile(`(?m)^\tVPDPWSSD\.BCST +(-?\d+)?\((\w+)\)(?:\((\w+)\*(\d)\))?, Z(\d+), Z(\d+)$`)

// generalRegisters are in the order of their numbers.
var generalRegisters = []string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

// encodeHalfPairs replaces the lines with VPDPWSSD by VDPBF16PS in bytes.
func encodeHalfPairs(text []byte) ([]byte, error) {
	var err error
	out := halfPairs.ReplaceAllFunc(text, func(line []byte) []byte {
		m := halfPairs.FindSubmatch(line)
		number := func(i int) int {
			n, _ := strconv.Atoi(string(m[i])) // "" gives 0
			return n
		}
		base, index := slices.Index(generalRegisters, string(m[2])), -1
		if len(m[3]) > 0 {
			if index = slices.Index(generalRegisters, string(m[3])); index < 0 || index == 4 {
				err = fmt.Errorf("%s: cannot be an index", m[3])
			}
		}
		if base < 0 {
			err = fmt.Errorf("%s: cannot be a base", m[2])
			return line
		}
		code := halfPairsOf(number(6), number(5), base, index, max(number(4), 1), number(1))
		var s strings.Builder
		for i, b := range code {
			if i > 0 {
				s.WriteString("; ")
			}
			fmt.Fprintf(&s, "BYTE $0x%02x", b)
		}
		return fmt.Appendf(nil, "\t%s /* VDPBF16PS%s */", s.String(), strings.TrimPrefix(string(line), "\tVPDPWSSD.BCST"))
	})
	if err == nil && strings.Contains(string(out), "VPDPWSSD") {
		err = fmt.Errorf("an instruction VPDPWSSD with other operands than are expected of VDPBF16PS")
	}
	return out, err
}

// halfPairsOf encodes VDPBF16PS sum, a, and the number at base + index·scale + disp broadcast to all lanes; index is −1
// if there is none.
func halfPairsOf(sum, a, base, index, scale, disp int) []byte {
	not := func(x, bit int) byte { return byte(^x >> bit & 1) }
	x := byte(1)
	if index >= 0 {
		x = not(index, 3)
	}
	code := []byte{0x62,
		not(sum, 3)<<7 | x<<6 | not(base, 3)<<5 | not(sum, 4)<<4 | 2, // opcode map 0F 38
		byte(^a&15)<<3 | 1<<2 | 2,                                    // prefix F3
		2<<5 | 1<<4 | not(a, 4)<<3,                                   // 512 bits, broadcast
		0x52}
	mode, size := byte(2), 4 // the displacement: 32 bits, 8 bits in units of the number, or none
	switch {
	case disp == 0 && base&7 != 5:
		mode, size = 0, 0
	case disp%4 == 0 && disp/4 == int(int8(disp/4)):
		mode, size, disp = 1, 1, disp/4
	}
	reg := byte(sum&7) << 3
	switch {
	case index >= 0:
		shift := map[int]byte{1: 0, 2: 1, 4: 2, 8: 3}[scale]
		code = append(code, mode<<6|reg|4, shift<<6|byte(index&7)<<3|byte(base&7))
	case base&7 == 4:
		code = append(code, mode<<6|reg|4, 0x20|byte(base&7))
	default:
		code = append(code, mode<<6|reg|byte(base&7))
	}
	for i := range size {
		code = append(code, byte(disp>>(8*i)))
	}
	return code
}

// They do not support VCVTNEPS2BF16 either, for which generators record VCVTQQ2PS, nor VCVTNE2PS2BF16, for which they
// record VPSADBW.
var (
	rounding     = regexp.MustCompile(`(?m)^\tVCVTQQ2PS +Z(\d+), Y(\d+)$`)
	roundingPair = regexp.MustCompile(`(?m)^\tVPSADBW +Z(\d+), Z(\d+), Z(\d+)$`)
)

// encodeRounding replaces the lines with VCVTQQ2PS by VCVTNEPS2BF16 in bytes, and those with VPSADBW by VCVTNE2PS2BF16.
func encodeRounding(text []byte) []byte {
	text = encodeLines(text, rounding, "VCVTQQ2PS", "VCVTNEPS2BF16", func(n []int) []byte { return roundingOf(n[1], n[0]) })
	return encodeLines(text, roundingPair, "VPSADBW", "VCVTNE2PS2BF16", func(n []int) []byte { return roundingPairOf(n[2], n[1], n[0]) })
}

// encodeLines replaces the lines that match an expression by bytes; encode receives the numbers of the registers.
func encodeLines(text []byte, lines *regexp.Regexp, from, to string, encode func(registers []int) []byte) []byte {
	return lines.ReplaceAllFunc(text, func(line []byte) []byte {
		var registers []int
		for _, m := range lines.FindSubmatch(line)[1:] {
			n, _ := strconv.Atoi(string(m))
			registers = append(registers, n)
		}
		var s strings.Builder
		for i, b := range encode(registers) {
			if i > 0 {
				s.WriteString("; ")
			}
			fmt.Fprintf(&s, "BYTE $0x%02x", b)
		}
		return fmt.Appendf(nil, "\t%s /* %s%s */", s.String(), to, strings.TrimPrefix(string(line), "\t"+from))
	})
}

// roundingOf encodes VCVTNEPS2BF16 from a vector of 512 bits to one of 256.
func roundingOf(to, from int) []byte {
	return registersOf(to, 0, from, 0x7e) // prefix F3
}

// roundingPairOf encodes VCVTNE2PS2BF16 from two vectors of 512 bits to one.
func roundingPairOf(to, high, low int) []byte {
	return registersOf(to, high, low, 0x7f) // prefix F2
}

// registersOf encodes one of these conversions; prefix includes the other bits of its byte, except those of the second
// operand.
func registersOf(to, second, third int, prefix byte) []byte {
	not := func(x, bit int) byte { return byte(^x >> bit & 1) }
	return []byte{0x62,
		not(to, 3)<<7 | not(third, 4)<<6 | not(third, 3)<<5 | not(to, 4)<<4 | 2, // opcode map 0F 38
		prefix &^ (byte(second&15) << 3),
		2<<5 | not(second, 4)<<3, // 512 bits
		0x72, 0xc0 | byte(to&7)<<3 | byte(third&7)}
}

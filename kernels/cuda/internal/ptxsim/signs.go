package ptxsim

import (
	"fmt"
	"regexp"
	"strings"
)

// negation matches instructions that change the sign of an integer of 32 bits: the result and the operand.
var negation = regexp.MustCompile(`^(?:sub\.[su]32 (%r\d+), 0, (%r\d+)|neg\.s32 (%r\d+), (%r\d+)|mul\.lo\.[su]32 (%r\d+), (%r\d+), -1)$`)

// signs remembers which registers hold a number with its sign changed. The driver's compiler of CUDA 12.9 and 13.0
// makes one instruction of two max.s32, or of two min.s32, for devices of compute capability 9.0 and 10.0, and forgets
// there that an operand is negated: max(max(1, -8), -3) was 8. Whether there are two is decided by what it unrolls, so
// that one is refused.
type signs map[string]bool

func (s signs) see(line string) error {
	if m := negation.FindStringSubmatch(line); m != nil {
		s[m[1]+m[3]+m[5]] = true
		return nil
	}
	name, rest, _ := strings.Cut(line, " ")
	operands := strings.Split(rest, ", ")
	switch {
	case (name == "mov.b32" || name == "mov.u32" || name == "mov.s32") && len(operands) == 2:
		if s[operands[1]] {
			s[operands[0]] = true
		}
	case name == "max.s32" || name == "min.s32" || name == "max.u32" || name == "min.u32":
		for _, o := range operands[1:] {
			if s[o] {
				return fmt.Errorf("%s is a number with its sign changed, which the driver's compiler may forget: compare and choose instead", o)
			}
		}
	}
	return nil
}

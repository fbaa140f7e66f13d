package ptxsim

import (
	"fmt"
	"regexp"
	"strings"
)

// negation matches instructions that negate a 32-bit integer: the result and the operand.
var negation = regexp.MustCompile(`^(?:sub\.[su]32 (%r\d+), 0, (%r\d+)|neg\.s32 (%r\d+), (%r\d+)|mul\.lo\.[su]32 (%r\d+), (%r\d+), -1)$`)

// signs is the set of registers that hold a negated number. For devices of compute capability 9.0 and 10.0, the
// driver's compiler of CUDA 12.9 and 13.0 merges two max.s32, or two min.s32, into one instruction, and then forgets
// that an operand is negated: max(max(1, -8), -3) was 8. Since unrolling can create the second instruction, a single
// one is rejected too.
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

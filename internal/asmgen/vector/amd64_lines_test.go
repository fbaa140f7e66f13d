package vector

import (
	"strings"
	"testing"
)

// Instructions share lines, except those that name parameters; labels and comments stay as they are.
func TestShareLines(t *testing.T) {
	const text = "// func f(x uintptr)\nTEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ x+0(FP), AX\n\nnext:\n\t// loop\n\tVADDPD  (AX), Z0,  Z0\n\tDECQ    AX\n\tJNE     next\n\tRET\n\n"
	const want = "// func f(x uintptr)\nTEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ x+0(FP), AX\n\nnext:\n\t// loop\n\tVADDPD (AX), Z0, Z0; DECQ AX; JNE next; RET\n\n"
	if got := string(shareLines([]byte(text))); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	commented := shareLines([]byte("\tINCQ AX\n\tBYTE $0x90 // NOP\n\tDECQ AX\n\tRET\n"))
	if want := "\tINCQ AX; BYTE $0x90 // NOP\n\tDECQ AX; RET\n"; string(commented) != want {
		t.Errorf("%q, not %q", commented, want)
	}
	long := "TEXT ·f(SB), NOSPLIT, $0\n" + strings.Repeat("\tNOP\n", 2*instructionsPerLine+1)
	if got := string(shareLines([]byte(long))); strings.Count(got, "\n") != 4 || strings.Count(got, "NOP") != 2*instructionsPerLine+1 {
		t.Error(got)
	}
}

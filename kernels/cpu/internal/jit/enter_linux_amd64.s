#include "textflag.h"

// func enter(code uintptr, pointers unsafe.Pointer, n, lines uintptr, steps unsafe.Pointer)
TEXT ·enter(SB), NOSPLIT, $0-40
	MOVQ code+0(FP), AX
	JMP  AX

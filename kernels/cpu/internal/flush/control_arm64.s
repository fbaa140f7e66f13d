#include "textflag.h"

// func control() uint32
TEXT ·control(SB), NOSPLIT, $0-4
	MOVD FPCR, R0
	MOVW R0, ret+0(FP)
	RET

// func setControl(bits uint32)
TEXT ·setControl(SB), NOSPLIT, $0-4
	MOVWU bits+0(FP), R0
	MOVD  R0, FPCR
	RET

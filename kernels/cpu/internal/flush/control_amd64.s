#include "textflag.h"

// func control() uint32
TEXT ·control(SB), NOSPLIT, $0-4
	STMXCSR ret+0(FP)
	RET

// func setControl(bits uint32)
TEXT ·setControl(SB), NOSPLIT, $0-4
	LDMXCSR bits+0(FP)
	RET

// SPDX-License-Identifier: Apache-2.0

#include "funcdata.h"
#include "textflag.h"

// func through(f func())
TEXT ·through(SB), 0, $8-8
	NO_LOCAL_POINTERS
	MOVQ	f+0(FP), DX
	MOVQ	0(DX), AX
	CALL	AX
	RET

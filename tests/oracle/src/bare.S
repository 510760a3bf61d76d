/* SPDX-License-Identifier: Apache-2.0 */
/* A function that no debug information names; both x86-64 and aarch64 know these two words. */
	.text
	.globl	bare_assembly
	.type	bare_assembly, %function
bare_assembly:
	nop
	nop
	ret
	.size	bare_assembly, . - bare_assembly
	.section	.note.GNU-stack,"",%progbits

/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sequences of a CRuby: what they are called, where they come from. */
#ifndef UX_RUBY_ISEQ_H
#define UX_RUBY_ISEQ_H

#include "arena.h"
#include "interp_memory.h"
#include "ruby_layout.h"

enum {
	UX_RUBY_BODY = 152, /* bytes of an iseq's body that are read */
	UX_RUBY_WORD = 8,   /* bytes of an instruction's word */
};

/* An iseq as it is in memory. Strings are the arena's that it was named in. */
struct ux_ruby_iseq {
	const struct ux_ruby_layout *layout;
	uint8_t body[UX_RUBY_BODY];
	uint64_t words; /* address of the first instruction */
	const char *name;
	const char *file;
	uint32_t first_line;
};

/* Copies what the iseq at addr says; false when there is none. */
bool ux_ruby_iseq_copy(struct ux_memory *m, const struct ux_ruby_layout *layout, uint64_t addr,
		       struct ux_ruby_iseq *ret) ux_must;

/* Reads its strings. UX_ENOMEM, UX_ELIMIT: the arena's. */
enum ux_code ux_ruby_iseq_name(struct ux_memory *m, struct ux_ruby_iseq *iseq, struct ux_arena *a,
			       struct ux_error *err) ux_must;

/* True when there still is what was copied from addr. */
bool ux_ruby_iseq_holds(struct ux_memory *m, uint64_t addr, const struct ux_ruby_iseq *iseq)
	ux_must;

/* The line of the word at `offset` bytes; 0: unknown. */
uint32_t ux_ruby_iseq_line(struct ux_memory *m, const struct ux_ruby_iseq *iseq, uint64_t offset);

#endif

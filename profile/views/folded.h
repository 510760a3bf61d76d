/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: a line for each stack, "outermost;...;innermost COUNT", as flamegraph.pl and
 * stackcollapse-perf.pl of Brendan Gregg's FlameGraph have them.
 */
#ifndef UX_FOLDED_H
#define UX_FOLDED_H

#include "demangle.h"
#include "profile.h"
#include "stream.h"

/* Returns whether the text's first line is a folded stack. */
bool ux_folded_is(struct ux_bytes text);

/*
 * Reads folded stacks into an empty profile. Frames "[MODULE+0xPC]" and "/PATH+0xPC" are locations
 * without a name; all others are names. A line without a count is an error that names its number.
 * UX_ECORRUPT, UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_folded_read(struct ux_bytes text, struct ux_profile *p, struct ux_error *err)
	ux_must;

/*
 * Appends the profile as folded stacks, each once, sorted by bytes, with the sum of value number
 * `type` of its samples. A thread that has a name is the outermost frame. A quota of the stream's
 * buffer bounds the whole output. UX_ENOMEM, codes of the quota and of the stream.
 */
enum ux_code ux_folded_write(const struct ux_profile *p, size_t type, enum ux_demangle_mode mode,
			     struct ux_stream *s, struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as text: writes frames and locations, and splits the input into lines. */
#ifndef UX_PROFILE_TEXT_H
#define UX_PROFILE_TEXT_H

#include "demangle.h"
#include "profile.h"

/* Appends the name of a frame: as it was read, or its linkage name demangled. */
void ux_profile_write_name(const struct ux_profile *p, const struct ux_profile_frame *frame,
			   enum ux_demangle_mode mode, struct ux_out *out);

/*
 * Appends the place of a location without frames, without brackets: "libx.so+0x1234", where the
 * number is a virtual address of the file, or "libx.so@0x1234" for a position in a file that is not
 * here; "kernel+0x..." and "jit+0x..." for addresses; "unknown" without a module.
 */
void ux_profile_write_place(const struct ux_profile *p, const struct ux_profile_location *location,
			    struct ux_out *out);

enum {
	UX_PROFILE_AMOUNT = 32 /* bytes of a value's text, with the NUL */
};

/* Writes a value of a unit for people: "1.23 s", "12.00 MiB", "1234". */
void ux_profile_amount(struct ux_bytes unit, int64_t value, char text[UX_PROFILE_AMOUNT]);

/* Returns the last part of a path; a path that ends in '/' is kept. */
struct ux_bytes ux_profile_base_name(struct ux_bytes path);

/*
 * Takes the next line off a text: *ret_whole is the line as it is in the text, *ret is without its
 * line break. False at the end. If a line is too long for ux_profile_line_check(), its rest stays
 * in the text.
 */
bool ux_profile_line(struct ux_bytes *text, struct ux_bytes *ret_whole, struct ux_bytes *ret);

enum {
	UX_PROFILE_LINE_MAX = 64 << 20, /* bytes of a line: names are kept in memory */
	UX_PROFILE_LOOK = 1 << 20,      /* bytes at the beginning of a text that tell its format */
};

/* Reports UX_ELIMIT: line `number` is longer than UX_PROFILE_LINE_MAX. */
enum ux_code ux_profile_line_check(struct ux_bytes line, uint64_t number, struct ux_error *err)
	ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Replies in the compact form: reading. */
#ifndef UX_WIRE_READ_H
#define UX_WIRE_READ_H

#include "bytes.h"
#include "error.h"
#include "unhex/question.h"
#include "wire.h"

struct ux_wire_frame {
	uint32_t function; /* string */
	uint32_t file;
	uint32_t line;
	uint32_t up;    /* frame that it is inlined into, or 0; a smaller number than its own */
	uint32_t depth; /* frames from here out, itself too; at most UX_FRAMES_MOST */
};

struct ux_wire_file {
	uint32_t dir, base; /* strings */
};

struct ux_wire_module {
	uint8_t status, quality; /* enum ux_module_status, enum ux_quality */
	uint32_t reason;         /* string */
	uint32_t retry_after_s;
	size_t first, n; /* in addresses */
};

/* Over somebody else's bytes; all numbers in it are checked. Immutable once open. */
struct ux_wire_read {
	struct ux_bytes text;
	uint32_t *strings; /* where each is in text; malloc'ed, as all tables; [0] is unused */
	struct ux_wire_file *files;
	struct ux_wire_frame *frames;
	struct ux_wire_module *modules;
	uint32_t *addresses; /* frames, of all modules */
	size_t n_strings, n_files, n_frames, n_modules, n_addresses;
};

/* UX_ECORRUPT, UX_EUNSUPPORTED, UX_ENOMEM. Memory in proportion to the bytes. Deinit in any case.
 */
enum ux_code ux_wire_read_open(struct ux_wire_read *r, struct ux_bytes bytes, struct ux_error *err)
	ux_must;
void ux_wire_read_deinit(struct ux_wire_read *r);

/* String i <= n_strings; "" for 0. */
const char *ux_wire_read_string(const struct ux_wire_read *r, uint32_t i);

/* The frames of address i < n_addresses, innermost first, of more than max the outermost. */
size_t ux_wire_read_frames(const struct ux_wire_read *r, size_t i, struct ux_frame *ret,
			   size_t max);

#endif

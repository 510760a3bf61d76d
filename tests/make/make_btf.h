/* SPDX-License-Identifier: Apache-2.0 */
/* BTF and the records of BPF programs for tests, piece by piece. */
#ifndef UX_MAKE_BTF_H
#define UX_MAKE_BTF_H

#include "out.h"

struct make_btf {
	struct ux_out types;
	struct ux_out strings;
	struct ux_out file;
	uint32_t n; /* types */
};

void make_btf_init(struct make_btf *m);
void make_btf_deinit(struct make_btf *m);

/* Adds a string; returns its offset. */
uint32_t make_btf_string(struct make_btf *m, const char *s);

/* Adds a type of a kind with `count` members, followed by `behind` bytes of zeros; returns its
 * number. */
uint32_t make_btf_type(struct make_btf *m, uint32_t name, uint32_t kind, uint32_t count,
		       uint32_t type, uint32_t behind);

/* Adds a function. */
uint32_t make_btf_function(struct make_btf *m, const char *name);

/* Adds one type of each other kind. */
void make_btf_others(struct make_btf *m);

/* Returns the BTF; it belongs to m. Call it once for each m. */
struct ux_bytes make_btf_finish(struct make_btf *m);

/* Append a record of func_info, of line_info. */
void make_bpf_function(struct ux_out *out, uint32_t instruction, uint32_t type);
void make_bpf_line(struct ux_out *out, uint32_t instruction, uint32_t file, uint32_t line);

#endif

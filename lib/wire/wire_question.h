/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in the compact form. */
#ifndef UX_WIRE_QUESTION_H
#define UX_WIRE_QUESTION_H

#include "cursor.h"
#include "id.h"
#include "out.h"
#include "unhex/demangle.h"
#include "wire.h"

struct ux_wire_options {
	bool return_addresses;
	enum ux_demangle_mode demangle;
	uint32_t timeout_ms; /* 0: none */
};

/* Writing: the head, modules, the end. Failures are the buffer's. */
void ux_wire_question_begin(struct ux_out *out, const struct ux_wire_options *options);
void ux_wire_question_add(struct ux_out *out, const struct ux_id *id, const uint64_t *pcs,
			  size_t n);
void ux_wire_question_end(struct ux_out *out);

/* Reading. */
struct ux_wire_question {
	struct ux_wire_options options;
	struct ux_cur c;
};

/* One module; its addresses are not read yet. */
struct ux_wire_asked {
	struct ux_id id;
	uint8_t form;
	size_t n; /* at most one a byte of pcs */
	struct ux_cur pcs;
};

/* UX_ECORRUPT; UX_EUNSUPPORTED: another version, an unknown flag or mode. */
enum ux_code ux_wire_question_open(struct ux_wire_question *q, struct ux_bytes bytes,
				   struct ux_error *err) ux_must;

/* The next module; *ret_more is false behind the last one. Codes as above; UX_EINVAL, UX_ELIMIT: it
 * has an ID that is none. */
enum ux_code ux_wire_question_next(struct ux_wire_question *q, struct ux_wire_asked *ret,
				   bool *ret_more, struct ux_error *err) ux_must;

/* Its addresses, m->n of them. */
enum ux_code ux_wire_asked_pcs(const struct ux_wire_asked *m, uint64_t *ret, struct ux_error *err)
	ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A request for names, in whichever form it came. */
#ifndef UX_SYMBOLIZE_REQUEST_H
#define UX_SYMBOLIZE_REQUEST_H

#include "arena.h"
#include "demangle.h"
#include "error.h"
#include "request_values.h"
#include "vec.h"

struct ux_requested_module {
	struct ux_bytes id;    /* as sent; of the compact form: canonical */
	const char *canonical; /* NULL: id is yet to be read */
	size_t first, n;       /* in pcs */
};

/* An address relative to a function's start, which is given by its linkage name. */
struct ux_requested_name {
	size_t at; /* in pcs */
	struct ux_bytes name;
	bool known; /* set: there is such a function, and pcs[at] is the address */
};

UX_VEC(ux_requested_modules, struct ux_requested_module);
UX_VEC(ux_requested_names, struct ux_requested_name);
UX_VEC(ux_requested_pcs, uint64_t);

struct ux_symbolize_request {
	struct ux_requested_modules modules;
	struct ux_requested_pcs pcs;     /* of all modules, one after the other */
	struct ux_requested_names names; /* in order of `at` */
	enum ux_demangle_mode demangle;
	bool return_addresses; /* look up the byte before */
	uint32_t timeout_ms;   /* after this there is an answer of what is there; 0: when all is */
	json_t *strings;       /* that were decoded; others are slices of the body */
};

/* The defaults of JSON. */
#define UX_SYMBOLIZE_REQUEST_INIT ((struct ux_symbolize_request){.demangle = UX_DEMANGLE_FULL})

void ux_symbolize_request_deinit(struct ux_symbolize_request *a);

/*
 * The JSON of POST /v1/symbolize. UX_EINVAL: not such a request; UX_ELIMIT: more modules or
 * addresses than are accepted. Slices point into the body or into `strings`.
 */
enum ux_code ux_symbolize_request_parse_json(struct ux_symbolize_request *a, struct ux_bytes body,
					     struct ux_error *err) ux_must;

/* The compact form (docs/formats/symbolize-binary.md). Canonical IDs are in the arena. Codes as of
 * ux_wire_question_next(), and UX_ELIMIT as above. */
enum ux_code ux_symbolize_request_parse_compact(struct ux_symbolize_request *a,
						struct ux_bytes body, struct ux_arena *arena,
						struct ux_error *err) ux_must;

/* "0x1,NAME+2": a list in a query, for the one module that was put into modules. */
enum ux_code ux_symbolize_request_parse_list(struct ux_symbolize_request *a, struct ux_bytes list,
					     struct ux_error *err) ux_must;

/* "none", "short", "full" or "templates-elided"; UX_EINVAL for another word. */
enum ux_code ux_symbolize_request_parse_demangle(struct ux_symbolize_request *a,
						 struct ux_bytes word, struct ux_error *err)
	ux_must;

#endif

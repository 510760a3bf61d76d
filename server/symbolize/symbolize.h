/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests for names, module by module. */
#ifndef UX_SYMBOLIZE_H
#define UX_SYMBOLIZE_H

#include "arena.h"
#include "demangle.h"
#include "error.h"
#include "request_values.h"
#include "resolve.h"
#include "server.h"
#include "unhex/question.h"
#include "vec.h"

/* --- requests --------------------------------------------------------------------------------- */

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

/* --- answers ---------------------------------------------------------------------------------- */

/* What an answer says about a module, besides its frames. */
struct ux_module_answer {
	const struct ux_requested_module *module;
	enum ux_module_status status;
	bool open;               /* its symbols are here: frames follow */
	bool deadline;           /* time may run out: the status is known at the end */
	enum ux_quality quality; /* of an open one */
	const char *reason;      /* "" when there is none */
	uint32_t retry_after_s;
	size_t n; /* addresses whose frames were written */
};

/*
 * How an answer is written: for each module begin, put for each batch of addresses, end. status,
 * reason and what follows are set at the end; at the begin only without a deadline.
 */
struct ux_symbolize_writer {
	void (*begin)(void *ctx, const struct ux_module_answer *a);
	enum ux_code (*put)(void *ctx, const struct ux_resolver *r, const uint32_t *frames,
			    size_t n);
	void (*end)(void *ctx, const struct ux_module_answer *a);
};

/*
 * Answers all modules, in order. When timeout_ms is over, what was not reached is pending.
 * *ret_first is the code that the first module's opening ended with. A module that is missing or
 * broken is an answer, not a failure: UX_ENOMEM, UX_ELIMIT, UX_EUNAVAILABLE are.
 */
enum ux_code ux_symbolize(struct ux_request *req, struct ux_symbolize_request *request,
			  const struct ux_symbolize_writer *writer, void *ctx,
			  enum ux_code *ret_first) ux_must;

/* Every answer is bounded alone, and with those of all other requests: it has `size` bytes, and
 * buffers of it `cap`. UX_ELIMIT, UX_EUNAVAILABLE. */
enum ux_code ux_symbolize_bound(struct ux_request *req, size_t size, size_t cap) ux_must;

/*
 * ux_module_cache_get(), and where the store has nothing (UX_ENOTFOUND there), ux_server.missing.
 * UX_EUNAVAILABLE: the module may come, *ret_retry_s is the second from now on which another
 * request makes sense; 0 after all other codes. wait_ms: how long the caller can wait for it, 0:
 * not at all. Any thread.
 */
enum ux_code ux_server_module_open(struct ux_server *s, const char *ns, const char *id,
				   uint32_t wait_ms, struct ux_open_module **ret,
				   uint32_t *ret_retry_s, struct ux_error *err) ux_must;

/* --- routes ----------------------------------------------------------------------------------- */

/* POST /v1/symbolize, GET /v1/symbolize/{id}. */
ux_handler_fn ux_handle_symbolize, ux_handle_symbolize_one;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolization requests: parses them, resolves module by module, writes answers. */
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
	struct ux_bytes id;    /* as sent; in the compact form: canonical */
	const char *canonical; /* NULL: id has not been parsed yet */
	size_t first, n;       /* range in pcs */
};

/* An address given relative to the start of a function, which is identified by its linkage name. */
struct ux_requested_name {
	size_t at; /* index in pcs */
	struct ux_bytes name;
	uint64_t size; /* size of the function, as Linux prints it; 0: unknown */
	bool known;    /* the function was found, and pcs[at] is now the address */
};

UX_VEC(ux_requested_modules, struct ux_requested_module);
UX_VEC(ux_requested_names, struct ux_requested_name);
UX_VEC(ux_requested_pcs, uint64_t);

struct ux_symbolize_request {
	struct ux_requested_modules modules;
	struct ux_requested_pcs pcs;     /* addresses of all modules, in order */
	struct ux_requested_names names; /* ascending by `at` */
	enum ux_demangle_mode demangle;
	bool return_addresses; /* subtract 1 from each address before the lookup */
	/* ms after which the answer contains only the frames resolved by then; 0: no limit */
	uint32_t timeout_ms;
};

/* The defaults of the JSON form. */
#define UX_SYMBOLIZE_REQUEST_INIT ((struct ux_symbolize_request){.demangle = UX_DEMANGLE_FULL})

void ux_symbolize_request_deinit(struct ux_symbolize_request *a);

/*
 * Parses the JSON of POST /v1/symbolize. UX_EINVAL: it is malformed; UX_ELIMIT: it has too many
 * modules or addresses. The first error in the text is reported. Slices point into the body, or
 * into the arena if the text has escapes.
 */
enum ux_code ux_symbolize_request_parse_json(struct ux_symbolize_request *a, struct ux_bytes body,
					     struct ux_arena *arena, struct ux_error *err) ux_must;

/*
 * Parses the compact form (docs/formats/symbolize-binary.md). Canonical IDs are allocated in the
 * arena. The codes of ux_wire_question_next(), and UX_ELIMIT as above.
 */
enum ux_code ux_symbolize_request_parse_compact(struct ux_symbolize_request *a,
						struct ux_bytes body, struct ux_arena *arena,
						struct ux_error *err) ux_must;

/*
 * Parses "0x1,NAME+2", a list in a query, for the only module, which has already been added to
 * modules.
 */
enum ux_code ux_symbolize_request_parse_list(struct ux_symbolize_request *a, struct ux_bytes list,
					     struct ux_error *err) ux_must;

/* "none", "short", "full" or "templates-elided"; UX_EINVAL for another word. */
enum ux_code ux_symbolize_request_parse_demangle(struct ux_symbolize_request *a,
						 struct ux_bytes word, struct ux_error *err)
	ux_must;

/* --- answers ---------------------------------------------------------------------------------- */

/* The part of an answer that describes one module, without its frames. */
struct ux_module_answer {
	const struct ux_requested_module *module;
	enum ux_module_status status;
	bool open;               /* its symbols are in the store: frames follow */
	bool deadline;           /* there is a deadline: the status is only known at the end */
	enum ux_quality quality; /* quality of the symbols of an open module */
	enum ux_trust trust;     /* of the same */
	const char *reason;      /* "": no reason */
	uint32_t retry_after_s;
	size_t n; /* number of addresses whose frames were written */
};

/*
 * Callbacks that write an answer. For each module they are called in this order: begin, put for
 * each batch of addresses, end. status, reason and the fields after them are set when end is
 * called; when begin is called, only if there is no deadline.
 */
struct ux_symbolize_writer {
	void (*begin)(void *ctx, const struct ux_module_answer *a);
	enum ux_code (*put)(void *ctx, const struct ux_resolver *r, const uint32_t *frames,
			    size_t n);
	void (*end)(void *ctx, const struct ux_module_answer *a);
};

/*
 * Answers all modules, in order. When timeout_ms has passed, the remaining modules are reported as
 * pending. *ret_first is the code from opening the first module. A missing or unreadable module is
 * part of the answer, not an error; errors are UX_ENOMEM, UX_ELIMIT and UX_EUNAVAILABLE.
 */
enum ux_code ux_symbolize(struct ux_request *req, struct ux_symbolize_request *request,
			  const struct ux_symbolize_writer *writer, void *ctx,
			  enum ux_code *ret_first) ux_must;

/* What a client is told of a module that is neither here nor known to be absent. */
struct ux_module_later {
	uint32_t retry_s; /* seconds after which to retry */
	bool away;        /* it is not on its way, so that waiting for it is useless */
};

/*
 * Calls ux_module_cache_get(), and for a module that the store lacks (UX_ENOTFOUND),
 * ux_server.missing. UX_EUNAVAILABLE: the module may become available, and *ret_later says when; it
 * is zeroed for all other codes. wait_ms: how long the call may block; 0: not at all. Any thread.
 */
enum ux_code ux_server_module_open(struct ux_server *s, const char *ns, const char *id,
				   uint32_t wait_ms, struct ux_open_module **ret,
				   struct ux_module_later *ret_later, struct ux_error *err) ux_must;

/* --- routes ----------------------------------------------------------------------------------- */

/* POST /v1/symbolize, GET /v1/symbolize/{id}. */
ux_handler_fn ux_handle_symbolize, ux_handle_symbolize_one;

#endif

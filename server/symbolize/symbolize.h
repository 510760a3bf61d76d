/* SPDX-License-Identifier: Apache-2.0 */
/* A question for names, worked through module by module. */
#ifndef UX_SYMBOLIZE_H
#define UX_SYMBOLIZE_H

#include "asked.h"
#include "handlers.h"
#include "resolve.h"
#include "unhex/question.h"

/* What is to be said of a module besides its frames. */
struct ux_symbolized {
	const struct ux_asked_module *module;
	enum ux_module_status status;
	bool open;               /* its symbols are here: addresses may have been put */
	enum ux_quality quality; /* of an open one */
	const char *reason;      /* "" when there is none */
	uint32_t retry_after_s;
	size_t n; /* addresses that were put */
};

/*
 * How an answer is written: for each module begin, put as often as there are pieces of addresses,
 * end. open: its symbols are here, so that frames follow.
 */
struct ux_symbolize_form {
	void (*begin)(void *ctx, const struct ux_asked_module *module, const enum ux_quality *open);
	enum ux_code (*put)(void *ctx, const struct ux_resolver *r, const uint32_t *frames,
			    size_t n);
	void (*end)(void *ctx, const struct ux_symbolized *s);
};

/*
 * Answers all modules, in order. When timeout_ms is over, what was not reached is pending.
 * *ret_first is the code that the first module's opening ended with. A module that is missing or
 * broken is an answer, not a failure: UX_ENOMEM, UX_ELIMIT, UX_EUNAVAILABLE are.
 */
enum ux_code ux_symbolize(struct ux_request *req, struct ux_asked *asked,
			  const struct ux_symbolize_form *form, void *ctx, enum ux_code *ret_first)
	ux_must;

/* The answer is bounded alone, and with those of all other requests: `size` bytes are in it, room
 * is taken for `cap`. */
enum ux_code ux_symbolize_bound(struct ux_request *req, size_t size, size_t cap) ux_must;

#endif

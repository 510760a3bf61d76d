/* SPDX-License-Identifier: Apache-2.0 */
/* The work that one request may cause: its budget, its deadline, and the presence of its client. */
#ifndef UX_REQUEST_WORK_H
#define UX_REQUEST_WORK_H

#include "code_budget.h"
#include "http.h"

enum {
	/*
	 * bytes of symbols that are read for one request. A hundred thousand addresses of ordinary
	 * functions take a fifth of this; all of it takes about a second of one processor.
	 */
	UX_REQUEST_WORK_MAX = 512 << 20,
	UX_WORK_FRAME = 32,         /* cost of a frame that is added to a frame cache */
	UX_WORK_MODULE = 16 << 10,  /* cost of opening a module */
	UX_WORK_SEARCH = 256 << 10, /* cost of a search of the index by name */
	/* longest ms to wait for a fetch before the deadline and the client are checked again */
	UX_WORK_WAIT_MS = 250,
};

/*
 * Returns the work of a request, at its beginning. Loops charge it (ux_work_charge()) before each
 * step with a cost that the client or an uploaded file decides.
 */
struct ux_work ux_request_work(struct ux_request *req);

/*
 * Returns why work was refused. UX_EUNAVAILABLE: the deadline has passed or the client has left,
 * which ux_request_check() described in the request's error. UX_ELIMIT: the budget is used up.
 */
enum ux_code ux_request_work_code(const struct ux_work *work, struct ux_error *err) ux_must;

/* Charges a step of n units. If it is refused, returns the code of ux_request_work_code(). */
enum ux_code ux_request_work_charge(struct ux_work *work, uint64_t n, struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that nothing here answers for: somebody may be able to fetch them. */
#ifndef UX_MODULE_WANTED_H
#define UX_MODULE_WANTED_H

#include "error.h"
#include "module_cache.h"

struct ux_server;

enum ux_wanted {
	UX_WANTED_MISSING, /* nobody who may be asked has it, or it was found out a while ago */
	UX_WANTED_PENDING, /* somebody is being asked, or it is being read */
	UX_WANTED_FOUND,   /* the store has it now */
};

/* One question. */
struct ux_wanted_ask {
	const char *ns;
	const char *id;         /* canonical */
	uint32_t wait_ms;       /* how long ask() may take; 0: it begins, and returns at once */
	uint32_t retry_after_s; /* set for UX_WANTED_PENDING: when asking again makes sense; 0: the
				   caller's default */
};

/*
 * Who can be asked for modules, in struct ux_server. ask() runs on threads that serve requests, any
 * number at once, and holds no lock of ours: many ask for the same module, and one request for
 * 10,000. It fetches on threads of its own, puts what it got into the store as an upload does,
 * tells ux_module_cache_forget_id(), and then says UX_WANTED_FOUND; it keeps count itself of what
 * is not to be asked for again so soon. Set before the server answers. A zeroed one asks nobody.
 */
struct ux_module_wanted {
	enum ux_wanted (*ask)(void *ctx, struct ux_wanted_ask *ask);
	void *ctx;
};

/*
 * ux_module_cache_get(), and whoever can be asked is, where the store has nothing (UX_ENOTFOUND
 * there). UX_EUNAVAILABLE: it may come, *ret_retry_s is the second from now on which it makes sense
 * to ask again; 0 after all other codes. wait_ms: how long the caller can wait for it, 0: not at
 * all. Any thread.
 */
enum ux_code ux_server_module(struct ux_server *s, const char *ns, const char *id, uint32_t wait_ms,
			      struct ux_open_module **ret, uint32_t *ret_retry_s,
			      struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that a Firefox profile names, by debug ID. */
#ifndef UX_MOZILLA_MODULES_H
#define UX_MOZILLA_MODULES_H

#include "request_values.h"
#include "json_out.h"
#include "module_cache.h"
#include "server.h"

enum {
	UX_MOZILLA_MODULES_MOST = 10000, /* of one job */
	UX_MOZILLA_NAME_BYTES = 1024,    /* of a module's name */
};

enum ux_mozilla_state {
	UX_MOZILLA_UNUSED, /* no address of it came: null */
	UX_MOZILLA_FOUND,
	UX_MOZILLA_MISSING,
};

struct ux_mozilla_module {
	struct ux_bytes name;           /* of the debug file, as sent */
	struct ux_bytes id;             /* as sent */
	struct ux_mozilla_module *same; /* the first of that name and ID; itself for most */
	enum ux_mozilla_state state;    /* of the first; the others stay unused */
	struct ux_open_module *open;
	bool queued;    /* frames wait for being resolved: of the first, for their caller */
	uint16_t first; /* of them */
};

/* One memoryMap. */
struct ux_mozilla_modules {
	struct ux_mozilla_module *list;
	size_t n;
};

/* Reads the member memoryMap of a job. Release with ux_mozilla_modules_deinit(). */
enum ux_code ux_mozilla_modules_read(struct ux_mozilla_modules *m, const json_t *job,
				     struct ux_arena *arena, struct ux_error *err) ux_must;
void ux_mozilla_modules_deinit(struct ux_mozilla_modules *m);

/* The symbols of module `index`; NULL, and marked so, when there are none. UX_ENOMEM is a failure,
 * a module that cannot be read is a missing one. */
enum ux_code ux_mozilla_module_open(struct ux_request *req, struct ux_mozilla_module *m,
				    struct ux_open_module **ret) ux_must;

/* "found_modules": for each module with addresses, whether there are symbols. */
void ux_mozilla_modules_write(const struct ux_mozilla_modules *m, struct ux_json *j);

/*
 * The canonical ID of the module with that debug ID (debug_id.h), or that GNU build ID, which
 * people send too. UX_ENOTFOUND; UX_EINVAL: it is neither.
 */
enum ux_code ux_mozilla_id(struct ux_request *req, struct ux_bytes debug_id, const char **ret,
			   struct ux_error *err) ux_must;

/* That module, open. Codes as above and as of ux_module_cache_get(). */
enum ux_code ux_mozilla_find(struct ux_request *req, struct ux_bytes debug_id,
			     struct ux_open_module **ret, struct ux_error *err) ux_must;

#endif

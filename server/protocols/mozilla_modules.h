/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a Firefox profile, identified by debug IDs. */
#ifndef UX_MOZILLA_MODULES_H
#define UX_MOZILLA_MODULES_H

#include "json_out.h"
#include "module_cache.h"
#include "request_values.h"
#include "server.h"

enum {
	UX_MOZILLA_MODULES_MAX = 10000, /* modules of one job */
	UX_MOZILLA_NAME_BYTES = 1024,   /* bytes of a module's name */
};

enum ux_mozilla_state {
	UX_MOZILLA_UNUSED, /* no address refers to it: reported as null */
	UX_MOZILLA_FOUND,
	UX_MOZILLA_MISSING,
};

struct ux_mozilla_module {
	struct ux_bytes name; /* name of the debug file, as sent */
	struct ux_bytes id;   /* as sent */
	/* the first module with the same name and ID; usually itself */
	struct ux_mozilla_module *same;
	enum ux_mozilla_state state; /* state of the first one; the others stay unused */
	struct ux_open_module *open;
	/* frames are waiting to be resolved; used by the caller, and only for the first one */
	bool queued;
	uint16_t first; /* index of the first of these frames */
};

/* The modules of one memoryMap. */
struct ux_mozilla_modules {
	struct ux_mozilla_module *list;
	size_t n;
};

/* Reads the member memoryMap of a job. Release with ux_mozilla_modules_deinit(). */
enum ux_code ux_mozilla_modules_read(struct ux_mozilla_modules *m, const json_t *job,
				     struct ux_arena *arena, struct ux_error *err) ux_must;
void ux_mozilla_modules_deinit(struct ux_mozilla_modules *m);

/*
 * Opens module m. If it has no symbols or cannot be read, *ret is NULL and m is marked as missing.
 * UX_ENOMEM is the only error.
 */
enum ux_code ux_mozilla_module_open(struct ux_request *req, struct ux_mozilla_module *m,
				    struct ux_open_module **ret) ux_must;

/* Marks a module that was open as missing: its file cannot be read now. */
void ux_mozilla_module_lose(struct ux_mozilla_module *m);

/* Writes "found_modules": for each module with addresses, whether it has symbols. */
void ux_mozilla_modules_write(const struct ux_mozilla_modules *m, struct ux_json *j);

/*
 * Finds the canonical ID of the module with that debug ID (debug_id.h), or with that GNU build ID,
 * which some clients send instead. UX_ENOTFOUND; UX_EINVAL: neither kind of ID.
 */
enum ux_code ux_mozilla_id(struct ux_request *req, struct ux_bytes debug_id, const char **ret,
			   struct ux_error *err) ux_must;

/* Like ux_mozilla_id(), and opens the module. Also the codes of ux_module_cache_get(). */
enum ux_code ux_mozilla_find(struct ux_request *req, struct ux_bytes debug_id,
			     struct ux_open_module **ret, struct ux_error *err) ux_must;

#endif

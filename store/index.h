/* SPDX-License-Identifier: Apache-2.0 */
/* What is known: the interface that every backend of the index fills in. */
#ifndef UX_INDEX_H
#define UX_INDEX_H

#include "index_audit.h"
#include "index_blobs.h"
#include "index_fetched.h"
#include "index_jobs.h"
#include "index_keys.h"
#include "index_modules.h"
#include "index_namespaces.h"
#include "index_sources.h"
#include "index_uploads.h"

/*
 * A backend: embedded first in the backend's own struct. Any thread. What is read goes into the
 * caller's arena. A write that returned UX_OK survives a crash of the machine. IDs are canonical
 * text and go through no other parser here. Every ret is set by UX_OK alone, unless said.
 */
struct ux_index {
	unsigned version; /* UX_INDEX_VERSION */
	struct ux_index_modules modules;
	struct ux_index_uploads uploads;
	struct ux_index_blobs blobs;
	struct ux_index_sources sources;
	struct ux_index_fetched fetched;
	struct ux_index_jobs jobs;
	struct ux_index_namespaces namespaces;
	struct ux_index_keys keys;
	struct ux_index_audit audit;

	/* A number that the store keeps under a name; 0 while it was never put. */
	enum ux_code (*number_get)(struct ux_index *ix, const char *name, int64_t *ret,
				   struct ux_error *err);
	enum ux_code (*number_put)(struct ux_index *ix, const char *name, int64_t value,
				   struct ux_error *err);
	void (*close)(struct ux_index *ix);
};

/* SQLite in one file, write-ahead log, synchronous = FULL. Made, and its schema brought up to date,
 * when needed. UX_EUNSUPPORTED: the file is of a newer unhex. */
enum ux_code ux_index_sqlite_open(struct ux_index **ret, const char *path, struct ux_error *err)
	ux_must;

/*
 * From now on until it is closed nobody else adds modules to the file: so an ID that nobody has is
 * known for one without looking into it. Before other threads use the index. Nothing is said when
 * that cannot be had.
 */
void ux_index_sqlite_own(struct ux_index *ix);

#endif

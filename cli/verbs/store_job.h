/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `unhex store`, for its verbs. */
#ifndef UX_STORE_JOB_H
#define UX_STORE_JOB_H

#include "output.h"
#include "store.h"
#include "store_folder.h"

struct store_values {
	struct ux_folder_values folder;
	const char *ns;
	bool repair;
	bool dry_run;
	bool create;
	const char *keep_days;
	unsigned grace_days;
	uint64_t cache_bytes;
	const char *quota;
	const char *modules;
	const char *reading;
	const char *upstreams;
	bool copy;
	const char *to_index;
	const char *to_blobs;
	unsigned jobs;
	bool json;
};

/* The state of the command. */
struct store_job {
	struct ux_store store;
	bool open;
	const struct store_values *values;
	char **operands;         /* after the verb */
	struct ux_folder folder; /* folder of the server */
	struct ux_out out;
	int status;
};

/* A verb. The store is open. */
typedef enum ux_code ux_store_verb_fn(struct store_job *job, struct ux_error *err);

/* Verbs that copy the store to another place. For restore, the open store is the backup. */
ux_store_verb_fn ux_store_job_backup, ux_store_job_restore, ux_store_job_migrate;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The index: uploads on their way to become candidates. */
#ifndef UX_INDEX_UPLOADS_H
#define UX_INDEX_UPLOADS_H

#include "index_modules.h"

enum ux_upload_state {
	UX_UPLOAD_OPEN,
	UX_UPLOAD_DONE,
	UX_UPLOAD_FAILED,
	UX_UPLOAD_PENDING, /* its bytes are here; a job will settle its candidate */
};

/* Of uploads that are open and were announced after `since`, each 0: any number. */
struct ux_upload_limits {
	uint64_t of_key;
	uint64_t all;
	uint64_t bytes_of_key;
	uint64_t bytes_all;
	ux_time since;
	bool reached; /* an upload was refused for one of them */
};

/* An announced upload. Strings as long-lived as what they were read into. */
struct ux_upload {
	char uid[UX_UPLOAD_UID_SIZE];
	const char *ns;
	const char *key_id;
	const char **ids;
	size_t n_ids;
	uint64_t size;
	struct ux_blob_hash hash;
	enum ux_kind kind;
	enum ux_quality claim;
	const char *description;
	const char *file_name;
	bool force;
	enum ux_upload_state state;
	int64_t candidate;  /* that it became; 0: none */
	const char *status; /* "uploaded", "already-there", "pending", ...; once not open */
	const char *reason;
	ux_time created;
	ux_time updated;
	struct ux_upload_limits *limits; /* heeded by uploads.add; NULL: none */
};

/* Uploads that are open or pending. */
struct ux_upload_counts {
	uint64_t of_key;
	uint64_t of_ns;
	uint64_t all;
	uint64_t bytes_of_ns; /* announced by the open ones */
};

struct ux_upload_list {
	struct ux_upload *uploads;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_uploads {
	/* UX_ELIMIT: with it the namespace would be over its quota, or it is already.
	 * UX_EUNAVAILABLE with up->limits->reached: too much is on its way; another time is right.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_upload *up, struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *uid, struct ux_arena *arena,
			     struct ux_upload *ret, struct ux_error *err);
	/* modules.add of the candidate, in one transaction with the end of the upload: done,
	 * pending with a pending candidate, or failed with status "better-there". UX_ECONFLICT also
	 * for one that has ended already. */
	enum ux_code (*finish)(struct ux_index *ix, const struct ux_upload *up,
			       const struct ux_candidate *cand, const struct ux_who *who,
			       ux_time now, struct ux_add_result *ret, struct ux_error *err);
	/* Ends an open upload for good; status is the word that the reason goes with.
	 * UX_ECONFLICT: it has ended. */
	enum ux_code (*give_up)(struct ux_index *ix, const char *uid, const char *status,
				const char *reason, ux_time now, struct ux_error *err);
	/* Forgets uploads that wait for nothing and whose last change was before `before`; *ret:
	 * how many. */
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
			       struct ux_error *err);
	/* Up to limit, those first that changed last: with running, the open and pending ones;
	 * else those that have ended and are not forgotten. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, bool running, size_t limit,
			     struct ux_arena *arena, struct ux_upload_list *ret,
			     struct ux_error *err);
	enum ux_code (*counts)(struct ux_index *ix, const char *ns, const char *key_id,
			       struct ux_upload_counts *ret, struct ux_error *err);
};

#endif

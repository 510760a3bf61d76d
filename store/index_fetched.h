/* SPDX-License-Identifier: Apache-2.0 */
/* The index: what upstreams were asked, when, and what they said. */
#ifndef UX_INDEX_FETCHED_H
#define UX_INDEX_FETCHED_H

#include "index_base.h"

enum ux_fetch_outcome {
	UX_FETCH_FOUND,
	UX_FETCH_ABSENT, /* it says that it has none */
	UX_FETCH_FAILED, /* no answer, or one that helps nobody */
};

/* One answer; by (ns, id, artifact, upstream) there is one. */
struct ux_fetched {
	const char *ns;
	const char *upstream; /* its name in the configuration */
	const char *id;
	const char *artifact; /* "debuginfo", "executable", "gsym", "source/PATH", "section/NAME" */
	enum ux_fetch_outcome outcome;
	unsigned status;    /* of HTTP; 0: none came */
	const char *reason; /* words for explain */
	ux_time asked;
	ux_time expires; /* from then on, it is to be asked again */
	uint64_t took_ms;
	bool has_blob; /* found, and kept outside of the candidates: a source, a section */
	struct ux_blob_hash blob;
	uint64_t size;
	const char *file_name;
};

struct ux_fetched_list {
	struct ux_fetched *answers;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. Answers that have expired are told too: whoever asks
 * looks at `expires`. */
struct ux_index_fetched {
	/* In place of an earlier one. ux_store_commit_answer() alone calls it. */
	enum ux_code (*put)(struct ux_index *ix, const struct ux_fetched *answer,
			    struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id,
			     const char *artifact, const char *upstream, struct ux_arena *arena,
			     struct ux_fetched *ret, struct ux_error *err);
	/* Everything about one ID; artifact NULL: any. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, const char *id,
			     const char *artifact, struct ux_arena *arena,
			     struct ux_fetched_list *ret, struct ux_error *err);
	/* Forgets those that expired before `before`, INT64_MAX: all; upstream, if not NULL, only
	 * its own. *ret: how many. */
	enum ux_code (*expire)(struct ux_index *ix, const char *upstream, ux_time before,
			       uint64_t *ret, struct ux_error *err);
};

#endif

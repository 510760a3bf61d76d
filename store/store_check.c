/* SPDX-License-Identifier: Apache-2.0 */
/* Checks every blob against its hash and its row in the index. */
#include "blob_pass.h"
#include "store.h"

#include <unistd.h>

enum {
	PAGE_BUDGET = 4 << 20,
	USERS = 100 /* modules listed for one blob */
};

/* State of one check. */
struct check {
	struct ux_store *store;
	bool repair;
	unsigned jobs;
	ux_check_fn *report;
	void *ctx;
	struct ux_check_sum *sum;
};

const char *ux_check_problem_name(enum ux_check_problem problem)
{
	static const char *const names[UX_CHECK_COUNT] = {
		[UX_CHECK_MISSING] = "missing", [UX_CHECK_SIZE] = "size",
		[UX_CHECK_DAMAGED] = "damaged", [UX_CHECK_UNREAD] = "unreadable",
		[UX_CHECK_INDEX] = "index",     [UX_CHECK_USAGE] = "usage",
	};
	return names[problem];
}

static void check_report(struct check *c, const struct ux_check_one *one)
{
	c->sum->problems++;
	c->sum->repaired += one->repaired;
	if (c->report)
		c->report(c->ctx, one);
}

/*
 * Compares one blob with its row. On a problem returns false, sets *ret, and puts the reason in
 * why.
 */
static bool check_blob(const struct check *c, const struct ux_blob_row *row,
		       enum ux_check_problem *ret, struct ux_error *why)
{
	struct ux_blobs *b = c->store->blobs;
	struct ux_blob_hash hash;
	uint64_t size = 0;
	int fd = -1;
	if (b->forget)
		b->forget(b, &row->hash); /* check the blob itself, not this node's copy */
	enum ux_code code = b->open(b, &row->hash, &fd, &size, why);
	if (code != UX_OK) {
		*ret = code == UX_ENOTFOUND  ? UX_CHECK_MISSING
		       : code == UX_ECORRUPT ? UX_CHECK_DAMAGED
					     : UX_CHECK_UNREAD;
		return false;
	}
	if (size != row->size) {
		close(fd);
		(void)!ux_error_set(why, UX_EIO, "%" PRIu64 " bytes; expected %" PRIu64, size,
				    row->size);
		*ret = UX_CHECK_SIZE;
		return false;
	}
	code = ux_blob_hash_fd(fd, &hash, why);
	close(fd);
	if (code != UX_OK) {
		*ret = UX_CHECK_UNREAD;
		return false;
	}
	if (memcmp(&hash, &row->hash, sizeof(hash)) == 0)
		return true;
	(void)!ux_error_set(why, UX_EIO, "content does not match its SHA-256");
	*ret = UX_CHECK_DAMAGED;
	return false;
}

/* Reports a problem, unless the blob was removed after its row was read. */
static enum ux_code check_report_blob(struct check *c, const struct ux_blob_row *row,
				      enum ux_check_problem problem, const char *words,
				      struct ux_error *err)
{
	UX_ARENA(arena, PAGE_BUDGET);
	struct ux_index *ix = c->store->index;
	struct ux_hits users;
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	bool used = false;
	UX_TRY(ix->blobs.used(ix, &row->hash, &used, err));
	if (!used)
		return UX_OK;
	UX_TRY(ix->blobs.users(ix, &row->hash, USERS, &arena, &users, err));
	bool sure = problem != UX_CHECK_UNREAD; /* a read error may be temporary */
	if (c->repair && sure)
		UX_TRY(ux_store_lose_blob(c->store, &row->hash, words, err));
	ux_blob_hash_text(&row->hash, text);
	const struct ux_check_one one = {.problem = problem,
					 .hash = text,
					 .words = words,
					 .id = users.n > 0 ? users.hits[0].id : "",
					 .modules = users.n,
					 .repaired = c->repair && sure};
	check_report(c, &one);
	return UX_OK;
}

static void check_work(void *ctx, const struct ux_blob_row *row, struct ux_blob_result *result)
{
	enum ux_check_problem problem = UX_CHECK_COUNT;
	result->code = check_blob(ctx, row, &problem, &result->why) ? UX_OK : result->why.code;
	result->detail = problem;
}

static enum ux_code check_handle(void *ctx, const struct ux_blob_row *row,
				 const struct ux_blob_result *result, struct ux_error *err)
{
	struct check *c = ctx;
	c->sum->blobs++;
	c->sum->bytes += row->size;
	if (result->code == UX_OK)
		return UX_OK;
	/* If the storage is unavailable, no blob can be called lost. */
	return result->code == UX_ENOMEM || result->code == UX_EUNAVAILABLE
		       ? ux_error_set(err, result->code, "%s", result->why.text)
		       : check_report_blob(c, row, (enum ux_check_problem)result->detail,
					   result->why.text, err);
}

static enum ux_code check_rows(struct check *c, struct ux_error *err)
{
	const struct ux_blob_pass pass = {
		.jobs = c->jobs, .work = check_work, .handle = check_handle, .ctx = c};
	return ux_blob_pass_run(&pass, c->store->index, err);
}

static enum ux_code check_count_garbage(void *ctx, const char *name, int64_t age_s,
					struct ux_error *err)
{
	struct check *c = ctx;
	struct ux_index *ix = c->store->index;
	struct ux_blob_hash hash;
	bool used = true;
	(void)age_s;
	if (!ux_blob_hash_parse(ux_bytes_cstr(name), &hash))
		return UX_OK;
	UX_TRY(ix->blobs.used(ix, &hash, &used, err));
	c->sum->garbage += !used;
	return UX_OK;
}

static void check_damaged_row(void *ctx, const char *table, const char *key, bool more)
{
	char words[512];
	snprintf(words, sizeof(words), "row %.300s of table %s does not fit its checksum%s", key,
		 table, more ? ", and perhaps further rows of it" : "");
	const struct ux_check_one one = {
		.problem = UX_CHECK_INDEX, .hash = "", .words = words, .id = ""};
	check_report(ctx, &one);
}

static enum ux_code check_index(struct check *c, struct ux_error *err)
{
	struct ux_index *ix = c->store->index;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->blobs.verify(ix, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK)
		return ix->damaged_rows(ix, check_damaged_row, c, err);
	const struct ux_check_one one = {
		.problem = UX_CHECK_INDEX, .hash = "", .words = why.text, .id = ""};
	check_report(c, &one);
	c->repair = false; /* a damaged index must not cause removals */
	return UX_OK;
}

/* Checks the usage, after rows of lost blobs have been removed. */
static enum ux_code check_usage(struct check *c, struct ux_error *err)
{
	UX_ARENA(arena, PAGE_BUDGET);
	struct ux_index *ix = c->store->index;
	struct ux_usage_errors wrong;
	char words[256];
	UX_TRY(ix->namespaces.recount(ix, c->repair, &arena, &wrong, err));
	for (size_t i = 0; i < wrong.n; i++) {
		const struct ux_usage_error *e = &wrong.items[i];
		snprintf(words, sizeof(words),
			 "the counts of namespace %.64s are off by %" PRId64 " modules, %" PRId64
			 " bytes and %" PRId64 " bytes of recreatable data",
			 e->ns, e->modules, e->bytes, e->cache_bytes);
		const struct ux_check_one one = {.problem = UX_CHECK_USAGE,
						 .hash = "",
						 .words = words,
						 .id = "",
						 .repaired = c->repair};
		check_report(c, &one);
	}
	return UX_OK;
}

enum ux_code ux_store_check(struct ux_store *s, bool with_repair, unsigned jobs,
			    ux_check_fn *report, void *ctx, struct ux_check_sum *ret,
			    struct ux_error *err)
{
	*ret = (struct ux_check_sum){0};
	struct check c = {s, with_repair, jobs, report, ctx, ret};
	UX_TRY(check_index(&c, err));
	UX_TRY(check_rows(&c, err));
	UX_TRY(check_usage(&c, err));
	UX_TRY(s->blobs->each_blob(s->blobs, check_count_garbage, &c, err));
	return with_repair
		       ? s->index->modules.requeue(s->index, ux_store_now(s), &ret->requeued, err)
		       : UX_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over all blobs that an index names, several at a time. */
#include "blob_pass.h"

#include "pool.h"

enum {
	PAGE = 1000, /* rows of blobs read at a time */
	PAGE_BUDGET = 4 << 20,
};

/* A page of rows, and the results of its blobs. */
struct pass_page {
	const struct ux_blob_pass *pass;
	struct ux_blob_rows rows;
	struct ux_blob_result *results;
};

static enum ux_code pass_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	const struct pass_page *page = ctx;
	struct ux_blob_result *result = &page->results[job];
	(void)worker, (void)err;
	*result = (struct ux_blob_result){.why = UX_ERROR_INIT};
	page->pass->work(page->pass->ctx, &page->rows.rows[job], result);
	return UX_OK;
}

static enum ux_code pass_page_run(struct pass_page *page, struct ux_error *err)
{
	const struct ux_blob_pass *p = page->pass;
	unsigned jobs =
		p->jobs ? ux_min(p->jobs, (unsigned)UX_BLOB_PASS_JOBS_MAX) : UX_BLOB_PASS_JOBS;
	UX_TRY(ux_pool_run(jobs, page->rows.n, pass_job, page, err));
	for (size_t i = 0; i < page->rows.n; i++)
		UX_TRY(p->handle(p->ctx, &page->rows.rows[i], &page->results[i], err));
	return UX_OK;
}

enum ux_code ux_blob_pass_run(const struct ux_blob_pass *p, struct ux_index *ix,
			      struct ux_error *err)
{
	struct ux_blob_hash last;
	const struct ux_blob_hash *after = NULL;
	ux_cleanup(ux_free_ptr) struct ux_blob_result *results = calloc(PAGE, sizeof(*results));
	if (!results)
		return ux_error_nomem(err);
	for (bool more = true; more;) {
		UX_ARENA(arena, PAGE_BUDGET);
		struct pass_page page = {.pass = p, .results = results};
		UX_TRY(ix->blobs.list(ix, after, PAGE, &arena, &page.rows, err));
		UX_TRY(pass_page_run(&page, err));
		more = page.rows.more;
		if (page.rows.n > 0) {
			last = page.rows.rows[page.rows.n - 1].hash;
			after = &last;
		}
	}
	return UX_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unhex store backup, restore, migrate: copy a store to another place. */
#include "store_job.h"

#include "json_out.h"
#include "text.h"

enum {
	MIGRATE_BLOBS = 10000, /* blobs between two lines about progress */
};

static void store_backup_report(void *ctx, const char *hash, const char *words)
{
	struct store_job *job = ctx;
	job->status = UX_EXIT_SOME;
	if (job->values->json) {
		struct ux_json j = ux_json_make(&job->out);
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "sha256", hash);
		ux_json_key_cstr(&j, "reason", words);
		ux_json_object_end(&j);
		ux_out_u8(&job->out, '\n');
		return;
	}
	ux_out_fmt(&job->out, "%s  ", hash);
	ux_text(&job->out, ux_bytes_cstr(words));
	ux_out_u8(&job->out, '\n');
}

static void store_backup_sum(struct store_job *job, const struct ux_backup_sum *sum)
{
	if (job->values->json) {
		struct ux_json j = ux_json_make(&job->out);
		ux_json_object_begin(&j);
		ux_json_key_u64(&j, "blobs", sum->blobs);
		ux_json_key_u64(&j, "bytes", sum->bytes);
		ux_json_key_u64(&j, "linked", sum->linked);
		ux_json_key_u64(&j, "copied", sum->copied);
		ux_json_key_u64(&j, "copied_bytes", sum->copied_bytes);
		ux_json_key_u64(&j, "deleted", sum->deleted);
		ux_json_key_u64(&j, "pruned", sum->pruned);
		ux_json_key_u64(&j, "problems", sum->problems);
		ux_json_object_end(&j);
		ux_out_u8(&job->out, '\n');
		return;
	}
	ux_out_fmt(&job->out, "%" PRIu64 " blobs of ", sum->blobs);
	ux_text_size(&job->out, sum->bytes);
	ux_out_fmt(&job->out, ": %" PRIu64 " linked, %" PRIu64 " copied (", sum->linked,
		   sum->copied);
	ux_text_size(&job->out, sum->copied_bytes);
	ux_out_fmt(&job->out, "), %" PRIu64 " unused; %" PRIu64 " problems\n", sum->pruned,
		   sum->problems);
}

static enum ux_code store_copy(struct store_job *job, const char *from, const char *to, bool fresh,
			       struct ux_error *err)
{
	const struct ux_backup_how how = {.copy = job->values->copy,
					  .fresh = fresh,
					  .now = ux_store_now(&job->store),
					  .report = store_backup_report,
					  .ctx = job};
	struct ux_backup_sum sum;
	UX_TRY(ux_store_copy(&job->store, from, to, &how, &sum, err));
	store_backup_sum(job, &sum);
	return UX_OK;
}

enum ux_code ux_store_job_backup(struct store_job *job, struct ux_error *err)
{
	return store_copy(job, job->folder.dir, job->operands[0], /* fresh= */ false, err);
}

enum ux_code ux_store_job_restore(struct store_job *job, struct ux_error *err)
{
	return store_copy(job, job->operands[0], job->folder.dir, /* fresh= */ true, err);
}

/* Prints a line on standard error now and then, since copying the blobs of a large store takes
 * hours. */
static void store_migrate_progress(void *ctx, const char *what, uint64_t n)
{
	const struct store_job *job = ctx;
	bool blobs = strcmp(what, "blobs") == 0;
	if (job->values->json || (blobs && n % MIGRATE_BLOBS != 0))
		return;
	ux_print_message("%s%s: %" PRIu64, blobs ? "" : "rows of ", what, n);
}

static void store_migrate_sum(struct store_job *job, const struct ux_migrate_sum *sum)
{
	if (job->values->json) {
		struct ux_json j = ux_json_make(&job->out);
		ux_json_object_begin(&j);
		ux_json_key_u64(&j, "tables", sum->tables);
		ux_json_key_u64(&j, "rows", sum->rows);
		ux_json_key_u64(&j, "blobs", sum->blobs);
		ux_json_key_u64(&j, "bytes", sum->bytes);
		ux_json_key_u64(&j, "copied", sum->copied);
		ux_json_key_u64(&j, "copied_bytes", sum->copied_bytes);
		ux_json_key_u64(&j, "deleted", sum->deleted);
		ux_json_key_u64(&j, "problems", sum->problems);
		ux_json_key_u64(&j, "failed", sum->failed);
		ux_json_key_bool(&j, "finished", sum->failed == 0);
		ux_json_object_end(&j);
		ux_out_u8(&job->out, '\n');
		return;
	}
	if (sum->tables > 0)
		ux_out_fmt(&job->out, "%" PRIu64 " rows of %" PRIu64 " tables, compared; ",
			   sum->rows, sum->tables);
	ux_out_fmt(&job->out, "%" PRIu64 " blobs of ", sum->blobs);
	ux_text_size(&job->out, sum->bytes);
	ux_out_fmt(&job->out, ", %" PRIu64 " copied now (", sum->copied);
	ux_text_size(&job->out, sum->copied_bytes);
	ux_out_fmt(&job->out, "), %" PRIu64 " deleted during the copy; %" PRIu64 " problems\n",
		   sum->deleted, sum->problems);
}

enum ux_code ux_store_job_migrate(struct store_job *job, struct ux_error *err)
{
	struct ux_store_place to = ux_folder_place(&job->folder); /* how a bucket is used */
	to.dir = job->operands[0];
	to.index = job->values->to_index;
	to.blobs = job->values->to_blobs;
	const struct ux_migrate_how how = {.now = ux_store_now(&job->store),
					   .progress = store_migrate_progress,
					   .jobs = job->values->jobs,
					   .report = store_backup_report,
					   .ctx = job};
	struct ux_migrate_sum sum;
	UX_TRY(ux_store_migrate(&job->store, &to, &how, &sum, err));
	store_migrate_sum(job, &sum);
	if (sum.failed > 0) {
		ux_print_message("the migration is not finished: %" PRIu64
				 " blobs could not be copied; run the same command again",
				 sum.failed);
		job->status = UX_EXIT_SOME;
	}
	return UX_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Records that are written at their offsets while others are made. */
#include "sweep.h"

#include "pool.h"
#include "record_writer.h"

#include <stdatomic.h>
#include <unistd.h>

enum {
	JOBS = 300,
	SIZE = 64,      /* bytes of a job's records, at most */
	DATA_OFF = 100, /* in the file */
	SLOW = 50,      /* microseconds of a write, during which other threads have records */
};

struct file {
	struct ux_record_writer writer;
	uint8_t bytes[DATA_OFF + JOBS * SIZE];
	struct ux_out outs[UX_POOL_MAX]; /* one for each thread */
	atomic_uint writes, most_at_once, at_once;
	unsigned fail_at; /* the write that fails, from 1 on */
	size_t fail_job;  /* the job that fails before it has records */
};

static enum ux_code file_write(void *ctx, uint64_t off, struct ux_bytes bytes, struct ux_error *err)
{
	struct file *f = ctx;
	unsigned at_once = atomic_fetch_add(&f->at_once, 1) + 1;
	if (at_once > atomic_load(&f->most_at_once))
		atomic_store(&f->most_at_once, at_once);
	usleep(SLOW);
	assert_true(off + bytes.size <= sizeof(f->bytes));
	memcpy(f->bytes + off, bytes.data, bytes.size);
	atomic_fetch_sub(&f->at_once, 1);
	if (atomic_fetch_add(&f->writes, 1) + 1 == f->fail_at)
		return ux_error_set(err, UX_EIO, "no space");
	return UX_OK;
}

static size_t job_size(size_t job)
{
	return 1 + job * 7 % SIZE;
}

static enum ux_code write_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct file *f = ctx;
	struct ux_out *out = &f->outs[worker];
	uint64_t off = 0;
	ux_out_reset(out);
	for (size_t i = 0; i < job_size(job); i++)
		ux_out_u8(out, (uint8_t)job);
	if (job == f->fail_job) {
		ux_record_writer_fail(&f->writer);
		return ux_error_set(err, UX_ECORRUPT, "job failed");
	}
	if (!ux_record_writer_take(&f->writer, job, out->size, &off))
		return UX_OK;
	return ux_record_writer_put(&f->writer, off, out, err);
}

static enum ux_code write_all(struct file *f, unsigned threads, struct ux_error *err)
{
	ux_record_writer_init(&f->writer, file_write, f);
	f->writer.data_off = DATA_OFF;
	enum ux_code code = ux_pool_run(threads, JOBS, write_job, f, err);
	assert_int_equal(f->writer.n_waiting, 0);
	ux_record_writer_deinit(&f->writer);
	for (size_t i = 0; i < ux_countof(f->outs); i++)
		ux_out_deinit(&f->outs[i]);
	return code;
}

static void records_are_where_the_order_of_jobs_puts_them(void **state)
{
	(void)state;
	static const unsigned threads[] = {1, 2, 3, 8, 40};
	for (size_t t = 0; t < ux_countof(threads); t++) {
		static struct file f;
		f = (struct file){.fail_job = SIZE_MAX};
		assert_int_equal(write_all(&f, threads[t], NULL), UX_OK);
		size_t at = DATA_OFF;
		for (size_t job = 0; job < JOBS; job++)
			for (size_t i = 0; i < job_size(job); i++)
				assert_int_equal(f.bytes[at++], (uint8_t)job);
		assert_int_equal(f.writer.end, at - DATA_OFF);
		assert_int_equal(f.writes, JOBS);
		if (threads[t] == 1)
			assert_int_equal(f.most_at_once, 1);
	}
}

static void threads_leave_their_records_to_the_one_that_writes(void **state)
{
	(void)state;
	struct ux_record_writer w;
	struct ux_out out = {0};
	ux_record_writer_init(&w, NULL, NULL); /* would crash if it were called */
	w.writing = true;
	for (size_t i = 0; i < UX_RECORDS_WAITING; i++) {
		ux_out_u8(&out, (uint8_t)i);
		assert_int_equal(ux_record_writer_put(&w, i, &out, NULL), UX_OK);
		assert_int_equal(out.size, 0);
		assert_int_equal(w.n_waiting, i + 1);
		assert_int_equal(w.waiting[i].off, i);
		assert_int_equal(w.waiting[i].bytes.data[0], i);
	}
	ux_out_deinit(&out);
	ux_record_writer_deinit(&w);
}

static void failure_to_write_is_the_end(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		static struct file f;
		struct ux_error err = UX_ERROR_INIT;
		f = (struct file){.fail_at = 20, .fail_job = SIZE_MAX};
		assert_int_equal(write_all(&f, threads, &err), UX_EIO);
		assert_string_equal(err.text, "no space");
		assert_true(f.writes < JOBS);
	}
}

static void job_that_fails_leaves_no_other_waiting(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		static struct file f;
		struct ux_error err = UX_ERROR_INIT;
		f = (struct file){.fail_job = 50};
		assert_int_equal(write_all(&f, threads, &err), UX_ECORRUPT);
		assert_true(f.writes <= f.fail_job); /* earlier jobs may have no offset yet */
	}
}

UX_SUITE(record_writer)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(records_are_where_the_order_of_jobs_puts_them),
		UX_TEST(threads_leave_their_records_to_the_one_that_writes),
		UX_TEST(failure_to_write_is_the_end),
		UX_TEST(job_that_fails_leaves_no_other_waiting),
	};
	return cmocka_run_group_tests_name("record_writer", tests, NULL, NULL);
}

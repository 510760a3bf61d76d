/* SPDX-License-Identifier: Apache-2.0 */
/* service: uploaded ELF files become GSYMs, or get a reason for the failure. */
#include "sweep.h"

#include "extract_job.h"
#include "extractor.h"
#include "file.h"
#include "make_server.h"
#include "store.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct ux_sandbox_limits limits = {
	.memory = (uint64_t)1 << 30, .output = 64 << 20, .seconds = 60};

static int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	make_server_open(s, NULL, /* open_reading= */ true);
	*state = s;
	return 0;
}

static int close_server(void **state)
{
	make_server_close(*state);
	free(*state);
	return 0;
}

static const char id[] = "file:00112233445566778899aabbccddeeff";

/* Adds a pending candidate of these bytes, as after an upload, to the module with this ID. */
static int64_t add_to(struct make_server *s, const char *module, struct ux_bytes bytes,
		      enum ux_kind kind)
{
	struct ux_blobs *b = s->store.blobs;
	struct ux_blob_part *part = NULL;
	const char *ids[] = {module};
	const struct ux_who who = {.key_id = "", .from = "test"};
	const struct ux_arrival what = {.ns = UX_NAMESPACE_DEFAULT, .ids = ids, .n_ids = 1};
	struct ux_candidate c = {.kind = kind,
				 .state = UX_CANDIDATE_PENDING,
				 .blob = ux_blob_hash_of(bytes),
				 .size = bytes.size,
				 .reason = "",
				 .origin_name = "",
				 .description = "",
				 .file_name = "x",
				 .key_id = ""};
	struct ux_add_result result;
	uint64_t size = 0;
	assert_int_equal(b->part_open(b, "0123456789abcdef0123456789abcdef", &part, &size, NULL),
			 UX_OK);
	assert_int_equal(b->part_write(part, bytes, NULL), UX_OK);
	assert_int_equal(ux_store_commit_candidate(&s->store, part, &what, &c, &who, &result, NULL),
			 UX_OK);
	b->part_close(part);
	return result.candidate;
}

static int64_t add(struct make_server *s, struct ux_bytes bytes, enum ux_kind kind)
{
	return add_to(s, id, bytes, kind);
}

static struct ux_candidate candidate(struct make_server *s, struct ux_arena *arena, int64_t number)
{
	struct ux_candidate c;
	struct ux_idle of;
	struct ux_index *ix = s->store.index;
	assert_int_equal(ix->modules.candidate(ix, number, arena, &c, &of, NULL), UX_OK);
	return c;
}

static struct ux_extractor *extractor(struct make_server *s, const char *program)
{
	struct ux_extractor *x = NULL;
	const struct ux_extractor_options options = {.limits = limits, .program = program};
	assert_int_equal(ux_extractor_open(&x, &s->store, s->server.cache, &options, NULL), UX_OK);
	return x;
}

/* Every job is due now. */
static void hurry(struct make_server *s, struct ux_arena *arena)
{
	struct ux_index *ix = s->store.index;
	struct ux_job_list list;
	int64_t number = 0;
	assert_int_equal(ix->jobs.list(ix, NULL, UX_JOB_EXTRACT, 10, arena, &list, NULL), UX_OK);
	for (size_t i = 0; i < list.n; i++) {
		list.jobs[i].next = 0;
		assert_int_equal(
			ix->jobs.add(ix, &list.jobs[i], ux_store_now(&s->store), &number, NULL),
			UX_OK);
	}
}

static void a_program_gets_the_symbols_it_has(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_file_unmap) struct ux_mapping self = {0};
	assert_int_equal(ux_file_map("/proc/self/exe", &self, NULL), UX_OK);
	int64_t number = add(s, self.bytes, UX_KIND_EXECUTABLE);
	struct ux_extractor *x = extractor(s, NULL);
	assert_true(ux_extractor_step(x));
	assert_false(ux_extractor_step(x));
	ux_extractor_stop(x);
	struct ux_candidate c = candidate(s, &arena, number);
	assert_int_equal(c.state, UX_CANDIDATE_READY);
	assert_int_equal(c.holds, UX_HOLDS_CODE | UX_HOLDS_DEBUG | UX_HOLDS_SECTIONS);
	struct ux_module m;
	struct ux_index *ix = s->store.index;
	assert_int_equal(ix->modules.find(ix, UX_NAMESPACE_DEFAULT, id, &arena, &m, NULL), UX_OK);
	const struct ux_candidate *best = ux_module_best(&m, UX_KIND_GSYM);
	assert_non_null(best);
	assert_int_equal(best->parent, number);
	assert_true(best->quality >= UX_QUALITY_SYMTAB && best->counts.functions > 100);
}

static void count_call(void *ctx)
{
	++*(unsigned *)ctx;
}

static void evicted_gsym_is_extracted_again_when_it_is_requested(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_file_unmap) struct ux_mapping self = {0};
	struct ux_open_module *open = NULL;
	struct ux_retained_sum sum;
	unsigned woken = 0;
	const struct ux_retention how = {.cache_bytes = 1};
	assert_int_equal(ux_file_map("/proc/self/exe", &self, NULL), UX_OK);
	int64_t number = add(s, self.bytes, UX_KIND_EXECUTABLE);
	struct ux_extractor *x = extractor(s, NULL);
	ux_store_on_work(&s->store, count_call, &woken);
	assert_true(ux_extractor_step(x));
	assert_int_equal(ux_store_retain(&s->store, &how, NULL, NULL, &sum, NULL), UX_OK);
	assert_int_equal(sum.n[UX_RETAINED_EVICTED], 1);
	for (unsigned i = 0; i < 2; i++) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(
			ux_module_cache_get(s->server.cache, UX_NAMESPACE_DEFAULT, id, &open, &err),
			UX_EUNAVAILABLE);
		assert_int_equal(woken, i + 1);
	}
	assert_true(ux_extractor_step(x));
	assert_false(ux_extractor_step(x));
	assert_int_equal(
		ux_module_cache_get(s->server.cache, UX_NAMESPACE_DEFAULT, id, &open, NULL), UX_OK);
	ux_open_module_unref(open);
	assert_int_equal(candidate(s, &arena, number).state, UX_CANDIDATE_READY);
	ux_extractor_stop(x);
}

static void bytes_that_are_wrong_fail_for_good(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	int64_t number =
		add(s, UX_STR("\177ELF and nothing that belongs behind it"), UX_KIND_EXECUTABLE);
	struct ux_extractor *x = extractor(s, NULL);
	assert_true(ux_extractor_step(x));
	assert_false(ux_extractor_step(x));
	hurry(s, &arena);
	assert_false(ux_extractor_step(x));
	ux_extractor_stop(x);
	struct ux_candidate c = candidate(s, &arena, number);
	assert_int_equal(c.state, UX_CANDIDATE_FAILED);
	assert_true(c.reason[0] != '\0');
}

/* Not the bytes' fault: tried again several times, failed in the end. */
static void a_child_that_cannot_start_is_tried_again(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	int64_t number = add(s, UX_STR("\177ELF"), UX_KIND_EXECUTABLE);
	struct ux_extractor *x = extractor(s, "/nowhere/unhex");
	for (unsigned i = 1; i <= UX_EXTRACTOR_ATTEMPTS_MAX; i++) {
		assert_int_equal(candidate(s, &arena, number).state, UX_CANDIDATE_PENDING);
		assert_true(ux_extractor_step(x));
		assert_false(ux_extractor_step(x)); /* later */
		hurry(s, &arena);
	}
	ux_extractor_stop(x);
	struct ux_candidate c = candidate(s, &arena, number);
	assert_int_equal(c.state, UX_CANDIDATE_FAILED);
	assert_non_null(strstr(c.reason, "/nowhere/unhex"));
}

/* Its server was killed five times while it ran; a server that was stopped does not count. */
static void a_job_whose_attempts_never_end_is_set_aside(void **state)
{
	struct make_server *s = *state;
	struct ux_index *ix = s->store.index;
	UX_ARENA(arena, 1 << 20);
	struct ux_job job;
	struct ux_job_counts n;
	struct ux_mapping self = {0};
	assert_int_equal(ux_file_map("/proc/self/exe", &self, NULL), UX_OK);
	int64_t number = add(s, self.bytes, UX_KIND_EXECUTABLE);
	ux_file_unmap(&self);
	for (int i = 0; i < 2 * UX_EXTRACTOR_ATTEMPTS_MAX; i++) {
		assert_int_equal(ix->jobs.take(ix, UX_JOB_EXTRACT, "gone", ux_store_now(&s->store),
					       3600, &arena, &job, NULL),
				 UX_OK);
		assert_int_equal(ix->jobs.release(ix, "gone", /* has_ended= */ i % 2 == 1, NULL),
				 UX_OK);
	}
	struct ux_extractor *x = extractor(s, NULL);
	assert_true(ux_extractor_step(x));
	assert_false(ux_extractor_step(x));
	struct ux_candidate c = candidate(s, &arena, number);
	assert_int_equal(c.state, UX_CANDIDATE_FAILED);
	assert_non_null(strstr(c.reason, "5 attempts"));
	assert_int_equal(ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(&s->store), &n, NULL),
			 UX_OK);
	assert_true(n.waiting == 0 && n.running == 0);
	ux_extractor_stop(x);
}

static void its_thread_works_when_it_is_woken(void **state)
{
	struct make_server *s = *state;
	struct ux_extractor *x = extractor(s, NULL);
	assert_int_equal(ux_extractor_start(x, NULL), UX_OK);
	int64_t number = add(s, UX_STR("\177ELF and so on and so on"), UX_KIND_EXECUTABLE);
	for (unsigned i = 0; i < 3000; i++) {
		UX_ARENA(arena, 1 << 20);
		if (candidate(s, &arena, number).state != UX_CANDIDATE_PENDING)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
	}
	ux_extractor_stop(x);
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(candidate(s, &arena, number).state, UX_CANDIDATE_FAILED);
}

/* A child that writes nothing for as long as it may. */
static void write_sleeper(char *path)
{
	static const char script[] = "#!/bin/sh\nexec sleep 600\n";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	assert_int_equal(write(fd, script, sizeof(script) - 1), sizeof(script) - 1);
	close(fd);
}

static void the_job_at_hand_is_put_back_when_it_stops(void **state)
{
	struct make_server *s = *state;
	struct ux_index *ix = s->store.index;
	UX_ARENA(arena, 1 << 20);
	char program[] = "/tmp/unhex-sleeper-XXXXXX";
	const struct timespec pause = {.tv_nsec = 10000000};
	struct ux_job_counts counts = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping self = {0};
	assert_int_equal(ux_file_map("/proc/self/exe", &self, NULL), UX_OK);
	int64_t number = add(s, self.bytes, UX_KIND_EXECUTABLE);
	write_sleeper(program);
	struct ux_extractor *x = extractor(s, program);
	assert_int_equal(ux_extractor_start(x, NULL), UX_OK);
	for (int i = 0; i < 3000 && counts.running == 0; i++) {
		nanosleep(&pause, NULL);
		assert_int_equal(
			ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(&s->store), &counts, NULL),
			UX_OK);
	}
	assert_int_equal(counts.running, 1);
	ux_extractor_stop(x); /* and not after the child's 60 seconds of processor time */
	assert_int_equal(
		ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(&s->store), &counts, NULL), UX_OK);
	assert_int_equal(counts.running, 0);
	assert_int_equal(counts.waiting, 1);
	assert_int_equal(candidate(s, &arena, number).state, UX_CANDIDATE_PENDING);
	unlink(program);
	x = extractor(s, NULL);
	assert_true(ux_extractor_step(x));
	ux_extractor_stop(x);
	assert_int_equal(candidate(s, &arena, number).state, UX_CANDIDATE_READY);
}

/* Commits that wait until there are two at a time. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned inside, max;
	__typeof__(((struct ux_index_modules *)0)->settle) settle;
} commits = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static enum ux_code settle_beside_another(struct ux_index *ix, int64_t number,
					  const struct ux_settled *what, ux_time now,
					  struct ux_add_result *ret, struct ux_error *err)
{
	struct timespec until;
	int r = clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&commits.lock);
	commits.inside++;
	commits.max = ux_max(commits.max, commits.inside);
	pthread_cond_broadcast(&commits.changed);
	while (commits.max < 2 && r == 0)
		r = pthread_cond_timedwait(&commits.changed, &commits.lock, &until);
	commits.inside--;
	pthread_mutex_unlock(&commits.lock);
	return commits.settle(ix, number, what, now, ret, err);
}

/* A commit waits for the disk. */
static void a_worker_reads_the_next_file_while_a_result_is_committed(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 64 << 20);
	struct ux_index *ix = s->store.index;
	const struct ux_extractor_options options = {.limits = limits, .workers = 1};
	const struct timespec step = {.tv_nsec = 10000000};
	struct ux_extractor *x = NULL;
	const int64_t numbers[] = {
		add_to(s, "file:0011", UX_STR("no ELF file"), UX_KIND_EXECUTABLE),
		add_to(s, "file:0022", UX_STR("nor this"), UX_KIND_EXECUTABLE)};
	commits.settle = ix->modules.settle;
	ix->modules.settle = settle_beside_another;
	assert_int_equal(ux_extractor_open(&x, &s->store, s->server.cache, &options, NULL), UX_OK);
	assert_int_equal(ux_extractor_start(x, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(numbers); i++)
		while (candidate(s, &arena, numbers[i]).state == UX_CANDIDATE_PENDING)
			nanosleep(&step, NULL);
	ux_extractor_stop(x);
	ix->modules.settle = commits.settle;
	assert_int_equal(commits.max, 2);
}

/* Split parts that are ready, and the one that is being extracted. */
static void a_module_has_split_parts_that_can_be_packed(void **state)
{
	(void)state;
	struct ux_candidate c[] = {
		{.number = 1, .kind = UX_KIND_EXECUTABLE, .state = UX_CANDIDATE_READY},
		{.number = 2, .kind = UX_KIND_DWO, .state = UX_CANDIDATE_PENDING},
	};
	const struct ux_module m = {.candidates = c, .n_candidates = ux_countof(c)};
	assert_false(ux_split_pack_has(&m, &c[0]));
	assert_true(ux_split_pack_has(&m, &c[1]));
	c[1].state = UX_CANDIDATE_FAILED;
	assert_false(ux_split_pack_has(&m, &c[0]));
	c[1].state = UX_CANDIDATE_READY;
	assert_true(ux_split_pack_has(&m, &c[0]));
	c[1].kind = UX_KIND_DEBUGINFO;
	assert_false(ux_split_pack_has(&m, &c[0]));
	c[1].kind = UX_KIND_DWP;
	assert_true(ux_split_pack_has(&m, &c[0]));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], UX_SANDBOX_WORD) == 0)
		return ux_sandbox_main();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_has_split_parts_that_can_be_packed),
		cmocka_unit_test_setup_teardown(a_program_gets_the_symbols_it_has, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(
			evicted_gsym_is_extracted_again_when_it_is_requested, open_server,
			close_server),
		cmocka_unit_test_setup_teardown(bytes_that_are_wrong_fail_for_good, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(a_child_that_cannot_start_is_tried_again,
						open_server, close_server),
		cmocka_unit_test_setup_teardown(the_job_at_hand_is_put_back_when_it_stops,
						open_server, close_server),
		cmocka_unit_test_setup_teardown(its_thread_works_when_it_is_woken, open_server,
						close_server),
		cmocka_unit_test_setup_teardown(a_job_whose_attempts_never_end_is_set_aside,
						open_server, close_server),
		cmocka_unit_test_setup_teardown(
			a_worker_reads_the_next_file_while_a_result_is_committed, open_server,
			close_server),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

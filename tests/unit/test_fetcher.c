/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching from upstreams that are folders: who is woken, what arrives, what is remembered. */
#include "sweep.h"

#include "clock.h"
#include "fetcher.h"
#include "make_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FOLDERS = 3,
	WAIT_MS = 20000, /* longest time for what happens at once */
};

#define ELF "\177ELF" /* other files are not taken */

static const char one_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";
static const char debug_path[] = ".build-id/1b/700ab56bff4136b7c92cfe7a92fa17ef09d874.debug";

struct world {
	struct make_server s;
	struct ux_upstream ups[FOLDERS];
	char dirs[FOLDERS][64];
	struct ux_fetcher *f;
	/* what arrived */
	atomic_uint arrived;
	char upstream[UX_UPSTREAM_NAME];
	char content[32];
	enum ux_artifact artifact;
	atomic_bool refuses; /* the receiver says that the file is unusable */
	atomic_bool holds;   /* the receiver does not return */
	atomic_uint logged;
};

static enum ux_code on_arrived(void *ctx, const struct ux_arrived *a, struct ux_error *err)
{
	struct world *w = ctx;
	snprintf(w->upstream, sizeof(w->upstream), "%s", a->upstream);
	snprintf(w->content, sizeof(w->content), "%.*s", (int)a->bytes.size,
		 (const char *)a->bytes.data);
	w->artifact = a->artifact;
	atomic_fetch_add(&w->arrived, 1);
	while (atomic_load(&w->holds))
		usleep(1000);
	struct ux_blob_hash hash = ux_blob_hash_of(a->bytes);
	assert_memory_equal(&hash, &a->hash, sizeof(hash));
	return atomic_load(&w->refuses) ? ux_error_set(err, UX_ECORRUPT, "no such file format")
					: UX_OK;
}

static void on_event(void *ctx, const struct ux_fetch_event *event)
{
	struct world *w = ctx;
	assert_string_equal(event->id, one_id);
	atomic_fetch_add(&w->logged, 1);
}

static void remove_tree(const char *dir)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static void put_file(const char *dir, const char *path, const char *content)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/%s", dir, path);
	for (char *p = strchr(full + strlen(dir) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(full, 0700);
		*p = '/';
	}
	FILE *f = fopen(full, "w");
	assert_non_null(f);
	fputs(content, f);
	assert_int_equal(fclose(f), 0);
}

static void fetcher_make(struct world *w)
{
	const struct ux_fetcher_options o = {.upstreams = w->ups,
					     .n = FOLDERS,
					     .arrived = on_arrived,
					     .log = on_event,
					     .ctx = w};
	assert_int_equal(ux_fetcher_open(&w->f, &w->s.store, &o, NULL), UX_OK);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	make_server_open(&w->s, NULL, /* open_reading= */ true);
	for (int i = 0; i < FOLDERS; i++) {
		char text[128];
		snprintf(w->dirs[i], sizeof(w->dirs[i]), "/tmp/unhex-folder-XXXXXX");
		assert_non_null(mkdtemp(w->dirs[i]));
		snprintf(text, sizeof(text), "dir:%s,name=%c", w->dirs[i], 'a' + i);
		assert_int_equal(ux_upstream_parse(&w->ups[i], text, NULL), UX_OK);
	}
	fetcher_make(w);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	ux_fetcher_close(w->f);
	for (int i = 0; i < FOLDERS; i++)
		remove_tree(w->dirs[i]);
	make_server_close(&w->s);
	free(w);
	return 0;
}

/* Someone who waits for a fetch. */
struct sleeper {
	struct ux_fetch_waiter waiter;
	atomic_uint woken;
};

static void wake(void *ctx)
{
	atomic_fetch_add(&((struct sleeper *)ctx)->woken, 1);
}

static enum ux_fetching begin(struct world *w, struct sleeper *sleeper)
{
	const struct ux_fetch_request r = {
		.ns = UX_NAMESPACE_DEFAULT, .id = one_id, .want = UX_FETCH_DEBUGINFO};
	if (sleeper)
		sleeper->waiter = (struct ux_fetch_waiter){.wake = wake, .ctx = sleeper};
	return ux_fetcher_begin(w->f, &r, sleeper ? &sleeper->waiter : NULL);
}

static void wait_until(atomic_uint *counter, unsigned least)
{
	int64_t end = ux_clock_ms() + WAIT_MS;
	while (atomic_load(counter) < least && ux_clock_ms() < end)
		usleep(1000);
	assert_in_range(atomic_load(counter), least, least + 100);
}

static void assert_answers(struct world *w, size_t i, uint64_t found, uint64_t absent,
			   uint64_t failed)
{
	struct ux_upstream_status s = ux_fetcher_status(w->f, i);
	assert_int_equal(s.found, found);
	assert_int_equal(s.absent, absent);
	assert_int_equal(s.failed, failed);
	assert_int_equal(s.running, 0);
	assert_int_equal(s.breaker, UX_BREAKER_CLOSED);
	assert_int_equal(s.open_ms, 0);
}

static void assert_idle(struct world *w)
{
	uint64_t now = 1, refused = 1;
	ux_fetcher_load(w->f, &now, &refused);
	assert_int_equal(now, 0);
	assert_int_equal(refused, 0);
}

static void a_file_arrives_from_the_upstream_that_has_it(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	put_file(w->dirs[1], debug_path, ELF "debug of b");
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_int_equal(atomic_load(&w->arrived), 1);
	assert_string_equal(w->upstream, "b");
	assert_string_equal(w->content, ELF "debug of b");
	assert_int_equal(w->artifact, UX_ARTIFACT_DEBUGINFO);
	assert_idle(w);
	assert_answers(w, 0, 0, 1, 0);
	assert_answers(w, 1, 1, 0, 0);
	assert_int_equal(ux_fetcher_status(w->f, 1).bytes, strlen(ELF "debug of b"));
}

static void what_no_upstream_has_is_remembered(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	for (size_t i = 0; i < FOLDERS; i++)
		assert_answers(w, i, 0, 1, 0);
	assert_int_equal(atomic_load(&w->logged), FOLDERS);
	put_file(w->dirs[0], debug_path, ELF "too late");
	assert_int_equal(begin(w, &s), UX_FETCHING_NONE);
	assert_int_equal(atomic_load(&w->arrived), 0);
	assert_idle(w);
	/* A new server reads what the old one stored. */
	ux_fetcher_close(w->f);
	fetcher_make(w);
	if (begin(w, &s) != UX_FETCHING_NONE)
		wait_until(&s.woken, 2);
	assert_int_equal(atomic_load(&w->arrived), 0);
}

static void those_who_wait_for_one_thing_share_a_fetch(void **state)
{
	struct world *w = *state;
	struct sleeper s[5] = {{.woken = 0}};
	put_file(w->dirs[0], debug_path, ELF "shared");
	atomic_store(&w->holds, true);
	assert_int_equal(begin(w, &s[0]), UX_FETCHING_QUEUED);
	wait_until(&w->arrived, 1);
	for (size_t i = 1; i < ux_countof(s); i++)
		assert_int_equal(begin(w, &s[i]), UX_FETCHING_RECEIVING);
	uint64_t now = 0, refused = 1;
	ux_fetcher_load(w->f, &now, &refused);
	assert_int_equal(now, 1);
	/* The first, one between and the last leave. */
	ux_fetcher_leave(w->f, &s[0].waiter);
	ux_fetcher_leave(w->f, &s[2].waiter);
	ux_fetcher_leave(w->f, &s[4].waiter);
	ux_fetcher_leave(w->f, &s[4].waiter); /* does nothing */
	for (size_t i = 0; i < ux_countof(s); i++)
		assert_int_equal(atomic_load(&s[i].woken), 0);
	atomic_store(&w->holds, false);
	wait_until(&s[1].woken, 1);
	wait_until(&s[3].woken, 1);
	ux_fetcher_leave(w->f, &s[1].waiter);
	usleep(20000);
	for (size_t i = 0; i < ux_countof(s); i++)
		assert_int_equal(atomic_load(&s[i].woken), i % 2);
	assert_int_equal(atomic_load(&w->arrived), 1);
	assert_idle(w);
}

static void an_unusable_file_makes_the_next_upstream_be_asked(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	put_file(w->dirs[0], debug_path, ELF "bad");
	put_file(w->dirs[2], debug_path, ELF "bad too");
	atomic_store(&w->refuses, true);
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_int_equal(atomic_load(&w->arrived), 2);
	assert_string_equal(w->upstream, "c");
	assert_int_equal(begin(w, NULL), UX_FETCHING_NONE);
	assert_idle(w);
}

static void a_file_that_is_no_elf_does_not_arrive(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	put_file(w->dirs[0], debug_path, "<html>not found</html>");
	put_file(w->dirs[1], debug_path, "");
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_int_equal(atomic_load(&w->arrived), 0);
	assert_answers(w, 0, 0, 0, 1);
	assert_int_equal(ux_fetcher_status(w->f, 1).found, 0);
	assert_answers(w, 2, 0, 1, 0);
	assert_idle(w);
}

static void a_file_that_cannot_be_read_is_a_failure(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	char path[256];
	put_file(w->dirs[0], debug_path, "");
	snprintf(path, sizeof(path), "%s/%s", w->dirs[0], debug_path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/mem", path), 0); /* nothing is mapped at 0 */
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_answers(w, 0, 0, 0, 1);
	assert_int_equal(atomic_load(&w->arrived), 0);
	assert_idle(w);
}

static void *stop(void *ctx)
{
	ux_fetcher_stop(((struct world *)ctx)->f);
	return NULL;
}

static void stopping_wakes_who_waits_and_begins_nothing(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	pthread_t thread;
	put_file(w->dirs[0], debug_path, ELF "slow");
	atomic_store(&w->holds, true);
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&w->arrived, 1);
	assert_int_equal(pthread_create(&thread, NULL, stop, w), 0);
	int64_t end = ux_clock_ms() + WAIT_MS;
	while (begin(w, NULL) != UX_FETCHING_NONE && ux_clock_ms() < end)
		usleep(1000);
	assert_int_equal(begin(w, NULL), UX_FETCHING_NONE);
	atomic_store(&w->holds, false);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&s.woken), 1);
	assert_idle(w);
}

static void upstreams_of_one_name_and_too_many_are_refused(void **state)
{
	(void)state;
	struct ux_upstream ups[UX_UPSTREAMS_MOST + 1];
	struct ux_error err = UX_ERROR_INIT;
	memset(ups, 0, sizeof(ups));
	for (size_t i = 0; i < ux_countof(ups); i++)
		snprintf(ups[i].name, sizeof(ups[i].name), "u%zu", i);
	assert_int_equal(ux_fetcher_check(ups, UX_UPSTREAMS_MOST, &err), UX_OK);
	assert_int_equal(ux_fetcher_check(ups, UX_UPSTREAMS_MOST + 1, &err), UX_EINVAL);
	snprintf(ups[3].name, sizeof(ups[3].name), "u1");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_fetcher_check(ups, 3, &err), UX_OK);
	assert_int_equal(ux_fetcher_check(ups, 4, &err), UX_EINVAL);
	assert_non_null(strstr(err.text, "u1"));
}

#define FETCHER_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FETCHER_TEST(a_file_arrives_from_the_upstream_that_has_it),
		FETCHER_TEST(what_no_upstream_has_is_remembered),
		FETCHER_TEST(those_who_wait_for_one_thing_share_a_fetch),
		FETCHER_TEST(an_unusable_file_makes_the_next_upstream_be_asked),
		FETCHER_TEST(a_file_that_is_no_elf_does_not_arrive),
		FETCHER_TEST(a_file_that_cannot_be_read_is_a_failure),
		FETCHER_TEST(stopping_wakes_who_waits_and_begins_nothing),
		UX_TEST(upstreams_of_one_name_and_too_many_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching from upstreams: who is woken, which files arrive, which results are remembered, who is
 * next. */
#include "sweep.h"

#include "clock.h"
#include "fetcher.h"
#include "make_server.h"
#include "scripted_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	FOLDERS = 3,
	WAIT_MS = 20000, /* ms, the longest time for an immediate event */
};

#define ELF "\177ELF" /* other files are not taken */

static const char one_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";
static const char other_id[] = "gnu:00112233445566778899aabbccddeeff00112233";
static const char debug_path[] = ".build-id/1b/700ab56bff4136b7c92cfe7a92fa17ef09d874.debug";

struct world {
	struct make_server s;
	struct ux_upstream ups[FOLDERS];
	char dirs[FOLDERS][64];
	struct ux_fetcher *f;
	/* files that arrived */
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
	assert_int_equal(strncmp(event->id, "gnu:", 4), 0);
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

/* A thread that waits for a fetch. */
struct sleeper {
	struct ux_fetch_waiter waiter;
	atomic_uint woken;
};

static void wake(void *ctx)
{
	atomic_fetch_add(&((struct sleeper *)ctx)->woken, 1);
}

static enum ux_fetching begin_request(struct world *w, struct ux_fetch_request r,
				      struct sleeper *sleeper)
{
	r.ns = UX_NAMESPACE_DEFAULT;
	if (sleeper)
		sleeper->waiter = (struct ux_fetch_waiter){.wake = wake, .ctx = sleeper};
	return ux_fetcher_begin(w->f, &r, sleeper ? &sleeper->waiter : NULL);
}

static enum ux_fetching begin(struct world *w, struct sleeper *sleeper)
{
	const struct ux_fetch_request r = {.id = one_id, .want = UX_FETCH_DEBUGINFO};
	return begin_request(w, r, sleeper);
}

static void wait_until(atomic_uint *counter, unsigned min)
{
	int64_t end = ux_clock_ms() + WAIT_MS;
	while (atomic_load(counter) < min && ux_clock_ms() < end)
		usleep(1000);
	assert_in_range(atomic_load(counter), min, min + 100);
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
	const struct ux_fetch_request here = {
		.ns = UX_NAMESPACE_DEFAULT, .id = one_id, .want = UX_FETCH_DEBUGINFO};
	assert_int_equal(ux_fetcher_away_s(w->f, &here), 0);
	assert_int_equal(atomic_load(&w->arrived), 0);
	assert_idle(w);
	/* A new server reads the old one's stored state. */
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
	/* The first waiter, a middle one and the last one leave. */
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

static void after_an_unusable_file_the_next_upstream_is_queried(void **state)
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

/* --- order ------------------------------------------------------------------------------------ */

/* The first upstream becomes an HTTP server of that kind ("unhex"). */
static void first_is_server(struct world *w, const char *kind, const struct script *server)
{
	char text[128];
	ux_fetcher_close(w->f);
	snprintf(text, sizeof(text), "%s+%s,private,name=a", kind, server->url);
	assert_int_equal(ux_upstream_parse(&w->ups[0], text, NULL), UX_OK);
	fetcher_make(w);
}

/* Returns how many requests came. */
static size_t end_server(struct world *w, struct script *server)
{
	ux_fetcher_close(w->f); /* with its connections */
	w->f = NULL;
	return script_close(server);
}

#define ABSENT "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

static void a_slow_upstream_has_a_head_start(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	SCRIPT(slow, {.answer = ABSENT, .delay_ms = 3 * UX_FETCH_HEAD_START_MS / 2});
	first_is_server(w, "debuginfod", &slow);
	int64_t begun = ux_clock_ms(), end = begun + WAIT_MS;
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	while (ux_fetcher_status(w->f, 1).absent == 0 && ux_clock_ms() < end)
		usleep(1000);
	assert_in_range(ux_clock_ms() - begun, UX_FETCH_HEAD_START_MS, WAIT_MS);
	wait_until(&s.woken, 1);
	for (size_t i = 0; i < FOLDERS; i++)
		assert_answers(w, i, 0, 1, 0);
	assert_int_equal(end_server(w, &slow), 1);
}

/* A server that is itself fetching reports that; it is not an answer yet. */
static void an_upstream_that_says_later_is_requested_again(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	SCRIPT(later,
	       {.answer = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
			  "Content-Length: 0\r\n\r\n"},
	       {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" ELF "late"});
	first_is_server(w, "unhex", &later);
	int64_t begun = ux_clock_ms();
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_in_range(ux_clock_ms() - begun, 1000, WAIT_MS);
	assert_string_equal(w->upstream, "a");
	assert_string_equal(w->content, ELF "late");
	assert_answers(w, 0, 1, 0, 0);
	assert_int_equal(atomic_load(&w->logged), FOLDERS);
	assert_int_equal(end_server(w, &later), 2);
}

/* Each would wait until the other one knows it. */
static void servers_that_wait_for_each_other_have_nothing(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	static char text[256]; /* its address is part of a script, which is static */
	char list[UX_WAITS_FOR_TEXT];
	SCRIPT(circle, {.answer = text});
	first_is_server(w, "unhex", &circle);
	const struct ux_fetch_request here = {
		.ns = UX_NAMESPACE_DEFAULT, .id = one_id, .want = UX_FETCH_DEBUGINFO};
	ux_fetcher_waits_for(w->f, &here, list);
	assert_string_equal(list, ux_fetcher_own_id(w->f));
	snprintf(text, sizeof(text),
		 "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
		 "Content-Length: %zu\r\n\r\n" UX_WAITS_FOR "00112233aabbccdd, %s",
		 strlen(UX_WAITS_FOR "00112233aabbccdd, ") + strlen(list), list);
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_int_equal(begin(w, NULL), UX_FETCHING_NONE);
	assert_answers(w, 0, 0, 1, 0);
	assert_int_equal(end_server(w, &circle), 1);
}

static void a_fetch_does_not_wait_for_an_earlier_one(void **state)
{
	struct world *w = *state;
	struct sleeper first = {.woken = 0}, second = {.woken = 0};
	const struct ux_fetch_request other = {.id = other_id, .want = UX_FETCH_DEBUGINFO};
	put_file(w->dirs[0], debug_path, ELF "held");
	atomic_store(&w->holds, true);
	assert_int_equal(begin(w, &first), UX_FETCHING_QUEUED);
	wait_until(&w->arrived, 1);
	assert_int_equal(begin_request(w, other, &second), UX_FETCHING_QUEUED);
	wait_until(&second.woken, 1);
	assert_int_equal(atomic_load(&first.woken), 0);
	atomic_store(&w->holds, false);
	wait_until(&first.woken, 1);
	assert_idle(w);
}

static int64_t cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Neither with nothing to do, nor while an upstream does not answer yet. */
static void waiting_takes_no_processor_time(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	int64_t before = cpu_ms();
	usleep(200000);
	assert_in_range(cpu_ms() - before, 0, 50);
	put_file(w->dirs[0], debug_path, ELF "held");
	SCRIPT(slow, {.answer = ABSENT, .delay_ms = 300});
	first_is_server(w, "debuginfod", &slow);
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	before = cpu_ms();
	wait_until(&s.woken, 1);
	assert_in_range(cpu_ms() - before, 0, 150);
	(void)end_server(w, &slow);
}

static void an_upstream_that_does_not_answer_is_left_alone(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	char id[64];
	SCRIPT(gone, {.answer = ABSENT});
	(void)script_close(&gone); /* its port refuses connections */
	first_is_server(w, "debuginfod", &gone);
	for (unsigned i = 0; i <= UX_BREAKER_FAILURES; i++) {
		struct ux_upstream_status now = ux_fetcher_status(w->f, 0);
		assert_int_equal(now.breaker,
				 i < UX_BREAKER_FAILURES ? UX_BREAKER_CLOSED : UX_BREAKER_OPEN);
		snprintf(id, sizeof(id), "gnu:%02x112233445566778899aabbccddeeff00112233", i);
		const struct ux_fetch_request r = {.id = id, .want = UX_FETCH_DEBUGINFO};
		assert_int_equal(begin_request(w, r, &s), UX_FETCHING_QUEUED);
		wait_until(&s.woken, i + 1);
		/* It may have the file, whether it was asked or left alone. */
		assert_int_equal(begin_request(w, r, NULL), UX_FETCHING_AWAY);
		const struct ux_fetch_request here = {
			.ns = UX_NAMESPACE_DEFAULT, .id = id, .want = UX_FETCH_DEBUGINFO};
		assert_in_range(ux_fetcher_away_s(w->f, &here), 1, 61);
	}
	struct ux_upstream_status now = ux_fetcher_status(w->f, 0);
	assert_int_equal(now.failed, UX_BREAKER_FAILURES);
	assert_int_equal(now.refused, 1);
	assert_in_range(now.open_ms, 1, UX_BREAKER_OPEN_MS);
	/* The others are still queried. */
	assert_int_equal(ux_fetcher_status(w->f, 1).absent, UX_BREAKER_FAILURES + 1);
	assert_idle(w);
}

/* A fetch that failed on this machine is tried again soon, and not after the time of an answer. */
static void a_fetch_that_could_not_be_planned_is_planned_again(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	const size_t size = 2 << 20; /* its coded form exceeds the memory of a plan */
	char *path = malloc(size);
	assert_non_null(path);
	memset(path, 'a', size);
	path[0] = '/';
	path[size - 1] = '\0';
	const struct ux_fetch_request source = {
		.id = one_id, .want = UX_FETCH_SOURCE, .source = path};
	SCRIPT(server, {.answer = ABSENT});
	first_is_server(w, "debuginfod", &server);
	assert_int_equal(begin_request(w, source, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	int64_t end = ux_clock_ms() + WAIT_MS;
	assert_int_equal(begin_request(w, source, NULL), UX_FETCHING_AWAY);
	while (begin_request(w, source, &s) == UX_FETCHING_AWAY && ux_clock_ms() < end)
		usleep(10000);
	assert_true(ux_clock_ms() < end);
	wait_until(&s.woken, 2);
	assert_int_equal(end_server(w, &server), 0);
	free(path);
}

/* --- index ------------------------------------------------------------------------------------ */

static void a_source_is_stored_with_the_answer(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	struct ux_fetched_list answers = {.n = 0};
	struct ux_index *ix = w->s.store.index;
	UX_ARENA(arena, 1 << 20);
	const struct ux_fetch_request source = {
		.id = one_id, .want = UX_FETCH_SOURCE, .source = "/src/a.c"};
	SCRIPT(server, {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nint f;\n"});
	first_is_server(w, "debuginfod", &server);
	assert_int_equal(begin_request(w, source, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_int_equal(ix->fetched.list(ix, UX_NAMESPACE_DEFAULT, one_id, "source/src/a.c",
					  &arena, &answers, NULL),
			 UX_OK);
	assert_int_equal(answers.n, 1);
	assert_string_equal(answers.answers[0].artifact, "source/src/a.c");
	const struct ux_blob_hash hash = ux_blob_hash_of(UX_STR("int f;\n"));
	assert_true(answers.answers[0].has_blob);
	assert_memory_equal(&answers.answers[0].blob, &hash, sizeof(hash));
	assert_int_equal(end_server(w, &server), 1);
	const char *path = strstr(server.requests[0], "/source/src/a.c HTTP/1.1");
	assert_non_null(path);
}

static enum ux_code list_fails(struct ux_index *ix, const char *ns, const char *id,
			       const char *artifact, struct ux_arena *arena,
			       struct ux_fetched_list *ret, struct ux_error *err)
{
	(void)ix, (void)ns, (void)id, (void)artifact, (void)arena, (void)ret;
	return ux_error_set(err, UX_EIO, "the index cannot be read");
}

static void nothing_is_fetched_without_the_earlier_answers(void **state)
{
	struct world *w = *state;
	struct sleeper s = {.woken = 0};
	put_file(w->dirs[0], debug_path, ELF "not fetched");
	w->s.store.index->fetched.list = list_fails;
	assert_int_equal(begin(w, &s), UX_FETCHING_QUEUED);
	wait_until(&s.woken, 1);
	assert_int_equal(atomic_load(&w->arrived), 0);
	assert_answers(w, 0, 0, 0, 0);
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
	while (begin(w, NULL) != UX_FETCHING_AWAY && ux_clock_ms() < end)
		usleep(1000);
	assert_int_equal(begin(w, NULL), UX_FETCHING_AWAY);
	atomic_store(&w->holds, false);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&s.woken), 1);
	assert_idle(w);
}

static void upstreams_of_one_name_and_too_many_are_refused(void **state)
{
	(void)state;
	struct ux_upstream ups[UX_UPSTREAMS_MAX + 1];
	struct ux_error err = UX_ERROR_INIT;
	memset(ups, 0, sizeof(ups));
	for (size_t i = 0; i < ux_countof(ups); i++)
		snprintf(ups[i].name, sizeof(ups[i].name), "u%zu", i);
	assert_int_equal(ux_fetcher_check(ups, UX_UPSTREAMS_MAX, &err), UX_OK);
	assert_int_equal(ux_fetcher_check(ups, UX_UPSTREAMS_MAX + 1, &err), UX_EINVAL);
	snprintf(ups[3].name, sizeof(ups[3].name), "u1");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_fetcher_check(ups, 3, &err), UX_OK);
	assert_int_equal(ux_fetcher_check(ups, 4, &err), UX_EINVAL);
	assert_non_null(strstr(err.text, "u1"));
}

#define FETCHER_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

UX_SUITE(fetcher)
{
	const struct CMUnitTest tests[] = {
		FETCHER_TEST(a_file_arrives_from_the_upstream_that_has_it),
		FETCHER_TEST(what_no_upstream_has_is_remembered),
		FETCHER_TEST(those_who_wait_for_one_thing_share_a_fetch),
		FETCHER_TEST(after_an_unusable_file_the_next_upstream_is_queried),
		FETCHER_TEST(a_file_that_is_no_elf_does_not_arrive),
		FETCHER_TEST(a_file_that_cannot_be_read_is_a_failure),
		FETCHER_TEST(a_slow_upstream_has_a_head_start),
		FETCHER_TEST(an_upstream_that_says_later_is_requested_again),
		FETCHER_TEST(servers_that_wait_for_each_other_have_nothing),
		FETCHER_TEST(a_fetch_does_not_wait_for_an_earlier_one),
		FETCHER_TEST(waiting_takes_no_processor_time),
		FETCHER_TEST(an_upstream_that_does_not_answer_is_left_alone),
		FETCHER_TEST(a_fetch_that_could_not_be_planned_is_planned_again),
		FETCHER_TEST(a_source_is_stored_with_the_answer),
		FETCHER_TEST(nothing_is_fetched_without_the_earlier_answers),
		FETCHER_TEST(stopping_wakes_who_waits_and_begins_nothing),
		UX_TEST(upstreams_of_one_name_and_too_many_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

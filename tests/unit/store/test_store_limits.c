/* SPDX-License-Identifier: Apache-2.0 */
/* A store at its limits: open uploads, room on the disk, memory, other threads and processes that
 * write. */
#include "sweep.h"

#include "clock.h"
#include "keys.h"
#include "room.h"
#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The linker gives the store these; which of them depends on the C library. */
int __wrap_fstatvfs(int fd, struct statvfs *ret);
int __wrap_fstatvfs64(int fd, struct statvfs *ret);

enum {
	PAGE = 4096,
	DISK = 10 << 20, /* bytes of a small disk, */
};

static int64_t free_bytes = -1; /* free bytes on it; -1: the disk is large and empty */

int __wrap_fstatvfs(int fd, struct statvfs *ret)
{
	(void)fd;
	*ret = (struct statvfs){.f_frsize = PAGE, .f_blocks = 1 << 30, .f_bavail = 1 << 30};
	if (free_bytes >= 0) {
		ret->f_blocks = DISK / PAGE;
		ret->f_bavail = (fsblkcnt_t)(free_bytes / PAGE);
	}
	return 0;
}

int __wrap_fstatvfs64(int fd, struct statvfs *ret)
{
	return __wrap_fstatvfs(fd, ret);
}

static char dir[64];

static int open_store(void **state)
{
	static struct ux_store store;
	snprintf(dir, sizeof(dir), "/tmp/unhex-limits-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(ux_store_open(&store, dir, NULL), UX_OK);
	*state = &store;
	return 0;
}

static int close_store(void **state)
{
	char command[128];
	free_bytes = -1;
	ux_store_close(*state);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
	return 0;
}

/* --- open uploads ----------------------------------------------------------------------------- */

static enum ux_code announce(struct ux_store *s, const char *key, uint64_t size, ux_time now,
			     struct ux_upload_limits *limits)
{
	const char *ids[] = {"gnu:a"};
	struct ux_upload up = {.ns = UX_NAMESPACE_DEFAULT,
			       .key_id = key,
			       .ids = ids,
			       .n_ids = 1,
			       .size = size,
			       .description = "",
			       .file_name = "",
			       .status = "",
			       .reason = "",
			       .created = now,
			       .updated = now,
			       .limits = limits};
	assert_int_equal(ux_upload_uid_make(up.uid, NULL), UX_OK);
	limits->reached = false;
	enum ux_code code = s->index->uploads.add(s->index, &up, NULL);
	assert_int_equal(limits->reached, code != UX_OK);
	return code;
}

static void each_limit_on_open_uploads_is_its_own(void **state)
{
	struct ux_store *s = *state;
	const ux_time now = ux_store_now(s);
	struct ux_upload_limits none = {.since = now - 100}, l = none;
	/* Two of key a with 100 bytes each, one of key b; an old one no longer counts. */
	assert_int_equal(announce(s, "a", 100, now, &none), UX_OK);
	assert_int_equal(announce(s, "a", 100, now, &none), UX_OK);
	assert_int_equal(announce(s, "b", 100, now, &none), UX_OK);
	assert_int_equal(announce(s, "a", 100, now - 200, &none), UX_OK);
	l.of_key = 2;
	assert_int_not_equal(announce(s, "a", 1, now, &l), UX_OK);
	l.of_key = 1;
	assert_int_not_equal(announce(s, "b", 1, now, &l), UX_OK);
	assert_int_equal(announce(s, "c", 1, now, &l), UX_OK);
	l = (struct ux_upload_limits){.since = now - 100, .all = 4};
	assert_int_not_equal(announce(s, "d", 1, now, &l), UX_OK);
	l.all = 5;
	assert_int_equal(announce(s, "d", 1, now, &l), UX_OK);
	assert_int_not_equal(announce(s, "e", 1, now, &l), UX_OK);
	l = (struct ux_upload_limits){.since = now - 100, .bytes_of_key = 250};
	assert_int_not_equal(announce(s, "a", 51, now, &l), UX_OK);
	assert_int_equal(announce(s, "a", 50, now, &l), UX_OK);
	assert_int_equal(announce(s, "b", 150, now, &l), UX_OK);
	l = (struct ux_upload_limits){.since = now - 100, .bytes_all = 600};
	assert_int_not_equal(announce(s, "f", 99, now, &l), UX_OK);
	assert_int_equal(announce(s, "f", 98, now, &l), UX_OK);
	assert_int_not_equal(announce(s, "f", 1, now, &l), UX_OK);
}

static int64_t announce_time(struct ux_store *s, unsigned count)
{
	const ux_time now = ux_store_now(s);
	struct ux_upload_limits none = {.since = now - 100};
	struct timespec t;
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	int64_t began = t.tv_sec * UX_CLOCK_NS_IN_S + t.tv_nsec;
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(announce(s, "a", 1, now, &none), UX_OK);
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return t.tv_sec * UX_CLOCK_NS_IN_S + t.tv_nsec - began;
}

/* Uploads are announced faster than they are extracted. */
static void an_announcement_does_not_look_at_uploads_that_are_pending(void **state)
{
	struct ux_store *s = *state;
	char path[128], sql[1024];
	sqlite3 *db = NULL;
	int64_t before = announce_time(s, 100);
	snprintf(path, sizeof(path), "%s/index.sqlite", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(
		sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
		"INSERT INTO uploads (uid, ns, key_id, size, hash, kind, claim, description, "
		"file_name, force, state, status, reason, created, updated) "
		"SELECT printf('%%032x', i), 'default', 'a', 1, zeroblob(32), 'executable', 0, '', "
		"'', 0, 3, 'pending', '', %" PRId64 ", 0 FROM n",
		(int64_t)ux_store_now(s));
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	int64_t after = announce_time(s, 100);
	if (after > 10 * before)
		fail_msg("100 announcements took %" PRId64 " us, and %" PRId64
			 " us with 20,000 uploads pending",
			 before / 1000, after / 1000);
}

/* --- room ------------------------------------------------------------------------------------- */

static void a_reserve_is_released_where_room_is_short_alone(void **state)
{
	struct ux_store *s = *state;
	struct ux_room room = {.dir = -1};
	struct ux_room_state now;
	(void)s;
	assert_false(ux_room_release(&room)); /* of no folder */
	ux_room_restore(&room);
	assert_int_equal(ux_room_open(&room, dir, NULL), UX_OK);
	assert_int_equal(ux_room_get(&room, &now, NULL), UX_OK);
	assert_false(ux_room_release(&room));
	struct ux_error err = UX_ERROR_INIT;
	assert_true(now.accepts);
	assert_int_equal(now.least_bytes, UX_ROOM_MIN_FREE_DEFAULT);
	assert_int_equal(ux_room_check(&room, 0, NULL), UX_OK);
	assert_int_not_equal(ux_room_check(&room, now.free_bytes - now.least_bytes / 2, &err),
			     UX_OK);
	assert_int_equal(err.os_errno, ENOSPC);
	ux_room_close(&room);
}

static int64_t reserve_size(void)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof(path), "%s/reserve", dir);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* The reserve and the space that must stay free are a twentieth of a small disk each. */
static void a_full_disk_gets_its_reserve_and_keeps_it_again(void **state)
{
	const int64_t part = DISK / UX_ROOM_PART;
	struct ux_room room = {.dir = -1};
	struct ux_room_state now;
	struct ux_error err = UX_ERROR_INIT;
	char path[128];
	(void)state;
	snprintf(path, sizeof(path), "%s/reserve", dir);
	(void)unlink(path); /* the store's own */
	free_bytes = 2 * part - PAGE;
	assert_int_equal(ux_room_open(&room, dir, NULL), UX_OK);
	assert_int_equal(reserve_size(), 0); /* there is no room for it */
	assert_int_equal(ux_room_check(&room, 0, &err), UX_EIO);
	assert_int_equal(err.os_errno, ENOSPC);
	free_bytes = 3 * part;
	ux_room_restore(&room);
	assert_int_equal(reserve_size(), part);
	assert_int_equal(ux_room_get(&room, &now, NULL), UX_OK);
	assert_int_equal(now.total_bytes, DISK);
	assert_int_equal(now.least_bytes, part); /* the reserve lacks nothing */
	const uint64_t fits = now.free_bytes - now.least_bytes;
	assert_int_equal(ux_room_check(&room, fits, NULL), UX_OK);
	assert_int_equal(ux_room_check(&room, fits + 1, NULL), UX_EIO);
	/* It is kept while there is as much room besides, and released below that. */
	free_bytes = part + PAGE;
	assert_false(ux_room_release(&room));
	assert_int_equal(reserve_size(), part);
	for (int i = 0; i < 2; i++) {
		free_bytes = part - PAGE;
		assert_true(ux_room_release(&room));
		assert_int_equal(reserve_size(), 0);
	}
	free_bytes = part + PAGE; /* too little for both */
	ux_room_restore(&room);
	assert_int_equal(reserve_size(), 0);
	free_bytes = 3 * part;
	ux_room_restore(&room);
	assert_int_equal(reserve_size(), part);
	free_bytes = -1;
	ux_room_close(&room);
	assert_int_equal(room.dir, -1);
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* A program that was started without standard input gets descriptor 0 for its first file. */
static void a_store_opens_without_standard_input(void **state)
{
	struct ux_store store;
	char other[96];
	(void)state;
	int saved = dup(STDIN_FILENO);
	snprintf(other, sizeof(other), "%s/other", dir);
	close(STDIN_FILENO);
	enum ux_code code = ux_store_open(&store, other, NULL);
	if (code == UX_OK)
		ux_store_close(&store);
	if (saved >= 0) {
		assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
		close(saved);
	}
	assert_int_equal(code, UX_OK);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Runs body with arenas of 0 bytes, 64, and so on, until it succeeds. */
static void each_arena(struct ux_store *s,
		       enum ux_code (*body)(struct ux_store *s, struct ux_arena *arena))
{
	enum ux_code code = UX_ENOMEM;
	for (size_t max = 1; max < (1 << 16) && code != UX_OK; max++) {
		UX_ARENA(arena, max);
		code = body(s, &arena);
	}
	assert_int_equal(code, UX_OK);
}

static enum ux_code read_answers(struct ux_store *s, struct ux_arena *arena)
{
	struct ux_fetched_list list = {0};
	UX_TRY(s->index->fetched.list(s->index, UX_NAMESPACE_DEFAULT, "gnu:a", NULL, arena, &list,
				      NULL));
	assert_int_equal(list.n, 1);
	const struct ux_fetched *a = &list.answers[0];
	assert_string_equal(a->ns, UX_NAMESPACE_DEFAULT);
	assert_string_equal(a->upstream, "up");
	assert_string_equal(a->id, "gnu:a");
	assert_string_equal(a->artifact, "gsym");
	assert_string_equal(a->reason, "a reason");
	assert_string_equal(a->file_name, "a file");
	return UX_OK;
}

static enum ux_code read_audit(struct ux_store *s, struct ux_arena *arena)
{
	struct ux_audit_list list = {0};
	UX_TRY(s->index->audit.list(s->index, UX_NAMESPACE_DEFAULT, 0, 10, arena, &list, NULL));
	assert_true(list.n > 0);
	for (size_t i = 0; i < list.n; i++)
		assert_true(list.lines[i].key_id && list.lines[i].from && list.lines[i].ns &&
			    list.lines[i].what && list.lines[i].subject && list.lines[i].detail);
	return UX_OK;
}

static char upload_uid[UX_UPLOAD_UID_SIZE];

static enum ux_code read_upload(struct ux_store *s, struct ux_arena *arena)
{
	struct ux_upload up = {.ns = NULL};
	UX_TRY(s->index->uploads.find(s->index, upload_uid, arena, &up, NULL));
	assert_string_equal(up.key_id, "a key");
	assert_string_equal(up.description, "words");
	assert_string_equal(up.file_name, "a file");
	assert_non_null(up.status);
	assert_non_null(up.reason);
	assert_string_equal(up.ids[0], "gnu:a");
	return UX_OK;
}

/* A result that does not fit into the memory of a request is an error, and never a hole in the
 * answer. */
static void rows_are_read_whole_or_not_at_all(void **state)
{
	struct ux_store *s = *state;
	const struct ux_fetched answer = {.ns = UX_NAMESPACE_DEFAULT,
					  .upstream = "up",
					  .id = "gnu:a",
					  .artifact = "gsym",
					  .reason = "a reason",
					  .file_name = "a file",
					  .queried = 1,
					  .expires = 2};
	assert_int_equal(s->index->fetched.put(s->index, &answer, NULL), UX_OK);
	each_arena(s, read_answers);
	const struct ux_who who = {.key_id = "a key", .from = "an address"};
	struct ux_key key = {.scopes = UX_SCOPE_READ};
	char token[UX_TOKEN_SIZE];
	assert_int_equal(ux_key_create(s->index, &key, &who, ux_store_key_now(s), token, NULL),
			 UX_OK);
	each_arena(s, read_audit);
	const char *ids[] = {"gnu:a"};
	struct ux_upload up = {.ns = UX_NAMESPACE_DEFAULT,
			       .key_id = "a key",
			       .ids = ids,
			       .n_ids = 1,
			       .size = 1,
			       .description = "words",
			       .file_name = "a file",
			       .status = "",
			       .reason = ""};
	assert_int_equal(ux_upload_uid_make(upload_uid, NULL), UX_OK);
	memcpy(up.uid, upload_uid, sizeof(up.uid));
	assert_int_equal(s->index->uploads.add(s->index, &up, NULL), UX_OK);
	each_arena(s, read_upload);
}

/* --- other threads ---------------------------------------------------------------------------- */

enum {
	THREADS = 4,
	CHANGES = 4, /* for each kind and thread */
};

struct writer {
	pthread_t thread;
	struct ux_store *s;
	unsigned number;
	enum ux_code code; /* of the first change that failed */
};

static enum ux_code change_all(struct writer *w, unsigned i)
{
	struct ux_index *ix = w->s->index;
	const struct ux_who who = {.key_id = "", .from = "test"};
	char id[32], token[UX_TOKEN_SIZE], name[32];
	const char *ids[] = {id};
	int64_t job = 0;
	bool done = false;
	struct ux_add_result added;
	struct ux_upload_limits none = {.since = 0};
	struct ux_key key = {.scopes = UX_SCOPE_READ};
	snprintf(id, sizeof(id), "gnu:%u%02u", w->number, i);
	snprintf(name, sizeof(name), "n%u-%u", w->number, i);
	struct ux_upload up = {.ns = UX_NAMESPACE_DEFAULT,
			       .key_id = "k",
			       .ids = ids,
			       .n_ids = 1,
			       .size = 1,
			       .description = "",
			       .file_name = "",
			       .limits = &none};
	const struct ux_arrival what = {.ns = UX_NAMESPACE_DEFAULT, .ids = ids, .n_ids = 1};
	const struct ux_candidate c = {.blob = {{(uint8_t)w->number, (uint8_t)i}},
				       .size = 1,
				       .quality = UX_QUALITY_LINES,
				       .reason = "",
				       .origin_name = "",
				       .description = "",
				       .file_name = "",
				       .key_id = ""};
	const struct ux_fetched answer = {.ns = UX_NAMESPACE_DEFAULT,
					  .upstream = "up",
					  .id = id,
					  .artifact = "gsym",
					  .reason = "",
					  .file_name = ""};
	const struct ux_job spec = {
		.kind = "fetch", .subject = id, .ns = UX_NAMESPACE_DEFAULT, .payload = ""};
	const struct ux_audit line = {.time = 1,
				      .key_id = "",
				      .from = "",
				      .ns = "",
				      .what = "w",
				      .subject = id,
				      .detail = ""};
	const struct ux_namespace ns = {.name = name, .upstreams = "*", .description = ""};
	UX_TRY(ux_upload_uid_make(up.uid, NULL));
	UX_TRY(ix->uploads.add(ix, &up, NULL));
	UX_TRY(ix->uploads.give_up(ix, up.uid, "corrupt", "", 1, NULL));
	UX_TRY(ix->modules.add(ix, &what, &c, &who, 1, &added, NULL));
	const struct ux_touch touch = {added.module, 5};
	UX_TRY(ix->modules.touch(ix, &touch, 1, 0, NULL));
	UX_TRY(ix->modules.pin(ix, UX_NAMESPACE_DEFAULT, id, "p", &who, 1, NULL));
	UX_TRY(ix->modules.unpin(ix, UX_NAMESPACE_DEFAULT, id, "p", &who, 1, NULL));
	UX_TRY(ix->modules.mark(ix, added.module, 9, 9, &done, NULL));
	UX_TRY(ix->fetched.put(ix, &answer, NULL));
	UX_TRY(ix->jobs.add(ix, &spec, 1, &job, NULL));
	UX_TRY(ux_key_create(ix, &key, &who, 1, token, NULL));
	UX_TRY(ux_key_rotate(ix, key.id, 60, &who, 1, token, NULL));
	UX_TRY(ix->keys.revoke(ix, key.id, &who, 1, NULL));
	UX_TRY(ix->namespaces.put(ix, &ns, &who, 1, NULL));
	UX_TRY(ix->namespaces.remove(ix, name, &who, 1, NULL));
	UX_TRY(ix->audit.add(ix, &line, NULL));
	return ix->number_put(ix, name, i, NULL);
}

static void *write_all(void *ctx)
{
	struct writer *w = ctx;
	for (unsigned i = 0; i < CHANGES && w->code == UX_OK; i++)
		w->code = change_all(w, i);
	return NULL;
}

static void changes_of_threads_come_one_after_the_other(void **state)
{
	struct writer writers[THREADS];
	for (unsigned i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){.s = *state, .number = i, .code = UX_OK};
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]),
				 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(writers[i].thread, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(writers[i].code, UX_OK);
}

/* --- another process -------------------------------------------------------------------------- */

/* Another process writes: changes wait for it, fail as a whole, and are kept for later. */
static void a_change_waits_for_another_process_and_then_fails(void **state)
{
	struct ux_store *s = *state;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_who who = {.key_id = "", .from = "test"};
	struct ux_key key = {.scopes = UX_SCOPE_READ};
	char token[UX_TOKEN_SIZE], path[128], used[UX_TOKEN_SIZE];
	sqlite3 *db = NULL;
	assert_int_equal(ux_key_create(s->index, &key, &who, ux_store_key_now(s), used, NULL),
			 UX_OK);
	snprintf(path, sizeof(path), "%s/index.sqlite", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	int64_t begin = ux_clock_ms();
	assert_int_equal(ux_key_create(s->index, &key, &who, ux_store_key_now(s), token, &err),
			 UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "busy"));
	assert_in_range(ux_clock_ms() - begin, 2900, 60000);
	struct ux_key_touch touch = {.time = 5};
	ux_token_id(ux_bytes_cstr(used), touch.id);
	assert_int_equal(s->index->keys.touch(s->index, &touch, 1, NULL), UX_EUNAVAILABLE);
	/* The uses that could not be written are not lost, and nothing stays locked. */
	struct ux_last_use use;
	bool complete = false;
	ux_last_use_init(&use, UX_USED_KEY);
	ux_last_use_note(&use, 1, 7, true);
	assert_int_equal(ux_last_use_flush(&use, s->index, &complete, NULL), UX_EUNAVAILABLE);
	assert_false(complete);
	ux_last_use_note(&use, 2, 7, false);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(s->index->keys.touch(s->index, &touch, 1, NULL), UX_OK);
	assert_int_equal(ux_last_use_flush(&use, s->index, &complete, NULL), UX_OK);
	assert_true(complete);
	ux_last_use_deinit(&use);
	assert_int_equal(ux_key_create(s->index, &key, &who, ux_store_key_now(s), token, NULL),
			 UX_OK);
}

#define LIMITS_TEST(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)

UX_SUITE(store_limits)
{
	const struct CMUnitTest tests[] = {
		LIMITS_TEST(each_limit_on_open_uploads_is_its_own),
		LIMITS_TEST(an_announcement_does_not_look_at_uploads_that_are_pending),
		LIMITS_TEST(a_reserve_is_released_where_room_is_short_alone),
		LIMITS_TEST(a_full_disk_gets_its_reserve_and_keeps_it_again),
		LIMITS_TEST(a_store_opens_without_standard_input),
		LIMITS_TEST(rows_are_read_whole_or_not_at_all),
		LIMITS_TEST(changes_of_threads_come_one_after_the_other),
		LIMITS_TEST(a_change_waits_for_another_process_and_then_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

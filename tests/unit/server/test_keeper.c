/* SPDX-License-Identifier: Apache-2.0 */
/* The periodic work of a running server, its first key, and the socket that it is passed. */
#include "sweep.h"

#include "keeper.h"
#include "make_server.h"
#include "serve.h"
#include "service_manager.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker gives the server __wrap_, and __real_ is the C library's. */
int __wrap_fsync(int fd);
int __real_fsync(int fd);

static unsigned n_syncs;
static bool sync_fails;

int __wrap_fsync(int fd)
{
	n_syncs++;
	errno = EIO;
	return sync_fails ? -1 : __real_fsync(fd);
}

/* The calls on the index of the test. */
static struct {
	unsigned answers, audits, collections;
	ux_time answers_before, audits_before;
	enum ux_code answers_code, collection_code;
} seen;

static enum ux_code expire_answers(struct ux_index *ix, const char *upstream, ux_time before,
				   uint64_t *ret, struct ux_error *err)
{
	(void)ix;
	assert_null(upstream);
	seen.answers++;
	seen.answers_before = before;
	*ret = 0;
	return seen.answers_code == UX_OK ? UX_OK : ux_error_set(err, seen.answers_code, "broken");
}

static enum ux_code expire_audit(struct ux_index *ix, ux_time before, uint64_t *ret,
				 struct ux_error *err)
{
	(void)ix, (void)err;
	seen.audits++;
	seen.audits_before = before;
	*ret = 0;
	return UX_OK;
}

static enum ux_code find_garbage(struct ux_index *ix, int64_t *ret, struct ux_error *err)
{
	(void)ix;
	seen.collections++;
	*ret = 0;
	return seen.collection_code == UX_OK
		       ? UX_OK
		       : ux_error_set(err, seen.collection_code, "unreadable");
}

static int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	assert_non_null(s);
	make_server_open(s, NULL, /* open_reading= */ true);
	memset(&seen, 0, sizeof(seen));
	sync_fails = false;
	*state = s;
	return 0;
}

static int close_server(void **state)
{
	sync_fails = false;
	make_server_close(*state);
	free(*state);
	return 0;
}

static char logged[4096];

/* Runs a tick; its output to standard error is in logged. */
static void tick(struct ux_keeper *k)
{
	fflush(stderr);
	int saved = dup(STDERR_FILENO), fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	ux_keeper_tick(k);
	dup2(saved, STDERR_FILENO);
	close(saved);
	ssize_t n = pread(fd, logged, sizeof(logged) - 1, 0);
	assert_true(n >= 0);
	logged[n] = '\0';
	close(fd);
}

static void what_is_old_expires_once_an_hour(void **state)
{
	struct make_server *s = *state;
	struct ux_index *ix = s->store.index;
	struct ux_keeper k = ux_keeper_make(&s->server);
	assert_int_equal(k.sweep_every_s, 60 * 60);
	assert_int_equal(k.sweep_grace_s, 24 * 60 * 60);
	assert_int_equal(k.retention.grace_s, 7 * 24 * 60 * 60);
	ix->fetched.expire = expire_answers;
	ix->audit.expire = expire_audit;
	k.audit_s = 1000;
	const ux_time now = ux_store_now(&s->store);
	for (int i = 0; i < 3; i++)
		tick(&k);
	assert_string_equal(logged, "");
	assert_int_equal(seen.answers, 1);
	assert_in_range(seen.answers_before, now - 3600, now - 3600 + 60);
	assert_int_equal(seen.audits, 1);
	assert_in_range(seen.audits_before, now - 1000, now - 1000 + 60);
	/* A grace that is shorter than the answers' grace applies to them too; audits may be kept.
	 */
	k.next_sweep = 0;
	k.sweep_grace_s = 5;
	k.audit_s = 0;
	tick(&k);
	assert_int_equal(seen.answers, 2);
	assert_in_range(seen.answers_before, now - 5, now - 5 + 60);
	assert_int_equal(seen.audits, 1);
	/* A failure is logged, and the rest waits for the next time. */
	k.next_sweep = 0;
	k.audit_s = 1000;
	seen.answers_code = UX_EIO;
	tick(&k);
	assert_int_equal(seen.answers, 3);
	assert_int_equal(seen.audits, 1);
	assert_non_null(strstr(logged, "expire"));
	assert_non_null(strstr(logged, "broken"));
}

static void files_that_were_deleted_are_looked_for(void **state)
{
	struct make_server *s = *state;
	struct ux_keeper k = ux_keeper_make(&s->server);
	s->store.index->blobs.garbage_last = find_garbage;
	tick(&k);
	assert_int_equal(seen.collections, 1);
	assert_string_equal(logged, "");
	s->store.collect_s = 0;
	seen.collection_code = UX_EIO;
	tick(&k);
	assert_int_equal(seen.collections, 2);
	assert_non_null(strstr(logged, "sweep"));
	assert_non_null(strstr(logged, "unreadable"));
}

static void uses_are_written_once_a_minute_and_at_the_end(void **state)
{
	struct make_server *s = *state;
	struct ux_keeper k = ux_keeper_make(&s->server);
	int64_t stored = 0;
	struct ux_index *ix = s->store.index;
	tick(&k);
	assert_true(k.next_write > 0);
	const int64_t next = k.next_write;
	tick(&k);
	assert_int_equal(k.next_write, next);
	assert_int_equal(ix->number_put(ix, "clock", 1, NULL), UX_OK);
	ux_keeper_finish(&k);
	assert_int_equal(ix->number_get(ix, "clock", &stored, NULL), UX_OK);
	assert_true(stored > 1);
}

/* --- first key -------------------------------------------------------------------------------- */

static size_t read_key(const char *path, char text[128])
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	ssize_t n = read(fd, text, 127);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	return (size_t)n;
}

/* Standard output is not a terminal here, so the token goes to a file. */
static enum ux_code make_first_key(struct ux_store *store, const char *dir, struct ux_error *err)
{
	fflush(stdout);
	int saved = dup(STDOUT_FILENO), fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDOUT_FILENO);
	n_syncs = 0;
	enum ux_code code = ux_first_key(store, dir, NULL, err);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	return code;
}

static void the_first_key_is_on_the_disk_before_it_is_valid(void **state)
{
	(void)state;
	struct ux_store store;
	struct ux_error err = UX_ERROR_INIT;
	char dir[64] = "/tmp/unhex-keeper-XXXXXX", path[128], text[128], again[128], command[128];
	UX_ARENA(arena, 1 << 20);
	struct ux_key_list keys;
	struct ux_key key;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" UX_FIRST_KEY_FILE, dir);
	assert_int_equal(ux_store_open(&store, dir, NULL), UX_OK);
	struct ux_index *ix = store.index;
	/* The disk refuses it: there is no key, and the remaining file is replaced. */
	sync_fails = true;
	assert_int_equal(make_first_key(&store, dir, &err), UX_EIO);
	assert_int_equal(err.os_errno, EIO);
	sync_fails = false;
	assert_int_equal(ix->keys.list(ix, &arena, &keys, NULL), UX_OK);
	assert_int_equal(keys.n, 0);
	assert_int_equal(read_key(path, again), UX_TOKEN_SIZE);
	assert_int_equal(make_first_key(&store, dir, NULL), UX_OK);
	assert_true(n_syncs > 0);
	assert_int_equal(read_key(path, text), UX_TOKEN_SIZE);
	assert_string_not_equal(text, again);
	assert_int_equal(text[UX_TOKEN_SIZE - 1], '\n');
	assert_int_equal(ux_key_check(ix, ux_bytes(text, UX_TOKEN_SIZE - 1),
				      ux_store_key_now(&store), &arena, &key, NULL),
			 UX_OK);
	assert_int_equal(key.scopes, UX_SCOPE_SERVER);
	assert_int_equal(key.expires, 0);
	/* There is only one first key. */
	assert_int_equal(make_first_key(&store, dir, NULL), UX_OK);
	assert_int_equal(read_key(path, again), UX_TOKEN_SIZE);
	assert_string_equal(text, again);
	ux_store_close(&store);
	/* A name that cannot be replaced is an error, and gives no key. */
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(ux_store_open(&store, dir, NULL), UX_OK);
	assert_int_equal(mkdir(path, 0700), 0);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(make_first_key(&store, dir, &err), UX_EIO);
	assert_non_null(strstr(err.text, "cannot remove"));
	assert_int_equal(store.index->keys.list(store.index, &arena, &keys, NULL), UX_OK);
	assert_int_equal(keys.n, 0);
	ux_store_close(&store);
	assert_int_equal(system(command), 0);
}

/* --- a passed socket -------------------------------------------------------------------------- */

/* The rules of sd_listen_fds(3): sockets are ours if both variables are, and then the variables are
 * unset. */
static void a_socket_is_passed_by_two_variables(void **state)
{
	(void)state;
	char own[16], other[16];
	snprintf(own, sizeof(own), "%d", (int)getpid());
	snprintf(other, sizeof(other), "%d", (int)getpid() + 1);
	const struct {
		const char *pid, *fds;
		int fd;
		enum ux_code code;
	} cases[] = {
		{own, "1", 3, UX_OK},    {own, "2", 3, UX_EINVAL}, {own, "0", -1, UX_OK},
		{own, NULL, -1, UX_OK},  {own, "x", -1, UX_OK},    {other, "1", -1, UX_OK},
		{other, "2", -1, UX_OK}, {NULL, "1", -1, UX_OK},   {"", "1", -1, UX_OK},
		{NULL, NULL, -1, UX_OK},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_error err = UX_ERROR_INIT;
		int fd = 7;
		unsetenv("LISTEN_PID");
		unsetenv("LISTEN_FDS");
		if (cases[i].pid)
			setenv("LISTEN_PID", cases[i].pid, 1);
		if (cases[i].fds)
			setenv("LISTEN_FDS", cases[i].fds, 1);
		if (ux_passed_socket(&fd, &err) != cases[i].code || fd != cases[i].fd)
			fail_msg("case %zu: %d %s", i, fd, err.text);
		assert_null(getenv("LISTEN_PID"));
		assert_null(getenv("LISTEN_FDS"));
	}
}

#define KEEPER_TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)

UX_SUITE(keeper)
{
	const struct CMUnitTest tests[] = {
		KEEPER_TEST(what_is_old_expires_once_an_hour),
		KEEPER_TEST(files_that_were_deleted_are_looked_for),
		KEEPER_TEST(uses_are_written_once_a_minute_and_at_the_end),
		UX_TEST(a_socket_is_passed_by_two_variables),
		UX_TEST(the_first_key_is_on_the_disk_before_it_is_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

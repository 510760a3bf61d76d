/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's side: starts the child, waits with a deadline, and checks everything that it
 * returns.
 */
#include "sandbox.h"

#include "cursor.h"

#include "clock.h"
#include "extract.h"
#include "file.h"
#include "packed_file.h"
#include "region.h"
#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SPARE_SECONDS = 2, /* seconds to start the child on a busy machine */
	PACE_MS = 100,     /* how often the caller sees to a child that works */
	CLOCK_FACTOR = 2,  /* seconds of wall-clock time for each second of processor time */
};

struct child {
	pid_t pid; /* 0: none */
	int talk;
	/* the files, duplicated to numbers above those that the child gets */
	int moved[UX_SANDBOX_FILE_COUNT];
};

static void child_deinit(struct child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (c->talk >= 0)
		close(c->talk);
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		if (c->moved[i] >= 0)
			close(c->moved[i]);
}

static enum ux_code child_set_up(posix_spawn_file_actions_t *a, const struct child *c,
				 int child_socket, struct ux_error *err)
{
	int r = 0;
	for (int fd = 0; fd < UX_SANDBOX_SOCKET && r == 0; fd++)
		r = posix_spawn_file_actions_addopen(a, fd, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(a, child_socket, UX_SANDBOX_SOCKET);
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT && r == 0; i++)
		r = c->moved[i] >= 0
			    ? posix_spawn_file_actions_adddup2(a, c->moved[i], UX_SANDBOX_FILES + i)
			    : posix_spawn_file_actions_addclose(a, UX_SANDBOX_FILES + i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(a, UX_SANDBOX_FILES +
									UX_SANDBOX_FILE_COUNT);
	return r == 0 ? UX_OK : ux_error_os(err, r, "cannot set up a confined child");
}

/* Resets signal handling to the default, whatever the caller blocked or ignored. */
static void child_reset_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static enum ux_code child_spawn(struct child *c, const char *program, int child_socket,
				struct ux_error *err)
{
	char name[] = "unhex", word[] = UX_SANDBOX_WORD;
	char *const argv[] = {name, word, NULL}, *const envp[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ux_error_nomem(err);
	posix_spawnattr_init(&attr);
	child_reset_signals(&attr);
	enum ux_code code = child_set_up(&actions, c, child_socket, err);
	if (code == UX_OK) {
		int r = posix_spawn(&c->pid, program, &actions, &attr, argv, envp);
		if (r != 0) {
			c->pid = 0;
			code = ux_error_set(err, UX_EUNAVAILABLE, "cannot start %.80s: %s", program,
					    strerror(r));
		}
	}
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

/*
 * dup2() of a descriptor onto itself would leave it close-on-exec, and onto the number of another
 * one would close that one. So all are first moved to higher numbers.
 */
static enum ux_code child_move_files(struct child *c, const int *files, struct ux_error *err)
{
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++) {
		if (files[i] < 0)
			continue;
		c->moved[i] =
			fcntl(files[i], F_DUPFD_CLOEXEC, UX_SANDBOX_FILES + UX_SANDBOX_FILE_COUNT);
		if (c->moved[i] < 0)
			return ux_error_os(err, errno, "cannot hand file %d to a child", i);
	}
	return UX_OK;
}

/* Makes the socket of a child, which is connected to c->talk, and closes it afterwards. */
static enum ux_code child_make_socket(struct child *c, int *ret, struct ux_error *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return ux_error_os(err, errno, "cannot make a socket for a child");
	c->talk = pair[0];
	*ret = fcntl(pair[1], F_DUPFD_CLOEXEC, UX_SANDBOX_FILES + UX_SANDBOX_FILE_COUNT);
	close(pair[1]);
	return *ret >= 0 ? UX_OK : ux_error_os(err, errno, "cannot make a socket for a child");
}

/* Executes a program for the child and sends it the request. */
static enum ux_code child_start(struct child *c, const struct ux_sandbox_request *request,
				const char *program, struct ux_error *err)
{
	int child_socket = -1;
	UX_TRY(child_make_socket(c, &child_socket, err));
	enum ux_code code = child_spawn(c, program ? program : "/proc/self/exe", child_socket, err);
	close(child_socket);
	UX_TRY(code);
	/* If it has ended already, waiting for its reply will tell why. */
	(void)!send(c->talk, request, sizeof(*request), MSG_NOSIGNAL);
	return UX_OK;
}

struct ux_fork_server {
	pthread_mutex_t lock; /* guards the process */
	char *program;        /* NULL: this one */
	struct child process; /* pid 0: it is not running */
};

static const struct child no_child = {.talk = -1, .moved = UX_SANDBOX_NO_FILES};

static void fork_server_end(struct ux_fork_server *f)
{
	child_deinit(&f->process);
	f->process = no_child;
}

static enum ux_code fork_server_begin(struct ux_fork_server *f, struct ux_error *err)
{
	const struct ux_sandbox_request request = {.size = sizeof(request),
						   .task = UX_SANDBOX_FORKS};
	return f->process.pid > 0 ? UX_OK : child_start(&f->process, &request, f->program, err);
}

enum ux_code ux_fork_server_start(struct ux_fork_server **ret, const char *program,
				  struct ux_error *err)
{
	struct ux_fork_server *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	pthread_mutex_init(&f->lock, NULL);
	f->process = no_child;
	f->program = program ? strdup(program) : NULL;
	enum ux_code code =
		program && !f->program ? ux_error_nomem(err) : fork_server_begin(f, err);
	if (code == UX_OK)
		*ret = f;
	else
		ux_fork_server_stop(f);
	return code;
}

void ux_fork_server_stop(struct ux_fork_server *f)
{
	if (!f)
		return;
	fork_server_end(f);
	pthread_mutex_destroy(&f->lock);
	free(f->program);
	free(f);
}

/* The pid of a new child, or a negative errno; 0: the fork server has died. */
static int64_t fork_server_request(struct ux_fork_server *f,
				   const struct ux_sandbox_request *request, int child_socket,
				   const int *files)
{
	int64_t pid = 0;
	ssize_t n = 0;
	if (!ux_fork_request_send(f->process.talk, request, child_socket, files))
		return 0;
	do
		n = recv(f->process.talk, &pid, sizeof(pid), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(pid) && pid <= INT_MAX ? pid : 0;
}

/* Has the child forked. A fork server that has died is started again, once. */
static enum ux_code child_fork(struct child *c, struct ux_fork_server *f,
			       const struct ux_sandbox_request *request, struct ux_error *err)
{
	int child_socket = -1;
	int64_t pid = 0;
	UX_TRY(child_make_socket(c, &child_socket, err));
	enum ux_code code = UX_OK;
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < 2 && code == UX_OK && pid == 0; i++) {
		code = fork_server_begin(f, err);
		pid = code == UX_OK ? fork_server_request(f, request, child_socket, c->moved) : 0;
		if (pid == 0)
			fork_server_end(f);
	}
	pthread_mutex_unlock(&f->lock);
	close(child_socket);
	UX_TRY(code);
	if (pid <= 0)
		return ux_error_set(err, UX_EUNAVAILABLE, "cannot fork a child: %s",
				    pid < 0 ? strerror((int)-pid) : "its server has died");
	c->pid = (pid_t)pid;
	return UX_OK;
}

enum waited {
	WAITED_REPLY, /* or the child has ended */
	WAITED_TIME,
	WAITED_STOP,
};

/* Has the caller see to the child. Returns how long that took. */
static int64_t child_pace(const struct child *c, const struct ux_sandbox_limits *l)
{
	int64_t before = ux_clock_ms();
	l->pace(l->pace_ctx, (int)c->pid);
	return ux_clock_ms() - before;
}

static enum waited child_wait_reply(struct child *c, const struct ux_sandbox_limits *l)
{
	const int64_t slice = l->pace ? PACE_MS : INT_MAX;
	int64_t end = ux_clock_ms() + ((int64_t)l->seconds * CLOCK_FACTOR + SPARE_SECONDS) * 1000;
	struct pollfd p[] = {{.fd = c->talk, .events = POLLIN},
			     {.fd = l->stop ? *l->stop : -1, .events = POLLIN}};
	for (;;) {
		int64_t left = end - ux_clock_ms();
		if (left <= 0)
			return WAITED_TIME;
		int r = poll(p, ux_countof(p), (int)ux_min(left, slice));
		if (r == 0 && l->pace)
			end += child_pace(c, l);
		if (r > 0)
			return p[0].revents != 0 ? WAITED_REPLY : WAITED_STOP;
		if (r < 0 && errno != EINTR)
			return WAITED_TIME;
	}
}

/* The error for a child that ended without a reply. */
static enum ux_code child_end_error(struct child *c, const struct ux_sandbox_limits *l,
				    bool *ret_out_of_time, struct ux_error *err)
{
	int status = 0;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	if (!WIFSIGNALED(status))
		return ux_error_set(err, UX_ECORRUPT, "reading it ended with status %d",
				    WEXITSTATUS(status));
	/* The kernel ends it by SIGKILL for the limit of processor time, and for lack of memory. */
	*ret_out_of_time = WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL;
	if (*ret_out_of_time)
		return ux_error_set(err, UX_ELIMIT, "reading it took over %u s or too much memory",
				    l->seconds);
	return ux_error_set(err, UX_ECORRUPT, "reading it ended by signal %d (%s)",
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static void reply_clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
}

static bool reply_clean_error(struct ux_error *e)
{
	reply_clean_text(e->text, sizeof(e->text));
	reply_clean_text(e->section, sizeof(e->section));
	return (unsigned)e->code < UX_CODE_COUNT;
}

static bool reply_clean_id(struct ux_id *id)
{
	struct ux_id made = {0};
	if (id->size > sizeof(id->bytes) ||
	    ux_id_make((enum ux_id_type)id->type, ux_bytes(id->bytes, id->size), &made, NULL) !=
		    UX_OK)
		return false;
	*id = made;
	return true;
}

static bool reply_clean_ids(struct ux_id_set *ids)
{
	struct ux_id_set clean = {0};
	if (ids->size > ux_countof(ids->ids))
		return false;
	for (size_t i = 0; i < ids->size; i++)
		if (!reply_clean_id(&ids->ids[i]) ||
		    ux_id_set_add(&clean, &ids->ids[i], NULL) != UX_OK)
			return false;
	*ids = clean;
	return true;
}

static bool reply_clean_supplementary(struct ux_sandbox_found *f)
{
	struct ux_id *id = &f->supplementary;
	return id->size == 0 ? !f->needs_supplementary
			     : reply_clean_id(id) && id->type == UX_ID_GNU;
}

/*
 * A File ID is computed again, since it is a property of the bytes: a child that was taken over
 * must not make this file an alias of another one. The other IDs are what the file claims, and a
 * hostile file can claim any.
 */
static bool reply_has_true_file_id(const struct ux_id_set *ids, int exe)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (!ux_id_set_find(ids, UX_ID_FILE))
		return true;
	if (ux_file_map_fd(exe, &file, NULL) != UX_OK)
		return false;
	struct ux_id want = ux_file_id(file.bytes);
	for (size_t i = 0; i < ids->size; i++)
		if (ids->ids[i].type == UX_ID_FILE &&
		    memcmp(&ids->ids[i], &want, sizeof(want)) != 0)
			return false;
	return true;
}

/* exe: the first file that the child got. */
static bool reply_clean(struct ux_sandbox_reply *r, int exe)
{
	static const unsigned has =
		UX_SANDBOX_HAS_CODE | UX_SANDBOX_HAS_DEBUG | UX_SANDBOX_HAS_SECTIONS;
	return r->size == sizeof(*r) && reply_clean_error(&r->err) &&
	       reply_clean_error(&r->found.lost) && reply_clean_ids(&r->found.ids) &&
	       reply_has_true_file_id(&r->found.ids, exe) && reply_clean_supplementary(&r->found) &&
	       (unsigned)r->found.quality < UX_QUALITY_COUNT && (r->found.has & ~has) == 0 &&
	       (r->found.debug_has & ~has) == 0;
}

static enum ux_code child_read_reply(struct child *c, const struct ux_sandbox_limits *limits,
				     struct ux_sandbox_found *ret, struct ux_error *err)
{
	struct ux_sandbox_reply got;
	ssize_t n = recv(c->talk, &got, sizeof(got), MSG_TRUNC);
	if (n <= 0)
		return child_end_error(c, limits, &ret->out_of_time, err);
	if (n != (ssize_t)sizeof(got) || !reply_clean(&got, c->moved[UX_SANDBOX_EXE]))
		return ux_error_set(err, UX_ECORRUPT, "reading it gave no sensible answer");
	*ret = got.found;
	ret->out_of_time = false;
	if (got.err.code == UX_OK)
		return UX_OK;
	if (got.err.code == UX_ENOMEM)
		return ux_error_set(err, UX_ELIMIT, "reading it needs over %" PRIu64 " bytes",
				    limits->memory);
	if (got.err.os_errno == EFBIG)
		return ux_error_set(err, UX_ELIMIT, "what comes out is over %" PRIu64 " bytes",
				    limits->output);
	if (err && err->code == UX_OK)
		*err = got.err;
	return got.err.code;
}

/* Completes the request, which has the task, by the limits and the files. */
static struct ux_sandbox_request sandbox_request(const int *files,
						 const struct ux_sandbox_limits *limits,
						 struct ux_sandbox_request request)
{
	request.size = sizeof(request);
	request.memory = limits->memory;
	request.disk = files[UX_SANDBOX_SPILL] >= 0 ? limits->disk : 0;
	request.output = limits->output;
	request.seconds = limits->seconds;
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		request.files |= (uint32_t)(files[i] >= 0) << i;
	return request;
}

enum ux_code ux_sandbox_check(struct ux_bytes file, struct ux_error *err)
{
	return ux_extract_check(file, err);
}

/* Does the task have a use for limits->disk? */
static bool sandbox_task_spills(uint32_t task)
{
	return task == UX_SANDBOX_EXTRACT || task == UX_SANDBOX_SYMBOLS;
}

static void sandbox_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static enum ux_code sandbox_run_task(const int files[UX_SANDBOX_FILE_COUNT],
				     const struct ux_sandbox_limits *limits, const char *program,
				     const struct ux_sandbox_request *request,
				     struct ux_sandbox_found *ret, struct ux_error *err)
{
	ux_cleanup(child_deinit) struct child c = no_child;
	ux_cleanup(sandbox_close_fd) int spill = -1;
	int all[UX_SANDBOX_FILE_COUNT];
	*ret = (struct ux_sandbox_found){0};
	if (limits->disk > 0 && sandbox_task_spills(request->task))
		UX_TRY(ux_spill_open(ux_spill_folder(), limits->disk, &spill, err));
	memcpy(all, files, sizeof(all));
	all[UX_SANDBOX_SPILL] = spill;
	const struct ux_sandbox_request whole = sandbox_request(all, limits, *request);
	UX_TRY(child_move_files(&c, all, err));
	UX_TRY(limits->forks ? child_fork(&c, limits->forks, &whole, err)
			     : child_start(&c, &whole, program, err));
	enum waited waited = child_wait_reply(&c, limits);
	if (waited == WAITED_STOP)
		return ux_error_set(err, UX_EUNAVAILABLE, "reading it was stopped");
	ret->out_of_time = waited == WAITED_TIME;
	if (waited == WAITED_TIME)
		return ux_error_set(err, UX_ELIMIT, "reading it took over %u s", limits->seconds);
	return child_read_reply(&c, limits, ret, err);
}

enum ux_code ux_sandbox_extract(const int files[UX_SANDBOX_FILE_COUNT],
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_EXTRACT};
	return sandbox_run_task(files, limits, program, &request, ret, err);
}

enum ux_code ux_sandbox_inspect(int file, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_sandbox_found *ret,
				struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_INSPECT};
	const int files[UX_SANDBOX_FILE_COUNT] = {file, -1, -1, -1, -1, -1};
	return sandbox_run_task(files, limits, program, &request, ret, err);
}

enum ux_code ux_sandbox_check_source(int elf, const char *path, const uint8_t md5[UX_MD5_BYTES],
				     const struct ux_sandbox_limits *limits, const char *program,
				     struct ux_error *err)
{
	struct ux_sandbox_request request = {.task = UX_SANDBOX_SOURCE};
	const int files[UX_SANDBOX_FILE_COUNT] = {elf, -1, -1, -1, -1, -1};
	struct ux_sandbox_found found;
	if (snprintf(request.source, sizeof(request.source), "%s", path) >=
	    (int)sizeof(request.source))
		return ux_error_set(err, UX_EINVAL, "path of a source of over %d bytes",
				    UX_PATH_BYTES - 1);
	memcpy(request.md5, md5, sizeof(request.md5));
	return sandbox_run_task(files, limits, program, &request, &found, err);
}

enum ux_code ux_sandbox_unpack(int archive, int out, const struct ux_sandbox_limits *limits,
			       const char *program, struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_UNPACK};
	const int files[UX_SANDBOX_FILE_COUNT] = {archive, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	return sandbox_run_task(files, limits, program, &request, &found, err);
}

enum ux_code ux_sandbox_disassemble(int elf, const struct ux_code_range *range, int out,
				    const struct ux_sandbox_limits *limits, const char *program,
				    struct ux_error *err)
{
	const struct ux_sandbox_request request = {.task = UX_SANDBOX_DISASSEMBLE, .range = *range};
	const int files[UX_SANDBOX_FILE_COUNT] = {elf, -1, -1, -1, out, -1};
	struct ux_sandbox_found found;
	return sandbox_run_task(files, limits, program, &request, &found, err);
}

bool ux_instruction_next(struct ux_bytes *left, struct ux_instruction *ret, struct ux_error *err)
{
	if (left->size == 0)
		return false;
	struct ux_cur c = ux_cur_make(*left, "instructions", /* swap= */ false);
	ret->offset = ux_cur_u32(&c);
	ret->text = ux_cur_take(&c, ux_cur_u16(&c));
	if (ux_cur_status(&c, err) != UX_OK)
		return false;
	*left = ux_bytes(c.pos, ux_cur_left(&c));
	return true;
}

static enum ux_code sandbox_run_parts(const struct ux_sandbox_part *parts, size_t n, int out,
				      const struct ux_sandbox_limits *limits, const char *program,
				      struct ux_sandbox_request *request,
				      struct ux_sandbox_found *ret, struct ux_error *err)
{
	int files[UX_SANDBOX_FILE_COUNT] = UX_SANDBOX_NO_FILES;
	for (size_t i = 0; i < n; i++) {
		if (parts[i].size == 0)
			continue;
		files[i] = parts[i].fd;
		request->parts[i].off = parts[i].off;
		request->parts[i].size = parts[i].size;
	}
	files[UX_SANDBOX_GSYM] = out;
	return sandbox_run_task(files, limits, program, request, ret, err);
}

enum ux_code ux_sandbox_members(const struct ux_sandbox_part *archive, enum ux_members_mode mode,
				int out, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_error *err)
{
	struct ux_sandbox_request request = {.task = UX_SANDBOX_MEMBERS, .mode = mode};
	struct ux_sandbox_found found;
	return sandbox_run_parts(archive, 1, out, limits, program, &request, &found, err);
}

/*
 * The IDs of a file are what the file claims, and a hostile one can claim any. Its File ID is a
 * property of its bytes, and is computed again where it is that of the part as it stands.
 */
static bool facts_clean(struct ux_module_facts *f, struct ux_bytes part)
{
	struct ux_id want = ux_file_id(part);
	const struct ux_id *file = ux_id_set_find(&f->ids, UX_ID_FILE);
	bool whole = f->arch[0] == '\0' && f->gpu == 0 && !ux_packed_is(part);
	f->arch[sizeof(f->arch) - 1] = '\0';
	return f->ids.size > 0 && reply_clean_ids(&f->ids) &&
	       (f->alias.size == 0 || reply_clean_id(&f->alias)) &&
	       (unsigned)f->claim < UX_QUALITY_COUNT && (!file || !whole || ux_id_eq(file, &want));
}

static enum ux_code facts_take(struct ux_bytes bytes, struct ux_bytes part,
			       struct ux_module_facts_vec *ret, struct ux_error *err)
{
	struct ux_module_facts f;
	if (bytes.size % sizeof(f) != 0 || bytes.size / sizeof(f) > UX_SANDBOX_FACTS_MOST)
		return ux_error_set(err, UX_ECORRUPT, "reading it gave no sensible answer");
	for (size_t at = 0; at < bytes.size; at += sizeof(f)) {
		/* a bool that is neither 0 nor 1 must not be read as one */
		for (size_t i = offsetof(struct ux_module_facts, macho);
		     i <= offsetof(struct ux_module_facts, strippable); i++)
			if (bytes.data[at + i] > 1)
				return ux_error_set(err, UX_ECORRUPT,
						    "reading it gave no sensible answer");
		memcpy(&f, bytes.data + at, sizeof(f));
		if (!facts_clean(&f, part))
			return ux_error_set(err, UX_ECORRUPT, "reading it gave no sensible answer");
		if (!ux_module_facts_vec_append(ret, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

enum ux_code ux_sandbox_facts(const struct ux_sandbox_part *file, bool no_gpu, int scratch,
			      const struct ux_sandbox_limits *limits, const char *program,
			      struct ux_module_facts_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping whole = {0}, facts = {0};
	struct ux_sandbox_request request = {.task = UX_SANDBOX_FACTS, .flag = no_gpu};
	struct ux_sandbox_found found;
	struct ux_bytes part;
	UX_TRY(sandbox_run_parts(file, 1, scratch, limits, program, &request, &found, err));
	UX_TRY(ux_file_map_fd(file->fd, &whole, err));
	UX_TRY(ux_file_map_fd(scratch, &facts, err));
	if (!ux_bytes_sub(whole.bytes, file->off, file->size, &part))
		return ux_error_set(err, UX_EINVAL, "the part is not in its file");
	return facts_take(facts.bytes, part, ret, err);
}

enum ux_code ux_sandbox_symbols(const struct ux_sandbox_symbols *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err)
{
	const struct ux_sandbox_part parts[] = {
		[UX_SANDBOX_EXE] = what->exe,
		[UX_SANDBOX_DEBUG] = what->debug,
		[UX_SANDBOX_SUPPLEMENTARY] = what->supplementary,
	};
	struct ux_sandbox_request request = {.task = UX_SANDBOX_SYMBOLS,
					     .gpu = what->gpu,
					     .flag = what->allow_mismatch,
					     .no_supplementary = what->no_supplementary,
					     .no_dwarf = what->no_dwarf};
	if (what->arch)
		snprintf(request.arch, sizeof(request.arch), "%s", what->arch);
	return sandbox_run_parts(parts, ux_countof(parts), out, limits, program, &request, ret,
				 err);
}

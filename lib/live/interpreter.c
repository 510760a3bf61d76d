/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters of live processes, or of memory that the caller reads (include/unhex/interp.h). */
#include "error.h"
#include "php_stack.h"
#include "process.h"
#include "python_stack.h"
#include "ruby_stack.h"
#include "unhex/interp.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * The memory of a live process, through an open /proc/PID/mem. The descriptor refers to the program
 * that ran when it was opened, so neither a later process with the same ID nor the program after an
 * exec is read by mistake.
 */
struct process_memory {
	int fd; /* -1: closed */
	pid_t pid;
};

enum {
	PIECES_MAX = 256 /* per call; the kernel's limit is 1024 */
};

/* Opens the memory of a process. UX_ENOTFOUND: no such process. UX_EDENIED: the permission to
 * ptrace the process is needed. */
static enum ux_code process_memory_open(struct process_memory *m, pid_t pid, struct ux_error *err)
{
	char path[64];
	if (pid <= 0)
		return ux_error_set(err, UX_EINVAL, "process ID %d; expected 1 or more", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return ux_error_set(err, UX_ENOTFOUND, "no process %d", (int)pid);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot read the memory of process %d", (int)pid);
	m->fd = fd;
	m->pid = pid;
	return UX_OK;
}

static void process_memory_close(struct process_memory *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static bool process_memory_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct process_memory *m = ctx;
	for (size_t done = 0; done < size;) {
		if (addr + done > INT64_MAX)
			return false;
		ssize_t n = pread(m->fd, (char *)buf + done, size - done, (off_t)(addr + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/*
 * Reads several pieces with one system call, which copies them faster than the process can call
 * functions. The system call takes a process ID, which may belong to another process by now, so the
 * result is only compared with data that were read through the open file.
 */
static bool process_memory_read_pieces(void *ctx, const struct ux_memory_piece *pieces, size_t n)
{
	const struct process_memory *m = ctx;
	struct iovec to[PIECES_MAX], from[PIECES_MAX];
	for (size_t done = 0; done < n; done += PIECES_MAX) {
		size_t some = ux_min(n - done, (size_t)PIECES_MAX), size = 0;
		for (size_t i = 0; i < some; i++) {
			const struct ux_memory_piece *p = &pieces[done + i];
			to[i] = (struct iovec){p->buf, p->size};
			from[i] = (struct iovec){(void *)(uintptr_t)p->addr, p->size};
			size += p->size;
		}
		ssize_t got = process_vm_readv(m->pid, to, some, from, some, 0);
		if (got < 0 && errno == ENOSYS) {
			for (size_t i = 0; i < some; i++)
				if (!process_memory_read(ctx, pieces[done + i].addr, to[i].iov_base,
							 to[i].iov_len))
					return false;
		} else if (got < 0 || (size_t)got != size) {
			return false;
		}
	}
	return true;
}

/* Returns a reader of m, which must not move while the reader is in use. Any thread. */
static struct ux_memory_reader process_memory_reader(struct process_memory *m)
{
	return (struct ux_memory_reader){process_memory_read, process_memory_read_pieces, m};
}

enum {
	VERSION_TEXT = 32
};

struct ux_interp {
	struct process_memory memory; /* only of a live process */
	pid_t pid;                    /* 0: the memory is read by a reader of the caller */
	enum ux_interp_kind kind;
	struct ux_python python; /* one of these is used, depending on kind */
	struct ux_php php;
	struct ux_ruby ruby;
	struct ux_arena arena; /* strings of the last ux_interp_resolve() */
	char version[VERSION_TEXT];
};

void ux_interp_close(struct ux_interp *i)
{
	if (!i)
		return;
	process_memory_close(&i->memory);
	ux_arena_deinit(&i->arena);
	free(i);
}

static void interp_close_guard(struct ux_interp **i)
{
	ux_interp_close(*i);
}

static struct ux_interp *interp_create(void)
{
	struct ux_interp *i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->memory = (struct process_memory){.fd = -1};
	ux_arena_init(&i->arena, UX_INTERP_STRINGS);
	return i;
}

static enum ux_code interp_init_python(struct ux_interp *i, const struct ux_memory_reader *reader,
				       const struct ux_interp_root *root, struct ux_error *err)
{
	uint32_t hex = 0;
	UX_TRY(ux_python_init(&i->python, reader, root, &hex, err));
	bool known = (hex & 0xffff) !=
		     0; /* else the version is from the file's name, without a patch level */
	int n = snprintf(i->version, sizeof(i->version), "Python %u.%u", hex >> 24,
			 hex >> 16 & 0xff);
	if (known)
		snprintf(i->version + n, sizeof(i->version) - (size_t)n, ".%u", hex >> 8 & 0xff);
	return UX_OK;
}

static enum ux_code interp_init(struct ux_interp *i, const struct ux_memory_reader *reader,
				const struct ux_interp_root *root, struct ux_error *err)
{
	i->kind = root->kind;
	switch (root->kind) {
	case UX_INTERP_PYTHON:
		return interp_init_python(i, reader, root, err);
	case UX_INTERP_PHP:
		snprintf(i->version, sizeof(i->version), "PHP %u.%u.%u", root->version >> 16,
			 root->version >> 8 & 0xff, root->version & 0xff);
		return ux_php_init(&i->php, reader, root, err);
	case UX_INTERP_RUBY:
		snprintf(i->version, sizeof(i->version), "Ruby %u.%u.%u", root->version >> 16,
			 root->version >> 8 & 0xff, root->version & 0xff);
		return ux_ruby_init(&i->ruby, reader, root, err);
	case UX_INTERP_ANY:
		break;
	}
	return ux_error_set(err, UX_EINVAL, "unknown kind of interpreter: %d", (int)root->kind);
}

enum ux_code ux_interp_open_memory(const struct ux_memory_reader *reader,
				   const struct ux_interp_root *root, struct ux_interp **ret,
				   struct ux_error *err)
{
	ux_cleanup(interp_close_guard) struct ux_interp *i = interp_create();
	if (!i)
		return ux_error_nomem(err);
	UX_TRY(interp_init(i, reader, root, err));
	*ret = ux_take(&i);
	return UX_OK;
}

enum ux_code ux_interp_open_process(pid_t pid, enum ux_interp_kind kind, struct ux_interp **ret,
				    struct ux_error *err)
{
	struct ux_interp_root root;
	ux_cleanup(interp_close_guard) struct ux_interp *i = interp_create();
	if (!i)
		return ux_error_nomem(err);
	i->pid = pid;
	UX_TRY(process_memory_open(&i->memory, pid, err));
	struct ux_memory_reader reader = process_memory_reader(&i->memory);
	UX_TRY(ux_interp_find(pid, &reader, kind, &root, err));
	UX_TRY(interp_init(i, &reader, &root, err));
	*ret = ux_take(&i);
	return UX_OK;
}

const char *ux_interp_version(const struct ux_interp *i)
{
	return i->version;
}

enum ux_code ux_interp_resolve(struct ux_interp *i, uint64_t code, uint64_t offset,
			       struct ux_interp_frame *ret, struct ux_error *err)
{
	ux_arena_rewind(&i->arena, (struct ux_arena_mark){0});
	if (i->kind == UX_INTERP_PHP)
		return ux_php_resolve(&i->php, code, offset, &i->arena, ret, err);
	if (i->kind == UX_INTERP_RUBY)
		return ux_ruby_resolve(&i->ruby, code, offset, &i->arena, ret, err);
	return ux_python_resolve(&i->python, code, offset, &i->arena, ret, err);
}

/* The caller's callback. The kernel's thread IDs are added before it is called. */
struct interp_report {
	struct ux_interp *i;
	ux_interp_thread_fn *fn;
	void *ctx;
};

static bool interp_report_thread(void *ctx, const struct ux_interp_thread *thread)
{
	const struct interp_report *report = ctx;
	struct ux_interp_thread t = *thread;
	struct ux_interp *i = report->i;
	if (i->kind == UX_INTERP_PHP) {
		t.tid = (int32_t)i->pid; /* the only thread is the main thread */
	} else if (t.tid == 0 && i->pid > 0) {
		struct ux_memory_reader reader = process_memory_reader(&i->memory);
		t.tid = ux_interp_thread_tid(i->pid, &reader, t.handle);
	}
	return report->fn(report->ctx, &t);
}

enum ux_code ux_interp_walk(struct ux_interp *i, ux_interp_thread_fn *fn, void *ctx,
			    struct ux_error *err)
{
	struct interp_report report = {i, fn, ctx};
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, interp_report_thread, &report);
	if (i->kind == UX_INTERP_PHP)
		return ux_php_walk(&i->php, &t, err);
	if (i->kind == UX_INTERP_RUBY)
		return ux_ruby_walk(&i->ruby, &t, err);
	return ux_python_walk(&i->python, &t, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters, for callers. */
#include "unhex/interp.h"

#include "php_stack.h"
#include "python_stack.h"
#include "ruby_stack.h"
#include "target_interp.h"
#include "target_memory.h"

enum {
	VERSION_TEXT = 32
};

struct ux_interp {
	struct ux_target_memory memory; /* of a live process */
	pid_t pid;                      /* its; 0: the memory is the caller's */
	enum ux_interp_kind kind;
	struct ux_python python; /* of its kind */
	struct ux_php php;
	struct ux_ruby ruby;
	struct ux_arena arena; /* what the last resolve said */
	char version[VERSION_TEXT];
};

void ux_interp_close(struct ux_interp *i)
{
	if (!i)
		return;
	ux_target_memory_close(&i->memory);
	ux_arena_deinit(&i->arena);
	free(i);
}

static void interp_guard(struct ux_interp **i)
{
	ux_interp_close(*i);
}

static struct ux_interp *create(void)
{
	struct ux_interp *i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->memory = UX_TARGET_MEMORY_INIT;
	ux_arena_init(&i->arena, UX_INTERP_STRINGS);
	return i;
}

static enum ux_code begin_python(struct ux_interp *i, const struct ux_memory_reader *reader,
				 const struct ux_interp_root *root, struct ux_error *err)
{
	uint32_t hex = 0;
	UX_TRY(ux_python_init(&i->python, reader, root, &hex, err));
	bool known = (hex & 0xffff) != 0; /* else only the file's name was there to tell */
	int n = snprintf(i->version, sizeof(i->version), "Python %u.%u", hex >> 24,
			 hex >> 16 & 0xff);
	if (known)
		snprintf(i->version + n, sizeof(i->version) - (size_t)n, ".%u", hex >> 8 & 0xff);
	return UX_OK;
}

static enum ux_code begin(struct ux_interp *i, const struct ux_memory_reader *reader,
			  const struct ux_interp_root *root, struct ux_error *err)
{
	i->kind = root->kind;
	switch (root->kind) {
	case UX_INTERP_PYTHON:
		return begin_python(i, reader, root, err);
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
	return ux_error_set(err, UX_EINVAL, "interpreter of kind %d", (int)root->kind);
}

enum ux_code ux_interp_open_memory(const struct ux_memory_reader *reader,
				   const struct ux_interp_root *root, struct ux_interp **ret,
				   struct ux_error *err)
{
	ux_cleanup(interp_guard) struct ux_interp *i = create();
	if (!i)
		return ux_error_nomem(err);
	UX_TRY(begin(i, reader, root, err));
	*ret = ux_take(&i);
	return UX_OK;
}

enum ux_code ux_interp_open_process(pid_t pid, enum ux_interp_kind kind, struct ux_interp **ret,
				    struct ux_error *err)
{
	struct ux_interp_root root;
	ux_cleanup(interp_guard) struct ux_interp *i = create();
	if (!i)
		return ux_error_nomem(err);
	i->pid = pid;
	UX_TRY(ux_target_memory_open(&i->memory, pid, err));
	struct ux_memory_reader reader = ux_target_memory_reader(&i->memory);
	UX_TRY(ux_target_interp_find(pid, &reader, kind, &root, err));
	UX_TRY(begin(i, &reader, &root, err));
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

/* A walk for the caller, who also wants to know the kernel's IDs. */
struct told {
	struct ux_interp *i;
	ux_interp_thread_fn *fn;
	void *ctx;
};

static bool tell(void *ctx, const struct ux_interp_thread *thread)
{
	const struct told *told = ctx;
	struct ux_interp_thread t = *thread;
	struct ux_interp *i = told->i;
	if (i->kind == UX_INTERP_PHP) {
		t.tid = (int32_t)i->pid; /* its one thread is the process's first */
	} else if (t.tid == 0 && i->pid > 0) {
		struct ux_memory_reader reader = ux_target_memory_reader(&i->memory);
		t.tid = ux_target_tid(i->pid, &reader, t.handle);
	}
	return told->fn(told->ctx, &t);
}

enum ux_code ux_interp_walk(struct ux_interp *i, ux_interp_thread_fn *fn, void *ctx,
			    struct ux_error *err)
{
	struct told told = {i, fn, ctx};
	ux_cleanup(ux_interp_teller_deinit) struct ux_interp_teller t;
	ux_interp_teller_init(&t, tell, &told);
	if (i->kind == UX_INTERP_PHP)
		return ux_php_walk(&i->php, &t, err);
	if (i->kind == UX_INTERP_RUBY)
		return ux_ruby_walk(&i->ruby, &t, err);
	return ux_python_walk(&i->python, &t, err);
}

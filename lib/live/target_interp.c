/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the interpreter in a live process. */
#include "target_interp.h"

#include "target_elf.h"
#include "target_php.h"
#include "target_python.h"
#include "target_ruby.h"

#include <unistd.h>

/* A search. */
struct search {
	struct ux_proc proc;
	struct ux_proc_maps maps;
	const struct ux_memory_reader *memory;
	struct ux_error why; /* of a file that looked right */
};

/* What makes a file of each kind worth a look first, and the symbol that decides. */
static const struct {
	enum ux_interp_kind kind;
	const char *name; /* part of the file's */
	const char *symbol;
} kinds[] = {
	{UX_INTERP_PYTHON, "python", "_PyRuntime"},
	{UX_INTERP_PHP, "php", "executor_globals"},
	{UX_INTERP_RUBY, "ruby", "ruby_current_vm_ptr"},
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The interpreter in one file, if it is of kinds[k]. */
static enum ux_code look_into(struct search *s, const struct ux_proc_map *map, size_t k,
			      struct ux_interp_root *ret, struct ux_error *err)
{
	ux_cleanup(ux_target_elf_close) struct ux_target_elf e = {0};
	uint64_t pc = 0;
	UX_TRY(ux_target_elf_open(&e, &s->proc, map, err));
	*ret = (struct ux_interp_root){.kind = kinds[k].kind};
	if (ux_target_elf_symbol(&e, kinds[k].symbol, &pc))
		ret->addr = e.bias + pc;
	switch (ret->kind) {
	case UX_INTERP_PYTHON:
		return ux_target_python(&e, s->memory, ret, err);
	case UX_INTERP_PHP:
		return ux_target_php(&e, s->memory, ret, err);
	case UX_INTERP_RUBY:
		return ux_target_ruby(&e, s->memory, ret, err);
	case UX_INTERP_ANY:
		break;
	}
	return UX_ENOTFOUND;
}

static bool looks_like(const struct ux_proc_map *map, size_t k)
{
	return strstr(base_of(map->path), kinds[k].name) != NULL;
}

static bool same_file(const struct ux_proc_map *a, const struct ux_proc_map *b)
{
	return a->dev == b->dev && a->ino == b->ino && strcmp(a->path, b->path) == 0;
}

/* One pass over the files that are called like one, or over the others. */
static bool pass(struct search *s, size_t k, bool named, struct ux_interp_root *ret)
{
	const struct ux_proc_map *before = NULL;
	for (size_t i = 0; i < s->maps.list.size; i++) {
		const struct ux_proc_map *map = &s->maps.list.data[i];
		bool seen = before && same_file(before, map);
		before = map;
		if (seen || map->kind != UX_PROC_MAP_FILE || looks_like(map, k) != named)
			continue;
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = look_into(s, map, k, ret, &why);
		if (code == UX_OK)
			return true;
		/* A file of another kind is no news; one that has an interpreter we cannot read is.
		 */
		if (s->why.code == UX_OK && why.code == UX_EUNSUPPORTED && named)
			s->why = why;
	}
	return false;
}

static enum ux_code open_maps(struct search *s, pid_t pid, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	UX_TRY(ux_proc_open(&s->proc, pid, err));
	UX_TRY(ux_proc_read(s->proc.dir, "maps", UX_PROC_MAPS_MOST, &text, err));
	return ux_proc_maps_parse(text.bytes, &s->maps, err);
}

static void search_deinit(struct search *s)
{
	ux_proc_maps_deinit(&s->maps);
	ux_proc_close(&s->proc);
}

enum ux_code ux_target_interp_find(pid_t pid, const struct ux_memory_reader *memory,
				   enum ux_interp_kind kind, struct ux_interp_root *ret,
				   struct ux_error *err)
{
	ux_cleanup(search_deinit) struct search s = {
		.proc = {.dir = -1, .stat = -1}, .memory = memory, .why = UX_ERROR_INIT};
	UX_TRY(open_maps(&s, pid, err));
	for (unsigned others = 0; others < 2; others++)
		for (size_t k = 0; k < ux_countof(kinds); k++)
			if ((kind == UX_INTERP_ANY || kind == kinds[k].kind) &&
			    pass(&s, k, /* named= */ others == 0, ret))
				return UX_OK;
	if (s.why.code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = s.why;
		return s.why.code;
	}
	return ux_error_set(err, UX_ENOTFOUND, "no interpreter in process %d", (int)pid);
}

/* Where glibc's struct pthread has the thread's ID (nptl/descr.h): behind the thread's head of 704
 * bytes (of 192 on AArch64) and a list node. */
#if defined(__x86_64__)
enum {
	PTHREAD_TID = 720
};
#elif defined(__aarch64__)
enum {
	PTHREAD_TID = 208
};
#else
enum {
	PTHREAD_TID = 0
};
#endif

int32_t ux_target_tid(pid_t pid, const struct ux_memory_reader *memory, uint64_t handle)
{
	int32_t tid = 0;
	char path[64];
	if (PTHREAD_TID == 0 || handle == 0 ||
	    !memory->read(memory->ctx, handle + PTHREAD_TID, &tid, sizeof(tid)) || tid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%" PRId32, (int)pid, tid);
	return access(path, F_OK) == 0 ? tid : 0;
}

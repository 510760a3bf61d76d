/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all sources of modules: functions of one name, and the names of files. */
#include "crash_source.h"

#include "crash_report.h"
#include "debug_file.h"
#include "kernel_files.h"

#include <stdarg.h>

enum {
	NAME_MAX_BYTES = 1024, /* longest path that is searched, in bytes */
};

/* --- functions by name ------------------------------------------------------------------------ */

bool ux_crash_start_fits(const struct ux_crash_start *start, uint64_t printed, uint64_t padding)
{
	if (printed == 0 || start->size == 0)
		return true;
	if (start->begin != start->pc) /* a symbol inside of a function: only its end is known */
		return printed < start->begin + start->size - start->pc + padding;
	return start->size <= printed && printed - start->size < padding;
}

void ux_crash_starts_add(struct ux_crash_starts *s, struct ux_crash_start start)
{
	size_t at = 0;
	while (at < s->n && s->list[at].pc < start.pc)
		at++;
	if (at < s->n && s->list[at].pc == start.pc)
		return;
	if (s->total == UX_CRASH_SAME_NAME_MAX) {
		s->more = true;
		return;
	}
	s->total++;
	if (!ux_crash_start_fits(&start, s->printed, UX_CRASH_PAGE)) {
		s->other_size = start.size;
		return;
	}
	if (s->n == UX_CRASH_STARTS_MAX) {
		s->more = true;
		return;
	}
	memmove(&s->list[at + 1], &s->list[at], (s->n - at) * sizeof(*s->list));
	s->list[at] = start;
	s->n++;
}

/* --- searching by name ------------------------------------------------------------------------ */

/* A search that ends with the first name for which there are builds. */
struct crash_name_search {
	ux_crash_search_fn *fn;
	void *ctx;
	struct ux_error *err;
	size_t n;
};

__attribute__((format(printf, 2, 3))) static enum ux_code crash_name_try(
	struct crash_name_search *s, const char *fmt, ...)
{
	char name[NAME_MAX_BYTES];
	va_list args;
	if (s->n > 0)
		return UX_OK;
	va_start(args, fmt);
	int n = vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	if (n <= 0 || n >= (int)sizeof(name))
		return UX_OK;
	return s->fn(s->ctx, name, &s->n, s->err);
}

bool ux_crash_kernel_path(size_t i, struct ux_bytes release, char ret[PATH_MAX])
{
	if (i >= UX_KERNEL_PLACE_COUNT || release.size == 0 || release.size > NAME_MAX ||
	    memchr(release.data, '/', release.size))
		return false;
	const struct ux_kernel_place *place = &ux_kernel_places[i];
	const char *base = place->is_debug ? UX_DEBUG_DIRS_DEFAULT : "";
	return ux_kernel_path(ux_bytes_cstr(base), place->name, release, UX_STR(""), ret);
}

/* The kernel of a release has its release in its path. */
static enum ux_code crash_name_try_kernel(struct crash_name_search *s, struct ux_bytes release)
{
	char path[PATH_MAX];
	if (release.size > 0)
		UX_TRY(crash_name_try(s, "vmlinux-%.*s", (int)ux_min(release.size, (size_t)200),
				      (const char *)release.data));
	for (size_t i = 0; ux_crash_kernel_path(i, release, path); i++)
		UX_TRY(crash_name_try(s, "%s", path));
	return crash_name_try(s, "vmlinux");
}

/* The kernel writes '_' in the name of each module; its file has '_' or '-'. */
static enum ux_code crash_name_try_module(struct crash_name_search *s, const char *name)
{
	static const char marks[] = {'_', '-'};
	char file[NAME_MAX_BYTES];
	size_t size = strlen(name) + 1;
	if (size > sizeof(file))
		return UX_OK;
	for (size_t i = 0; i < sizeof(marks); i++) {
		memcpy(file, name, size);
		for (char *c = file; *c; c++)
			if (*c == '_' || *c == '-')
				*c = marks[i];
		UX_TRY(crash_name_try(s, "%s.ko", file));
		if (!strpbrk(name, "_-"))
			break;
	}
	return UX_OK;
}

enum ux_code ux_crash_search(const struct ux_crash_wanted *w, ux_crash_search_fn *fn, void *ctx,
			     struct ux_error *err)
{
	struct crash_name_search s = {.fn = fn, .ctx = ctx, .err = err};
	struct ux_bytes base = ux_crash_base_name(ux_bytes_cstr(w->name));
	if (w->name[0] == '[')
		return UX_OK;
	if (w->is_kernel && strcmp(w->name, "vmlinux") == 0)
		return crash_name_try_kernel(&s, w->release);
	if (w->is_kernel)
		return crash_name_try_module(&s, w->name);
	if (w->name[0] == '/')
		UX_TRY(crash_name_try(&s, "%s", w->name));
	return crash_name_try(&s, "%.*s", (int)base.size, (const char *)base.data);
}

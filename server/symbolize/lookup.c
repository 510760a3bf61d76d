/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of one module to the JSON of their frames. */
#include "lookup.h"

void ux_lookup_deinit(struct ux_lookup *l)
{
	ux_out_deinit(&l->name);
}

struct ux_bytes ux_lookup_name(struct ux_lookup *l, const char *linkage)
{
	if (l->demangle == UX_DEMANGLE_NONE)
		return ux_bytes_cstr(linkage);
	ux_out_reset(&l->name);
	ux_demangle(ux_bytes_cstr(linkage), l->demangle, &l->name);
	if (l->name.failed) /* short of memory: the linkage name is right too */
		return ux_bytes_cstr(linkage);
	return ux_out_bytes(&l->name);
}

static void put_frame(struct ux_lookup *l, const struct ux_frame *f, struct ux_json *j)
{
	ux_json_object_begin(j);
	ux_json_key_str(j, "function", ux_lookup_name(l, f->function));
	if (f->base[0] != '\0') {
		ux_json_key(j, "file");
		ux_json_path(j, ux_bytes_cstr(f->dir), ux_bytes_cstr(f->base));
		ux_json_key_u64(j, "line", f->line);
	}
	if (f->inlined)
		ux_json_key_bool(j, "inlined", true);
	ux_json_object_end(j);
}

void ux_lookup_put(struct ux_lookup *l, const struct ux_frame *frames, size_t n, struct ux_json *j)
{
	ux_json_array_begin(j);
	for (size_t i = 0; i < n; i++)
		put_frame(l, &frames[i], j);
	ux_json_array_end(j);
}

static bool has_name(const struct ux_frame *frames, size_t n)
{
	return n > 0 && strcmp(frames[n - 1].function, UX_NO_NAME) != 0;
}

size_t ux_lookup_frames(const struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
			struct ux_frame *ret)
{
	struct ux_frame frames[UX_FRAMES_MOST];
	bool before = l->return_addresses && pc > 0;
	size_t kept = 0;
	for (size_t i = 0; i < ux_open_module_count(m) && !has_name(ret, kept); i++) {
		const struct ux_gsym *g = &ux_open_module_candidate(m, i)->gsym;
		size_t n = 0;
		if (ux_gsym_lookup(g, pc - before, frames, UX_FRAMES_MOST, &n, NULL) != UX_OK)
			continue; /* not there, or damaged: the next one may know */
		if (kept == 0 || has_name(frames, n)) {
			memcpy(ret, frames, n * sizeof(*frames));
			kept = n;
		}
	}
	return kept;
}

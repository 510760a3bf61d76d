/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped at a moment, and the symbols of the files behind that. */
#include "snapshot.h"

#include "hash.h"

struct ux_snapshot *ux_snapshot_hold(struct ux_snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void ux_snapshot_drop(struct ux_snapshot *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; s->symbols && i < s->maps.list.size; i++)
		ux_file_symbols_drop(atomic_load_explicit(&s->symbols[i], memory_order_relaxed));
	free((void *)s->symbols);
	ux_proc_maps_deinit(&s->maps);
	free(s);
}

static void drop_guard(struct ux_snapshot **s)
{
	ux_snapshot_drop(*s);
}

enum ux_code ux_snapshot_read(const struct ux_proc *p, struct ux_snapshot *old,
			      struct ux_snapshot **ret, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	uint64_t generation = 0;
	UX_TRY(ux_proc_generation(p, &generation, err));
	UX_TRY(ux_proc_read(p->dir, "maps", UX_PROC_MAPS_MOST, &text, err));
	uint64_t hash = ux_hash_bytes(text.bytes);
	if (old && old->generation == generation && old->text_hash == hash) {
		*ret = ux_snapshot_hold(old);
		return UX_OK;
	}
	ux_cleanup(drop_guard) struct ux_snapshot *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	atomic_init(&s->refs, 1);
	s->generation = generation;
	s->text_hash = hash;
	UX_TRY(ux_proc_maps_parse(text.bytes, &s->maps, err));
	s->symbols = calloc(s->maps.list.size + 1, sizeof(*s->symbols));
	if (!s->symbols)
		return ux_error_nomem(err);
	*ret = ux_take(&s);
	return UX_OK;
}

/* The symbols of a mapping, held; a failure to open or read it is an answer, too. */
static enum ux_code find_symbols(const struct ux_proc_map *m, const struct ux_proc *p,
				 struct ux_symbols_cache *cache, struct ux_file_symbols **ret,
				 struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(ux_read_deinit) struct ux_read image = {0};
	UX_FD(fd);
	enum ux_code code = UX_OK;
	if (m->kind == UX_PROC_MAP_VDSO) {
		code = ux_proc_read_memory(p, m->start, m->end, &image, &why);
		if (code == UX_OK)
			return ux_symbols_cache_image(cache, image.bytes, ret, err);
	} else {
		code = ux_proc_open_mapped(p, m, &fd, &why);
		if (code == UX_OK)
			return ux_symbols_cache_file(cache, fd, m->path, ret, err);
	}
	*ret = code == UX_ENOMEM ? NULL : ux_file_symbols_none(&why);
	return *ret ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_snapshot_symbols(struct ux_snapshot *s, size_t i, const struct ux_proc *p,
				 struct ux_symbols_cache *cache, struct ux_file_symbols **ret,
				 struct ux_error *err)
{
	/* Acquire: what another thread put there is seen whole. */
	struct ux_file_symbols *known = atomic_load_explicit(&s->symbols[i], memory_order_acquire);
	struct ux_file_symbols *found = NULL, *none = NULL;
	if (known) {
		*ret = known;
		return UX_OK;
	}
	UX_TRY(find_symbols(&s->maps.list.data[i], p, cache, &found, err));
	if (!atomic_compare_exchange_strong_explicit(&s->symbols[i], &none, found,
						     memory_order_acq_rel, memory_order_acquire)) {
		ux_file_symbols_drop(found); /* another thread was first */
		found = none;
	}
	*ret = found;
	return UX_OK;
}

bool ux_snapshot_neighbour(const struct ux_snapshot *s, size_t i, size_t *ret)
{
	const struct ux_proc_map *maps = s->maps.list.data;
	size_t at = i;
	while (at > 0 && maps[at - 1].end == maps[at].start && maps[at].kind != UX_PROC_MAP_FILE)
		at--;
	if (maps[at].kind == UX_PROC_MAP_FILE) {
		*ret = at;
		return true;
	}
	for (at = i; at + 1 < s->maps.list.size && maps[at + 1].start == maps[at].end &&
		     maps[at].kind != UX_PROC_MAP_FILE;)
		at++;
	*ret = at;
	return maps[at].kind == UX_PROC_MAP_FILE;
}

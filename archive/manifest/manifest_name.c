/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of objects: assigns each its folder and name, and merges two lists. */
#include "manifest.h"

#include "order.h"
#include "text.h"

#include <nettle/sha2.h>

enum {
	HEX_MAX = 2 * UX_ID_GNU_MAX, /* digits of a folder's name */
	OTHER_MAX = 32,              /* longer IDs of other types are hashed */
};

static bool namespace_is_folder(const char *ns)
{
	size_t n = strlen(ns);
	return n > 0 && n <= UX_MANIFEST_NS_MAX && (ux_is_lower(ns[0]) || ux_is_digit(ns[0])) &&
	       strspn(ns, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n;
}

static void folder_hash(struct ux_bytes bytes, char hex[2 * UX_MANIFEST_HASH + 1])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, bytes.size, bytes.data);
	sha256_digest(&sha, sizeof(digest), digest);
	ux_hex_encode(ux_bytes(digest, sizeof(digest)), hex);
}

enum ux_code ux_manifest_folder(const char *ns, const char *id, char path[UX_MANIFEST_PATH_MAX],
				struct ux_error *err)
{
	char hex[HEX_MAX + 1], above[UX_MANIFEST_NS_MAX + 8] = "";
	struct ux_id parsed;
	if (!namespace_is_folder(ns))
		return ux_error_set(
			err, UX_EINVAL,
			"namespace \"%.64s\": expected 1 to 63 characters of a-z, 0-9, '_', '.', "
			"'-'",
			ns);
	UX_TRY(ux_id_parse(ux_bytes_cstr(id), &parsed, err));
	struct ux_bytes bytes = ux_bytes(parsed.bytes, parsed.size);
	if (parsed.type != UX_ID_GNU && bytes.size > OTHER_MAX)
		folder_hash(bytes, hex);
	else
		ux_hex_encode(bytes, hex);
	if (strcmp(ns, UX_MANIFEST_NS_DEFAULT) != 0)
		(void)snprintf(above, sizeof(above), "ns/%.64s/", ns);
	if (parsed.type == UX_ID_GNU)
		(void)snprintf(path, UX_MANIFEST_PATH_MAX, "%sbuildid/%s", above, hex);
	else
		(void)snprintf(path, UX_MANIFEST_PATH_MAX, "%smodule/%s/%s", above,
			       ux_id_type_name((enum ux_id_type)parsed.type), hex);
	return UX_OK;
}

int ux_entry_cmp(const struct ux_entry *a, const struct ux_entry *b)
{
	const uint64_t x[] = {a->trust, a->quality, a->counts.line_bytes, a->counts.code_bytes,
			      a->counts.functions};
	const uint64_t y[] = {b->trust, b->quality, b->counts.line_bytes, b->counts.code_bytes,
			      b->counts.functions};
	for (size_t i = 0; i < ux_countof(x); i++)
		UX_ORDER(x[i], y[i]);
	return 0;
}

size_t ux_entry_folder_size(const struct ux_entry *o)
{
	const char *slash = strrchr(o->path, '/');
	return slash ? (size_t)(slash - o->path) : 0;
}

static int object_compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct ux_entry *)a)->path, ((const struct ux_entry *)b)->path);
}

const struct ux_entry *ux_manifest_find(const struct ux_manifest *m, const char *path)
{
	const struct ux_entry key = {.path = path};
	return m->objects.size == 0 ? NULL
				    : bsearch(&key, m->objects.data, m->objects.size, sizeof(key),
					      object_compare_paths);
}

static const char *manifest_keep(struct ux_manifest *m, const char *text, bool *nomem)
{
	const char *kept = text[0] != '\0' ? ux_arena_strndup(&m->arena, text, strlen(text)) : "";
	*nomem = *nomem || !kept;
	return kept;
}

enum ux_code ux_manifest_add(struct ux_manifest *m, const struct ux_entry *o, struct ux_error *err)
{
	struct ux_entry copy = *o;
	bool nomem = false;
	if (m->objects.size >= UX_MANIFEST_OBJECTS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d objects",
				    UX_MANIFEST_OBJECTS_MAX);
	const char **ids = ux_arena_array(&m->arena, const char *, o->n_ids + 1);
	if (!ids)
		return ux_arena_fail(&m->arena, err);
	for (size_t i = 0; i < o->n_ids; i++)
		ids[i] = manifest_keep(m, o->ids[i], &nomem);
	copy.ids = ids;
	copy.path = manifest_keep(m, o->path, &nomem);
	copy.ns = manifest_keep(m, o->ns, &nomem);
	copy.description = manifest_keep(m, o->description, &nomem);
	copy.file = manifest_keep(m, o->file, &nomem);
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++)
		copy.provenance.facts[i] =
			manifest_keep(m, ux_provenance_get(&o->provenance, i), &nomem);
	if (nomem)
		return ux_arena_fail(&m->arena, err);
	return ux_entries_append(&m->objects, copy) ? UX_OK : ux_error_nomem(err);
}

/* --- names ------------------------------------------------------------------------------------ */

/* An object before it has its path. */
struct named {
	struct ux_entry o; /* its path is only the folder */
	size_t order;      /* earlier place in the manifest */
};

static int named_compare_content(const struct named *a, const struct named *b)
{
	int by = strcmp(a->o.path, b->o.path);
	if (by != 0)
		return by;
	UX_ORDER(a->o.kind, b->o.kind);
	return memcmp(a->o.hash, b->o.hash, sizeof(a->o.hash));
}

/* Orders a later object before an earlier one with the same content. */
static int named_compare(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int by = named_compare_content(x, y);
	if (by != 0)
		return by;
	UX_ORDER(y->order, x->order);
	return 0;
}

static bool named_is_elf(const struct named *n)
{
	return n->o.kind == UX_ENTRY_EXECUTABLE || n->o.kind == UX_ENTRY_DEBUGINFO;
}

/* Returns the best of a module's GSYMs (holds 0), or of its ELF files that have all of `holds`. */
static const struct named *named_best(const struct named *list, size_t n, unsigned holds)
{
	const struct named *best = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct named *one = &list[i];
		bool fits = holds == 0 ? one->o.kind == UX_ENTRY_GSYM
				       : named_is_elf(one) && (one->o.holds & holds) == holds;
		if (fits && (!best || ux_entry_cmp(&one->o, &best->o) > 0))
			best = one;
	}
	return best;
}

/* Appends the object under a name, followed by its hash unless it is the best. */
static enum ux_code manifest_put(struct ux_manifest *m, const struct named *from, const char *name,
				 bool best, struct ux_error *err)
{
	char path[UX_MANIFEST_PATH_MAX], hash[2 * UX_MANIFEST_HASH + 1];
	struct ux_entry o = from->o;
	ux_hex_encode(ux_bytes(o.hash, sizeof(o.hash)), hash);
	int n = best ? snprintf(path, sizeof(path), "%s/%s", o.path, name)
		     : snprintf(path, sizeof(path), "%s/%s.%.*s", o.path, name,
				UX_ENTRY_NAME_DIGITS, hash);
	if (n < 0 || (size_t)n >= sizeof(path))
		return ux_error_set(err, UX_ELIMIT, "the path of an object is too long");
	o.path = ux_arena_strndup(&m->arena, path, (size_t)n);
	if (!o.path)
		return ux_arena_fail(&m->arena, err);
	return ux_entries_append(&m->objects, o) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code manifest_put_module(struct ux_manifest *m, const struct named *list, size_t n,
					struct ux_error *err)
{
	const struct named *gsym = named_best(list, n, 0);
	const struct named *code = named_best(list, n, UX_ENTRY_CODE);
	const struct named *debug = named_best(list, n, UX_ENTRY_DEBUG);
	for (size_t i = 0; i < n; i++) {
		const struct named *one = &list[i];
		if (one == code)
			UX_TRY(manifest_put(m, one, "executable", /* best= */ true, err));
		if (one == debug)
			UX_TRY(manifest_put(m, one, "debuginfo", /* best= */ true, err));
		if (one != code && one != debug)
			UX_TRY(manifest_put(m, one, ux_entry_kind_name(one->o.kind), one == gsym,
					    err));
	}
	return UX_OK;
}

/* Drops all but the last of the objects with the same content; returns how many are left. */
static size_t named_unite(struct named *list, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || named_compare_content(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	return kept;
}

static enum ux_code named_set_folders(struct ux_manifest *m, struct named *list,
				      struct ux_error *err)
{
	char folder[UX_MANIFEST_PATH_MAX];
	for (size_t i = 0; i < m->objects.size; i++) {
		list[i] = (struct named){.o = m->objects.data[i], .order = i};
		UX_TRY(ux_manifest_folder(list[i].o.ns, list[i].o.ids[0], folder, err));
		list[i].o.path = ux_arena_strndup(&m->arena, folder, strlen(folder));
		if (!list[i].o.path)
			return ux_arena_fail(&m->arena, err);
	}
	return UX_OK;
}

static enum ux_code manifest_check_paths(const struct ux_manifest *m, struct ux_error *err)
{
	for (size_t i = 1; i < m->objects.size; i++)
		if (strcmp(m->objects.data[i - 1].path, m->objects.data[i].path) == 0)
			return ux_error_set(err, UX_ECONFLICT, "two objects have the path %.120s",
					    m->objects.data[i].path);
	return UX_OK;
}

enum ux_code ux_manifest_name(struct ux_manifest *m, struct ux_error *err)
{
	if (m->objects.size == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct named *list = calloc(m->objects.size, sizeof(*list));
	if (!list)
		return ux_error_nomem(err);
	UX_TRY(named_set_folders(m, list, err));
	qsort(list, m->objects.size, sizeof(*list), named_compare);
	size_t n = named_unite(list, m->objects.size);
	m->objects.size = 0;
	for (size_t i = 0, end = 0; i < n; i = end) {
		while (end < n && strcmp(list[end].o.path, list[i].o.path) == 0)
			end++;
		UX_TRY(manifest_put_module(m, list + i, end - i, err));
	}
	qsort(m->objects.data, m->objects.size, sizeof(*m->objects.data), object_compare_paths);
	return manifest_check_paths(m, err);
}

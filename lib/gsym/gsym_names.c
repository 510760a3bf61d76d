/* SPDX-License-Identifier: Apache-2.0 */
/* Finding functions of a GSYM by name. */
#include "gsym_names.h"

#include "gsym_record.h"
#include "hash.h"
#include "order.h"
#include "text.h"

enum {
	SAME_HASH_MOST = 64, /* most different names with one hash that are compared; only hostile
				files have more */
	NAME_COST = 64,      /* work of reading a record and of sorting its name, in bytes */
};

bool ux_gsym_function_read(const struct ux_gsym *g, uint32_t i, const char **ret_name,
			   uint64_t *ret_size)
{
	struct ux_cur c = gsym_body_at(g, ux_gsym_record(g, i));
	*ret_size = ux_cur_u32(&c);
	uint64_t off = gsym_name_read(&c, g->offset_size);
	*ret_name = c.failed || off == 0 ? NULL : ux_gsym_string(g, off);
	return *ret_name != NULL;
}

/* Returns the function's name; NULL when the record is damaged or the name is UX_NO_NAME. */
static const char *function_name(const struct ux_gsym *g, uint32_t i)
{
	const char *name = NULL;
	uint64_t size = 0;
	return ux_gsym_function_read(g, i, &name, &size) && strcmp(name, UX_NO_NAME) != 0 ? name
											  : NULL;
}

static int name_cmp_hash(const void *x, const void *y)
{
	const struct ux_gsym_name *a = x, *b = y;
	UX_ORDER(a->hash, b->hash);
	UX_ORDER(a->function, b->function);
	return 0;
}

enum ux_code ux_gsym_names_build(struct ux_gsym_names *names, const struct ux_gsym *g,
				 struct ux_work *work, struct ux_error *err)
{
	uint64_t left = UX_GSYM_NAMES_FREE + UX_GSYM_NAMES_RATIO * (uint64_t)g->strings.size;
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names made = {0};
	made.list = malloc(((size_t)g->n_functions + 1) * sizeof(*made.list));
	if (!made.list)
		return ux_error_nomem(err);
	for (uint32_t i = 0; i < g->n_functions; i++) {
		struct ux_bytes name = ux_bytes_cstr(function_name(g, i));
		if (name.size > left)
			return ux_error_set(err, UX_ELIMIT,
					    "function names exceed %d times the string table",
					    UX_GSYM_NAMES_RATIO);
		left -= name.size;
		if (!ux_work_charge(work, NAME_COST + name.size))
			return UX_EUNAVAILABLE;
		if (name.size > 0)
			made.list[made.n++] = (struct ux_gsym_name){ux_hash_bytes(name), i};
	}
	if (made.n > 1)
		qsort(made.list, made.n, sizeof(*made.list), name_cmp_hash);
	*names = made;
	made = (struct ux_gsym_names){0};
	return UX_OK;
}

void ux_gsym_names_deinit(struct ux_gsym_names *names)
{
	free(names->list);
	*names = (struct ux_gsym_names){0};
}

/* Returns the index of the first entry with that hash or a greater one. */
static size_t names_first_of(const struct ux_gsym_names *names, uint64_t hash)
{
	size_t lo = 0, hi = names->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (names->list[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

enum ux_code ux_gsym_names_find(const struct ux_gsym_names *names, const struct ux_gsym *g,
				struct ux_bytes name, uint64_t *ret, struct ux_error *err)
{
	bool more = false;
	if (ux_gsym_names_find_all(names, g, name, ret, 1, &more) > 0)
		return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND, "no function is named \"%.*s\"",
			    (int)ux_min(name.size, (size_t)100), (const char *)name.data);
}

size_t ux_gsym_names_find_all(const struct ux_gsym_names *names, const struct ux_gsym *g,
			      struct ux_bytes name, uint64_t *starts, size_t max, bool *ret_more)
{
	uint64_t hash = ux_hash_bytes(name);
	size_t n = 0, i = names_first_of(names, hash), compared = 0;
	for (; i < names->n && names->list[i].hash == hash; i++) {
		uint32_t function = names->list[i].function;
		if (n == max || compared++ == SAME_HASH_MOST) {
			*ret_more = true;
			break;
		}
		if (ux_bytes_eq(ux_bytes_cstr(function_name(g, function)), name))
			starts[n++] = ux_gsym_start(g, function);
	}
	return n;
}

bool ux_gsym_symbol_parse(struct ux_bytes text, char plus, struct ux_bytes *ret_name,
			  uint64_t *ret_off)
{
	const uint8_t *at = ux_bytes_find_last(text, (uint8_t)plus);
	if (!at || at == text.data)
		return false;
	size_t n = (size_t)(at - text.data);
	*ret_name = ux_bytes(text.data, n);
	return ux_hex_parse_u64(ux_bytes(at + 1, text.size - n - 1), /* hex= */ false, ret_off);
}

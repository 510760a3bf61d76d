/* SPDX-License-Identifier: Apache-2.0 */
/* Finding functions of a GSYM by name. */
#include "gsym_names.h"

#include "gsym_record.h"
#include "gsym_symbols.h"
#include "hash.h"
#include "order.h"
#include "partition.h"
#include "text.h"

enum {
	SAME_HASH_MAX = 64, /* most different names with one hash that are compared; only hostile
				files have more */
	NAME_COST = 64,     /* work of reading a record and of sorting its name, in bytes */

	/* Bytes between functions that Linux counts as part of the first one: padding up to the
	 * next function's alignment, and bytes before functions for patches and checks. */
	SIZE_ALIGNMENT = 16,
	SIZE_PADDING = 64,
	SIZE_PAGE = 4096, /* the last function ends with its page */
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

void ux_gsym_names_deinit(struct ux_gsym_names *names)
{
	free(names->list);
	*names = (struct ux_gsym_names){0};
}

static int name_cmp_hash(const void *x, const void *y)
{
	const struct ux_gsym_name *a = x, *b = y;
	UX_ORDER(a->hash, b->hash);
	UX_ORDER(a->function, b->function);
	UX_ORDER(a->symbol, b->symbol);
	return 0;
}

/* Reading all names of one GSYM. */
struct names_reader {
	const struct ux_gsym *g;
	struct ux_work *work;
	struct ux_error *err;
	uint64_t left; /* bytes of names that may still be read */
	struct ux_gsym_symbols symbols;
	struct ux_gsym_symbol next; /* symbol that is not added yet, if there is one */
	bool has_next;
	uint64_t next_off;  /* offset of its entry */
	struct ux_out text; /* the name of a symbol */
	struct ux_gsym_names made;
};

static void names_reader_deinit(struct names_reader *r)
{
	ux_out_deinit(&r->text);
	ux_gsym_names_deinit(&r->made);
}

static void names_next_symbol(struct names_reader *r)
{
	r->next_off = (uint64_t)(r->symbols.entries.pos - r->symbols.entries.start);
	r->has_next = ux_gsym_symbols_next(&r->symbols, &r->next);
}

static enum ux_code names_add(struct names_reader *r, struct ux_bytes name, uint32_t function,
			      uint64_t symbol)
{
	if (name.size > r->left)
		return ux_error_set(r->err, UX_ELIMIT,
				    "function names exceed %d times the string table",
				    UX_GSYM_NAMES_RATIO);
	r->left -= name.size;
	if (!ux_work_charge(r->work, NAME_COST + name.size))
		return UX_EUNAVAILABLE;
	if (name.size > 0)
		r->made.list[r->made.n++] =
			(struct ux_gsym_name){ux_hash_bytes(name), function, (uint32_t)symbol};
	return UX_OK;
}

/* Adds the symbols of a function. *ret_part is set when the function is only a part of one. */
static enum ux_code names_add_symbols(struct names_reader *r, uint32_t function, bool *ret_part)
{
	const char *own = NULL;
	uint64_t size = 0;
	bool read = ux_gsym_function_read(r->g, function, &own, &size);
	for (; r->has_next && r->next.function == function; names_next_symbol(r)) {
		*ret_part |= r->next.part;
		if (!read || !ux_gsym_symbol_name(&r->next, ux_bytes_cstr(own), &r->text)) {
			if (r->text.failed)
				return ux_error_nomem(r->err);
			continue;
		}
		UX_TRY(names_add(r, ux_out_bytes(&r->text), function, r->next_off + 1));
	}
	return UX_OK;
}

uint64_t ux_gsym_names_max(const struct ux_gsym *g)
{
	struct ux_gsym_symbols symbols;
	struct ux_gsym_symbol s;
	uint64_t n = g->n_functions, off = 0;
	(void)ux_gsym_symbols_open(g, &symbols, &off);
	while (ux_gsym_symbols_next(&symbols, &s))
		n += !s.part;
	return n;
}

static enum ux_code names_read(struct names_reader *r)
{
	uint64_t off = 0;
	/* A symbol's name has at least one of the bytes that may be read. */
	uint64_t max = ux_min(ux_gsym_names_max(r->g), r->g->n_functions + r->left);
	r->made.list = calloc((size_t)max + 1, sizeof(*r->made.list));
	if (!r->made.list)
		return ux_error_nomem(r->err);
	(void)ux_gsym_symbols_open(r->g, &r->symbols, &off);
	names_next_symbol(r);
	for (uint32_t i = 0; i < r->g->n_functions; i++) {
		bool part = false;
		if (r->has_next && r->next.function == i)
			UX_TRY(names_add_symbols(r, i, &part));
		if (!part)
			UX_TRY(names_add(r, ux_bytes_cstr(function_name(r->g, i)), i, 0));
	}
	return UX_OK;
}

enum ux_code ux_gsym_names_build(struct ux_gsym_names *names, const struct ux_gsym *g,
				 struct ux_work *work, struct ux_error *err)
{
	ux_cleanup(names_reader_deinit) struct names_reader r = {
		.g = g,
		.work = work,
		.err = err,
		.left = UX_GSYM_NAMES_FREE + UX_GSYM_NAMES_RATIO * (uint64_t)g->strings.size,
	};
	UX_TRY(names_read(&r));
	if (r.made.n > 1)
		qsort(r.made.list, r.made.n, sizeof(*r.made.list), name_cmp_hash);
	*names = r.made;
	r.made = (struct ux_gsym_names){0};
	return UX_OK;
}

/* Returns the index of the first entry with that hash or a greater one. */
static size_t names_first_of(const struct ux_gsym_names *names, uint64_t hash)
{
	return ux_partition_point(i, 0, names->n, names->list[i].hash < hash);
}

static enum ux_code names_none(struct ux_bytes name, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "no function is named \"%.*s\"",
			    (int)ux_min(name.size, (size_t)100), (const char *)name.data);
}

enum ux_code ux_gsym_names_find(const struct ux_gsym_names *names, const struct ux_gsym *g,
				struct ux_bytes name, uint64_t *ret, struct ux_error *err)
{
	bool more = false;
	return ux_gsym_names_find_all(names, g, name, ret, 1, &more) > 0 ? UX_OK
									 : names_none(name, err);
}

/* Sets *ret to where an entry of the index starts; false when its name differs. */
static bool name_start(const struct ux_gsym *g, struct ux_gsym_symbols symbols,
		       const struct ux_gsym_name *entry, struct ux_bytes name, uint64_t *ret)
{
	struct ux_gsym_symbol symbol;
	const char *own = NULL;
	uint64_t size = 0;
	*ret = ux_gsym_start(g, entry->function);
	if (entry->symbol == 0)
		return ux_bytes_eq(ux_bytes_cstr(function_name(g, entry->function)), name);
	if (!ux_gsym_function_read(g, entry->function, &own, &size) ||
	    !ux_gsym_symbols_at(symbols, entry->symbol - 1, entry->function, &symbol))
		return false;
	*ret += symbol.off;
	return ux_gsym_symbol_is(&symbol, ux_bytes_cstr(own), name);
}

size_t ux_gsym_names_find_all(const struct ux_gsym_names *names, const struct ux_gsym *g,
			      struct ux_bytes name, uint64_t *starts, size_t max, bool *ret_more)
{
	uint64_t hash = ux_hash_bytes(name), start = 0, off = 0;
	size_t n = 0, i = names_first_of(names, hash), compared = 0;
	struct ux_gsym_symbols symbols;
	(void)ux_gsym_symbols_open(g, &symbols, &off);
	for (; i < names->n && names->list[i].hash == hash; i++) {
		if (compared++ == SAME_HASH_MAX) {
			*ret_more = true;
			break;
		}
		if (!name_start(g, symbols, &names->list[i], name, &start) ||
		    (n > 0 && starts[n - 1] == start))
			continue;
		if (n == max) {
			*ret_more = true;
			break;
		}
		starts[n++] = start;
	}
	return n;
}

/* Returns whether a size that Linux prints may be of the function at `start`. */
static bool start_fits(const struct ux_gsym *g, uint64_t start, uint64_t printed, uint64_t padding)
{
	uint64_t begin = 0, size = 0;
	if (ux_gsym_extent(g, start, &begin, &size, NULL) != UX_OK || size == 0)
		return true;
	uint64_t end = begin + size;
	if (begin != start) /* a symbol inside of a function: only its end is known */
		return printed < end - start + padding;
	return size <= printed && printed - size < padding;
}

size_t ux_gsym_starts_filter(const struct ux_gsym *g, uint64_t *starts, size_t n, uint64_t size)
{
	static const uint64_t paddings[] = {SIZE_ALIGNMENT, SIZE_PADDING, SIZE_PAGE};
	for (size_t p = 0; size > 0 && p < (n > 1 ? 2 : ux_countof(paddings)); p++) {
		size_t kept = 0;
		for (size_t i = 0; i < n; i++)
			if (start_fits(g, starts[i], size, paddings[p])) {
				uint64_t start = starts[i];
				starts[i] = starts[kept];
				starts[kept++] = start;
			}
		if (kept > 0)
			return kept;
	}
	return size > 0 ? 0 : n;
}

enum ux_code ux_gsym_names_search(const struct ux_gsym_names *names, const struct ux_gsym *g,
				  struct ux_bytes name, uint64_t size, struct ux_gsym_starts *ret,
				  struct ux_error *err)
{
	uint64_t begin = 0, has = 0;
	*ret = (struct ux_gsym_starts){0};
	size_t n =
		ux_gsym_names_find_all(names, g, name, ret->list, UX_GSYM_STARTS_MAX, &ret->more);
	if (n == 0)
		return names_none(name, err);
	ret->n = ux_gsym_starts_filter(g, ret->list, n, size);
	if (ret->n > 0)
		return UX_OK;
	(void)!ux_gsym_extent(g, ret->list[0], &begin, &has, NULL);
	return ux_error_set(err, UX_ECONFLICT,
			    "\"%.*s\" has 0x%" PRIx64 " bytes here, not 0x%" PRIx64
			    ": the offset belongs to another build",
			    (int)ux_min(name.size, (size_t)60), (const char *)name.data, has, size);
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

bool ux_gsym_symbol_parse_sized(struct ux_bytes text, char plus, struct ux_bytes *ret_name,
				uint64_t *ret_off, uint64_t *ret_size)
{
	const uint8_t *at = ux_bytes_find_last(text, '/');
	*ret_size = 0;
	if (ux_gsym_symbol_parse(text, plus, ret_name, ret_off))
		return true;
	size_t n = at ? (size_t)(at - text.data) : 0;
	return n > 0 && ux_gsym_symbol_parse(ux_bytes(text.data, n), plus, ret_name, ret_off) &&
	       ux_hex_parse_u64(ux_bytes(at + 1, text.size - n - 1), /* hex= */ false, ret_size);
}

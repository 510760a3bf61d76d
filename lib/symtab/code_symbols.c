/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and choosing the symbols of code. */
#include "code_symbols.h"

#include "elf_defs.h"
#include "elf_file.h"
#include "function_name.h"
#include "order.h"
#include "partition.h"
#include "text.h"
#include "unhex/frame.h"

const char ux_no_name[] = UX_NO_NAME;

enum {
	NAME_BYTES_MAX = 1 << 16, /* most bytes of a symbol's name that are used; Boost's longest
				have 20,000 */

	/*
	 * Limit of the total size of stubs' names, since thousands of stubs may have the same long
	 * name: this plus ..
	 */
	STUBS_FREE = 16 << 20,
	STUBS_RATIO = 4, /* .. this many times the file's size */

	/* Memory for a function: a symbol, two pieces, and parts of tables; measured: 250 bytes. */
	FUNCTION_MEMORY = 288,
	SYMBOL_MIN = 16, /* bytes of a symbol of a 32-bit file */
	FRAME_MIN = 16,
	EXIDX_SIZE = 8,
	PACKED_MIN = 4, /* bytes of a symbol in .gnu_debugdata, which is compressed */
};

/* The tables of functions, and the fewest bytes that a function takes in each. */
static const struct {
	const char *section;
	unsigned min;
} function_tables[] = {
	{".symtab", SYMBOL_MIN},        {".dynsym", SYMBOL_MIN},    {".eh_frame", FRAME_MIN},
	{".debug_frame", FRAME_MIN},    {".ARM.exidx", EXIDX_SIZE}, {".gopclntab", SYMBOL_MIN},
	{".gnu_debugdata", PACKED_MIN},
};

uint64_t ux_code_symbols_need(const struct ux_object *object)
{
	struct ux_section s;
	uint64_t functions = 0;
	if (!object)
		return 0;
	/* These tables are not sections: they are a part of the file. */
	if (object->no_sections || !ux_elf_of(object))
		return object->file.size / SYMBOL_MIN * FUNCTION_MEMORY;
	for (size_t i = 0; i < ux_countof(function_tables); i++)
		if (ux_object_section_find(object, function_tables[i].section, &s) && s.stored)
			functions += ux_min(ux_section_size(object, &s), (uint64_t)UINT32_MAX) /
				     function_tables[i].min;
	return functions * FUNCTION_MEMORY;
}

/*
 * Returns whether the text after an @ is a version, as linkers accept them: GLIBC_2.14,
 * libfoo.so.1, "".
 */
static bool symbol_is_version(const char *text, const char *end)
{
	static const char more[] = "_.+-~";
	for (const char *p = text; p < end; p++)
		if (!ux_is_digit(*p) && !(*p >= 'A' && *p <= 'Z') && !(*p >= 'a' && *p <= 'z') &&
		    !strchr(more, *p))
			return false;
	return true;
}

/*
 * "memcpy@@GLIBC_2.14" names memcpy. Another @ belongs to the name: a leading one, as in NASM's
 * "..@620.done", and one within, as in Crystal's "*Slice(UInt8)@Slice(T)#empty?:Bool".
 */
static uint32_t symbol_name_size(const char *name)
{
	size_t size = strnlen(name, NAME_BYTES_MAX), at = 0;
	const char *end = name + size;
	while (at < size && (name[at] == '.' || name[at] == '@'))
		at++;
	for (const char *p = name + at; (p = memchr(p, '@', (size_t)(end - p))) != NULL; p++)
		if (symbol_is_version(p + 1 + (p[1] == '@'), end))
			return (uint32_t)(p - name);
	return (uint32_t)size;
}

/* State of reading one symbol table. */
struct symbols_reader {
	const struct ux_object *object;
	const struct ux_object *exe; /* contains the function descriptors */
	const struct ux_range_set *text;
	struct ux_code_symbol_vec *out;
	struct ux_code_symbols_found found;
};

/* Moves *pc from a function descriptor to its code; false when the result is not in the text. */
static bool symbols_in_text(const struct symbols_reader *r, uint64_t *pc)
{
	const struct ux_object_format *format = r->exe->format;
	return ux_range_set_find(r->text, *pc) ||
	       (format->descriptor && format->descriptor(r->exe, *pc, pc) &&
		ux_range_set_find(r->text, *pc));
}

static bool symbols_append(void *ctx, const struct ux_object_symbol *s)
{
	struct symbols_reader *r = ctx;
	struct ux_code_symbol made = {
		.start = s->pc,
		.size = s->size,
		.name = s->name,
		.bind = s->bind,
		.untyped = s->untyped,
		.exact = s->dynamic,
	};
	if (!s->code)
		return true;
	r->found.local |= s->listed || s->bind == STB_LOCAL;
	if (!symbols_in_text(r, &made.start))
		return true;
	made.name_size = r->object->versioned ? symbol_name_size(s->name)
					      : (uint32_t)strnlen(s->name, NAME_BYTES_MAX);
	if (made.name_size == 0)
		return true;
	r->found.symbols += !s->listed;
	return ux_code_symbol_vec_append(r->out, made);
}

enum ux_code ux_code_symbols_read(const struct ux_object *object, enum ux_object_table table,
				  const struct ux_object *exe, const struct ux_range_set *text,
				  struct ux_code_symbol_vec *out, struct ux_code_symbols_found *ret,
				  struct ux_error *err)
{
	struct symbols_reader r = {.object = object, .exe = exe, .text = text, .out = out};
	UX_TRY(object->format->symbols(object, table, symbols_append, &r, err));
	*ret = r.found;
	return UX_OK;
}

/* Makes the name of a stub: name[0, size) and "@plt". */
static const char *stub_name(const char *name, size_t size, struct ux_arena *names)
{
	char *text = ux_arena_array(names, char, size + sizeof("@plt"));
	if (!text)
		return NULL;
	memcpy(text, name, size);
	memcpy(text + size, "@plt", sizeof("@plt"));
	return text;
}

enum ux_code ux_code_symbols_read_stubs(const struct ux_object *object,
					const struct ux_range_set *text, struct ux_arena *names,
					struct ux_code_symbol_vec *out, struct ux_error *err)
{
	ux_cleanup(ux_object_stubs_deinit) struct ux_object_stubs stubs = {0};
	uint64_t left = STUBS_FREE + STUBS_RATIO * (uint64_t)object->file.size;
	if (!object->format->stubs)
		return UX_OK;
	UX_TRY(object->format->stubs(object, &stubs, err));
	for (size_t i = 0; i < stubs.size; i++) {
		const struct ux_object_stub *s = &stubs.data[i];
		char target[32];
		if (!ux_range_set_find(text, s->pc))
			continue;
		snprintf(target, sizeof(target), "*ABS*+0x%" PRIx64, s->target);
		const char *name = s->name ? s->name : target;
		size_t size = strnlen(name, NAME_BYTES_MAX - sizeof("@plt"));
		if (size > left)
			break; /* the limit is reached: the other stubs get no name */
		left -= size;
		struct ux_code_symbol made = {
			.start = s->pc,
			.size = s->size,
			.name = stub_name(name, size, names),
			.name_size = (uint32_t)(size + strlen("@plt")),
			.bind = STB_LOCAL,
		};
		if (!made.name)
			return ux_arena_fail(names, err);
		if (!ux_code_symbol_vec_append(out, made))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Returns the index of the first of the bounds that begins at or after pc. */
static size_t bounds_lower(const struct ux_range_vec *bounds, uint64_t pc)
{
	return ux_partition_point(i, 0, bounds->size, bounds->data[i].lo < pc);
}

static int symbol_start_compare(const void *x, const void *y)
{
	const struct ux_code_symbol *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	return 0;
}

/* Returns the start of the first symbol after number i that has a different pc. */
static uint64_t symbols_next_start(const struct ux_code_symbol_vec *symbols, size_t i)
{
	uint64_t pc = symbols->data[i].start;
	while (i < symbols->size && symbols->data[i].start == pc)
		i++;
	return i < symbols->size ? symbols->data[i].start : UINT64_MAX;
}

/* Cuts symbols at the next start of a function, if that is before the next symbol. */
static void symbols_bound_all(struct ux_code_symbol_vec *symbols, const struct ux_range_vec *bounds)
{
	if (symbols->size > 1)
		ux_sort_by_start(symbols->data, symbols->size, sizeof(*symbols->data),
				 symbol_start_compare);
	uint64_t end = 0; /* where the symbols at this pc end: the start of the next symbol */
	for (size_t i = 0, k = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		if (i == 0 || s[-1].start != s->start)
			end = symbols_next_start(symbols, i);
		while (k < bounds->size && bounds->data[k].lo <= s->start)
			k++;
		if (s->size == 0 && k < bounds->size && bounds->data[k].lo < end)
			s->size = bounds->data[k].lo - s->start;
	}
}

void ux_code_symbols_bound(struct ux_code_symbol_vec *symbols,
			   const struct ux_function_bounds *bounds)
{
	const struct ux_range_vec *list = &bounds->list;
	if (bounds->complete) {
		symbols_bound_all(symbols, list);
		return;
	}
	for (size_t i = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		if (s->size > 0 || !s->exact)
			continue;
		size_t at = bounds_lower(list, s->start);
		if (at < list->size && list->data[at].lo == s->start)
			s->size = list->data[at].hi - s->start;
	}
}

/* "memcpy@GLIBC_2.2.5", which only old programs are linked with; the default version has two of the
 * character. */
static bool symbol_is_old_version(const struct ux_code_symbol *s)
{
	return s->name[s->name_size] == '@' && s->name[s->name_size + 1] != '@';
}

/* The underscore of a mangled name does not mark an internal symbol. */
static size_t symbol_underscores(const struct ux_code_symbol *s)
{
	struct ux_bytes name = ux_bytes(s->name, s->name_size);
	return ux_name_is_mangled(name) ? 0 : ux_name_underscores(name);
}

static int symbol_compare(const void *x, const void *y)
{
	const struct ux_code_symbol *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	UX_ORDER(a->size == 0, b->size == 0);
	UX_ORDER(a->untyped, b->untyped);
	UX_ORDER(a->bind == STB_LOCAL, b->bind == STB_LOCAL);
	UX_ORDER(symbol_underscores(a), symbol_underscores(b));
	UX_ORDER(symbol_is_old_version(a), symbol_is_old_version(b));
	UX_ORDER(a->bind == STB_WEAK, b->bind == STB_WEAK);
	UX_ORDER(a->name_size, b->name_size);
	int names = a->name == b->name ? 0 : memcmp(a->name, b->name, a->name_size);
	if (names != 0)
		return names;
	UX_ORDER(a->exact, b->exact);
	UX_ORDER(b->size, a->size);
	return 0;
}

static bool symbol_same_name(const struct ux_code_symbol *a, const struct ux_code_symbol *b)
{
	return a->start == b->start && a->name_size == b->name_size &&
	       (a->name == b->name || memcmp(a->name, b->name, a->name_size) == 0);
}

/*
 * Removes duplicates, such as symbols of both .symtab and .dynsym, and labels inside of sized
 * symbols.
 */
static void symbols_dedup(struct ux_code_symbol_vec *symbols)
{
	struct ux_code_symbol *s = symbols->data;
	size_t kept = 0;
	uint64_t covered = 0, covered_from = 0;
	for (size_t i = 0; i < symbols->size; i++) {
		if (kept > 0 && symbol_same_name(&s[kept - 1], &s[i]))
			continue;
		if (s[i].size == 0 && s[i].start < covered && s[i].start > covered_from)
			continue;
		uint64_t end = s[i].start + s[i].size;
		if (end > covered) {
			covered = end;
			covered_from = s[i].start;
		}
		s[kept++] = s[i];
	}
	symbols->size = kept;
}

void ux_code_symbols_sort(struct ux_code_symbol_vec *symbols, const struct ux_range_set *text)
{
	struct ux_code_symbol *s = symbols->data;
	if (symbols->size == 0)
		return;
	ux_sort_by_start_spilled(s, symbols->size, sizeof(*s), symbol_compare, symbols->spill);
	symbols_dedup(symbols);
	uint64_t next = UINT64_MAX;
	for (size_t i = symbols->size; i-- > 0;) {
		if (i + 1 < symbols->size && s[i + 1].start != s[i].start)
			next = s[i + 1].start;
		uint64_t end = ux_range_set_find(text, s[i].start)->hi;
		uint64_t room = ux_min(end, next) - s[i].start;
		if (s[i].size == 0)
			s[i].size = s[i].exact ? 1 : room;
		s[i].size = ux_min(s[i].size, end - s[i].start);
	}
}

/*
 * Appends functions without a name for the bounds, from number *at on, that begin before `next` and
 * at or after `covered`.
 */
static bool symbols_fill_gap(const struct ux_range_vec *bounds, size_t *at, uint64_t covered,
			     uint64_t next, struct ux_code_symbol_vec *out, uint64_t *n)
{
	for (; *at < bounds->size && bounds->data[*at].lo < next; ++*at) {
		const struct ux_range *b = &bounds->data[*at];
		struct ux_code_symbol made = {
			.start = b->lo,
			.size = ux_min(b->hi, next) - b->lo,
			.name = ux_no_name,
			.name_size = sizeof(UX_NO_NAME) - 1,
			.bind = STB_LOCAL,
		};
		/*
		 * For GHC's code and signal frames the unwind range begins one byte before the
		 * function, since unwinders look up the return address minus 1.
		 */
		bool early = b->lo + 1 == next && b->hi > next;
		if (b->lo < covered || made.size == 0 || early)
			continue;
		if (!ux_code_symbol_vec_append(out, made))
			return false;
		++*n;
	}
	return true;
}

enum ux_code ux_code_symbols_fill(struct ux_code_symbol_vec *symbols,
				  const struct ux_range_vec *bounds, uint64_t *ret_n,
				  struct ux_error *err)
{
	ux_cleanup(ux_code_symbol_vec_deinit) struct ux_code_symbol_vec all = {
		.spill = symbols->spill};
	uint64_t covered = 0;
	size_t at = 0;
	*ret_n = 0;
	for (size_t i = 0; i < symbols->size && bounds->size > 0; i++) {
		const struct ux_code_symbol *s = &symbols->data[i];
		if (!symbols_fill_gap(bounds, &at, covered, s->start, &all, ret_n) ||
		    !ux_code_symbol_vec_append(&all, *s))
			return ux_error_nomem(err);
		covered = ux_max(covered, s->start + s->size);
	}
	if (!symbols_fill_gap(bounds, &at, covered, UINT64_MAX, &all, ret_n))
		return ux_error_nomem(err);
	if (*ret_n > 0) {
		struct ux_code_symbol_vec before = *symbols;
		*symbols = all;
		all = before;
	}
	return UX_OK;
}

/* Returns the index of the first symbol of [lo, hi) that begins at or after pc; hi when none
 * does. */
static size_t symbols_lower(const struct ux_code_symbol_vec *symbols, size_t lo, size_t hi,
			    uint64_t pc)
{
	return ux_partition_point(i, lo, hi, symbols->data[i].start < pc);
}

const struct ux_code_symbol *ux_code_symbols_from(const struct ux_code_symbol_vec *symbols,
						  uint64_t pc)
{
	size_t at = symbols_lower(symbols, 0, symbols->size, pc);
	return at < symbols->size ? &symbols->data[at] : NULL;
}

bool ux_code_symbol_index_init(struct ux_code_symbol_index *index,
			       const struct ux_code_symbol_vec *symbols)
{
	const struct ux_code_symbol *s = symbols->data;
	size_t n = symbols->size, next = 0;
	*index = (struct ux_code_symbol_index){.symbols = symbols};
	if (n < 2 || n >= UINT32_MAX)
		return true; /* fewer than two symbols need no index; numbers of more symbols do not
				fit 32 bits */
	uint64_t span = s[n - 1].start - s[0].start;
	while (span >> index->shift >= n)
		index->shift++;
	size_t n_parts = (size_t)(span >> index->shift) + 1;
	index->first = malloc((n_parts + 1) * sizeof(*index->first));
	if (!index->first)
		return false;
	for (size_t part = 0; part <= n_parts; part++) {
		while (next < n && (s[next].start - s[0].start) >> index->shift < part)
			next++;
		index->first[part] = (uint32_t)next;
	}
	return true;
}

void ux_code_symbol_index_deinit(struct ux_code_symbol_index *index)
{
	free(index->first);
	*index = (struct ux_code_symbol_index){0};
}

const struct ux_code_symbol *ux_code_symbol_index_from(const struct ux_code_symbol_index *index,
						       uint64_t pc)
{
	const struct ux_code_symbol_vec *symbols = index->symbols;
	if (!symbols || symbols->size == 0 || pc > symbols->data[symbols->size - 1].start)
		return NULL;
	uint64_t base = symbols->data[0].start;
	if (pc <= base)
		return symbols->data;
	const uint32_t *part = index->first ? index->first + ((pc - base) >> index->shift) : NULL;
	size_t lo = part ? part[0] : 0, hi = part ? part[1] : symbols->size;
	return &symbols->data[symbols_lower(symbols, lo, hi, pc)];
}

size_t ux_code_symbols_count(const struct ux_code_symbol_vec *symbols, size_t first, uint64_t pc)
{
	size_t n = 0;
	while (n < UX_CODE_ALIASES_MAX && first + n < symbols->size &&
	       symbols->data[first + n].start == pc)
		n++;
	return n;
}

const struct ux_code_symbol *ux_code_symbols_at(const struct ux_code_symbol_vec *symbols,
						uint64_t pc, size_t *ret_n)
{
	size_t at = ux_code_symbols_index_from(symbols, pc);
	*ret_n = ux_code_symbols_count(symbols, at, pc);
	return *ret_n > 0 ? &symbols->data[at] : NULL;
}

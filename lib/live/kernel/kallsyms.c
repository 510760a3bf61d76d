/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel's symbols, as /proc/kallsyms lists them. */
#include "kernel.h"

#include "order.h"
#include "partition.h"
#include "text.h"

enum {
	NAMES_BUDGET = 512 << 20,
	SYMBOLS_MAX = 1 << 24,
	NAME_BYTES_MAX = 1024,
	ADDRESS_DIGITS = 16,
	LINE_USUAL = 40, /* bytes */
	PAGE = 4096,
	VSYSCALL_SLOT = 0x400,
};

#define VSYSCALL_PAGE 0xffffffffff600000u

/* A parsed line. */
struct kallsyms_line {
	uint64_t start;
	struct ux_bytes name;
	struct ux_bytes module; /* without its brackets */
	char type;
};

/* A symbol of any type. The name is stored only for code. */
struct kallsyms_raw {
	uint64_t start;
	const char *name;
	const char *module;
	bool global;
};

UX_VEC(kallsyms_raw_list, struct kallsyms_raw);

void ux_kallsyms_deinit(struct ux_kallsyms *k)
{
	ux_arena_deinit(&k->arena);
	ux_kernel_symbols_deinit(&k->symbols);
	*k = (struct ux_kallsyms){0};
}

/*
 * Reads the address at the start of a line; *ret_n: its digits, at most 17. Usually there are 16.
 */
static uint64_t kallsyms_address(struct ux_bytes s, size_t *ret_n)
{
	uint64_t v = 0;
	size_t i = 0;
	if (ux_likely(s.size > ADDRESS_DIGITS && s.data[ADDRESS_DIGITS] == ' ')) {
		int bad = 0;
		for (; i < ADDRESS_DIGITS; i++) {
			int digit = ux_hex_digit((char)s.data[i]);
			bad |= digit;
			v = v << 4 | (unsigned)digit;
		}
		*ret_n = i;
		if (bad >= 0)
			return v;
	}
	v = 0;
	for (i = 0; i < s.size && i <= ADDRESS_DIGITS; i++) {
		int digit = ux_hex_digit((char)s.data[i]);
		if (digit < 0)
			break;
		v = v << 4 | (unsigned)digit;
	}
	*ret_n = i;
	return v;
}

static bool kallsyms_parse_line(struct ux_bytes s, struct kallsyms_line *ret)
{
	size_t i = 0;
	ret->start = kallsyms_address(s, &i);
	if (i == 0 || i > ADDRESS_DIGITS || s.size - i < 4 || s.data[i] != ' ' ||
	    s.data[i + 2] != ' ')
		return false;
	ret->type = (char)s.data[i + 1];
	s = ux_bytes(s.data + i + 3, s.size - i - 3);
	const uint8_t *tab = memchr(s.data, '\t', s.size);
	ret->name = ux_bytes(s.data, tab ? (size_t)(tab - s.data) : s.size);
	ret->module = UX_BYTES_NONE;
	if (tab) {
		s = ux_bytes(tab + 1, s.size - ret->name.size - 1);
		if (s.size > 2 && s.data[0] == '[' && s.data[s.size - 1] == ']')
			ret->module = ux_bytes(s.data + 1, s.size - 2);
	}
	return ret->name.size > 0 && ret->name.size <= NAME_BYTES_MAX &&
	       ret->module.size <= NAME_BYTES_MAX;
}

static bool kallsyms_type_is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Returns the name of a module. The lines of one module are adjacent, so they share the string. */
static const char *kallsyms_module_name(struct ux_kallsyms *k, const struct kallsyms_raw_list *all,
					struct ux_bytes name)
{
	if (name.size == 0)
		return "";
	const char *last = all->size > 0 ? all->data[all->size - 1].module : "";
	if (ux_bytes_eq(ux_bytes_cstr(last), name))
		return last;
	return ux_arena_strndup(&k->arena, name.data, name.size);
}

static enum ux_code kallsyms_add_line(struct ux_kallsyms *k, struct kallsyms_raw_list *all,
				      const struct kallsyms_line *line, struct ux_error *err)
{
	struct kallsyms_raw raw = {.start = line->start, .global = line->type < 'a'};
	if (all->size == SYMBOLS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d symbols", SYMBOLS_MAX);
	raw.module = kallsyms_module_name(k, all, line->module);
	if (kallsyms_type_is_code(line->type))
		raw.name = ux_arena_strndup(&k->arena, line->name.data, line->name.size);
	if (!raw.module || (kallsyms_type_is_code(line->type) && !raw.name))
		return ux_arena_fail(&k->arena, err);
	if (raw.name && *raw.module == 0 && line->name.data[0] == '_') {
		if (ux_bytes_eq(line->name, UX_STR("_text")))
			k->text = line->start;
		if (ux_bytes_eq(line->name, UX_STR("_stext")))
			k->stext = line->start;
	}
	return kallsyms_raw_list_append(all, raw) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code kallsyms_parse_lines(struct ux_kallsyms *k, struct kallsyms_raw_list *all,
					 struct ux_bytes list, struct ux_error *err)
{
	struct kallsyms_line line;
	struct ux_bytes text;
	uint64_t hidden = 0;
	const bool zeros = list.size > 0 && memchr(list.data, 0, list.size);
	if (!kallsyms_raw_list_reserve(all, list.size / LINE_USUAL))
		return ux_error_nomem(err);
	while (ux_text_take_line(&list, &text)) {
		if (text.size == 0)
			continue;
		if (!kallsyms_parse_line(text, &line) || (zeros && memchr(text.data, 0, text.size)))
			k->skipped++;
		else if (line.start == 0)
			hidden++;
		else
			UX_TRY(kallsyms_add_line(k, all, &line, err));
	}
	if (all->size == 0 && hidden > 0)
		return ux_error_set(err, UX_EDENIED,
				    "kptr_restrict hides addresses: all %" PRIu64
				    " symbols are at 0 (sysctl kernel.kptr_restrict, CAP_SYSLOG)",
				    hidden);
	return UX_OK;
}

static bool kallsyms_name_ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n >= m && memcmp(name + n - m, end, m) == 0;
}

/* Returns whether a symbol marks the start or end of a section rather than a function. */
static bool kallsyms_is_marker(const char *name)
{
	static const char *const ends[] = {"_text_start", "_text_end",  "_stext",    "_etext",
					   "_sinittext",  "_einittext", "__pi__text"};
	for (size_t i = 0; i < ux_countof(ends); i++)
		if (kallsyms_name_ends_with(name, ends[i]))
			return true;
	return strcmp(name, "_text") == 0;
}

static size_t kallsyms_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Sorts by address. At one address symbols of code come first, ordered by preference of their
 * names. */
static int kallsyms_by_rank(const void *a, const void *b)
{
	const struct kallsyms_raw *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	UX_ORDER(!x->name, !y->name);
	if (!x->name)
		return 0;
	UX_ORDER(kallsyms_is_marker(x->name), kallsyms_is_marker(y->name));
	UX_ORDER(kallsyms_underscores(x->name), kallsyms_underscores(y->name));
	UX_ORDER(y->global, x->global);
	UX_ORDER(strlen(x->name), strlen(y->name));
	return strcmp(x->name, y->name);
}

/* Returns the end of a symbol. next is the following symbol, or NULL. */
static uint64_t kallsyms_symbol_end(const struct kallsyms_raw *raw, const struct kallsyms_raw *next,
				    const struct ux_kernel_modules *modules)
{
	const struct ux_kernel_module *m =
		modules && *raw->module ? ux_kernel_modules_find(modules, raw->start) : NULL;
	uint64_t page = raw->start > UINT64_MAX - PAGE ? UINT64_MAX : (raw->start | (PAGE - 1)) + 1;
	if (next && (next->module == raw->module || strcmp(next->module, raw->module) == 0))
		return next->start;
	uint64_t end = m ? m->start + m->size : page;
	return next ? ux_min(end, next->start) : end;
}

static enum ux_code kallsyms_add_symbols(struct ux_kallsyms *k, const struct kallsyms_raw_list *all,
					 const struct ux_kernel_modules *modules,
					 struct ux_error *err)
{
	if (!ux_kernel_symbols_reserve(&k->symbols, all->size))
		return ux_error_nomem(err);
	for (size_t i = 0, next; i < all->size; i = next) {
		const struct kallsyms_raw *raw = &all->data[i];
		for (next = i + 1; next < all->size && all->data[next].start == raw->start;)
			next++;
		if (!raw->name)
			continue;
		struct ux_kernel_symbol s = {
			.start = raw->start,
			.end = kallsyms_symbol_end(raw, next < all->size ? &all->data[next] : NULL,
						   modules),
			.name = raw->name,
			.module = raw->module};
		if (!ux_kernel_symbols_append(&k->symbols, s))
			return ux_error_nomem(err);
	}
	if (k->symbols.size == 0)
		return ux_error_set(err, UX_ENOTFOUND, "lists no code");
	return UX_OK;
}

enum ux_code ux_kallsyms_parse(struct ux_bytes list, const struct ux_kernel_modules *modules,
			       struct ux_kallsyms *ret, struct ux_error *err)
{
	ux_cleanup(ux_kallsyms_deinit) struct ux_kallsyms k = {0};
	ux_cleanup(kallsyms_raw_list_deinit) struct kallsyms_raw_list all = {0};
	*ret = (struct ux_kallsyms){0};
	ux_arena_init(&k.arena, NAMES_BUDGET);
	UX_TRY(kallsyms_parse_lines(&k, &all, list, err));
	ux_sort_by_start(all.data, all.size, sizeof(*all.data), kallsyms_by_rank);
	UX_TRY(kallsyms_add_symbols(&k, &all, modules, err));
	*ret = k;
	k = (struct ux_kallsyms){0};
	return UX_OK;
}

const struct ux_kernel_symbol *ux_kallsyms_find(const struct ux_kallsyms *k, uint64_t addr)
{
	size_t low = ux_partition_point(i, 0, k->symbols.size, k->symbols.data[i].start <= addr);
	const struct ux_kernel_symbol *s = low > 0 ? &k->symbols.data[low - 1] : NULL;
	return s && addr < s->end ? s : NULL;
}

const char *ux_vsyscall_name(uint64_t addr, uint64_t *ret_start)
{
	static const char *const names[] = {"gettimeofday", "time", "getcpu"};
	uint64_t slot = (addr - VSYSCALL_PAGE) / VSYSCALL_SLOT;
	if (addr < VSYSCALL_PAGE || slot >= ux_countof(names))
		return NULL;
	*ret_start = VSYSCALL_PAGE + slot * VSYSCALL_SLOT;
	return names[slot];
}

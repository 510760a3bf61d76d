/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the functions of GSYMs by a part of their names. */
#include "function_search.h"

#include "demangle.h"
#include "gsym_names.h"
#include "request_work.h"
#include "text.h"

enum {
	WORD_MIN = 2,
	FUNCTION_COST = 16, /* work of reading a record, in bytes */
	/* work of demangling one byte of a name: 16 times the work of comparing it */
	DEMANGLE_COST = 16,
};

static uint8_t function_fold(uint8_t c)
{
	return ux_is_upper(c) ? (uint8_t)(c - 'A' + 'a') : c;
}

static bool function_word_byte(uint8_t c)
{
	return ux_is_letter(c) || ux_is_digit(c) || c == '_' || c >= 0x80;
}

/*
 * Tests for words that demanglers write for something else, such as "std" for "St": mangled names
 * need not contain them.
 */
static bool function_word_is_made(struct ux_bytes word)
{
	static const char *const made[] = {
		"std",
		"allocator",
		"basic_string",
		"string",
		"istream",
		"ostream",
		"iostream",
		"basic_istream",
		"basic_ostream",
		"basic_iostream",
		"anonymous",
		"namespace",
		"operator",
		"new",
		"delete",
		"lambda",
		"unnamed",
		"clone",
		"vtable",
		"vtt",
		"typeinfo",
		"name",
		"thunk",
		"virtual",
		"non",
		"covariant",
		"return",
		"guard",
		"variable",
		"construction",
		"reference",
		"temporary",
		"const",
		"volatile",
		"restrict",
		"unsigned",
		"signed",
		"int",
		"long",
		"short",
		"char",
		"bool",
		"float",
		"double",
		"void",
		"wchar_t",
		"char8_t",
		"char16_t",
		"char32_t",
		"nullptr_t",
		"decltype",
		"auto",
		"true",
		"false",
		"for",
		"tls",
		"init",
		"function",
		"wrapper",
		"initializer",
		"char_traits",
		"initializer_list",
		"__int128",
		"closure",
		"impl",
		"dyn",
		"as",
		"mut",
		"str",
		"usize",
		"isize",
		"type",
		"this",
		"ref",
		"noexcept",
		"sizeof",
		"co_await",
		"transaction",
		"safe",
		"array",
	};
	for (size_t i = 0; i < ux_countof(made); i++)
		if (ux_bytes_eq(word, ux_bytes_cstr(made[i])))
			return true;
	/* i32, u8, f64: types of Rust */
	return word.size <= 4 && strchr("iuf", word.data[0]) && ux_is_digit(word.data[1]);
}

/* Keeps the longest word of the query; `text` is in lower case. */
static void function_query_find_word(struct ux_bytes text, struct ux_function_query *q)
{
	for (size_t i = 0; i < text.size;) {
		size_t n = 0;
		while (i + n < text.size && function_word_byte(text.data[i + n]))
			n++;
		struct ux_bytes word = ux_bytes(text.data + i, n);
		if (n >= WORD_MIN && n > q->word_size && !ux_is_digit(word.data[0]) &&
		    !function_word_is_made(word)) {
			memcpy(q->word, word.data, n);
			q->word[n] = '\0';
			q->word_size = n;
		}
		i += ux_max(n, (size_t)1);
	}
}

enum ux_code ux_function_query_parse(struct ux_bytes text, struct ux_function_query *ret,
				     struct ux_error *err)
{
	uint8_t lower[UX_FUNCTION_QUERY_MAX];
	*ret = (struct ux_function_query){0};
	text = ux_trim(text);
	if (text.size > 2 && memcmp(text.data + text.size - 2, "()", 2) == 0)
		text.size -= 2;
	if (text.size > UX_FUNCTION_QUERY_MAX)
		return ux_error_set(err, UX_ELIMIT, "search text exceeds %d bytes",
				    UX_FUNCTION_QUERY_MAX);
	for (size_t i = 0; i < text.size; i++) {
		lower[i] = function_fold(text.data[i]);
		if (!ux_is_blank(lower[i]))
			ret->text[ret->size++] = (char)lower[i];
	}
	if (ret->size == 0)
		return ux_error_set(err, UX_EINVAL, "the search text is empty");
	function_query_find_word(ux_bytes(lower, text.size), ret);
	return UX_OK;
}

/* Finds `part`, which is in lower case, at or after `from`; SIZE_MAX: not found. */
static size_t function_find_part(struct ux_bytes text, const char *part, size_t n, size_t from)
{
	uint8_t first = (uint8_t)part[0];
	for (size_t i = from; i + n <= text.size; i++) {
		size_t k = 1;
		if (function_fold(text.data[i]) != first)
			continue;
		while (k < n && function_fold(text.data[i + k]) == (uint8_t)part[k])
			k++;
		if (k == n)
			return i;
	}
	return SIZE_MAX;
}

/* Tests whether a part of a name begins and ends where components of a name do. */
static bool function_part_is_whole(struct ux_bytes text, size_t at, size_t n)
{
	bool begins = at == 0 || strchr(":./ $", text.data[at - 1]);
	bool ends = at + n >= text.size || strchr("(<@[.", text.data[at + n]);
	return begins && ends;
}

static bool function_name_is_stub(struct ux_bytes text)
{
	return text.size > 4 && memcmp(text.data + text.size - 4, "@plt", 4) == 0;
}

/* Tests whether the name contains the query; raises *ret_rank to how well it matches. */
static bool function_name_has(struct ux_bytes text, const struct ux_function_query *q,
			      enum ux_function_rank *ret_rank)
{
	size_t at = function_find_part(text, q->text, q->size, 0);
	bool found = at != SIZE_MAX, whole = false;
	for (; at != SIZE_MAX && !whole; at = function_find_part(text, q->text, q->size, at + 1))
		whole = function_part_is_whole(text, at, q->size);
	if (whole && !function_name_is_stub(text))
		*ret_rank = UX_FUNCTION_WHOLE;
	else if (found && !function_name_is_stub(text) && *ret_rank == UX_FUNCTION_STUB)
		*ret_rank = UX_FUNCTION_PART;
	return found;
}

/* Tests whether a name may be mangled. Names of Swift repeat parts of words by number. */
static bool function_name_is_mangled(struct ux_bytes name, bool *ret_words)
{
	static const char *const starts[] = {"_Z", "__Z", "_R", "_D", "?", "$s", "_$s", "$S"};
	for (size_t i = 0; i < ux_countof(starts); i++)
		if (ux_bytes_starts(name, ux_bytes_cstr(starts[i]))) {
			*ret_words = i < 4;
			return true;
		}
	return false;
}

/* Writes the name without blanks to `folded`. Case stays: the comparison ignores it. */
static void function_squeeze(struct ux_bytes name, struct ux_out *folded)
{
	ux_out_reset(folded);
	for (size_t i = 0; i < name.size; i++)
		if (!ux_is_blank(name.data[i]))
			ux_out_u8(folded, name.data[i]);
}

void ux_function_scan_deinit(struct ux_function_scan *scan)
{
	ux_out_deinit(&scan->name);
	ux_out_deinit(&scan->folded);
}

static enum ux_code function_demangle(struct ux_function_scan *s, struct ux_bytes linkage,
				      struct ux_error *err)
{
	ux_out_reset(&s->name);
	ux_demangle(linkage, UX_DEMANGLE_FULL, &s->name);
	return ux_out_status(&s->name, err);
}

/* Tests whether a name matches the query; if so, s->name is the name, demangled. */
static enum ux_code function_match(struct ux_function_scan *s, struct ux_bytes linkage,
				   enum ux_function_rank *ret_rank, bool *ret, struct ux_error *err)
{
	const struct ux_function_query *q = s->query;
	bool words = true, mangled = function_name_is_mangled(linkage, &words);
	*ret_rank = UX_FUNCTION_STUB;
	*ret = !q || function_name_has(linkage, q, ret_rank);
	if (!*ret && !mangled)
		return UX_OK;
	if (!*ret && words && q->word_size > 0 &&
	    function_find_part(linkage, q->word, q->word_size, 0) == SIZE_MAX)
		return UX_OK;
	UX_TRY(ux_request_work_charge(s->work, mangled ? DEMANGLE_COST * linkage.size : 0, err));
	UX_TRY(function_demangle(s, linkage, err));
	if (!q || !mangled)
		return UX_OK;
	function_squeeze(ux_bytes(s->name.data, s->name.size), &s->folded);
	UX_TRY(ux_out_status(&s->folded, err));
	*ret |= function_name_has(ux_bytes(s->folded.data, s->folded.size), q, ret_rank);
	return UX_OK;
}

enum ux_code ux_function_scan_next(struct ux_function_scan *s, struct ux_function *ret,
				   bool *ret_any, struct ux_error *err)
{
	const struct ux_gsym *g = s->gsym;
	*ret_any = false;
	for (; s->next < g->n_functions && !*ret_any; s->next++) {
		const char *text = NULL;
		bool named = ux_gsym_function_read(g, s->next, &text, &ret->size);
		struct ux_bytes name = ux_bytes_cstr(text);
		UX_TRY(ux_request_work_charge(s->work, FUNCTION_COST + name.size, err));
		if (!named || (s->query && strcmp(text, UX_NO_NAME) == 0))
			continue;
		UX_TRY(function_match(s, name, &ret->rank, ret_any, err));
		ret->number = s->next;
		ret->pc = ux_gsym_start(g, s->next);
		ret->name = ux_bytes(s->name.data, s->name.size);
	}
	return UX_OK;
}

enum ux_code ux_functions_open(struct ux_request *req, const struct ux_module *m,
			       struct ux_mapping *ret_file, struct ux_gsym *ret,
			       struct ux_error *err)
{
	const struct ux_candidate *c = ux_module_best(m, UX_KIND_GSYM);
	if (!c && ux_module_in_state(m, UX_CANDIDATE_PENDING))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "its symbols are being extracted; retry later");
	if (!c)
		return ux_error_set(err, UX_ENOTFOUND, "the module has no GSYM");
	UX_TRY(ux_blobs_map(ux_server_of(req)->store->blobs, &c->blob, c->size, ret_file, err));
	return ux_gsym_open(ret, ret_file->bytes, err);
}

/*
 * Functions come in the order of their addresses, so a later one replaces another only by a better
 * rank.
 */
static enum ux_code functions_found_keep(struct ux_functions_found *found,
					 const struct ux_function *f, struct ux_arena *arena,
					 struct ux_error *err)
{
	size_t at = found->n;
	while (at > 0 && f->rank > found->best[at - 1].rank)
		at--;
	found->total++;
	if (at == UX_FUNCTION_BEST_MAX)
		return UX_OK;
	char *name = ux_arena_strndup(arena, f->name.data, f->name.size);
	if (!name)
		return ux_arena_fail(arena, err);
	size_t n = ux_min(found->n, (size_t)UX_FUNCTION_BEST_MAX - 1);
	memmove(&found->best[at + 1], &found->best[at], (n - at) * sizeof(*f));
	found->best[at] = *f;
	found->best[at].name = ux_bytes(name, f->name.size);
	found->n = n + 1;
	return UX_OK;
}

enum ux_code ux_functions_find(const struct ux_gsym *g, const struct ux_function_query *query,
			       struct ux_work *work, struct ux_arena *arena,
			       struct ux_functions_found *ret, struct ux_error *err)
{
	ux_cleanup(ux_function_scan_deinit) struct ux_function_scan scan = {
		.gsym = g, .query = query, .work = work};
	*ret = (struct ux_functions_found){0};
	for (bool any = true; any;) {
		struct ux_function f;
		UX_TRY(ux_function_scan_next(&scan, &f, &any, err));
		if (any)
			UX_TRY(functions_found_keep(ret, &f, arena, err));
	}
	return UX_OK;
}

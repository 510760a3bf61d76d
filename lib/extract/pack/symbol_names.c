/* SPDX-License-Identifier: Apache-2.0 */
/* Finds facts about symbols that the names of pieces do not show: other names, and which piece of a
 * function is its start. */
#include "pack.h"

#include "hash.h"
#include "order.h"
#include "partition.h"

/* A piece with a name that no symbol at its start has. */
struct nameless_piece {
	uint64_t hash;  /* hash of its name */
	uint32_t piece; /* index of the piece */
	bool part;      /* a symbol or a piece elsewhere is the start of the function of the name */
};

UX_VEC(nameless_piece_vec, struct nameless_piece);

struct symbol_finder {
	const struct ux_code_symbol_vec *symbols;
	const struct ux_piece_vec *pieces;
	uint64_t left; /* bytes of names that may still be read */
	struct nameless_piece_vec nameless;
	bool has_parts; /* a nameless piece is not the start of its unit's function */
	uint64_t *seen; /* malloc'ed bits: which hashes the nameless pieces have, modulo their
			   number */
	uint64_t mask;  /* number of bits less 1 */
	struct ux_piece_symbols *ret;
};

void ux_piece_symbols_deinit(struct ux_piece_symbols *s)
{
	ux_piece_symbol_vec_deinit(&s->names);
	ux_piece_number_vec_deinit(&s->parts);
}

static void symbol_finder_deinit(struct symbol_finder *f)
{
	nameless_piece_vec_deinit(&f->nameless);
	free(f->seen);
}

static struct ux_bytes symbol_text(const struct ux_code_symbol *s)
{
	return ux_bytes(s->name, s->name_size);
}

static bool symbol_has_name(const struct ux_code_symbol *s, const char *name)
{
	return s->name == name
		       ? name[s->name_size] == 0
		       : strncmp(name, s->name, s->name_size) == 0 && name[s->name_size] == 0;
}

/* Adds the symbols from number *at on that begin in the piece, and moves *at after them.
 * *ret_named is set when one at its start has its name. */
static enum ux_code finder_read_piece(struct symbol_finder *f, size_t piece, size_t *at,
				      bool *ret_named, struct ux_error *err)
{
	const struct ux_piece *p = &f->pieces->data[piece];
	const struct ux_code_symbol *all = f->symbols->data;
	size_t first = *at; /* the first symbol at this address */
	for (; *at < f->symbols->size && all[*at].start < ux_piece_end(p); ++*at) {
		const struct ux_code_symbol *s = &all[*at];
		if (s->start != all[first].start)
			first = *at;
		if (s->name == ux_no_name || s->name_size > f->left)
			continue;
		f->left -= s->name_size;
		if (s->start == p->start && symbol_has_name(s, p->name)) {
			*ret_named = true;
			continue;
		}
		struct ux_piece_symbol made = {(uint32_t)piece, (uint32_t)(s->start - p->start),
					       symbol_text(s)};
		if (*at - first < UX_CODE_ALIASES_MAX &&
		    !ux_piece_symbol_vec_append(&f->ret->names, made))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code finder_read_pieces(struct symbol_finder *f, struct ux_error *err)
{
	size_t at = 0;
	for (size_t i = 0; i < f->pieces->size; i++) {
		const struct ux_piece *p = &f->pieces->data[i];
		bool named = p->name == ux_no_name;
		while (at < f->symbols->size && f->symbols->data[at].start < p->start)
			at++;
		UX_TRY(finder_read_piece(f, i, &at, &named, err));
		struct nameless_piece made = {.piece = (uint32_t)i};
		f->has_parts |= !named && p->part;
		if (!named && !nameless_piece_vec_append(&f->nameless, made))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static int nameless_by_hash(const void *x, const void *y)
{
	const struct nameless_piece *a = x, *b = y;
	UX_ORDER(a->hash, b->hash);
	UX_ORDER(a->piece, b->piece);
	return 0;
}

static int nameless_by_piece(const void *x, const void *y)
{
	const struct nameless_piece *a = x, *b = y;
	UX_ORDER(a->piece, b->piece);
	return 0;
}

static void nameless_sort(struct nameless_piece_vec *v, int (*by)(const void *, const void *))
{
	if (v->size > 1)
		qsort(v->data, v->size, sizeof(*v->data), by);
}

/* Hashes the names of the nameless pieces, and sorts the pieces by hash. Pieces with names that
 * exceed the limit are dropped. */
static enum ux_code finder_hash(struct symbol_finder *f, struct ux_error *err)
{
	struct nameless_piece_vec *v = &f->nameless;
	size_t kept = 0;
	f->mask = 63;
	while (f->mask / 8 < v->size)
		f->mask = f->mask * 2 + 1;
	f->seen = calloc((size_t)(f->mask + 1) / 64, sizeof(*f->seen));
	if (!f->seen)
		return ux_error_nomem(err);
	for (size_t i = 0; i < v->size; i++) {
		struct nameless_piece n = v->data[i];
		struct ux_bytes name = ux_bytes_cstr(f->pieces->data[n.piece].name);
		if (name.size > f->left)
			break;
		f->left -= name.size;
		n.hash = ux_hash_bytes(name);
		f->seen[(n.hash & f->mask) / 64] |= UINT64_C(1) << n.hash % 64;
		v->data[kept++] = n;
	}
	v->size = kept;
	nameless_sort(v, nameless_by_hash);
	return UX_OK;
}

/* Marks the nameless pieces that have the symbol's name. */
static void finder_mark(struct symbol_finder *f, const struct ux_code_symbol *s)
{
	struct nameless_piece *v = f->nameless.data;
	uint64_t hash = ux_hash_bytes(symbol_text(s));
	if ((f->seen[(hash & f->mask) / 64] >> hash % 64 & 1) == 0)
		return;
	size_t lo = ux_partition_point(i, 0, f->nameless.size, v[i].hash < hash);
	/* Of several pieces with one name, all are marked in the same pass. */
	for (; lo < f->nameless.size && v[lo].hash == hash && !v[lo].part; lo++)
		v[lo].part = symbol_has_name(s, f->pieces->data[v[lo].piece].name);
}

/* Marks the parts of functions in a run of nameless pieces with one hash, if another piece of it
 * is a start. */
static void finder_mark_run(struct symbol_finder *f, size_t first, size_t end)
{
	struct nameless_piece *v = f->nameless.data;
	const struct ux_piece *pieces = f->pieces->data;
	const char *start = NULL;
	for (size_t i = first; i < end && !start; i++)
		start = pieces[v[i].piece].part ? NULL : pieces[v[i].piece].name;
	for (size_t i = first; start && i < end; i++) {
		const struct ux_piece *p = &pieces[v[i].piece];
		v[i].part |= p->part && (p->name == start || strcmp(p->name, start) == 0);
	}
}

/* Marks the parts of functions that have no symbols. */
static void finder_mark_parts(struct symbol_finder *f)
{
	const struct nameless_piece *v = f->nameless.data;
	size_t n = f->nameless.size;
	for (size_t first = 0, end = 0; first < n; first = end) {
		while (end < n && v[end].hash == v[first].hash)
			end++;
		finder_mark_run(f, first, end);
	}
}

/* Finds the pieces that have the name of a symbol or piece elsewhere. */
static enum ux_code finder_find_parts(struct symbol_finder *f, struct ux_error *err)
{
	if (f->nameless.size == 0 || (f->symbols->size == 0 && !f->has_parts))
		return UX_OK;
	UX_TRY(finder_hash(f, err));
	for (size_t i = 0; i < f->symbols->size; i++) {
		const struct ux_code_symbol *s = &f->symbols->data[i];
		if (s->name == ux_no_name || s->name_size > f->left)
			continue;
		f->left -= s->name_size;
		finder_mark(f, s);
	}
	if (f->has_parts)
		finder_mark_parts(f);
	nameless_sort(&f->nameless, nameless_by_piece);
	for (size_t i = 0; i < f->nameless.size; i++) {
		const struct nameless_piece *n = &f->nameless.data[i];
		if (n->part && !ux_piece_number_vec_append(&f->ret->parts, n->piece))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

enum ux_code ux_piece_symbols_find(const struct ux_code_symbol_vec *symbols,
				   const struct ux_piece_vec *pieces, uint64_t bytes_max,
				   struct ux_piece_symbols *ret, struct ux_error *err)
{
	ux_cleanup(symbol_finder_deinit) struct symbol_finder f = {
		.symbols = symbols, .pieces = pieces, .left = bytes_max, .ret = ret};
	UX_TRY(finder_read_pieces(&f, err));
	return finder_find_parts(&f, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns numbers to names and files of all units. */
#include "numbering.h"

#include "pool.h"

enum {
	UNITS_IN_JOB = 16,
	PIECES_IN_JOB = 1 << 10,
	PIECES_AHEAD = 8, /* number of pieces ahead whose uses are prefetched, to hide the latency
			     of memory */
	CACHE_LINE = 64,  /* bytes */
	PLACES_MIN = 1 << 10,
	EXPECTED_PART = 4,  /* expected number of different names: 1/4 of the names of all groups */
	TEXT_MIN = 1 << 16, /* bytes of texts that each job may always read */
};

/* The hash table of one thread that finds the names and files that a group already has: 1 + the
 * index, keyed by a hash of pointers; 0 is an empty slot. */
struct ux_numbering_worker {
	uint32_t *places; /* malloc'ed */
	size_t cap;       /* a power of two, or 0 */
};

static void forget(struct ux_numbering *n)
{
	ux_string_table_deinit(&n->strings);
	ux_file_map_deinit(&n->known);
	n->files.size = n->columns.size = 0;
}

void ux_numbering_deinit(struct ux_numbering *n)
{
	forget(n);
	ux_file_vec_deinit(&n->files);
	ux_column_vec_deinit(&n->columns);
	for (size_t i = 0; n->groups && i < n->n_groups; i++) {
		ux_string_vec_deinit(&n->groups[i].names);
		ux_numbering_file_vec_deinit(&n->groups[i].files);
		ux_spill_free(n->groups[i].numbers);
	}
	for (unsigned i = 0; n->workers && i < n->threads; i++)
		free(n->workers[i].places);
	free(n->groups);
	free(n->workers);
	ux_spill_free(n->piece_names);
	ux_spill_free(n->by_unit);
	free(n->first_piece);
	ux_spill_free(n->first_slot);
	ux_spill_free(n->local);
	ux_spill_free(n->numbers);
	*n = (struct ux_numbering){0};
}

/* Sorts the pieces by unit, by a counting sort. */
static void sort_by_unit(struct ux_numbering *n)
{
	const struct ux_piece_vec *pieces = n->pieces;
	uint32_t *first = n->first_piece, sum = 0;
	for (size_t i = 0; i < pieces->size; i++)
		if (pieces->data[i].unit != UX_PIECE_NO_UNIT)
			first[pieces->data[i].unit + 1]++;
	for (size_t u = 0; u <= n->collection->n_units; u++)
		first[u] = sum += first[u];
	for (size_t i = 0; i < pieces->size; i++)
		if (pieces->data[i].unit != UX_PIECE_NO_UNIT)
			n->by_unit[first[pieces->data[i].unit]++] = (uint32_t)i;
	/* Each index has advanced to where the next unit begins. */
	memmove(first + 1, first, n->collection->n_units * sizeof(*first));
	first[0] = 0;
}

static uint32_t *names_of(const struct ux_numbering *n, uint32_t *of, size_t unit)
{
	return of + n->first_slot[unit];
}

static uint32_t *files_of(const struct ux_numbering *n, uint32_t *of, size_t unit)
{
	return names_of(n, of, unit) + n->collection->units[unit].n_names;
}

static void count_uses(const struct ux_numbering *n, size_t unit, const struct ux_gsym_draft *draft)
{
	uint32_t *names = names_of(n, n->local, unit), *files = files_of(n, n->local, unit);
	uint32_t n_names = n->collection->units[unit].n_names;
	const uint32_t *ref = draft->refs;
	for (uint32_t i = 0; i < draft->n_sets; i++, ref += 2)
		files[ref[0]]++;
	for (uint32_t i = 0; i < draft->n_inlines; i++, ref += 2) {
		if (ref[0] < n_names)
			names[ref[0]] = 1;
		files[ref[1]]++;
	}
}

/* Prefetches the data that count_uses() will read of the pieces after number i in the order by
 * unit, up to number `end`. The pieces of a unit and their drafts may lie anywhere. (Always
 * inlined: gcc drops calls of a function that only prefetches.) */
ux_inline void prefetch_uses(const struct ux_numbering *n, uint32_t i, uint32_t end)
{
	const struct ux_piece *pieces = n->pieces->data;
	if (end - i > 2 * PIECES_AHEAD)
		__builtin_prefetch(&pieces[n->by_unit[i + 2 * PIECES_AHEAD]].draft.refs);
	if (end - i > PIECES_AHEAD) {
		/* NULL: the piece uses nothing */
		const uint32_t *refs = pieces[n->by_unit[i + PIECES_AHEAD]].draft.refs;
		ux_prefetch_at(refs, 0);
		ux_prefetch_at(refs, CACHE_LINE);
	}
}

/* Clears the worker's table and makes room for `max` items. */
static bool places_clear(struct ux_numbering_worker *w, size_t max)
{
	size_t cap = w->cap ? w->cap : PLACES_MIN;
	while (cap / 2 < max)
		cap *= 2;
	if (cap != w->cap) {
		free(w->places);
		w->places = malloc(cap * sizeof(*w->places));
		w->cap = w->places ? cap : 0;
	}
	if (w->places)
		memset(w->places, 0, w->cap * sizeof(*w->places));
	return w->places != NULL;
}

/* Sets *ret to 1 + the name's index in the group, where it is added if necessary. */
static bool group_add_name(struct ux_numbering_group *g, struct ux_numbering_worker *w,
			   const char *text, uint32_t *ret)
{
	size_t mask = w->cap - 1, i = ux_hash_u64((uintptr_t)text) & mask;
	while (w->places[i] != 0 && g->names.data[w->places[i] - 1].text != text)
		i = (i + 1) & mask;
	if (w->places[i] == 0) {
		if (!ux_string_vec_append(&g->names, ux_string_of(text)))
			return false;
		w->places[i] = (uint32_t)g->names.size;
	}
	*ret = w->places[i];
	return true;
}

static uint64_t file_hash(const struct ux_code_file *file)
{
	return ux_hash_u64(ux_hash_u64((uintptr_t)file->dir) ^ (uintptr_t)file->base) ^
	       file->column * UINT64_C(0x9e3779b97f4a7c15);
}

/* As group_add_name(), for a file that is used `uses` more times. */
static bool group_add_file(struct ux_numbering_group *g, struct ux_numbering_worker *w,
			   const struct ux_code_file *file, uint32_t uses, uint32_t *ret)
{
	size_t mask = w->cap - 1, i = file_hash(file) & mask;
	for (; w->places[i] != 0; i = (i + 1) & mask) {
		const struct ux_numbering_file *have = &g->files.data[w->places[i] - 1];
		if (have->dir.text == file->dir && have->base.text == file->base &&
		    have->column == file->column)
			break;
	}
	if (w->places[i] == 0) {
		struct ux_numbering_file fresh = {ux_string_of(file->dir), ux_string_of(file->base),
						  file->column, 0};
		if (!ux_numbering_file_vec_append(&g->files, fresh))
			return false;
		w->places[i] = (uint32_t)g->files.size;
	}
	*ret = w->places[i];
	g->files.data[*ret - 1].uses += uses;
	return true;
}

/* Replaces the counted uses of the names of [first, end) by their indexes in the group. */
static bool group_add_names(const struct ux_numbering *n, struct ux_numbering_group *g,
			    struct ux_numbering_worker *w, size_t first, size_t end)
{
	size_t used = 0;
	for (size_t u = first; u < end; u++) {
		const uint32_t *local = names_of(n, n->local, u);
		for (uint32_t i = 0; i < n->collection->units[u].n_names; i++)
			used += local[i] > 0;
	}
	if (!places_clear(w, used) || !ux_string_vec_reserve(&g->names, used))
		return false;
	for (size_t u = first; u < end; u++) {
		const struct ux_unit_pieces *unit = &n->collection->units[u];
		uint32_t *local = names_of(n, n->local, u);
		for (uint32_t i = 0; i < unit->n_names; i++)
			if (local[i] > 0 && !group_add_name(g, w, unit->names[i], &local[i]))
				return false;
	}
	return true;
}

/* Does the same for files. File 0 is none in every unit. */
static bool group_add_files(const struct ux_numbering *n, struct ux_numbering_group *g,
			    struct ux_numbering_worker *w, size_t first, size_t end)
{
	size_t max = 0;
	for (size_t u = first; u < end; u++)
		max += n->collection->units[u].n_files;
	if (!places_clear(w, max))
		return false;
	for (size_t u = first; u < end; u++) {
		const struct ux_unit_pieces *unit = &n->collection->units[u];
		uint32_t *local = files_of(n, n->local, u);
		if (unit->n_files > 0)
			local[0] = 0;
		for (uint32_t i = 1; i < unit->n_files; i++)
			if (local[i] > 0 &&
			    !group_add_file(g, w, &unit->files[i], local[i], &local[i]))
				return false;
	}
	return true;
}

/* Finds the names and files that a group of units uses. */
static enum ux_code group_job(struct ux_numbering *n, size_t job, unsigned worker,
			      struct ux_error *err)
{
	assert(job < n->n_groups);
	struct ux_numbering_group *g = &n->groups[job];
	struct ux_numbering_worker *w = &n->workers[worker];
	size_t first = job * UNITS_IN_JOB;
	size_t end = ux_min(first + UNITS_IN_JOB, n->collection->n_units);
	uint64_t left = n->text_each;
	g->names.spill = g->files.spill = n->spill;
	for (size_t u = first; u < end; u++) {
		for (uint32_t i = n->first_piece[u]; i < n->first_piece[u + 1]; i++) {
			prefetch_uses(n, i, n->first_piece[end]);
			count_uses(n, u, &n->pieces->data[n->by_unit[i]].draft);
		}
	}
	if (!group_add_names(n, g, w, first, end) || !group_add_files(n, g, w, first, end))
		return ux_error_nomem(err);
	g->numbers =
		ux_spill_calloc(n->spill, g->names.size + g->files.size + 1, sizeof(*g->numbers));
	if (!g->numbers)
		return ux_error_nomem(err);
	ux_strings_measure(g->names.data, g->names.size, &left);
	for (size_t i = 0; i < g->files.size; i++) {
		ux_strings_measure(&g->files.data[i].dir, 1, &left);
		ux_strings_measure(&g->files.data[i].base, 1, &left);
	}
	return UX_OK;
}

/* Measures the names of some pieces. */
static void measure_piece_names(const struct ux_numbering *n, size_t job)
{
	size_t first = job * PIECES_IN_JOB, end = ux_min(first + PIECES_IN_JOB, n->pieces->size);
	uint64_t left = n->text_each;
	for (size_t i = first; i < end; i++)
		n->piece_names[i] = ux_string_of(n->pieces->data[i].name);
	ux_strings_measure(n->piece_names + first, end - first, &left);
}

static enum ux_code read_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct ux_numbering *n = ctx;
	if (job < n->n_groups)
		return group_job(n, job, worker, err);
	measure_piece_names(n, job - n->n_groups);
	return UX_OK;
}

enum ux_code ux_numbering_init(struct ux_numbering *n, const struct ux_collection *collection,
			       const struct ux_piece_vec *pieces, unsigned threads,
			       uint64_t text_max, struct ux_spill *spill, struct ux_error *err)
{
	size_t n_units = collection->n_units, slots = 0;
	size_t n_groups = (n_units + UNITS_IN_JOB - 1) / UNITS_IN_JOB;
	size_t n_jobs = n_groups + (pieces->size + PIECES_IN_JOB - 1) / PIECES_IN_JOB;
	*n = (struct ux_numbering){
		.collection = collection,
		.pieces = pieces,
		.threads = threads,
		.spill = spill,
		.text_each = TEXT_MIN + text_max / ux_max(n_jobs, (size_t)1),
		.groups = calloc(n_groups + 1, sizeof(*n->groups)),
		.n_groups = n_groups,
		.workers = calloc(threads + 1, sizeof(*n->workers)),
		.piece_names = ux_spill_calloc(spill, pieces->size + 1, sizeof(*n->piece_names)),
		.by_unit = ux_spill_calloc(spill, pieces->size + 1, sizeof(*n->by_unit)),
		.first_piece = calloc(n_units + 2, sizeof(*n->first_piece)),
		.first_slot = ux_spill_calloc(spill, n_units + 1, sizeof(*n->first_slot)),
	};
	if (!n->groups || !n->workers || !n->piece_names || !n->by_unit || !n->first_piece ||
	    !n->first_slot)
		return ux_error_nomem(err);
	for (size_t u = 0; u < n_units; u++) {
		n->first_slot[u] = slots;
		slots += (size_t)collection->units[u].n_names + collection->units[u].n_files;
	}
	n->local = ux_spill_calloc(spill, slots + 1, sizeof(*n->local));
	n->numbers = ux_spill_calloc(spill, slots + 1, sizeof(*n->numbers));
	if (!n->local || !n->numbers)
		return ux_error_nomem(err);
	sort_by_unit(n);
	return ux_pool_run(threads, n_jobs, read_job, n, err);
}

static void number_names(struct ux_numbering *n, struct ux_numbering_group *g)
{
	const struct ux_string_vec *names = &g->names;
	for (size_t i = 0; i < names->size; i++) {
		if (i + UX_STRINGS_AHEAD < names->size)
			ux_string_table_prefetch(&n->strings, &names->data[i + UX_STRINGS_AHEAD]);
		g->numbers[i] = ux_string_table_add(&n->strings, &names->data[i]);
	}
}

/* How often each file is used, in the order of n->files. */
UX_VEC(count_vec, uint64_t);

/* Adds the group's files to n->files; counts gets an element for each of them. */
static bool add_files(struct ux_numbering *n, struct ux_numbering_group *g,
		      struct count_vec *counts)
{
	for (size_t i = 0; i < g->files.size; i++) {
		const struct ux_numbering_file *file = &g->files.data[i];
		struct ux_file_pair pair;
		pair.dir = ux_string_table_add(&n->strings, &file->dir);
		pair.base = ux_string_table_add(&n->strings, &file->base);
		pair.column = file->column;
		bool fresh = false;
		uint32_t *number = ux_file_map_insert(&n->known, pair, &fresh);
		if (!number)
			return false;
		if (fresh) {
			*number = (uint32_t)n->files.size;
			struct ux_gsym_file_entry entry = {pair.dir, pair.base};
			if (!ux_file_vec_append(&n->files, entry) || !count_vec_append(counts, 0) ||
			    !ux_column_vec_append(&n->columns, file->column))
				return false;
		}
		g->numbers[g->names.size + i] = *number;
		counts->data[*number] += file->uses;
	}
	return true;
}

struct rank {
	uint64_t count;
	uint32_t place;
};

static int by_count(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

/* Sorts n->files by use. *ret has the new index of each file. */
static bool order_files(struct ux_numbering *n, const struct count_vec *counts, uint32_t **ret)
{
	size_t size = n->files.size;
	ux_cleanup(ux_free_ptr) struct rank *ranks = calloc(size, sizeof(*ranks));
	ux_cleanup(ux_free_ptr) struct ux_gsym_file_entry *old = calloc(size, sizeof(*old));
	ux_cleanup(ux_free_ptr) uint16_t *columns = calloc(size, sizeof(*columns));
	uint32_t *moved = calloc(size, sizeof(*moved));
	*ret = moved;
	if (!ranks || !old || !columns || !moved)
		return false;
	for (size_t i = 0; i < size; i++)
		ranks[i] = (struct rank){counts->data[i], (uint32_t)i};
	memcpy(old, n->files.data, size * sizeof(*old));
	memcpy(columns, n->columns.data, size * sizeof(*columns));
	qsort(ranks + 1, size - 1, sizeof(*ranks), by_count);
	for (size_t i = 0; i < size; i++) {
		n->files.data[i] = old[ranks[i].place];
		n->columns.data[i] = columns[ranks[i].place];
		moved[ranks[i].place] = (uint32_t)i;
	}
	return true;
}

static bool number_files(struct ux_numbering *n)
{
	ux_cleanup(count_vec_deinit) struct count_vec counts = {0};
	ux_cleanup(ux_free_ptr) uint32_t *moved = NULL;
	if (!ux_file_vec_append(&n->files, (struct ux_gsym_file_entry){0, 0}) ||
	    !ux_column_vec_append(&n->columns, 0) || !count_vec_append(&counts, 0))
		return false;
	for (size_t k = 0; k < n->n_groups; k++)
		if (!add_files(n, &n->groups[k], &counts))
			return false;
	if (!order_files(n, &counts, &moved))
		return false;
	for (size_t k = 0; k < n->n_groups; k++) {
		struct ux_numbering_group *g = &n->groups[k];
		uint32_t *numbers = g->numbers + g->names.size;
		for (size_t i = 0; i < g->files.size; i++)
			numbers[i] = moved[numbers[i]];
	}
	return true;
}

/* Gives the names and files of a group's units their final numbers. */
static enum ux_code spread_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct ux_numbering *n = ctx;
	const struct ux_numbering_group *g = &n->groups[job];
	size_t end = ux_min((job + 1) * UNITS_IN_JOB, n->collection->n_units);
	(void)worker;
	(void)err;
	for (size_t u = job * UNITS_IN_JOB; u < end; u++) {
		const struct ux_unit_pieces *unit = &n->collection->units[u];
		const uint32_t *names = names_of(n, n->local, u), *files = files_of(n, n->local, u);
		uint32_t *of_names = names_of(n, n->numbers, u);
		uint32_t *of_files = files_of(n, n->numbers, u);
		for (uint32_t i = 0; i < unit->n_names; i++)
			of_names[i] = names[i] > 0 ? g->numbers[names[i] - 1] : 0;
		for (uint32_t i = 0; i < unit->n_files; i++)
			of_files[i] = files[i] > 0 ? g->numbers[g->names.size + files[i] - 1] : 0;
	}
	return UX_OK;
}

enum ux_code ux_numbering_assign(struct ux_numbering *n, uint64_t limit, unsigned shift,
				 struct ux_error *err)
{
	size_t max = n->pieces->size;
	forget(n);
	for (size_t k = 0; k < n->n_groups; k++)
		max += n->groups[k].names.size;
	ux_string_table_init(&n->strings, limit, shift, max / EXPECTED_PART, n->spill);
	for (size_t k = 0; k < n->n_groups; k++)
		number_names(n, &n->groups[k]);
	if (!number_files(n))
		return ux_error_nomem(err);
	return ux_string_table_status(&n->strings, err);
}

enum ux_code ux_numbering_spread(struct ux_numbering *n, struct ux_error *err)
{
	return ux_pool_run(n->threads, n->n_groups, spread_job, n, err);
}

struct ux_gsym_numbers ux_numbering_of(const struct ux_numbering *n, uint32_t unit)
{
	assert(unit < n->collection->n_units);
	return (struct ux_gsym_numbers){
		.names = names_of(n, n->numbers, unit),
		.files = files_of(n, n->numbers, unit),
		.n_names = n->collection->units[unit].n_names,
	};
}

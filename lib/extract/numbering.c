/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns numbers to names and files of all units. */
#include "numbering.h"

#include "pool.h"

enum {
	UNITS_IN_JOB = 16
};

static void forget(struct ux_numbering *n)
{
	ux_string_table_deinit(&n->strings);
	ux_file_map_deinit(&n->known);
	n->files.size = 0;
}

void ux_numbering_deinit(struct ux_numbering *n)
{
	forget(n);
	ux_file_vec_deinit(&n->files);
	free(n->by_unit);
	free(n->first_piece);
	free(n->first_slot);
	free(n->uses);
	free(n->numbers);
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
	uint32_t *names = names_of(n, n->uses, unit), *files = files_of(n, n->uses, unit);
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

static enum ux_code count_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	const struct ux_numbering *n = ctx;
	size_t end = ux_min((job + 1) * UNITS_IN_JOB, n->collection->n_units);
	(void)worker;
	(void)err;
	for (size_t u = job * UNITS_IN_JOB; u < end; u++)
		for (uint32_t i = n->first_piece[u]; i < n->first_piece[u + 1]; i++)
			count_uses(n, u, &n->pieces->data[n->by_unit[i]].draft);
	return UX_OK;
}

enum ux_code ux_numbering_init(struct ux_numbering *n, const struct ux_collection *collection,
			       const struct ux_piece_vec *pieces, unsigned threads,
			       struct ux_error *err)
{
	size_t n_units = collection->n_units, slots = 0;
	*n = (struct ux_numbering){
		.collection = collection,
		.pieces = pieces,
		.by_unit = calloc(pieces->size + 1, sizeof(*n->by_unit)),
		.first_piece = calloc(n_units + 2, sizeof(*n->first_piece)),
		.first_slot = calloc(n_units + 1, sizeof(*n->first_slot)),
	};
	if (!n->by_unit || !n->first_piece || !n->first_slot)
		return ux_error_nomem(err);
	for (size_t u = 0; u < n_units; u++) {
		n->first_slot[u] = slots;
		slots += (size_t)collection->units[u].n_names + collection->units[u].n_files;
	}
	n->uses = calloc(slots + 1, sizeof(*n->uses));
	n->numbers = calloc(slots + 1, sizeof(*n->numbers));
	if (!n->uses || !n->numbers)
		return ux_error_nomem(err);
	sort_by_unit(n);
	return ux_pool_run(threads, (n_units + UNITS_IN_JOB - 1) / UNITS_IN_JOB, count_job, n, err);
}

static void number_names(struct ux_numbering *n, size_t unit)
{
	const struct ux_unit_pieces *from = &n->collection->units[unit];
	const uint32_t *uses = names_of(n, n->uses, unit);
	uint32_t *numbers = names_of(n, n->numbers, unit);
	for (uint32_t i = 0; i < from->n_names; i++) {
		if (i + UX_STRINGS_AHEAD < from->n_names)
			ux_string_table_prefetch(&n->strings, from->names[i + UX_STRINGS_AHEAD]);
		if (uses[i] > 0)
			numbers[i] = ux_string_table_add(&n->strings, from->names[i]);
	}
}

/* How often each file is used, in the order of n->files. */
UX_VEC(count_vec, uint64_t);

/* Adds the unit's files to n->files; counts gets an element for each of them. */
static bool add_files(struct ux_numbering *n, size_t unit, struct count_vec *counts)
{
	const struct ux_unit_pieces *from = &n->collection->units[unit];
	const uint32_t *uses = files_of(n, n->uses, unit);
	uint32_t *numbers = files_of(n, n->numbers, unit);
	for (uint32_t i = 1; i < from->n_files; i++) {
		if (uses[i] == 0)
			continue;
		struct ux_file_pair pair = {ux_string_table_add(&n->strings, from->files[i].dir),
					    ux_string_table_add(&n->strings, from->files[i].base)};
		bool fresh = false;
		uint32_t *number = ux_file_map_insert(&n->known, pair, &fresh);
		if (!number)
			return false;
		if (fresh) {
			*number = (uint32_t)n->files.size;
			struct ux_gsym_file_entry entry = {pair.dir, pair.base};
			if (!ux_file_vec_append(&n->files, entry) || !count_vec_append(counts, 0))
				return false;
		}
		numbers[i] = *number;
		counts->data[*number] += uses[i];
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
	uint32_t *moved = calloc(size, sizeof(*moved));
	*ret = moved;
	if (!ranks || !old || !moved)
		return false;
	for (size_t i = 0; i < size; i++)
		ranks[i] = (struct rank){counts->data[i], (uint32_t)i};
	memcpy(old, n->files.data, size * sizeof(*old));
	qsort(ranks + 1, size - 1, sizeof(*ranks), by_count);
	for (size_t i = 0; i < size; i++) {
		n->files.data[i] = old[ranks[i].place];
		moved[ranks[i].place] = (uint32_t)i;
	}
	return true;
}

static bool number_files(struct ux_numbering *n)
{
	ux_cleanup(count_vec_deinit) struct count_vec counts = {0};
	ux_cleanup(ux_free_ptr) uint32_t *moved = NULL;
	if (!ux_file_vec_append(&n->files, (struct ux_gsym_file_entry){0, 0}) ||
	    !count_vec_append(&counts, 0))
		return false;
	for (size_t u = 0; u < n->collection->n_units; u++)
		if (!add_files(n, u, &counts))
			return false;
	if (!order_files(n, &counts, &moved))
		return false;
	for (size_t u = 0; u < n->collection->n_units; u++) {
		uint32_t *numbers = files_of(n, n->numbers, u);
		for (uint32_t i = 0; i < n->collection->units[u].n_files; i++)
			numbers[i] = moved[numbers[i]];
	}
	return true;
}

enum ux_code ux_numbering_assign(struct ux_numbering *n, uint64_t limit, unsigned shift,
				 struct ux_error *err)
{
	forget(n);
	ux_string_table_init(&n->strings, limit, shift);
	for (size_t u = 0; u < n->collection->n_units; u++)
		number_names(n, u);
	if (!number_files(n))
		return ux_error_nomem(err);
	return ux_string_table_status(&n->strings, err);
}

struct ux_gsym_numbers ux_numbering_of(const struct ux_numbering *n, uint32_t unit)
{
	return (struct ux_gsym_numbers){
		.names = names_of(n, n->numbers, unit),
		.files = files_of(n, n->numbers, unit),
		.n_names = n->collection->units[unit].n_names,
	};
}

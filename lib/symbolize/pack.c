/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces into a GSYM. */
#include "pack.h"

#include "pool.h"
#include "string_table.h"

enum {
	JOB_PIECES = 256
}; /* functions one job encodes: small enough to balance */

/* Of one thread's records. They follow from pieces, which have a budget of their own. */
#define RECORDS_BUDGET (UINT64_C(1) << 36)

enum {
	STRING_STEPS = 4 /* strings of over 4 GiB begin at multiples of 2^this: up to 64 GiB */
};

/* A unit's numbers in the GSYM; UINT32_MAX: not met yet. */
struct numbering {
	uint32_t *names;
	uint32_t *files;
};

struct ux_file_pair {
	uint32_t dir;
	uint32_t base;
};

ux_inline uint64_t pair_hash(struct ux_file_pair p)
{
	return ux_hash_u64((uint64_t)p.dir << 32 | p.base);
}

ux_inline bool pair_eq(struct ux_file_pair a, struct ux_file_pair b)
{
	return a.dir == b.dir && a.base == b.base;
}

UX_MAP(file_map, struct ux_file_pair, uint32_t, pair_hash, pair_eq);
UX_VEC(file_vec, struct ux_gsym_file_entry);

struct packer {
	const struct ux_collection *collection;
	const struct ux_piece_vec *pieces;
	const struct ux_pack_target *target;
	struct ux_string_table strings;
	struct file_map file_numbers;
	struct file_vec files;
	struct numbering *units;
	uint32_t *names; /* of each piece */
	uint64_t *starts;
	uint64_t *records;
	uint32_t *merged;        /* names of the alternatives */
	struct ux_arena *arenas; /* one a thread: finished records */
	struct ux_out *outs;     /* one a thread: the job's records while they are made */
	struct ux_bytes *data;   /* one a job, in an arena */
	size_t n_jobs;
};

/* Forgets all numbers that were given. */
static void forget_numbers(struct packer *p)
{
	ux_string_table_deinit(&p->strings);
	file_map_deinit(&p->file_numbers);
	file_vec_deinit(&p->files);
	for (size_t i = 0; p->units && i < p->collection->n_units; i++) {
		free(ux_take(&p->units[i].names));
		free(ux_take(&p->units[i].files));
	}
}

static void packer_deinit(struct packer *p)
{
	forget_numbers(p);
	for (unsigned i = 0; p->outs && i < p->target->threads; i++)
		ux_out_deinit(&p->outs[i]);
	for (unsigned i = 0; p->arenas && i < p->target->threads; i++)
		ux_arena_deinit(&p->arenas[i]);
	free(p->units);
	free(p->names);
	free(p->starts);
	free(p->records);
	free(p->merged);
	free(p->arenas);
	free(p->outs);
	free(p->data);
}

static size_t n_alternatives(const struct packer *p)
{
	return p->target->alternatives ? p->target->alternatives->size : 0;
}

static enum ux_code packer_init(struct packer *p, struct ux_error *err)
{
	size_t n = p->pieces->size;
	p->n_jobs = (n + JOB_PIECES - 1) / JOB_PIECES;
	p->units = calloc(p->collection->n_units + 1, sizeof(*p->units));
	p->names = calloc(n + 1, sizeof(*p->names));
	p->starts = calloc(n + 1, sizeof(*p->starts));
	p->records = calloc(n + 1, sizeof(*p->records));
	p->merged = calloc(n_alternatives(p) + 1, sizeof(*p->merged));
	p->arenas = calloc(p->target->threads, sizeof(*p->arenas));
	p->outs = calloc(p->target->threads, sizeof(*p->outs));
	p->data = calloc(p->n_jobs + 1, sizeof(*p->data));
	if (!p->units || !p->names || !p->starts || !p->records || !p->merged || !p->arenas ||
	    !p->outs || !p->data)
		return ux_error_nomem(err);
	for (unsigned i = 0; i < p->target->threads; i++) {
		ux_arena_init(&p->arenas[i], RECORDS_BUDGET);
		p->arenas[i].spill = p->target->spill;
	}
	return UX_OK;
}

static uint32_t *unmet(size_t n)
{
	uint32_t *numbers = malloc((n + 1) * sizeof(*numbers));
	if (numbers)
		memset(numbers, 0xff, (n + 1) * sizeof(*numbers));
	return numbers;
}

static struct numbering *numbering_of(struct packer *p, uint32_t unit)
{
	struct numbering *n = &p->units[unit];
	const struct ux_unit_pieces *pieces = &p->collection->units[unit];
	if (!n->names) {
		n->names = unmet(pieces->n_names);
		n->files = unmet(pieces->n_files);
	}
	return n->names && n->files ? n : NULL;
}

/* The GSYM's number of a file; false when memory is short. */
static bool number_file(struct packer *p, const struct ux_source_file *file, uint32_t *ret)
{
	struct ux_file_pair pair = {ux_string_table_add(&p->strings, file->dir),
				    ux_string_table_add(&p->strings, file->base)};
	bool fresh = false;
	uint32_t *number = file_map_insert(&p->file_numbers, pair, &fresh);
	if (!number)
		return false;
	if (fresh) {
		*number = (uint32_t)p->files.size;
		if (!file_vec_append(&p->files, (struct ux_gsym_file_entry){pair.dir, pair.base}))
			return false;
	}
	*ret = *number;
	return true;
}

static bool meet_file(struct packer *p, struct numbering *n, uint32_t unit, uint32_t file)
{
	if (n->files[file] != UINT32_MAX)
		return true;
	if (file == 0) {
		n->files[0] = 0;
		return true;
	}
	return number_file(p, &p->collection->units[unit].files[file], &n->files[file]);
}

/* Gives numbers to all that a piece uses. */
static bool meet_piece(struct packer *p, const struct ux_piece *piece, uint32_t *ret_name)
{
	*ret_name = ux_string_table_add(&p->strings, piece->name);
	if (piece->unit == UX_PIECE_NO_UNIT)
		return true;
	const struct ux_unit_pieces *unit = &p->collection->units[piece->unit];
	struct numbering *n = numbering_of(p, piece->unit);
	if (!n)
		return false;
	uint32_t last = UINT32_MAX;
	for (uint32_t i = 0; i < piece->n_rows; i++) {
		if (piece->rows[i].file != last &&
		    !meet_file(p, n, piece->unit, piece->rows[i].file))
			return false;
		last = piece->rows[i].file;
	}
	for (uint32_t i = 0; i < piece->n_inlines; i++) {
		const struct ux_gsym_inline *node = &piece->inlines[i];
		if (node->name < unit->n_names && n->names[node->name] == UINT32_MAX)
			n->names[node->name] =
				ux_string_table_add(&p->strings, unit->names[node->name]);
		if (!meet_file(p, n, piece->unit, node->call_file))
			return false;
	}
	return true;
}

static enum ux_code number_pieces(struct packer *p, unsigned shift, struct ux_error *err)
{
	const struct ux_alternative *other =
		n_alternatives(p) ? p->target->alternatives->data : NULL;
	uint64_t limit = p->target->strings_most;
	size_t n = 0;
	if (shift == 0 && p->target->v1_most > 0)
		limit = ux_min(limit, p->target->v1_most);
	ux_string_table_init(&p->strings, limit, shift);
	if (!file_vec_append(&p->files, (struct ux_gsym_file_entry){0, 0}))
		return ux_error_nomem(err);
	for (size_t i = 0; i < p->pieces->size; i++) {
		if (!meet_piece(p, &p->pieces->data[i], &p->names[i]))
			return ux_error_nomem(err);
		for (; n < n_alternatives(p) && other[n].piece == i; n++)
			p->merged[n] = ux_string_table_add(&p->strings, other[n].name);
		p->starts[i] = p->pieces->data[i].start;
	}
	return ux_string_table_status(&p->strings, err);
}

/* Strings that version 1 cannot hold are numbered again, in steps. */
static enum ux_code number_all(struct packer *p, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = number_pieces(p, 0, &why);
	if (code == UX_ELIMIT && p->target->version != 1 &&
	    p->strings.limit < p->target->strings_most) {
		forget_numbers(p);
		return number_pieces(p, STRING_STEPS, err);
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/* The first alternative of a piece that is not before `piece`. */
static size_t alternatives_from(const struct packer *p, size_t piece)
{
	size_t lo = 0, hi = n_alternatives(p);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p->target->alternatives->data[mid].piece < piece)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void renumber(const struct packer *p, const struct ux_piece *piece)
{
	if (piece->unit == UX_PIECE_NO_UNIT)
		return;
	const struct numbering *n = &p->units[piece->unit];
	uint32_t n_names = p->collection->units[piece->unit].n_names;
	for (uint32_t i = 0; i < piece->n_rows; i++)
		piece->rows[i].file = n->files[piece->rows[i].file];
	for (uint32_t i = 0; i < piece->n_inlines; i++) {
		struct ux_gsym_inline *node = &piece->inlines[i];
		node->name = node->name < n_names ? n->names[node->name] : 0;
		node->call_file = n->files[node->call_file];
	}
}

static enum ux_code encode_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct packer *p = ctx;
	struct ux_out *out = &p->outs[worker];
	size_t end = ux_min((job + 1) * JOB_PIECES, p->pieces->size);
	ux_out_reset(out);
	out->swap = p->target->swap;
	size_t other = alternatives_from(p, job * JOB_PIECES);
	for (size_t i = job * JOB_PIECES; i < end; i++) {
		const struct ux_piece *piece = &p->pieces->data[i];
		size_t other_end = alternatives_from(p, i + 1);
		renumber(p, piece);
		p->records[i] = out->size;
		ux_gsym_encode_function(out, &(struct ux_gsym_function){
						     .start = piece->start,
						     .size = piece->size,
						     .name = p->names[i],
						     .rows = piece->rows,
						     .n_rows = piece->n_rows,
						     .inlines = piece->inlines,
						     .n_inlines = piece->n_inlines,
						     .ranges = piece->ranges,
						     .merged = p->merged + other,
						     .n_merged = other_end - other,
					     });
		other = other_end;
	}
	UX_TRY(ux_out_status(out, err));
	uint8_t *copy = ux_arena_alloc(&p->arenas[worker], out->size, 4);
	if (!copy)
		return ux_arena_fail(&p->arenas[worker], err);
	memcpy(copy, out->data, out->size);
	p->data[job] = ux_bytes(copy, out->size);
	return UX_OK;
}

/* Record offsets count from the first job's record; a job knows only its own. */
static void join(struct packer *p)
{
	uint64_t before = 0;
	for (size_t job = 0; job < p->n_jobs; job++) {
		size_t end = ux_min((job + 1) * JOB_PIECES, p->pieces->size);
		for (size_t i = job * JOB_PIECES; i < end; i++)
			p->records[i] += before;
		before += p->data[job].size;
	}
}

enum ux_code ux_pack(const struct ux_collection *collection, const struct ux_piece_vec *pieces,
		     const struct ux_pack_target *target, ux_gsym_sink_fn *sink, void *ctx,
		     struct ux_error *err)
{
	ux_cleanup(packer_deinit) struct packer p = {
		.collection = collection, .pieces = pieces, .target = target};
	UX_TRY(packer_init(&p, err));
	UX_TRY(number_all(&p, err));
	UX_TRY(ux_pool_run(target->threads, p.n_jobs, encode_job, &p, err));
	join(&p);
	struct ux_gsym_image image = {
		.version = target->version,
		.v1_most = target->v1_most,
		.swap = target->swap,
		.base = target->base,
		.uuid = target->uuid,
		.n_functions = pieces->size,
		.starts = p.starts,
		.records = p.records,
		.n_files = p.files.size,
		.files = p.files.data,
		.strings = ux_out_bytes(&p.strings.bytes),
		.string_shift = p.strings.shift,
		.data = p.data,
		.n_data = p.n_jobs,
	};
	return ux_gsym_image_write(&image, sink, ctx, err);
}

void ux_pack_count(const struct ux_piece_vec *pieces, struct ux_counts *ret)
{
	struct ux_counts counts = {.functions = pieces->size};
	for (size_t i = 0; i < pieces->size; i++) {
		const struct ux_piece *p = &pieces->data[i];
		counts.inlines += p->n_inlines;
		counts.rows += p->n_rows;
		counts.code_bytes += p->size;
		for (uint32_t r = 0; r < p->n_rows; r++) {
			uint32_t end = r + 1 < p->n_rows ? p->rows[r + 1].off : p->size;
			counts.line_bytes += p->rows[r].line != 0 ? end - p->rows[r].off : 0;
		}
	}
	*ret = counts;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces into a GSYM. */
#include "pack.h"

#include "pool.h"
#include "string_table.h"

enum {
	JOB_PIECES = 256
}; /* functions one job encodes: small enough to balance */

/* Of the records: what GSYM 1 can hold, and some for the ends of blocks. */
#define RECORDS_BUDGET (UINT64_C(6) << 30)

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
	uint32_t *records;
	struct ux_arena *arenas; /* one a thread: finished records */
	struct ux_out *outs;     /* one a thread: the job's records while they are made */
	struct ux_bytes *data;   /* one a job, in an arena */
	size_t n_jobs;
};

static void packer_deinit(struct packer *p)
{
	ux_string_table_deinit(&p->strings);
	file_map_deinit(&p->file_numbers);
	file_vec_deinit(&p->files);
	for (size_t i = 0; p->units && i < p->collection->n_units; i++) {
		free(p->units[i].names);
		free(p->units[i].files);
	}
	for (unsigned i = 0; p->outs && i < p->target->threads; i++)
		ux_out_deinit(&p->outs[i]);
	for (unsigned i = 0; p->arenas && i < p->target->threads; i++)
		ux_arena_deinit(&p->arenas[i]);
	free(p->units);
	free(p->names);
	free(p->starts);
	free(p->records);
	free(p->arenas);
	free(p->outs);
	free(p->data);
}

static enum ux_code packer_init(struct packer *p, struct ux_error *err)
{
	size_t n = p->pieces->size;
	ux_string_table_init(&p->strings, p->target->strings_most);
	p->n_jobs = (n + JOB_PIECES - 1) / JOB_PIECES;
	p->units = calloc(p->collection->n_units + 1, sizeof(*p->units));
	p->names = calloc(n + 1, sizeof(*p->names));
	p->starts = calloc(n + 1, sizeof(*p->starts));
	p->records = calloc(n + 1, sizeof(*p->records));
	p->arenas = calloc(p->target->threads, sizeof(*p->arenas));
	p->outs = calloc(p->target->threads, sizeof(*p->outs));
	p->data = calloc(p->n_jobs + 1, sizeof(*p->data));
	if (!p->units || !p->names || !p->starts || !p->records || !p->arenas || !p->outs ||
	    !p->data || !file_vec_append(&p->files, (struct ux_gsym_file_entry){0, 0}))
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

static enum ux_code number_all(struct packer *p, struct ux_error *err)
{
	for (size_t i = 0; i < p->pieces->size; i++) {
		if (!meet_piece(p, &p->pieces->data[i], &p->names[i]))
			return ux_error_nomem(err);
		p->starts[i] = p->pieces->data[i].start;
	}
	return ux_string_table_status(&p->strings, err);
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
	for (size_t i = job * JOB_PIECES; i < end; i++) {
		const struct ux_piece *piece = &p->pieces->data[i];
		renumber(p, piece);
		if (out->size > UINT32_MAX)
			return ux_error_set(err, UX_ELIMIT, "records of over 4 GiB");
		p->records[i] = (uint32_t)out->size;
		ux_gsym_encode_function(out, &(struct ux_gsym_function){
						     .start = piece->start,
						     .size = piece->size,
						     .name = p->names[i],
						     .rows = piece->rows,
						     .n_rows = piece->n_rows,
						     .inlines = piece->inlines,
						     .n_inlines = piece->n_inlines,
						     .ranges = piece->ranges,
					     });
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
static enum ux_code join(struct packer *p, struct ux_error *err)
{
	uint64_t before = 0;
	for (size_t job = 0; job < p->n_jobs; job++) {
		size_t end = ux_min((job + 1) * JOB_PIECES, p->pieces->size);
		if (before + p->data[job].size > UINT32_MAX)
			return ux_error_set(err, UX_ELIMIT,
					    "records of over 4 GiB; GSYM 1 holds no more");
		for (size_t i = job * JOB_PIECES; i < end; i++)
			p->records[i] += (uint32_t)before;
		before += p->data[job].size;
	}
	return UX_OK;
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
	UX_TRY(join(&p, err));
	struct ux_gsym_image image = {
		.swap = target->swap,
		.base = target->base,
		.uuid = target->uuid,
		.n_functions = pieces->size,
		.starts = p.starts,
		.records = p.records,
		.n_files = p.files.size,
		.files = p.files.data,
		.strings = ux_out_bytes(&p.strings.bytes),
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Packs pieces into a GSYM. */
#include "pack.h"

#include "gsym_symbols.h"
#include "numbering.h"
#include "partition.h"
#include "pool.h"
#include "record_writer.h"

/* Limit of the records of one thread. They are made of pieces, which have a budget of their own. */
#define RECORDS_BUDGET (UINT64_C(1) << 36)

enum {
	JOB_PIECES = 256, /* functions that one job encodes; few, so that threads are evenly busy */
	MERGED_MAX = 32,  /* bytes that an alternative name adds to its record */
	STRING_STEPS = 4  /* strings of over 4 GiB begin at multiples of 2^STRING_STEPS, which
			     reaches 64 GiB */
};

struct packer {
	const struct ux_collection *collection;
	const struct ux_piece_vec *pieces;
	const struct ux_pack_target *target;
	struct ux_numbering numbering;
	uint32_t *names; /* name number of each piece */
	uint64_t *starts;
	uint64_t *records;
	uint32_t *merged;        /* name numbers of the alternatives */
	struct ux_arena *arenas; /* one for each thread; they hold finished records */
	/* one for each thread; the records of its job while they are encoded */
	struct ux_out *outs;
	struct ux_bytes *data; /* records of each job, in an arena */
	size_t n_jobs;
	void *ctx; /* context of target->place, if records are written immediately */
	struct ux_record_writer writer; /* used only then */
};

static void packer_deinit(struct packer *p)
{
	ux_numbering_deinit(&p->numbering);
	for (unsigned i = 0; p->outs && i < p->target->threads; i++)
		ux_out_deinit(&p->outs[i]);
	for (unsigned i = 0; p->arenas && i < p->target->threads; i++)
		ux_arena_deinit(&p->arenas[i]);
	ux_spill_free(p->names);
	ux_spill_free(p->starts);
	ux_spill_free(p->records);
	ux_spill_free(p->merged);
	free(p->arenas);
	free(p->outs);
	ux_spill_free(p->data);
	ux_record_writer_deinit(&p->writer);
}

static size_t n_alternatives(const struct packer *p)
{
	return p->target->alternatives ? p->target->alternatives->size : 0;
}

static enum ux_code packer_init(struct packer *p, struct ux_error *err)
{
	size_t n = p->pieces->size;
	struct ux_spill *spill = p->target->spill;
	p->n_jobs = (n + JOB_PIECES - 1) / JOB_PIECES;
	p->names = ux_spill_calloc(spill, n + 1, sizeof(*p->names));
	p->starts = ux_spill_calloc(spill, n + 1, sizeof(*p->starts));
	p->records = ux_spill_calloc(spill, n + 1, sizeof(*p->records));
	p->merged = ux_spill_calloc(spill, n_alternatives(p) + 1, sizeof(*p->merged));
	p->arenas = calloc(p->target->threads, sizeof(*p->arenas));
	p->outs = calloc(p->target->threads, sizeof(*p->outs));
	p->data = ux_spill_calloc(spill, p->n_jobs + 1, sizeof(*p->data));
	if (!p->names || !p->starts || !p->records || !p->merged || !p->arenas || !p->outs ||
	    !p->data)
		return ux_error_nomem(err);
	for (unsigned i = 0; i < p->target->threads; i++) {
		ux_arena_init(&p->arenas[i], RECORDS_BUDGET);
		p->arenas[i].spill = p->target->spill;
	}
	return ux_numbering_init(&p->numbering, p->collection, p->pieces, p->target->threads,
				 p->target->strings_max, spill, err);
}

static enum ux_code number_pieces(struct packer *p, unsigned shift, struct ux_error *err)
{
	const struct ux_alternative_vec *others = p->target->alternatives;
	struct ux_string_table *strings = &p->numbering.strings;
	uint64_t limit = p->target->strings_max;
	if (shift == 0 && p->target->v1_max > 0)
		limit = ux_min(limit, p->target->v1_max);
	UX_TRY(ux_numbering_assign(&p->numbering, limit, shift, err));
	const struct ux_string *names = p->numbering.piece_names;
	for (size_t i = 0; i < p->pieces->size; i++) {
		if (i + UX_STRINGS_AHEAD < p->pieces->size)
			ux_string_table_prefetch(strings, &names[i + UX_STRINGS_AHEAD]);
		p->names[i] = ux_string_table_add(strings, &names[i]);
		p->starts[i] = p->pieces->data[i].start;
	}
	for (size_t i = 0; i < n_alternatives(p); i++) {
		struct ux_string name = ux_string_of(others->data[i].name);
		p->merged[i] = ux_string_table_add(strings, &name);
	}
	return ux_string_table_status(strings, err);
}

/* Numbers everything. When version 1 cannot hold the strings, they are numbered again with offsets
 * in larger units. */
static enum ux_code number_all(struct packer *p, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = number_pieces(p, 0, &why);
	if (code == UX_ELIMIT && p->target->version != 1 &&
	    p->numbering.strings.limit < p->target->strings_max)
		return number_pieces(p, STRING_STEPS, err);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

enum {
	JOB_NUMBER,
	JOB_RELEASE_FIRST,
};

/* One thread numbers, since each different text gets the next offset; others release. */
static enum ux_code number_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct packer *p = ctx;
	const struct ux_release *release = &p->target->release;
	(void)worker;
	if (job == JOB_NUMBER)
		return number_all(p, err);
	release->fn(release->ctx, release->first + job - JOB_RELEASE_FIRST);
	return UX_OK;
}

/* Numbers everything, and makes the string table. */
static enum ux_code number_on_threads(struct packer *p, struct ux_error *err)
{
	unsigned threads = p->target->threads;
	size_t n_jobs = JOB_RELEASE_FIRST;
	if (threads > 1)
		n_jobs += p->target->release.end - p->target->release.first;
	UX_TRY(ux_pool_run(threads, n_jobs, number_job, p, err));
	UX_TRY(ux_numbering_spread(&p->numbering, err));
	return ux_string_table_make(&p->numbering.strings, threads, err);
}

/* Returns the index of the first alternative of this piece or a later one. */
static size_t alternatives_from(const struct packer *p, size_t piece)
{
	return ux_partition_point(i, 0, n_alternatives(p),
				  p->target->alternatives->data[i].piece < piece);
}

/* Encodes the records of a job into the worker's buffer. */
static enum ux_code encode_job(struct packer *p, size_t job, unsigned worker, struct ux_error *err)
{
	assert(job < p->n_jobs && worker < p->target->threads);
	struct ux_out *out = &p->outs[worker];
	size_t end = ux_min((job + 1) * JOB_PIECES, p->pieces->size);
	ux_out_reset(out);
	out->swap = p->target->swap;
	size_t other = alternatives_from(p, job * JOB_PIECES);
	for (size_t i = job * JOB_PIECES; i < end; i++) {
		const struct ux_piece *piece = &p->pieces->data[i];
		size_t other_end = alternatives_from(p, i + 1);
		struct ux_gsym_numbers numbers = {0};
		if (piece->unit != UX_PIECE_NO_UNIT)
			numbers = ux_numbering_of(&p->numbering, piece->unit);
		p->records[i] = out->size;
		ux_gsym_put_function(out,
				     &(struct ux_gsym_function){
					     .start = piece->start,
					     .size = piece->size,
					     .name = p->names[i],
					     .before = piece->before,
					     .merged = p->merged + other,
					     .n_merged = other_end - other,
				     },
				     &piece->draft, &numbers);
		other = other_end;
	}
	return ux_out_status(out, err);
}

/* Encodes a job and keeps its records in memory until all sizes are known. */
static enum ux_code store_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct packer *p = ctx;
	struct ux_out *out = &p->outs[worker];
	UX_TRY(encode_job(p, job, worker, err));
	uint8_t *copy = ux_arena_alloc(&p->arenas[worker], out->size, 4);
	if (!copy)
		return ux_arena_fail(&p->arenas[worker], err);
	memcpy(copy, out->data, out->size);
	p->data[job] = ux_bytes(copy, out->size);
	return UX_OK;
}

/*
 * Makes the offsets of records relative to the first job's records; each job counts from its own.
 */
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

/* Encodes a job and writes its records at their offset, while other jobs are encoded. */
static enum ux_code write_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct packer *p = ctx;
	uint64_t before = 0;
	enum ux_code code = encode_job(p, job, worker, err);
	struct ux_out *out = &p->outs[worker];
	if (code != UX_OK)
		ux_record_writer_fail(&p->writer);
	if (code != UX_OK || !ux_record_writer_take(&p->writer, job, out->size, &before))
		return code; /* the job that failed reports the reason */
	size_t end = ux_min((job + 1) * JOB_PIECES, p->pieces->size);
	for (size_t i = job * JOB_PIECES; i < end; i++)
		p->records[i] += before;
	return ux_record_writer_put(&p->writer, before, out, err);
}

/* Returns an upper bound of the size of all records. */
static uint64_t records_max(const struct packer *p)
{
	uint64_t sum = n_alternatives(p) * MERGED_MAX;
	for (size_t i = 0; i < p->pieces->size; i++)
		sum += ux_gsym_draft_max(&p->pieces->data[i].draft);
	return sum;
}

/* Encodes everything. *image is complete, except for the records. */
static enum ux_code encode_all(struct packer *p, struct ux_gsym_image *image, struct ux_error *err)
{
	unsigned threads = p->target->threads;
	uint64_t *data_off = &p->writer.data_off;
	if (p->target->place && ux_gsym_image_records_off(image, records_max(p), data_off)) {
		UX_TRY(ux_pool_run(threads, p->n_jobs, write_job, p, err));
		image->version = 1;
		image->placed = p->writer.end;
		return UX_OK;
	}
	UX_TRY(ux_pool_run(threads, p->n_jobs, store_job, p, err));
	join(p);
	image->data = p->data;
	image->n_data = p->n_jobs;
	return UX_OK;
}

/* Makes the table of symbols. */
static void pack_symbols(const struct packer *p, struct ux_out *out)
{
	const struct ux_piece_symbols *all = p->target->symbols;
	struct ux_gsym_symbols_writer w = {.out = out};
	size_t part = 0, name = 0;
	while (part < all->parts.size || name < all->names.size) {
		if (name == all->names.size ||
		    (part < all->parts.size &&
		     all->parts.data[part] <= all->names.data[name].piece)) {
			ux_gsym_symbols_put_part(&w, all->parts.data[part++]);
			continue;
		}
		const struct ux_piece_symbol *s = &all->names.data[name++];
		struct ux_bytes own = ux_bytes_cstr(p->pieces->data[s->piece].name);
		ux_gsym_symbols_put_name(&w, s->piece, s->off, own, s->name);
	}
	ux_gsym_symbols_end(&w);
}

/* Writes the tables of symbols and segments after the records. */
static enum ux_code write_tail(struct packer *p, bool placed, ux_gsym_sink_fn *sink,
			       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = p->target->swap};
	if (p->target->symbols)
		pack_symbols(p, &out);
	if (p->target->segments && p->target->segments->n > 0)
		ux_gsym_segments_put(&out, p->target->segments);
	UX_TRY(ux_out_status(&out, err));
	if (out.size == 0)
		return UX_OK;
	uint64_t end = p->writer.data_off + p->writer.end;
	return placed ? p->target->place(p->ctx, end, ux_out_bytes(&out), err)
		      : sink(p->ctx, ux_out_bytes(&out), err);
}

enum ux_code ux_pack(const struct ux_collection *collection, const struct ux_piece_vec *pieces,
		     const struct ux_pack_target *target, ux_gsym_sink_fn *sink, void *ctx,
		     struct ux_error *err)
{
	assert(target->threads > 0);
	ux_cleanup(packer_deinit) struct packer p = {
		.collection = collection,
		.pieces = pieces,
		.target = target,
		.ctx = ctx,
	};
	ux_record_writer_init(&p.writer, target->place, ctx);
	UX_TRY(packer_init(&p, err));
	UX_TRY(number_on_threads(&p, err));
	if (target->columns) {
		ux_column_vec_deinit(target->columns);
		*target->columns = p.numbering.columns;
		p.numbering.columns = (struct ux_column_vec){0};
	}
	struct ux_gsym_image image = {
		.version = target->version,
		.v1_max = target->v1_max,
		.swap = target->swap,
		.base = target->base,
		.uuid = target->uuid,
		.n_functions = pieces->size,
		.starts = p.starts,
		.records = p.records,
		.n_files = p.numbering.files.size,
		.files = p.numbering.files.data,
		.strings = ux_string_table_bytes(&p.numbering.strings),
		.string_shift = p.numbering.strings.shift,
	};
	UX_TRY(encode_all(&p, &image, err));
	UX_TRY(ux_gsym_image_write(&image, sink, ctx, err));
	return write_tail(&p, image.placed > 0, sink, err);
}

void ux_pack_count(const struct ux_piece_vec *pieces, struct ux_counts *ret)
{
	struct ux_counts counts = {0};
	for (size_t i = 0; i < pieces->size; i++) {
		const struct ux_piece *p = &pieces->data[i];
		bool named = p->name != ux_no_name;
		counts.functions += named;
		counts.unnamed += !named;
		counts.inlines += p->draft.n_inlines;
		counts.rows += p->draft.n_rows;
		*(named ? &counts.code_bytes : &counts.unnamed_bytes) += p->size;
		counts.line_bytes += p->draft.line_bytes;
	}
	*ret = counts;
}

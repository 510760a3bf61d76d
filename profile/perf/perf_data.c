/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: the header, the records one after another, the sections after them. */
#include "perf_data.h"

#include "out.h"
#include "perf_order.h"
#include "perf_reader.h"

/* "PERFILE2" as an integer, in the byte order of the recording. */
#define MAGIC UINT64_C(0x32454c4946524550)

#include <sys/stat.h>
#include <unistd.h>

enum {
	MAGIC_BYTES = 8,
	PIPE_HEADER = 16,       /* magic, size */
	FILE_HEADER = 104,      /* includes the bits of the features */
	FRONT_MAX = 64 << 20,   /* bytes before the records: attrs and IDs of all events */
	SECTION_MAX = 64 << 20, /* bytes of a feature section that is read */
	PEEK_MAX = 4096,        /* bytes of a feature section that is read before the records */
	FEATURE_WORDS = UX_PERF_FEATURES / 64,
};

/* A range of the file. */
struct perf_range {
	uint64_t off;
	uint64_t size;
};

/* The header of a file. */
struct perf_header {
	uint64_t attr_size; /* bytes of an attr and of the range of its IDs */
	struct perf_range attrs;
	struct perf_range data;
	uint64_t features[FEATURE_WORDS]; /* bits: the sections that the file has */
};

/* The state of reading. */
struct perf_data {
	struct ux_perf_reader reader;
	struct ux_perf_order order;
	struct ux_perf_source source;
	struct ux_perf_zstd zstd;
	struct ux_perf_stream outer; /* the file */
	struct ux_perf_stream inner; /* the contents of compressed records */
	size_t live;                 /* blocks in memory */
	bool unpackable;             /* the compressed stream is damaged */
};

static void perf_data_deinit(struct perf_data *d)
{
	ux_perf_order_deinit(&d->order);
	ux_perf_stream_deinit(&d->outer);
	ux_perf_stream_deinit(&d->inner);
	ux_perf_zstd_deinit(&d->zstd);
	ux_perf_reader_deinit_samples(&d->reader);
	ux_perf_processes_deinit(&d->reader.processes);
	ux_perf_events_deinit(&d->reader.events);
	ux_perf_file_ids_deinit(&d->reader.ids);
	ux_perf_inode_ids_deinit(&d->reader.inode_ids);
}

/* Recognizes the magic in the first bytes. UX_ENOTFOUND, with err unchanged: no magic. */
static enum ux_code perf_magic(struct ux_bytes head, bool *ret_swap)
{
	struct ux_cur c = ux_cur_make(head, NULL, false);
	uint64_t magic = ux_cur_u64(&c);
	*ret_swap = magic == __builtin_bswap64(MAGIC);
	return magic == MAGIC || *ret_swap ? UX_OK : UX_ENOTFOUND;
}

bool ux_perf_data_is(struct ux_bytes head)
{
	bool swap = false;
	return perf_magic(head, &swap) == UX_OK;
}

/* --- damage ----------------------------------------------------------------------------------- */

/* Notes damage at an offset of the file, unless damage was noted before. */
static void perf_data_note(struct perf_data *d, uint64_t off, const struct ux_error *found)
{
	struct ux_error *damage = &d->reader.summary->damage;
	if (damage->code != UX_OK)
		return;
	*damage = *found;
	damage->section[0] = '\0';
	damage->off = off;
}

/* Passes an error on, except for damage of one record, which is skipped and counted. */
static enum ux_code perf_data_survive(struct perf_data *d, uint64_t off, enum ux_code code,
				      const struct ux_error *found, struct ux_error *err)
{
	if (code == UX_OK)
		return UX_OK;
	if (code != UX_ECORRUPT) {
		if (err && err->code == UX_OK)
			*err = *found;
		return code;
	}
	d->reader.summary->damaged_records++;
	perf_data_note(d, off, found);
	return UX_OK;
}

/* Notes that the recording ends at an offset although there should be more. */
static void perf_data_truncated(struct perf_data *d, uint64_t off, const char *what)
{
	struct ux_error found = UX_ERROR_INIT;
	d->reader.summary->truncated = true;
	(void)ux_error_set(&found, UX_ECORRUPT, "%s", what);
	perf_data_note(d, off, &found);
}

/* --- records in the order of time ------------------------------------------------------------- */

static enum ux_code perf_read_lost(struct perf_data *d, const struct ux_perf_record *record,
				   struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(record->bytes, "record", d->reader.swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	if (record->type == UX_PERF_LOST)
		ux_cur_skip(&c, sizeof(uint64_t)); /* the event's ID */
	uint64_t n = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (record->type == UX_PERF_LOST)
		d->reader.summary->lost_records += n;
	else
		d->reader.summary->lost_samples += n;
	return UX_OK;
}

static enum ux_code perf_data_dispatch(struct perf_data *d, const struct ux_perf_waiting *w,
				       struct ux_error *err)
{
	struct ux_perf_reader *r = &d->reader;
	if (w->record.type == UX_PERF_SAMPLE)
		return ux_perf_reader_sample(r, &r->events.list.data[w->event], &w->record, err);
	if (ux_perf_processes_read(w->record.type))
		return ux_perf_processes_add(&r->processes, &w->record, r->swap, err);
	return perf_read_lost(d, &w->record, err);
}

/* A ux_perf_use_fn; ctx is a struct perf_data. */
static enum ux_code perf_data_use(void *ctx, const struct ux_perf_waiting *w, struct ux_error *err)
{
	struct ux_error found = UX_ERROR_INIT;
	return perf_data_survive(ctx, w->off, perf_data_dispatch(ctx, w, &found), &found, err);
}

/* Takes a record of the kernel. Records with a time wait for earlier ones. */
static enum ux_code perf_data_kernel_record(struct perf_data *d,
					    const struct ux_perf_stream *stream,
					    const struct ux_perf_record *record, uint64_t off,
					    struct ux_error *err)
{
	struct ux_perf_events *events = &d->reader.events;
	struct ux_perf_waiting w = {.off = off, .record = *record, .block = stream->block};
	bool lost = record->type == UX_PERF_LOST || record->type == UX_PERF_LOST_SAMPLES;
	if (record->type != UX_PERF_SAMPLE && !lost && !ux_perf_processes_read(record->type))
		return UX_OK;
	const struct ux_perf_event *event =
		ux_perf_events_find(events, record, d->reader.swap, &w.time);
	if (event) {
		w.event = (uint32_t)(event - events->list.data);
	} else if (record->type == UX_PERF_SAMPLE) {
		struct ux_error found = UX_ERROR_INIT;
		enum ux_code code =
			ux_error_set(&found, UX_ECORRUPT, "sample has an unknown event");
		return perf_data_survive(d, off, code, &found, err);
	}
	if (w.time == 0 || w.time == UINT64_MAX)
		return perf_data_use(d, &w, err);
	return ux_perf_order_add(&d->order, w, d->live, err);
}

/* --- records of perf itself ------------------------------------------------------------------- */

static enum ux_code perf_read_attr(struct perf_data *d, const struct ux_perf_record *record,
				   struct ux_error *err)
{
	struct ux_perf_attr attr;
	struct ux_cur c = ux_cur_make(record->bytes, "record", d->reader.swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	struct ux_bytes rest = ux_bytes(c.pos, ux_cur_left(&c));
	UX_TRY(ux_perf_attr_parse(rest, d->reader.swap, &attr, err));
	if (d->reader.has_types)
		return ux_error_set(err, UX_ECORRUPT,
				    "an event is declared after the first sample");
	ux_cur_skip(&c, attr.size);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_perf_events_add(&d->reader.events, &attr, err));
	while (ux_cur_left(&c) >= sizeof(uint64_t))
		UX_TRY(ux_perf_events_add_id(&d->reader.events, ux_cur_u64(&c), err));
	return UX_OK;
}

/* Passes over the bytes that follow a record without being a part of it. */
static enum ux_code perf_skip_payload(struct perf_data *d, const struct ux_perf_record *record,
				      struct ux_error *err)
{
	bool trace = record->type == UX_PERF_AUXTRACE;
	struct ux_cur c = ux_cur_make(record->bytes, "record", d->reader.swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	uint64_t size = trace ? ux_cur_u64(&c) : ((uint64_t)ux_cur_u32(&c) + 7) & ~(uint64_t)7;
	UX_TRY(ux_cur_status(&c, err));
	uint64_t passed = 0;
	UX_TRY(ux_perf_stream_take(&d->outer, NULL, size, &passed, err));
	if (trace)
		d->reader.summary->auxtrace_bytes += passed;
	return UX_OK;
}

static enum ux_code perf_read_feature(struct perf_data *d, const struct ux_perf_record *record,
				      struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(record->bytes, "record", d->reader.swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	uint64_t feature = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	return ux_perf_reader_feature(&d->reader, feature, ux_bytes(c.pos, ux_cur_left(&c)), err);
}

/* Takes a record of perf itself that needs no context. */
static enum ux_code perf_data_own_record(struct perf_data *d, const struct ux_perf_record *record,
					 struct ux_error *err)
{
	switch (record->type) {
	case UX_PERF_HEADER_ATTR:
		return perf_read_attr(d, record, err);
	case UX_PERF_HEADER_FEATURE:
		return perf_read_feature(d, record, err);
	case UX_PERF_HEADER_BUILD_ID:
		return ux_perf_reader_build_id(&d->reader, record, err);
	case UX_PERF_EVENT_UPDATE:
		return ux_perf_reader_update(&d->reader, record, err);
	default:
		return UX_OK;
	}
}

static void perf_count_unknown(struct ux_perf_summary *s, uint32_t type)
{
	bool known = type > 0 && (type <= UX_PERF_KERNEL_LAST ||
				  (type >= UX_PERF_USER_FIRST && type <= UX_PERF_USER_LAST));
	if (known)
		return;
	if (s->unknown_records++ == 0)
		s->unknown_type = type;
}

/* --- compressed records ----------------------------------------------------------------------- */

/* Takes the records that are complete in the decompressor's output. */
static enum ux_code perf_data_drain(struct perf_data *d, uint64_t off, struct ux_error *err)
{
	struct ux_perf_record record;
	enum ux_code code = UX_OK;
	while ((code = ux_perf_stream_next(&d->inner, &record, err)) == UX_OK) {
		if (record.type < UX_PERF_USER_FIRST) {
			UX_TRY(perf_data_kernel_record(d, &d->inner, &record, off, err));
			perf_count_unknown(d->reader.summary, record.type);
		} else if (record.type == UX_PERF_FINISHED_ROUND) {
			UX_TRY(ux_perf_order_round(&d->order, err));
		}
	}
	return code == UX_ENOTFOUND ? UX_OK : code;
}

static enum ux_code perf_data_compressed(struct perf_data *d, const struct ux_perf_record *record,
					 uint64_t off, struct ux_error *err)
{
	struct ux_error found = UX_ERROR_INIT;
	struct ux_cur c = ux_cur_make(record->bytes, "record", d->reader.swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	uint64_t size = ux_cur_left(&c);
	if (record->type == UX_PERF_COMPRESSED2)
		size = ux_cur_u64(&c); /* the rest is padding */
	d->zstd.in = ux_cur_take(&c, size);
	enum ux_code code = ux_cur_status(&c, &found);
	if (code == UX_OK && d->unpackable)
		code = ux_error_set(&found, UX_ECORRUPT, "zstd: earlier data is damaged");
	if (code == UX_OK)
		code = perf_data_drain(d, off, &found);
	d->zstd.in = UX_BYTES_NONE;
	d->unpackable = d->unpackable || code != UX_OK;
	return perf_data_survive(d, off, code, &found, err);
}

/* --- the records of the file ------------------------------------------------------------------ */

static enum ux_code perf_data_record(struct perf_data *d, const struct ux_perf_record *record,
				     uint64_t off, struct ux_error *err)
{
	struct ux_error found = UX_ERROR_INIT;
	perf_count_unknown(d->reader.summary, record->type);
	if (record->type < UX_PERF_USER_FIRST)
		return perf_data_kernel_record(d, &d->outer, record, off, err);
	switch (record->type) {
	case UX_PERF_FINISHED_ROUND:
		return ux_perf_order_round(&d->order, err);
	case UX_PERF_COMPRESSED:
	case UX_PERF_COMPRESSED2:
		return perf_data_compressed(d, record, off, err);
	case UX_PERF_AUXTRACE:
	case UX_PERF_HEADER_TRACING_DATA:
		return perf_data_survive(d, off, perf_skip_payload(d, record, &found), &found, err);
	default:
		return perf_data_survive(d, off, perf_data_own_record(d, record, &found), &found,
					 err);
	}
}

/* Reads the records before the offset `end`. `whole`: the header states that end, so a file that
 * ends before it is truncated. */
static enum ux_code perf_data_records(struct perf_data *d, uint64_t end, bool whole,
				      struct ux_error *err)
{
	struct ux_perf_record record;
	struct ux_error found = UX_ERROR_INIT;
	enum ux_code code = UX_OK;
	uint64_t off = d->outer.off;
	while (off < end && (code = ux_perf_stream_next(&d->outer, &record, &found)) == UX_OK) {
		if (d->outer.off > end) {
			code = ux_error_set(&found, UX_ECORRUPT,
					    "a record extends past the end of the records");
			break;
		}
		UX_TRY(perf_data_record(d, &record, off, err));
		off = d->outer.off;
	}
	if (code == UX_ENOTFOUND) {
		if (ux_perf_stream_left(&d->outer) > 0)
			perf_data_truncated(d, off, "the file ends inside a record");
		else if (whole)
			perf_data_truncated(d, off, "the file ends before the end of its records");
	} else if (code != UX_OK) {
		UX_TRY(perf_data_survive(d, off, code, &found, err));
		d->reader.summary->truncated = true;
	}
	if (ux_perf_stream_left(&d->inner) > 0)
		perf_data_truncated(d, off, "the compressed records end inside a record");
	return ux_perf_order_finish(&d->order, err);
}

/* --- the sections before the records ---------------------------------------------------------- */

/* Takes n bytes of the file; fewer at its end. */
static enum ux_code perf_data_take(struct perf_data *d, uint64_t n, struct ux_out *out,
				   struct ux_error *err)
{
	enum {
		PIECE = 1 << 16 /* the size that the file states is not trusted: read piece by piece
				 */
	};
	uint64_t got = PIECE;
	for (uint64_t left = n; left > 0 && got == PIECE; left -= ux_min(left, got)) {
		size_t part = (size_t)ux_min(left, (uint64_t)PIECE);
		uint8_t *room = ux_out_room(out, part);
		if (!room)
			return ux_error_nomem(err);
		UX_TRY(ux_perf_stream_take(&d->outer, room, part, &got, err));
		out->size -= part - (size_t)got;
	}
	return UX_OK;
}

/* Reads the IDs of an event. */
static enum ux_code perf_read_ids(struct perf_data *d, struct ux_bytes front,
				  struct perf_range range, struct ux_error *err)
{
	struct ux_bytes ids;
	if (!ux_bytes_sub(front, range.off, range.size, &ids))
		return ux_error_set(err, UX_ECORRUPT,
				    "the IDs of an event are at %" PRIu64
				    ", not before the records",
				    range.off);
	struct ux_cur c = ux_cur_make(ids, "IDs", d->reader.swap);
	while (ux_cur_left(&c) >= sizeof(uint64_t))
		UX_TRY(ux_perf_events_add_id(&d->reader.events, ux_cur_u64(&c), err));
	return UX_OK;
}

/* Reads the attrs, each followed by the range of its IDs. */
static enum ux_code perf_read_attrs(struct perf_data *d, const struct perf_header *h,
				    struct ux_bytes front, struct ux_error *err)
{
	struct ux_bytes bytes;
	const size_t range_bytes = 2 * sizeof(uint64_t);
	if (h->attr_size < UX_PERF_ATTR_MIN + range_bytes)
		return ux_error_set(err, UX_ECORRUPT,
				    "attrs have %" PRIu64 " bytes; expected at least %zu",
				    h->attr_size, UX_PERF_ATTR_MIN + range_bytes);
	if (!ux_bytes_sub(front, h->attrs.off, h->attrs.size, &bytes))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the attrs are at %" PRIu64 ", not before the records",
				    h->attrs.off);
	struct ux_cur c = ux_cur_make(bytes, "attrs", d->reader.swap);
	while (ux_cur_left(&c) >= h->attr_size) {
		struct ux_perf_attr attr;
		struct ux_bytes one = ux_cur_take(&c, h->attr_size - range_bytes);
		struct perf_range ids = {.off = ux_cur_u64(&c)};
		ids.size = ux_cur_u64(&c);
		UX_TRY(ux_perf_attr_parse(one, d->reader.swap, &attr, err));
		UX_TRY(ux_perf_events_add(&d->reader.events, &attr, err));
		UX_TRY(perf_read_ids(d, front, ids, err));
	}
	return UX_OK;
}

/* --- the sections after the records ----------------------------------------------------------- */

/* A feature section. */
struct perf_section {
	struct perf_range range;
	uint64_t feature;
};

static int perf_section_compare(const void *a, const void *b)
{
	const struct perf_section *x = a, *y = b;
	if (x->range.off != y->range.off)
		return x->range.off < y->range.off ? -1 : 1;
	return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Reads one feature section, which begins at or after the position in the file. */
static enum ux_code perf_read_section(struct perf_data *d, const struct perf_section *s,
				      struct ux_error *err)
{
	struct ux_out bytes __attribute__((cleanup(ux_out_deinit))) = {0};
	uint64_t passed = 0;
	if (s->range.off < d->outer.off || s->range.size > SECTION_MAX)
		return ux_error_set(err, UX_ECORRUPT,
				    "feature %" PRIu64 " is out of bounds: %" PRIu64
				    " bytes at %" PRIu64,
				    s->feature, s->range.size, s->range.off);
	UX_TRY(ux_perf_stream_take(&d->outer, NULL, s->range.off - d->outer.off, &passed, err));
	UX_TRY(perf_data_take(d, s->range.size, &bytes, err));
	if (bytes.size < s->range.size)
		return ux_error_set(err, UX_ECORRUPT, "feature %" PRIu64 " is truncated",
				    s->feature);
	return ux_perf_reader_feature(&d->reader, s->feature, ux_out_bytes(&bytes), err);
}

/* Reads the table of feature sections after the records, and the sections that are used. */
static enum ux_code perf_read_features(struct perf_data *d, const struct perf_header *h,
				       struct ux_error *err)
{
	struct perf_section sections[UX_PERF_FEATURES];
	size_t n = 0;
	for (uint64_t feature = 0; feature < UX_PERF_FEATURES; feature++) {
		uint8_t bytes[2 * sizeof(uint64_t)];
		uint64_t got = 0;
		if ((h->features[feature / 64] >> feature % 64 & 1) == 0)
			continue;
		uint64_t off = d->outer.off;
		UX_TRY(ux_perf_stream_take(&d->outer, bytes, sizeof(bytes), &got, err));
		if (got < sizeof(bytes)) {
			perf_data_truncated(d, off, "the file ends in its table of features");
			break;
		}
		struct ux_cur c = ux_cur_make(ux_bytes(bytes, sizeof(bytes)), NULL, d->reader.swap);
		sections[n].range.off = ux_cur_u64(&c);
		sections[n].range.size = ux_cur_u64(&c);
		sections[n].feature = feature;
		n += ux_perf_feature_is_read(feature);
	}
	if (n > 1)
		qsort(sections, n, sizeof(sections[0]), perf_section_compare);
	for (size_t i = 0; i < n; i++) {
		struct ux_error found = UX_ERROR_INIT;
		enum ux_code code = perf_read_section(d, &sections[i], &found);
		UX_TRY(perf_data_survive(d, d->outer.off, code, &found, err));
	}
	return UX_OK;
}

/* --- the header ------------------------------------------------------------------------------- */

/*
 * The bits of the features are an array of longs. A recording of the other byte order may have
 * longs of 4 bytes: then the first one is where the second one is expected. Every file has the bit
 * of the host's name, which tells.
 */
static void perf_fix_features(struct perf_header *h)
{
	if ((h->features[0] >> UX_PERF_FEATURE_HOSTNAME & 1) != 0)
		return;
	if ((h->features[0] >> (32 + UX_PERF_FEATURE_HOSTNAME) & 1) != 0)
		for (size_t i = 0; i < FEATURE_WORDS; i++)
			h->features[i] = h->features[i] << 32 | h->features[i] >> 32;
}

static enum ux_code perf_header_parse(struct ux_bytes bytes, bool swap, struct perf_header *ret,
				      struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, NULL, swap);
	*ret = (struct perf_header){0};
	ux_cur_skip(&c, PIPE_HEADER);
	ret->attr_size = ux_cur_u64(&c);
	ret->attrs.off = ux_cur_u64(&c);
	ret->attrs.size = ux_cur_u64(&c);
	ret->data.off = ux_cur_u64(&c);
	ret->data.size = ux_cur_u64(&c);
	ux_cur_skip(&c, 2 * sizeof(uint64_t)); /* types of events, which nothing writes any more */
	for (size_t i = 0; i < FEATURE_WORDS; i++)
		ret->features[i] = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (swap)
		perf_fix_features(ret);
	if (ret->data.off < FILE_HEADER || ret->data.off > FRONT_MAX ||
	    ret->data.size > UINT64_MAX - ret->data.off)
		return ux_error_set(err, UX_ECORRUPT,
				    "records are out of bounds: %" PRIu64 " bytes at %" PRIu64
				    "; expected an offset of %d to %d",
				    ret->data.size, ret->data.off, FILE_HEADER, FRONT_MAX);
	return UX_OK;
}

/* Reads bytes of the file at any position. False: there are none, or the input is not a file. */
static bool perf_data_peek(const struct perf_data *d, uint64_t off, uint64_t size,
			   struct ux_out *ret)
{
	struct ux_bytes bytes;
	struct stat st;
	ux_out_reset(ret);
	if (ux_bytes_sub(d->source.head, off, size, &bytes)) {
		ux_out_put(ret, bytes.data, bytes.size);
		return ux_out_status(ret, NULL) == UX_OK;
	}
	if (d->source.fd < 0 || fstat(d->source.fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    size > PEEK_MAX || off > INT64_MAX)
		return false;
	uint8_t *to = ux_out_room(ret, size);
	ssize_t n = to ? pread(d->source.fd, to, size, (off_t)off) : -1;
	ret->size = n == (ssize_t)size ? size : 0;
	return ret->size == size;
}

/*
 * Reads a feature before the records, where that is possible: the host and its wall clock tell
 * which of a server's snapshots of run-time code belong to the samples.
 */
static void perf_peek_feature(struct perf_data *d, const struct perf_header *h, unsigned feature)
{
	struct ux_out bytes __attribute__((cleanup(ux_out_deinit))) = {0};
	uint64_t number = 0, off = h->data.off + h->data.size;
	if ((h->features[feature / 64] >> feature % 64 & 1) == 0)
		return;
	for (unsigned i = 0; i < feature; i++)
		number += h->features[i / 64] >> i % 64 & 1;
	if (!perf_data_peek(d, off + number * 2 * sizeof(uint64_t), 2 * sizeof(uint64_t), &bytes))
		return;
	struct ux_cur c = ux_cur_make(ux_out_bytes(&bytes), NULL, d->reader.swap);
	struct perf_range range = {.off = ux_cur_u64(&c)};
	range.size = ux_cur_u64(&c);
	/* Ignore damage here: it is reported when all sections are read, in order. */
	if (perf_data_peek(d, range.off, range.size, &bytes) &&
	    ux_perf_reader_feature(&d->reader, feature, ux_out_bytes(&bytes), NULL) != UX_OK)
		return;
}

/* Reads a file; `front` has its first PIPE_HEADER bytes. */
static enum ux_code perf_data_file(struct perf_data *d, struct ux_out *front, struct ux_error *err)
{
	struct perf_header h;
	UX_TRY(perf_data_take(d, FILE_HEADER - PIPE_HEADER, front, err));
	UX_TRY(perf_header_parse(ux_out_bytes(front), d->reader.swap, &h, err));
	UX_TRY(perf_data_take(d, h.data.off - FILE_HEADER, front, err));
	UX_TRY(perf_read_attrs(d, &h, ux_out_bytes(front), err));
	ux_out_deinit(front);
	/* perf writes the size last: without one, perf was killed, and nothing follows the records.
	 */
	if (h.data.size == 0) {
		perf_data_truncated(d, d->outer.off, "perf did not finish the recording");
		return perf_data_records(d, UINT64_MAX, false, err);
	}
	uint64_t end = h.data.off + h.data.size;
	if (d->reader.jit) {
		perf_peek_feature(d, &h, UX_PERF_FEATURE_HOSTNAME);
		perf_peek_feature(d, &h, UX_PERF_FEATURE_CLOCK_DATA);
	}
	UX_TRY(perf_data_records(d, end, true, err));
	if (d->outer.off > end)
		return UX_OK;
	uint64_t passed = 0;
	UX_TRY(ux_perf_stream_take(&d->outer, NULL, end - d->outer.off, &passed, err));
	return perf_read_features(d, &h, err);
}

static enum ux_code perf_data_read(struct perf_data *d, struct ux_error *err)
{
	struct ux_out front __attribute__((cleanup(ux_out_deinit))) = {0};
	struct ux_perf_reader *r = &d->reader;
	UX_TRY(perf_data_take(d, PIPE_HEADER, &front, err));
	if (perf_magic(ux_out_bytes(&front), &r->swap) != UX_OK)
		return ux_error_at(err, UX_ECORRUPT, NULL, 0,
				   "the file does not start with PERFILE2");
	struct ux_cur c = ux_cur_make(ux_out_bytes(&front), NULL, r->swap);
	ux_cur_skip(&c, MAGIC_BYTES);
	uint64_t size = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	r->summary->swapped = d->outer.swap = d->inner.swap = r->swap;
	r->summary->pipe = size == PIPE_HEADER;
	if (r->summary->pipe)
		UX_TRY(perf_data_records(d, UINT64_MAX, false, err));
	else
		UX_TRY(perf_data_file(d, &front, err));
	UX_TRY(ux_perf_reader_finish_ids(r, err));
	return ux_perf_reader_finish_types(r, err);
}

enum ux_code ux_perf_data_read(struct ux_perf_source source, struct ux_profile *p,
			       struct ux_perf_summary *ret, struct ux_error *err)
{
	*ret = (struct ux_perf_summary){.damage = UX_ERROR_INIT};
	ux_cleanup(perf_data_deinit) struct perf_data d = {
		.reader = {.profile = p,
			   .summary = ret,
			   .unwind = source.unwind,
			   .jit = source.jit,
			   .processes = {.profile = p}},
		.source = source,
	};
	d.order.use = perf_data_use;
	d.order.ctx = &d;
	d.outer = (struct ux_perf_stream){
		.fill = ux_perf_file_fill, .ctx = &d.source, .live = &d.live};
	d.inner =
		(struct ux_perf_stream){.fill = ux_perf_zstd_fill, .ctx = &d.zstd, .live = &d.live};
	enum ux_code code = perf_data_read(&d, err);
	ret->late = d.order.late;
	p->release = ret->os_release;
	if (source.unwind)
		ret->unwound_wrong = ux_profile_unwind_mistaken(source.unwind, p);
	if (source.jit)
		ret->untimed = source.jit->untimed;
	ret->unkept_mappings = d.reader.processes.unkept;
	return code;
}

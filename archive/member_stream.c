/* SPDX-License-Identifier: Apache-2.0 */
/* Members of packages as a stream: archives that libarchive reads, and functions that all readers
 * share. */
#include "adb_value.h"
#include "path_canonical.h"
#include "rpm_header.h"
#include "stream_reading.h"

enum {
	DEPTH_MAX = 2, /* a .deb is an ar of tars */
	HEAD = 8,      /* bytes that tell rpm and apk packages from other archives */
};

/* --- functions that all readers share --------------------------------------------------------- */

enum ux_code ux_stream_source_read(struct ux_stream_reading *s, void *to, size_t n, size_t *ret)
{
	if (s->head.size > 0) {
		*ret = ux_min(n, s->head.size);
		memcpy(to, s->head.data, *ret);
		s->head = ux_bytes(s->head.data + *ret, s->head.size - *ret);
		return UX_OK;
	}
	UX_TRY(s->source->read(s->source->ctx, to, n, ret, s->err));
	s->in += *ret;
	return UX_OK;
}

enum ux_code ux_stream_count(struct ux_stream_reading *s, uint64_t n)
{
	uint64_t max =
		UX_STREAM_FREE_SIZE + ux_min(s->in, UX_STREAM_TOTAL_MAX) * UX_STREAM_RATIO_MAX;
	s->out += n;
	if (s->out > ux_min(max, UX_STREAM_TOTAL_MAX))
		return ux_error_set(s->err, UX_ELIMIT,
				    "%" PRIu64 " bytes unpacked from %" PRIu64
				    " packed bytes exceed the limit",
				    s->out, s->in);
	return UX_OK;
}

enum ux_code ux_stream_count_member(struct ux_stream_reading *s)
{
	if (++s->members > UX_MEMBERS_MAX)
		return ux_error_set(s->err, UX_ELIMIT, "the package has more than %d members",
				    UX_MEMBERS_MAX);
	return UX_OK;
}

/* Reads until the piece is full or the member ends. */
static enum ux_code stream_content_fill(struct ux_stream_reading *s, struct ux_stream_content *c)
{
	c->n = 0;
	while (c->n < UX_STREAM_PIECE) {
		ssize_t n = c->read(c->ctx, c->piece + c->n, UX_STREAM_PIECE - c->n);
		if (n < 0)
			return s->code;
		if (n == 0)
			break;
		c->n += (size_t)n;
	}
	return UX_OK;
}

enum ux_code ux_stream_content_kind(struct ux_stream_reading *s, struct ux_stream_content *c,
				    enum ux_member_kind *ret)
{
	UX_TRY(stream_content_fill(s, c));
	*ret = ux_member_kind(ux_bytes(c->piece, ux_min(c->n, (size_t)UX_MEMBERS_HEAD)), c->path);
	return UX_OK;
}

static bool stream_wants(enum ux_member_kind kind, const char *path)
{
	return kind == UX_MEMBER_OBJECT || kind == UX_MEMBER_GSYM ||
	       (kind == UX_MEMBER_PACKED && ux_member_name_is_packed(path));
}

enum ux_code ux_stream_content_pass(struct ux_stream_reading *s, struct ux_stream_content *c,
				    enum ux_member_kind kind)
{
	const struct ux_stream_sink *to = s->sink;
	bool wanted = stream_wants(kind, c->path);
	uint64_t have = 0;
	if (wanted)
		UX_TRY(to->begin(to->ctx, kind, c->path, c->size, s->err));
	while (c->n > 0) {
		have += c->n;
		if (have > UX_STREAM_MEMBER_MAX)
			return ux_error_set(s->err, UX_ELIMIT, "a member exceeds %" PRIu64 " bytes",
					    UX_STREAM_MEMBER_MAX);
		if (wanted)
			UX_TRY(to->put(to->ctx, ux_bytes(c->piece, c->n), s->err));
		UX_TRY(stream_content_fill(s, c));
	}
	return wanted ? to->end(to->ctx, s->err) : UX_OK;
}

bool ux_stream_open_archive(const struct ux_archive_calls *calls, struct archive *archive,
			    void *ctx, archive_read_callback *read)
{
	int (*const supports[])(struct archive *) = {
		calls->archive_read_support_filter_bzip2, calls->archive_read_support_filter_gzip,
		calls->archive_read_support_filter_lz4,   calls->archive_read_support_filter_lzma,
		calls->archive_read_support_filter_xz,    calls->archive_read_support_filter_zstd,
	};
	for (size_t i = 0; i < ux_countof(supports); i++)
		if (supports[i](archive) != ARCHIVE_OK)
			return false;
	return calls->archive_read_open(archive, ctx, NULL, read, NULL) == ARCHIVE_OK;
}

/* --- archives that libarchive reads ----------------------------------------------------------- */

/* An open archive. The lowest one reads the package, each other one a member of the one below. */
struct stream_level {
	struct ux_stream_reading *s;
	struct stream_level *below; /* NULL: the package */
	struct archive *archive;
	unsigned depth;
	/* first bytes of the current member, which were read ahead to find its kind */
	struct ux_bytes ahead;
	uint8_t *raw;
};

static void stream_level_close(struct stream_level *l)
{
	if (l->archive)
		(void)l->s->calls->archive_read_free(l->archive);
	free(l->raw);
}

/* Sets libarchive's error, unless a callback had one first. */
static enum ux_code stream_level_fail(const struct stream_level *l)
{
	if (l->s->code == UX_OK)
		l->s->code = ux_archive_failure(l->s->calls, l->archive, l->s->err);
	return l->s->code;
}

/* Reads data of the current member. */
static ssize_t stream_level_data(void *ctx, void *to, size_t n)
{
	struct stream_level *l = ctx;
	struct ux_stream_reading *s = l->s;
	la_ssize_t got = s->calls->archive_read_data(l->archive, to, n);
	if (got < 0)
		(void)stream_level_fail(l);
	if (got > 0 && s->code == UX_OK)
		s->code = ux_stream_count(s, (uint64_t)got);
	return s->code == UX_OK ? (ssize_t)got : -1;
}

/* Called by libarchive for the bytes of this level's archive. */
static la_ssize_t stream_level_on_read(struct archive *a, void *ctx, const void **ret)
{
	struct stream_level *l = ctx;
	struct ux_stream_reading *s = l->s;
	size_t n = 0;
	(void)a;
	*ret = l->raw;
	if (s->code != UX_OK)
		return -1;
	if (!l->below) {
		s->code = ux_stream_source_read(s, l->raw, UX_STREAM_PIECE, &n);
		return s->code == UX_OK ? (la_ssize_t)n : -1;
	}
	if (l->below->ahead.size > 0) {
		struct ux_bytes ahead = l->below->ahead;
		l->below->ahead = UX_BYTES_NONE;
		*ret = ahead.data;
		return (la_ssize_t)ahead.size;
	}
	return stream_level_data(l->below, l->raw, UX_STREAM_PIECE);
}

static enum ux_code stream_level_read(struct stream_level *l);

/* Reads the archive that is the current member of l. */
static enum ux_code stream_read_nested(struct stream_level *l, struct ux_bytes ahead)
{
	ux_cleanup(stream_level_close) struct stream_level inner = {
		.s = l->s, .below = l, .depth = l->depth + 1};
	l->ahead = ahead;
	return stream_level_read(&inner);
}

static enum ux_code stream_level_add(struct stream_level *l, struct archive_entry *entry,
				     uint8_t *piece)
{
	UX_ARENA(arena, 8 * UX_PATH_BYTES);
	struct ux_stream_reading *s = l->s;
	const struct ux_archive_calls *c = s->calls;
	enum ux_member_kind kind = UX_MEMBER_OTHER;
	struct ux_stream_content content = {.read = stream_level_data, .ctx = l, .piece = piece};
	/* another name of an earlier member has no content */
	if (c->archive_entry_filetype(entry) != AE_IFREG || c->archive_entry_hardlink(entry))
		return UX_OK;
	const char *name = c->archive_entry_pathname(entry);
	name = name ? name : c->archive_entry_pathname_utf8(entry);
	if (!name)
		return ux_error_set(s->err, UX_ECORRUPT, "a member of the package has no name");
	UX_TRY(ux_path_of_source(ux_bytes_cstr(name), &arena, &content.path, s->err));
	content.size = (uint64_t)ux_max(c->archive_entry_size(entry), INT64_C(0));
	UX_TRY(ux_stream_content_kind(s, &content, &kind));
	bool ar = (c->archive_format(l->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_AR;
	if (kind == UX_MEMBER_ARCHIVE && ar && l->depth + 1 < DEPTH_MAX)
		return stream_read_nested(l, ux_bytes(piece, content.n));
	return ux_stream_content_pass(s, &content, kind);
}

static enum ux_code stream_level_members(struct stream_level *l, uint8_t *piece)
{
	struct archive_entry *entry = NULL;
	for (;;) {
		int r = l->s->calls->archive_read_next_header(l->archive, &entry);
		if (r == ARCHIVE_EOF)
			return UX_OK;
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return stream_level_fail(l);
		UX_TRY(ux_stream_count_member(l->s));
		UX_TRY(stream_level_add(l, entry, piece));
	}
}

static enum ux_code stream_level_read(struct stream_level *l)
{
	const struct ux_archive_calls *c = l->s->calls;
	ux_cleanup(ux_free_ptr) uint8_t *piece = malloc(UX_STREAM_PIECE);
	l->archive = c->archive_read_new();
	l->raw = malloc(UX_STREAM_PIECE);
	if (!l->archive || !l->raw || !piece)
		return ux_error_nomem(l->s->err);
	bool opened = c->archive_read_support_format_ar(l->archive) == ARCHIVE_OK &&
		      c->archive_read_support_format_cpio(l->archive) == ARCHIVE_OK &&
		      c->archive_read_support_format_tar(l->archive) == ARCHIVE_OK &&
		      ux_stream_open_archive(c, l->archive, l, stream_level_on_read);
	return opened ? stream_level_members(l, piece) : stream_level_fail(l);
}

/* --- packages --------------------------------------------------------------------------------- */

/* Peeks at the first bytes of the package; consumes nothing. */
static enum ux_code stream_read_head(struct ux_stream_reading *s, uint8_t head[HEAD])
{
	size_t have = 0;
	while (have < HEAD) {
		size_t n = 0;
		UX_TRY(ux_stream_source_read(s, head + have, HEAD - have, &n));
		if (n == 0)
			break;
		have += n;
	}
	s->head = ux_bytes(head, have);
	return UX_OK;
}

static enum ux_code stream_read_archive(struct ux_stream_reading *s)
{
	ux_cleanup(stream_level_close) struct stream_level lowest = {.s = s};
	return stream_level_read(&lowest);
}

/* Reads to the end of the package, so that all its bytes were seen. */
static enum ux_code stream_drain(struct ux_stream_reading *s)
{
	ux_cleanup(ux_free_ptr) uint8_t *piece = malloc(UX_STREAM_PIECE);
	size_t n = 0;
	if (!piece)
		return ux_error_nomem(s->err);
	do
		UX_TRY(ux_stream_source_read(s, piece, UX_STREAM_PIECE, &n));
	while (n > 0);
	return UX_OK;
}

enum ux_code ux_member_stream_read(const struct ux_archive_calls *calls,
				   const struct ux_stream_source *source,
				   const struct ux_stream_sink *sink, struct ux_error *err)
{
	uint8_t head[HEAD];
	struct ux_error why = UX_ERROR_INIT;
	struct ux_stream_reading s = {.calls = calls, .source = source, .sink = sink, .err = &why};
	enum ux_code code = stream_read_head(&s, head);
	if (code == UX_OK)
		code = ux_rpm_is(s.head)   ? ux_rpm_stream_read(&s)
		       : ux_adb_is(s.head) ? ux_apk_stream_read(&s)
					   : stream_read_archive(&s);
	if (code == UX_OK)
		code = stream_drain(&s);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: packages that are read while they arrive: whatever arrives, members begin and end in
 * turn, their names are canonical, and the division into pieces makes no difference. The first byte
 * is the size of the pieces.
 */
#include "fuzz.h"

#include "hash.h"
#include "member_stream.h"
#include "path_canonical.h"

struct reader {
	struct ux_bytes bytes;
	size_t piece;
};

static enum ux_code read_piece(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct reader *r = ctx;
	(void)err;
	*ret = ux_min(ux_min(n, r->piece), r->bytes.size);
	if (*ret > 0)
		memcpy(to, r->bytes.data, *ret);
	r->bytes = ux_bytes(r->bytes.data + *ret, r->bytes.size - *ret);
	return UX_OK;
}

/* The output, as a number. */
struct sink {
	bool open;
	uint64_t sum;
	uint64_t bytes;
};

static enum ux_code sink_begin(void *ctx, enum ux_member_kind kind, const char *name, uint64_t size,
			       struct ux_error *err)
{
	struct sink *s = ctx;
	UX_ARENA(arena, 4 * UX_PATH_BYTES);
	const char *path = NULL;
	(void)err;
	(void)size;
	fuzz_truth(!s->open);
	fuzz_truth(kind == UX_MEMBER_OBJECT || kind == UX_MEMBER_PACKED || kind == UX_MEMBER_GSYM);
	fuzz_truth(ux_path_canonical(ux_bytes_cstr(name), &arena, &path, NULL) == UX_OK &&
		   strcmp(path, name) == 0);
	s->open = true;
	s->sum = s->sum * 31 + ux_hash_bytes(ux_bytes_cstr(name)) + (uint64_t)kind;
	return UX_OK;
}

static enum ux_code sink_put(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct sink *s = ctx;
	(void)err;
	fuzz_truth(s->open);
	for (size_t i = 0; i < bytes.size; i++)
		s->sum = s->sum * 31 + bytes.data[i];
	s->bytes += bytes.size;
	return UX_OK;
}

static enum ux_code sink_end(void *ctx, struct ux_error *err)
{
	struct sink *s = ctx;
	(void)err;
	fuzz_truth(s->open);
	s->open = false;
	return UX_OK;
}

/* As in fuzz_archive.h: decoders that take the window that an input demands are left out. */
static int leave_out(struct archive *a)
{
	(void)a;
	return ARCHIVE_OK;
}

static enum ux_code read_all(const struct ux_archive_calls *calls, struct ux_bytes package,
			     size_t piece, struct sink *ret)
{
	struct reader reader = {package, piece};
	const struct ux_stream_source source = {read_piece, &reader};
	const struct ux_stream_sink sink = {sink_begin, sink_put, sink_end, ret};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_member_stream_read(calls, &source, &sink, &err);
	fuzz_truth(code == err.code);
	fuzz_truth(code != UX_OK || (reader.bytes.size == 0 && !ret->open));
	return code;
}

FUZZ_TARGET(member_stream)(const uint8_t *data, size_t size)
{
	static struct ux_archive_calls calls;
	static bool loaded;
	struct sink whole = {0}, pieces = {0};
	if (!loaded)
		fuzz_truth(ux_archive_load(&calls, NULL) == UX_OK);
	loaded = true;
	calls.archive_read_support_filter_lzma = calls.archive_read_support_filter_xz = leave_out;
	calls.archive_read_support_filter_zstd = leave_out;
	if (size == 0)
		return 0;
	struct ux_bytes package = ux_bytes(data + 1, size - 1);
	if (ux_bytes_starts(package, UX_STR("ADBc\2")))
		return 0; /* zstd */
	enum ux_code code = read_all(&calls, package, SIZE_MAX, &whole);
	enum ux_code again = read_all(&calls, package, (size_t)data[0] + 1, &pieces);
	fuzz_truth((code == UX_OK) == (again == UX_OK));
	fuzz_truth(code != UX_OK || (whole.sum == pieces.sum && whole.bytes == pieces.bytes));
	return 0;
}

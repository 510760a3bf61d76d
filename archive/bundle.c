/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes source files in archives, with libarchive. Source of the format: pax(1), "pax
 * Interchange Format".
 */
#include "bundle.h"

#include "debian_source.h"
#include "library_calls.h"
#include "path_canonical.h"

/* The soname of the library version that the header belongs to. All of version 3 are compatible. */
#define SONAME "libarchive.so.13"
static_assert(ARCHIVE_VERSION_NUMBER / 1000000 == 3, "another version has another name");

enum ux_code ux_archive_load(struct ux_archive_calls *ret, struct ux_error *err)
{
	static const char *const names[] = {
#define NAME(name) #name,
		UX_ARCHIVE_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	return ux_library_calls(SONAME,
				"archives need libarchive (Debian: apt install libarchive13)",
				names, ux_countof(names), ret, err);
}

enum {
	MODE = 0444
};

static la_ssize_t bundle_writer_output(struct archive *a, void *ctx, const void *data, size_t n)
{
	struct ux_bundle_writer *w = ctx;
	(void)a;
	w->over = w->out->size + n > w->max;
	if (w->over)
		return -1;
	ux_out_put(w->out, data, n);
	return w->out->failed ? -1 : (la_ssize_t)n;
}

static enum ux_code bundle_writer_fail(const struct ux_bundle_writer *w, struct ux_error *err)
{
	const char *why = w->calls.archive_error_string(w->archive);
	if (w->out->failed)
		return ux_error_nomem(err);
	if (w->over)
		return ux_error_set(err, UX_ELIMIT, "the archive exceeds %" PRIu64 " bytes",
				    w->max);
	return ux_error_set(err, UX_EUNSUPPORTED, "cannot write an archive: %.100s",
			    why ? why : "libarchive gives no reason");
}

/*
 * Names are bytes, whatever the locale. One thread is used, so that the output is the same on every
 * machine.
 */
static int bundle_writer_set_up(struct ux_bundle_writer *w)
{
	const struct ux_archive_calls *c = &w->calls;
	int r = c->archive_write_set_format_pax_restricted(w->archive);
	if (r == ARCHIVE_OK)
		r = c->archive_write_add_filter_zstd(w->archive);
	if (r == ARCHIVE_OK)
		r = c->archive_write_set_options(w->archive, "hdrcharset=BINARY");
	if (r == ARCHIVE_OK)
		r = c->archive_write_set_bytes_per_block(w->archive, 0);
	if (r == ARCHIVE_OK)
		r = c->archive_write_open(w->archive, w, NULL, bundle_writer_output, NULL);
	return r;
}

enum ux_code ux_bundle_writer_open(struct ux_bundle_writer *w, struct ux_out *out, uint64_t max,
				   struct ux_error *err)
{
	*w = (struct ux_bundle_writer){.out = out, .max = max};
	UX_TRY(ux_archive_load(&w->calls, err));
	w->archive = w->calls.archive_write_new();
	w->entry = w->calls.archive_entry_new();
	if (!w->archive || !w->entry) {
		ux_bundle_writer_close(w);
		return ux_error_nomem(err);
	}
	if (bundle_writer_set_up(w) == ARCHIVE_OK)
		return UX_OK;
	enum ux_code code = bundle_writer_fail(w, err);
	ux_bundle_writer_close(w);
	return code;
}

enum ux_code ux_bundle_writer_add(struct ux_bundle_writer *w, const char *path,
				  struct ux_bytes content, struct ux_error *err)
{
	const struct ux_archive_calls *c = &w->calls;
	c->archive_entry_clear(w->entry);
	c->archive_entry_set_pathname(w->entry, path + 1);
	c->archive_entry_set_filetype(w->entry, AE_IFREG);
	c->archive_entry_set_perm(w->entry, MODE);
	c->archive_entry_set_mtime(w->entry, 0, 0);
	c->archive_entry_set_size(w->entry, (la_int64_t)content.size);
	if (c->archive_write_header(w->archive, w->entry) != ARCHIVE_OK ||
	    c->archive_write_data(w->archive, content.data, content.size) !=
		    (la_ssize_t)content.size)
		return bundle_writer_fail(w, err);
	return UX_OK;
}

enum ux_code ux_bundle_writer_end(struct ux_bundle_writer *w, struct ux_error *err)
{
	return w->calls.archive_write_close(w->archive) == ARCHIVE_OK ? UX_OK
								      : bundle_writer_fail(w, err);
}

void ux_bundle_writer_close(struct ux_bundle_writer *w)
{
	if (w->archive)
		(void)w->calls.archive_write_free(w->archive);
	if (w->entry)
		w->calls.archive_entry_free(w->entry);
	*w = (struct ux_bundle_writer){0};
}

enum {
	PIECE = 256 << 10,
	TAR_MAGIC = 257, /* offset of "ustar" */
};

struct unpacking {
	const struct ux_archive_calls *calls;
	struct archive *archive;
	struct ux_source_packer *packer;
	uint64_t max;
	uint8_t *piece;
	struct ux_error *err;
};

static void unpacking_deinit(struct unpacking *u)
{
	if (u->archive)
		(void)u->calls->archive_read_free(u->archive);
	free(u->piece);
}

enum ux_code ux_bundle_check(struct ux_bytes file, struct ux_error *err)
{
	static const struct {
		size_t off, size;
		uint8_t bytes[6];
	} known[] = {
		{0, 4, {0x28, 0xb5, 0x2f, 0xfd}},          /* zstd */
		{0, 4, {'P', 'K', 3, 4}},                  /* zip */
		{0, 3, {0x1f, 0x8b, 8}},                   /* gzip */
		{0, 6, {0xfd, '7', 'z', 'X', 'Z', 0}},     /* xz */
		{0, 4, {0xed, 0xab, 0xee, 0xdb}},          /* rpm */
		{TAR_MAGIC, 5, {'u', 's', 't', 'a', 'r'}}, /* tar */
	};
	for (size_t i = 0; i < ux_countof(known); i++) {
		struct ux_bytes at = UX_BYTES_NONE;
		if (ux_bytes_sub(file, known[i].off, known[i].size, &at) &&
		    memcmp(at.data, known[i].bytes, at.size) == 0)
			return UX_OK;
	}
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "not a source archive; expected tar (zstd, gzip, xz), zip or rpm");
}

enum ux_code ux_archive_failure(const struct ux_archive_calls *calls, struct archive *archive,
				struct ux_error *err)
{
	const char *why = calls->archive_error_string(archive);
	char clean[100];
	size_t n = 0;
	for (; why && why[n] != '\0' && n + 1 < sizeof(clean); n++)
		clean[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
	clean[n] = '\0';
	return ux_error_set(err, UX_ECORRUPT, "the archive is damaged: %s",
			    n > 0 ? clean : "libarchive gives no reason");
}

ssize_t ux_archive_read_piece(const struct ux_archive_calls *calls, struct archive *archive,
			      uint8_t *piece, size_t size)
{
	size_t have = 0;
	while (have < size) {
		la_ssize_t n = calls->archive_read_data(archive, piece + have, size - have);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static enum ux_code unpacking_fail(const struct unpacking *u)
{
	return ux_archive_failure(u->calls, u->archive, u->err);
}

static enum ux_code unpacking_copy(const struct unpacking *u)
{
	struct ux_source_packer *p = u->packer;
	uint64_t from = p->size;
	for (;;) {
		la_ssize_t n = u->calls->archive_read_data(u->archive, u->piece, PIECE);
		if (n == 0)
			return UX_OK;
		if (n < 0)
			return unpacking_fail(u);
		if (p->size - from + (uint64_t)n > UX_BUNDLE_FILE_MAX)
			return ux_error_set(u->err, UX_ELIMIT, "a source file exceeds %d bytes",
					    UX_BUNDLE_FILE_MAX);
		if (p->size + (uint64_t)n > u->max)
			return ux_error_set(u->err, UX_ELIMIT,
					    "the sources exceed %" PRIu64 " bytes", u->max);
		UX_TRY(ux_source_packer_put(p, ux_bytes(u->piece, (size_t)n), u->err));
	}
}

/* Returns the raw bytes of the name, or its UTF-8 form if the archive has only that. */
static const char *unpacking_name_of(const struct unpacking *u, struct archive_entry *entry)
{
	const char *name = u->calls->archive_entry_pathname(entry);
	return name ? name : u->calls->archive_entry_pathname_utf8(entry);
}

static enum ux_code unpacking_member(const struct unpacking *u, struct archive_entry *entry)
{
	UX_ARENA(arena, 4 * UX_PATH_BYTES);
	const char *path = NULL;
	if (u->calls->archive_entry_filetype(entry) != AE_IFREG)
		return UX_OK;
	const char *name = unpacking_name_of(u, entry);
	if (!name)
		return ux_error_set(u->err, UX_ECORRUPT, "a member of the archive has no name");
	UX_TRY(ux_path_of_source(ux_bytes_cstr(name), &arena, &path, u->err));
	uint64_t off = u->packer->size;
	UX_TRY(unpacking_copy(u));
	return ux_source_packer_name(u->packer, path, off, u->err);
}

static enum ux_code unpacking_all(const struct unpacking *u)
{
	struct archive_entry *entry = NULL;
	for (unsigned n = 0;; n++) {
		int r = u->calls->archive_read_next_header(u->archive, &entry);
		if (r == ARCHIVE_EOF)
			break;
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return unpacking_fail(u);
		if (n == UX_BUNDLE_MEMBERS_MAX)
			return ux_error_set(u->err, UX_ELIMIT,
					    "the archive has more than %u members", n);
		UX_TRY(unpacking_member(u, entry));
	}
	if (u->packer->count == 0)
		return ux_error_set(u->err, UX_ENOTFOUND, "the archive has no files");
	return ux_source_packer_end(u->packer, u->err);
}

static bool unpacking_set_up(const struct unpacking *u, struct ux_bytes file)
{
	const struct ux_archive_calls *c = u->calls;
	return c->archive_read_support_filter_zstd(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_filter_gzip(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_filter_xz(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_filter_bzip2(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_filter_rpm(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_format_cpio(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_format_tar(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_format_zip(u->archive) == ARCHIVE_OK &&
	       c->archive_read_open_memory(u->archive, file.data, file.size) == ARCHIVE_OK;
}

enum ux_code ux_bundle_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			      uint64_t max, struct ux_source_packer *packer, struct ux_error *err)
{
	ux_cleanup(unpacking_deinit) struct unpacking u = {
		.calls = calls, .packer = packer, .max = max, .err = err};
	UX_TRY(ux_bundle_check(file, err));
	if (ux_debian_source_is(file))
		return ux_debian_source_unpack(calls, file, max, packer, err);
	u.archive = calls->archive_read_new();
	u.piece = malloc(PIECE);
	if (!u.archive || !u.piece)
		return ux_error_nomem(err);
	return unpacking_set_up(&u, file) ? unpacking_all(&u) : unpacking_fail(&u);
}

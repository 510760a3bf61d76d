/* SPDX-License-Identifier: Apache-2.0 */
/* An archive of source files, as a stranger sent it, to a pack. */
#include "bundle_read.h"

#include "path_canonical.h"

enum {
	PIECE = 256 << 10,
	TAR_MAGIC = 257, /* where "ustar" is */
};

struct unpacking {
	const struct ux_archive_calls *calls;
	struct archive *archive;
	struct ux_source_packer *packer;
	uint64_t most;
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
		{TAR_MAGIC, 5, {'u', 's', 't', 'a', 'r'}}, /* tar */
	};
	for (size_t i = 0; i < ux_countof(known); i++) {
		struct ux_bytes at = UX_BYTES_NONE;
		if (ux_bytes_sub(file, known[i].off, known[i].size, &at) &&
		    memcmp(at.data, known[i].bytes, at.size) == 0)
			return UX_OK;
	}
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "no archive of sources; expected tar (zstd, gzip, xz) or zip");
}

static enum ux_code failed(const struct unpacking *u)
{
	const char *why = u->calls->archive_error_string(u->archive);
	char clean[100];
	size_t n = 0;
	for (; why && why[n] != '\0' && n + 1 < sizeof(clean); n++)
		clean[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
	clean[n] = '\0';
	return ux_error_set(u->err, UX_ECORRUPT, "the archive is damaged: %s",
			    n > 0 ? clean : "no reason is told");
}

static enum ux_code copy_content(const struct unpacking *u)
{
	struct ux_source_packer *p = u->packer;
	uint64_t from = p->size;
	for (;;) {
		la_ssize_t n = u->calls->archive_read_data(u->archive, u->piece, PIECE);
		if (n == 0)
			return UX_OK;
		if (n < 0)
			return failed(u);
		if (p->size - from + (uint64_t)n > UX_BUNDLE_FILE_MOST)
			return ux_error_set(u->err, UX_ELIMIT, "a source file is over %d bytes",
					    UX_BUNDLE_FILE_MOST);
		if (p->size + (uint64_t)n > u->most)
			return ux_error_set(u->err, UX_ELIMIT,
					    "the sources are over %" PRIu64 " bytes", u->most);
		UX_TRY(ux_source_packer_put(p, ux_bytes(u->piece, (size_t)n), u->err));
	}
}

/* As bytes where the archive has them, in UTF-8 where it says so. */
static const char *name_of(const struct unpacking *u, struct archive_entry *entry)
{
	const char *name = u->calls->archive_entry_pathname(entry);
	return name ? name : u->calls->archive_entry_pathname_utf8(entry);
}

static enum ux_code unpack_member(const struct unpacking *u, struct archive_entry *entry)
{
	UX_ARENA(arena, 4 * UX_PATH_BYTES);
	const char *path = NULL;
	if (u->calls->archive_entry_filetype(entry) != AE_IFREG)
		return UX_OK;
	const char *name = name_of(u, entry);
	if (!name)
		return ux_error_set(u->err, UX_ECORRUPT, "a member of the archive has no name");
	UX_TRY(ux_path_of_source(ux_bytes_cstr(name), &arena, &path, u->err));
	uint64_t off = u->packer->size;
	UX_TRY(copy_content(u));
	return ux_source_packer_name(u->packer, path, off, u->err);
}

static enum ux_code unpack_all(const struct unpacking *u)
{
	struct archive_entry *entry = NULL;
	for (unsigned n = 0;; n++) {
		int r = u->calls->archive_read_next_header(u->archive, &entry);
		if (r == ARCHIVE_EOF)
			break;
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return failed(u);
		if (n == UX_BUNDLE_MEMBERS_MOST)
			return ux_error_set(u->err, UX_ELIMIT, "the archive has over %u members",
					    n);
		UX_TRY(unpack_member(u, entry));
	}
	if (u->packer->count == 0)
		return ux_error_set(u->err, UX_ENOTFOUND, "there is no file in the archive");
	return ux_source_packer_end(u->packer, u->err);
}

static bool set_up(const struct unpacking *u, struct ux_bytes file)
{
	const struct ux_archive_calls *c = u->calls;
	return c->archive_read_support_filter_zstd(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_filter_gzip(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_filter_xz(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_format_tar(u->archive) == ARCHIVE_OK &&
	       c->archive_read_support_format_zip(u->archive) == ARCHIVE_OK &&
	       c->archive_read_open_memory(u->archive, file.data, file.size) == ARCHIVE_OK;
}

enum ux_code ux_bundle_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			      uint64_t most, struct ux_source_packer *packer, struct ux_error *err)
{
	ux_cleanup(unpacking_deinit) struct unpacking u = {
		.calls = calls, .packer = packer, .most = most, .err = err};
	UX_TRY(ux_bundle_check(file, err));
	u.archive = calls->archive_read_new();
	u.piece = malloc(PIECE);
	if (!u.archive || !u.piece)
		return ux_error_nomem(err);
	return set_up(&u, file) ? unpack_all(&u) : failed(&u);
}

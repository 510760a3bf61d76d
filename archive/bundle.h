/* SPDX-License-Identifier: Apache-2.0 */
/* Source files in an archive, written for an upload and unpacked from one
 * (docs/formats/sources.md). */
#ifndef UX_BUNDLE_H
#define UX_BUNDLE_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "source_pack.h"

#include <archive.h>
#include <archive_entry.h>

/* Functions of libarchive that are called; docs/decisions/0001-dependencies.md says why it is
 * loaded at run time. */
#define UX_ARCHIVE_CALLS(X)                        \
	X(archive_error_string)                    \
	X(archive_entry_clear)                     \
	X(archive_entry_filetype)                  \
	X(archive_entry_free)                      \
	X(archive_entry_new)                       \
	X(archive_entry_pathname)                  \
	X(archive_entry_pathname_utf8)             \
	X(archive_entry_set_filetype)              \
	X(archive_entry_set_perm)                  \
	X(archive_entry_set_size)                  \
	X(archive_entry_set_mtime)                 \
	X(archive_entry_set_pathname)              \
	X(archive_read_data)                       \
	X(archive_read_free)                       \
	X(archive_read_new)                        \
	X(archive_read_next_header)                \
	X(archive_read_open_memory)                \
	X(archive_read_support_filter_gzip)        \
	X(archive_read_support_filter_xz)          \
	X(archive_read_support_filter_zstd)        \
	X(archive_read_support_format_tar)         \
	X(archive_read_support_format_zip)         \
	X(archive_write_add_filter_zstd)           \
	X(archive_write_close)                     \
	X(archive_write_data)                      \
	X(archive_write_free)                      \
	X(archive_write_header)                    \
	X(archive_write_new)                       \
	X(archive_write_open)                      \
	X(archive_write_set_bytes_per_block)       \
	X(archive_write_set_format_pax_restricted) \
	X(archive_write_set_options)

struct ux_archive_calls {
#define UX_ARCHIVE_CALL(name) __typeof__(name) *name;
	UX_ARCHIVE_CALLS(UX_ARCHIVE_CALL)
#undef UX_ARCHIVE_CALL
};

/* Loads the library, for the life of the process. UX_EUNSUPPORTED: it is not installed. Any thread.
 */
enum ux_code ux_archive_load(struct ux_archive_calls *ret, struct ux_error *err) ux_must;

/* A tar file, compressed by zstd, on its way. Zeroed is none. */
struct ux_bundle_writer {
	struct ux_archive_calls calls;
	struct archive *archive;
	struct archive_entry *entry;
	struct ux_out *out;
	uint64_t most; /* bytes of out */
	bool over;     /* it would have had more */
};

/*
 * Begins an archive in out, of at most so many bytes. The same files in the same order give the
 * same bytes: owners, times and modes are all the same. UX_EUNSUPPORTED: there is no libarchive, or
 * it knows no zstd.
 */
enum ux_code ux_bundle_writer_open(struct ux_bundle_writer *w, struct ux_out *out, uint64_t most,
				   struct ux_error *err) ux_must;

/* Adds a file under its canonical path, whose slash in front is left out. UX_ELIMIT. */
enum ux_code ux_bundle_writer_add(struct ux_bundle_writer *w, const char *path,
				  struct ux_bytes content, struct ux_error *err) ux_must;

/* Ends the archive: now it is whole. */
enum ux_code ux_bundle_writer_end(struct ux_bundle_writer *w, struct ux_error *err) ux_must;
void ux_bundle_writer_close(struct ux_bundle_writer *w);

enum {
	UX_BUNDLE_FILE_MOST = 64 << 20, /* bytes of one file */
	UX_BUNDLE_MEMBERS_MOST = 400000 /* with folders and links, which are passed over */
};

/* Checks the magic number of an archive. UX_EUNSUPPORTED: it is none of those that are read. */
enum ux_code ux_bundle_check(struct ux_bytes file, struct ux_error *err) ux_must;

/*
 * Packs the regular files of a tar or zip archive, compressed by zstd, gzip, xz or not at all.
 * A member's name is a path from the root, with or without the leading slash. `most` bounds the
 * unpacked bytes of all files together. The archive is untrusted and libarchive reads it, so
 * this runs in the confined child alone (sandbox.h). UX_ECORRUPT: it is truncated, or a name
 * leads above the root; UX_ELIMIT; UX_ENOTFOUND: there is no file in it.
 */
enum ux_code ux_bundle_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			      uint64_t most, struct ux_source_packer *packer, struct ux_error *err)
	ux_must;

#endif

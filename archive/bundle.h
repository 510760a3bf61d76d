/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles of source files: archives that are written for an upload and unpacked on the server
 * (docs/formats/sources.md).
 */
#ifndef UX_BUNDLE_H
#define UX_BUNDLE_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "source_pack.h"

#include <archive.h>
#include <archive_entry.h>

/*
 * Functions of libarchive that are used. docs/decisions/0001-dependencies.md explains why it is
 * loaded at run time.
 */
#define UX_ARCHIVE_CALLS(X)                        \
	X(archive_format)                          \
	X(archive_error_string)                    \
	X(archive_entry_clear)                     \
	X(archive_entry_size)                      \
	X(archive_entry_filetype)                  \
	X(archive_entry_free)                      \
	X(archive_entry_hardlink)                  \
	X(archive_entry_new)                       \
	X(archive_entry_pathname)                  \
	X(archive_entry_pathname_utf8)             \
	X(archive_entry_set_filetype)              \
	X(archive_entry_set_perm)                  \
	X(archive_entry_set_size)                  \
	X(archive_entry_set_mtime)                 \
	X(archive_entry_set_pathname)              \
	X(archive_entry_symlink)                   \
	X(archive_read_data)                       \
	X(archive_read_free)                       \
	X(archive_read_open)                       \
	X(archive_read_new)                        \
	X(archive_read_next_header)                \
	X(archive_read_open_memory)                \
	X(archive_read_support_filter_bzip2)       \
	X(archive_read_support_filter_gzip)        \
	X(archive_read_support_filter_lz4)         \
	X(archive_read_support_filter_lzma)        \
	X(archive_read_support_filter_rpm)         \
	X(archive_read_support_filter_xz)          \
	X(archive_read_support_filter_zstd)        \
	X(archive_read_support_format_ar)          \
	X(archive_read_support_format_cpio)        \
	X(archive_read_support_format_raw)         \
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

/*
 * Loads the library for the lifetime of the process. UX_EUNSUPPORTED: it is not installed. Any
 * thread.
 */
enum ux_code ux_archive_load(struct ux_archive_calls *ret, struct ux_error *err) ux_must;

/* Sets UX_ECORRUPT with libarchive's reason, without bytes that a terminal would act on. */
enum ux_code ux_archive_failure(const struct ux_archive_calls *calls, struct archive *archive,
				struct ux_error *err);

/*
 * Reads the current member until size bytes are there or the member ends. Returns the number of
 * bytes, or -1: ux_archive_failure() tells why.
 */
ssize_t ux_archive_read_piece(const struct ux_archive_calls *calls, struct archive *archive,
			      uint8_t *piece, size_t size);

/* Writes a tar file that is compressed by zstd. A zeroed writer is closed. */
struct ux_bundle_writer {
	struct ux_archive_calls calls;
	struct archive *archive;
	struct archive_entry *entry;
	struct ux_out *out;
	uint64_t max; /* size limit of out */
	bool over;    /* the limit was exceeded */
};

/*
 * Begins an archive in out, limited to `max` bytes. It is deterministic: owners, times and modes
 * are constant. UX_EUNSUPPORTED: libarchive is not installed, or does not support zstd.
 */
enum ux_code ux_bundle_writer_open(struct ux_bundle_writer *w, struct ux_out *out, uint64_t max,
				   struct ux_error *err) ux_must;

/* Adds a file under its canonical path without the leading slash. UX_ELIMIT. */
enum ux_code ux_bundle_writer_add(struct ux_bundle_writer *w, const char *path,
				  struct ux_bytes content, struct ux_error *err) ux_must;

/* Completes the archive. */
enum ux_code ux_bundle_writer_end(struct ux_bundle_writer *w, struct ux_error *err) ux_must;
void ux_bundle_writer_close(struct ux_bundle_writer *w);

enum {
	UX_BUNDLE_FILE_MAX = 64 << 20, /* bytes of one file */
	UX_BUNDLE_MEMBERS_MAX = 400000 /* including folders and links, which are skipped */
};

/* Checks the magic number of an archive. UX_EUNSUPPORTED: the format is not supported. */
enum ux_code ux_bundle_check(struct ux_bytes file, struct ux_error *err) ux_must;

/*
 * Packs the regular files of a tar or zip archive, which may be compressed by zstd, gzip or xz, or
 * of an rpm package. A member's name is an absolute path, with or without the leading slash. `max`
 * bounds the total size of the unpacked files. The archive is untrusted and is read by libarchive,
 * so this must run only in the confined child (sandbox.h). UX_ECORRUPT: it is truncated, or a name
 * leads above the root; UX_ELIMIT; UX_ENOTFOUND: it contains no file.
 */
enum ux_code ux_bundle_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			      uint64_t max, struct ux_source_packer *packer, struct ux_error *err)
	ux_must;

#endif

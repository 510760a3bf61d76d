/* SPDX-License-Identifier: Apache-2.0 */
/* libarchive, loaded when an archive is at hand: docs/decisions/0001-dependencies.md says why. */
#ifndef UX_ARCHIVE_CALLS_H
#define UX_ARCHIVE_CALLS_H

#include "error.h"

#include <archive.h>
#include <archive_entry.h>

/* What is called of it. */
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

#endif

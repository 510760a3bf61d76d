/* SPDX-License-Identifier: Apache-2.0 */
/* Source files to one archive. */
#ifndef UX_BUNDLE_WRITE_H
#define UX_BUNDLE_WRITE_H

#include "archive_calls.h"
#include "bytes.h"
#include "out.h"

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

#endif

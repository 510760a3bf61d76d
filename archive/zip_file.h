/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a ZIP archive, and writes it again with some members replaced and every other byte
 * unchanged: names, order, modes, times, compressed data, extra fields and comments.
 *
 * Format (PKWARE's APPNOTE.TXT 6.3.10; all numbers little-endian): local header, name, extra fields
 * and data of each member; then a central directory with a header for each; then a record of the
 * end. Sizes and offsets that do not fit 32 bits are in an extra field (ID 1), and the directory's
 * in a ZIP64 record of the end.
 */
#ifndef UX_ZIP_FILE_H
#define UX_ZIP_FILE_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "vec.h"

enum {
	UX_ZIP_MEMBERS_MAX = 1000000,
	UX_ZIP_STORED = 0, /* compression methods */
	UX_ZIP_DEFLATED = 8,
};

/* bytes that one member may inflate to, at most */
#define UX_ZIP_MEMBER_MAX (UINT64_C(4) << 30)

struct ux_zip_member {
	struct ux_bytes name; /* in the archive, not terminated; without control characters */
	struct ux_bytes
		header; /* its header in the central directory, with name, extra and comment */
	uint64_t off;   /* offset of its local header */
	uint64_t end;   /* after its data and data descriptor: where the next one begins */
	struct ux_bytes data; /* as stored */
	uint64_t size;        /* inflated */
	uint32_t crc;
	uint16_t method;
	uint16_t flags;
	uint16_t time; /* MS-DOS time */
	uint16_t date;
	uint32_t attributes; /* the mode of a file in the upper half, if Unix made it */
};

UX_VEC(ux_zip_members, struct ux_zip_member);

/* An open archive; the members are in the order of the central directory. */
struct ux_zip_file {
	struct ux_bytes file;
	struct ux_zip_members members;
	size_t *by_offset;      /* malloc'ed: the members by ascending offset */
	uint64_t directory;     /* offset of the central directory */
	uint64_t directory_end; /* its end, where the records of the end begin */
	uint64_t end64;         /* offset of the ZIP64 record of the end; 0: none */
	uint64_t end;           /* offset of the record of the end */
};

/* Returns whether the file begins like a ZIP archive that is not empty. */
bool ux_zip_is(struct ux_bytes file);

/*
 * Reads the directory, and checks that no two members overlap and that both headers of each agree.
 * The archive must be closed after success. UX_EUNSUPPORTED: encrypted, a part of a multi-volume
 * archive, or data before the first member; UX_ECORRUPT; UX_ELIMIT; UX_ENOMEM. Any thread.
 */
enum ux_code ux_zip_open(struct ux_zip_file *zip, struct ux_bytes file, struct ux_error *err)
	ux_must;
void ux_zip_close(struct ux_zip_file *zip);

/*
 * Appends the content of a member to `to`, inflated, with its CRC checked. UX_EUNSUPPORTED: a
 * method other than stored and deflated; UX_ELIMIT: over UX_ZIP_MEMBER_MAX; UX_ECORRUPT, UX_ENOMEM.
 */
enum ux_code ux_zip_read(const struct ux_zip_member *member, struct ux_out *to,
			 struct ux_error *err) ux_must;

/* New contents of members; data is NULL for unchanged ones. */
struct ux_zip_change {
	struct ux_bytes content;
	bool is;
};

typedef enum ux_code ux_zip_sink_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

/*
 * Writes the archive with changes[i] for member i. A changed member keeps its method, stored or
 * deflated; its names, times, mode and extra fields stay. Codes of the sink, UX_ENOMEM, and
 * UX_ELIMIT: a number does not fit its field.
 */
enum ux_code ux_zip_rewrite(const struct ux_zip_file *zip, const struct ux_zip_change *changes,
			    ux_zip_sink_fn *sink, void *ctx, struct ux_error *err) ux_must;

/* --- new archives ------------------------------------------------------------------------------
 */

/* Zeroed = empty. */
struct ux_zip_writer {
	struct ux_out directory;
	uint64_t off;
	uint32_t count;
	ux_zip_sink_fn *sink;
	void *ctx;
};

/*
 * Adds a deflated file of mode 0644. time and date are MS-DOS's. UX_ELIMIT: 4 GiB or 65,535 members
 * are exceeded, since no ZIP64 is written.
 */
enum ux_code ux_zip_writer_add(struct ux_zip_writer *w, struct ux_bytes name,
			       struct ux_bytes content, uint16_t time, uint16_t date,
			       struct ux_error *err) ux_must;
enum ux_code ux_zip_writer_end(struct ux_zip_writer *w, struct ux_error *err) ux_must;
void ux_zip_writer_deinit(struct ux_zip_writer *w);

/* Converts seconds since 1970 (UTC) to MS-DOS's time and date, of the years 1980 to 2099. */
void ux_zip_time(int64_t seconds, uint16_t *ret_time, uint16_t *ret_date);

#endif

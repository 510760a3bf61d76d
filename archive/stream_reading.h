/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the readers of packages as streams. */
#ifndef UX_STREAM_READING_H
#define UX_STREAM_READING_H

#include "member_stream.h"

enum {
	UX_STREAM_PIECE = 256 << 10,
};

/* The reading of one package, with all archives nested in it. */
struct ux_stream_reading {
	const struct ux_archive_calls *calls;
	const struct ux_stream_source *source;
	const struct ux_stream_sink *sink;
	struct ux_error *err;
	enum ux_code code;    /* reason why the reading ended during a callback of libarchive */
	struct ux_bytes head; /* first bytes of the package, not yet given to its reader */
	uint64_t in, out;     /* bytes */
	unsigned members;
};

/* Reads bytes of the package. *ret 0: the end. */
enum ux_code ux_stream_source_read(struct ux_stream_reading *s, void *to, size_t n, size_t *ret)
	ux_must;

/* Counts unpacked bytes, and refuses amounts that no package contains. UX_ELIMIT. */
enum ux_code ux_stream_count(struct ux_stream_reading *s, uint64_t n) ux_must;

/* Counts a member. UX_ELIMIT. */
enum ux_code ux_stream_count_member(struct ux_stream_reading *s) ux_must;

/* Reads content of the current member. Returns the number of bytes; -1: s->code has the reason. */
typedef ssize_t ux_stream_content_fn(void *ctx, void *to, size_t n);

/* A member and the reader of its content. */
struct ux_stream_content {
	ux_stream_content_fn *read;
	void *ctx;
	uint8_t *piece; /* UX_STREAM_PIECE bytes */
	size_t n;       /* bytes in it that were read ahead to find the member's kind */
	uint64_t size;  /* bytes, as its header tells */
	const char *path;
};

/* Reads ahead, and sets *ret to the kind of the member. */
enum ux_code ux_stream_content_kind(struct ux_stream_reading *s, struct ux_stream_content *c,
				    enum ux_member_kind *ret) ux_must;

/* Passes the member on, or skips it. */
enum ux_code ux_stream_content_pass(struct ux_stream_reading *s, struct ux_stream_content *c,
				    enum ux_member_kind kind) ux_must;

/* Makes libarchive read the package from ctx, with all decoders. False: it cannot. */
bool ux_stream_open_archive(const struct ux_archive_calls *calls, struct archive *archive,
			    void *ctx, archive_read_callback *read) ux_must;

/* Reads a package that ux_rpm_is() accepts. */
enum ux_code ux_rpm_stream_read(struct ux_stream_reading *s) ux_must;

/*
 * Reads a package that ux_adb_is() accepts. UX_ECONFLICT: its metadata do not match the source's
 * hash, or the data of a file do not match the metadata.
 */
enum ux_code ux_apk_stream_read(struct ux_stream_reading *s) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An rpm package: its header, only the list of files that the payload needs, and its payload.
 * Source: RPM package format (rpm.org, docs/manual/format_v4, format_v6), lib/rpmtag.h for the
 * numbers.
 */
#ifndef UX_RPM_HEADER_H
#define UX_RPM_HEADER_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "path_canonical.h"

enum {
	UX_RPM_LEAD_BYTES = 96,
	/* bytes at the start of a header: magic, number of entries, size of the data */
	UX_RPM_INTRO_BYTES = 16,
	UX_RPM_ENTRIES_MAX = 65535,  /* rpm's own limit */
	UX_RPM_DATA_MAX = 256 << 20, /* bytes; rpm's own limit */
	UX_RPM_FILES_MAX = 1000000,
};

/* Returns whether the file begins like an rpm package. */
bool ux_rpm_is(struct ux_bytes head) ux_must;

/*
 * Reads the introduction of a header. *ret: how many bytes of entries and data follow. UX_ECORRUPT,
 * UX_ELIMIT.
 */
enum ux_code ux_rpm_intro(struct ux_bytes intro, uint64_t *ret, struct ux_error *err) ux_must;

struct ux_rpm_file {
	const char *name; /* as written, an absolute path; valid as long as the header */
	const char *folder;
	uint64_t
		size; /* bytes of its content in the payload: 0 for all but the last of its links */
	bool regular;
};

/* The files, by the number that a payload without names (07070X) refers to. */
struct ux_rpm_files {
	struct ux_rpm_file *list; /* the arena's */
	size_t n;
};

/*
 * Reads the files of the main header. header: with its introduction. A header without files belongs
 * to a package without files. UX_ECORRUPT: an entry or a number is outside of its bounds,
 * UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_rpm_files_read(struct ux_bytes header, struct ux_arena *arena,
			       struct ux_rpm_files *ret, struct ux_error *err) ux_must;

/*
 * The payload: a cpio archive. Its entries have their own name and size (magic 070701, cpio(5) "New
 * ASCII Format"), or the number of a file in the package's header (07070X: for files over 4 GiB,
 * and in all packages that rpm 6 makes).
 */

/* Reads at most n bytes of the decompressed payload. *ret 0: the end. */
typedef enum ux_code ux_rpm_read_fn(void *ctx, void *to, size_t n, size_t *ret,
				    struct ux_error *err);

/* Before the first entry everything is zero except read, ctx and files. */
struct ux_rpm_cpio {
	ux_rpm_read_fn *read;
	void *ctx;
	const struct ux_rpm_files *files;
	uint64_t off;  /* bytes read */
	uint64_t left; /* unread bytes of the current entry's content */
};

struct ux_rpm_entry {
	char name[UX_PATH_BYTES];
	uint64_t size;
	bool regular;
};

/*
 * Moves to the next entry; skips the unread rest of the current one. *ret_more false: the archive
 * ended. UX_ECORRUPT: it is damaged or truncated, or refers to a file that is not in the header;
 * UX_ELIMIT; codes of read.
 */
enum ux_code ux_rpm_cpio_next(struct ux_rpm_cpio *c, struct ux_rpm_entry *ret, bool *ret_more,
			      struct ux_error *err) ux_must;

/* Reads content of the current entry. *ret 0: its end. */
enum ux_code ux_rpm_cpio_data(struct ux_rpm_cpio *c, void *to, size_t n, size_t *ret,
			      struct ux_error *err) ux_must;

#endif

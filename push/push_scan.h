/* SPDX-License-Identifier: Apache-2.0 */
/* Finding files in folders. */
#ifndef UX_PUSH_SCAN_H
#define UX_PUSH_SCAN_H

#include "error.h"
#include "hash.h"
#include "map.h"
#include "vec.h"

enum {
	UX_SCAN_DEPTH_MAX = 128,     /* depth of nested folders */
	UX_SCAN_FILES_MAX = 1 << 22, /* files of one push */
};

/* A regular file. */
struct ux_scan_file {
	char *path; /* malloc'ed, owned by the scan */
	bool named; /* named on the command line rather than found in a folder */
};

UX_VEC(ux_scan_files, struct ux_scan_file);

struct ux_scan_inode {
	uint64_t dev;
	uint64_t ino;
};

static inline uint64_t ux_scan_inode_hash(struct ux_scan_inode key)
{
	return ux_hash_mix(key.dev ^ 0x9e3779b97f4a7c15u, key.ino ^ 0xd6e8feb86659fd93u);
}

static inline bool ux_scan_inode_eq(struct ux_scan_inode a, struct ux_scan_inode b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

UX_MAP(ux_scan_inodes, struct ux_scan_inode, bool, ux_scan_inode_hash, ux_scan_inode_eq);

/*
 * Called for a path that cannot be a module. err is UX_EINVAL for a FIFO, device, socket or the
 * like; other codes mean that it could not be read.
 */
typedef void ux_scan_left_out_fn(void *ctx, const char *path, bool named,
				 const struct ux_error *err);

/* Before the first scan, zero everything except no_links, left_out and ctx. */
struct ux_scan {
	struct ux_scan_files files;
	struct ux_scan_inodes seen;
	/* below a folder, do not follow links to files: a file elsewhere does not belong to the
	 * folder */
	bool no_links;
	ux_scan_left_out_fn *left_out;
	void *ctx;
};

/*
 * Adds path, or every file below it in the order of their names. Below a folder, links to files are
 * followed and links to folders are not, so there are no loops. A file with several names is added
 * once. Only folders are opened. An unreadable path is reported to left_out and the scan continues,
 * so the code is UX_OK, UX_ENOMEM or UX_ELIMIT.
 */
enum ux_code ux_scan_path(struct ux_scan *scan, const char *path, struct ux_error *err) ux_must;

/* Does the same for a path that the user did not name. */
enum ux_code ux_scan_found(struct ux_scan *scan, const char *path, struct ux_error *err) ux_must;

void ux_scan_deinit(struct ux_scan *scan);

#endif

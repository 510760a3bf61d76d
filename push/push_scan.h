/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a list of paths stands for. */
#ifndef UX_PUSH_SCAN_H
#define UX_PUSH_SCAN_H

#include "error.h"
#include "map.h"
#include "vec.h"

enum {
	UX_SCAN_DEPTH_MOST = 128,     /* folders inside each other */
	UX_SCAN_FILES_MOST = 1 << 22, /* files of one run */
};

/* A regular file. */
struct ux_scan_file {
	char *path; /* malloc'ed, the scan's */
	bool named; /* itself asked for, not met in a folder */
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

/* What cannot be a module: err UX_EINVAL is a FIFO, device, socket or the like; others failed. */
typedef void ux_scan_left_out_fn(void *ctx, const char *path, bool named,
				 const struct ux_error *err);

/* Zeroed but for left_out and ctx = nothing scanned. */
struct ux_scan {
	struct ux_scan_files files;
	struct ux_scan_inodes seen;
	ux_scan_left_out_fn *left_out;
	void *ctx;
};

/*
 * Adds path, or every file below it in the order of their names. Below a folder, links to files
 * are followed and links to folders are not, so there are no loops; no file comes twice, whatever
 * its names; nothing but folders is opened. What cannot be read is told to left_out and the scan
 * goes on: the code is UX_ENOMEM or UX_ELIMIT, or UX_OK.
 */
enum ux_code ux_scan_path(struct ux_scan *scan, const char *path, struct ux_error *err) ux_must;
void ux_scan_deinit(struct ux_scan *scan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A file that some process has mapped as code. */
#ifndef UX_MAPPED_FILE_H
#define UX_MAPPED_FILE_H

#include "hash.h"
#include "vec.h"

/*
 * What makes a file a distinct one: the same inode with another size or time of modification is
 * another file. dev 0 and ino 0: the vDSO, whose size and hash stand in the other fields.
 */
struct ux_mapped_key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;    /* bytes */
	int64_t mtime_ns; /* since 1970 */
};

static inline uint64_t ux_mapped_key_hash(struct ux_mapped_key key)
{
	return ux_hash_mix(ux_hash_mix(key.dev ^ 0x9e3779b97f4a7c15u, key.ino | 1),
			   ux_hash_mix(key.size ^ 0xd6e8feb86659fd93u, (uint64_t)key.mtime_ns | 1));
}

static inline bool ux_mapped_key_eq(struct ux_mapped_key a, struct ux_mapped_key b)
{
	return a.dev == b.dev && a.ino == b.ino && a.size == b.size && a.mtime_ns == b.mtime_ns;
}

/* A file that waits to be identified and sent. It is open, so that it stays when it is deleted. */
struct ux_mapped_file {
	struct ux_mapped_key key;
	char *path; /* malloc'ed, as the process sees it; only a name */
	int fd;     /* open for reading */
};

UX_VEC(ux_mapped_files, struct ux_mapped_file);

void ux_mapped_file_deinit(struct ux_mapped_file *f);
void ux_mapped_files_free(struct ux_mapped_files *v);

#endif

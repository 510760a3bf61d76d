/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the machine when a recording begins: the kernel, processes, their threads and
 * mappings. */
#ifndef UX_RECORD_HOST_H
#define UX_RECORD_HOST_H

#include "map.h"
#include "record_file.h"

#include <sys/types.h>

/* A file by its device and inode. */
struct ux_record_inode {
	uint64_t dev;
	uint64_t ino;
};

ux_inline uint64_t ux_record_inode_hash(struct ux_record_inode i)
{
	return ux_hash_mix(ux_hash_u64(i.ino), i.dev | 1);
}

ux_inline bool ux_record_inode_eq(struct ux_record_inode a, struct ux_record_inode b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* The file that an inode is now: numbers of deleted files are used again, in a new generation. */
struct ux_record_identity {
	uint64_t generation;
	struct ux_id id; /* size 0: unknown */
};

UX_MAP(ux_record_identities, struct ux_record_inode, struct ux_record_identity,
       ux_record_inode_hash, ux_record_inode_eq);

/* Zeroed except for the file, to which records are added. */
struct ux_record_host {
	struct ux_record_file *file;
	bool data; /* also add mappings of files without code */
	struct ux_record_identities files;
	size_t looked_at; /* files that were examined; at most UX_RECORD_FILES_MAX */
};

enum {
	UX_RECORD_FILES_MAX = 65536,
};

void ux_record_host_deinit(struct ux_record_host *h);

/* Adds the addresses of the kernel and its modules, their build IDs, and the vDSO's. UX_ENOMEM. */
enum ux_code ux_record_host_kernel(struct ux_record_host *h, struct ux_error *err) ux_must;

/* Adds the BPF programs that are loaded, if the kernel shows them. UX_ENOMEM. */
enum ux_code ux_record_host_programs(struct ux_record_host *h, struct ux_error *err) ux_must;

/* Adds a process. UX_ENOTFOUND, UX_EDENIED: it has ended, or its mappings are hidden. UX_ENOMEM. */
enum ux_code ux_record_host_process(struct ux_record_host *h, pid_t pid, struct ux_error *err)
	ux_must;

/*
 * Adds the ID of the file in a record MMAP2 of the kernel, if it has no GNU build ID and a process
 * still has it, or it is at its path on this machine. Other records are ignored. UX_ENOMEM.
 */
enum ux_code ux_record_host_mapped(struct ux_record_host *h, struct ux_bytes record,
				   struct ux_error *err) ux_must;

/* Adds all processes that can be read. UX_ENOMEM, UX_EIO. */
enum ux_code ux_record_host_processes(struct ux_record_host *h, struct ux_error *err) ux_must;

/* Returns the IDs below a folder like /proc/1/task, one after another: 0 at the end. */
pid_t ux_record_next_number(void *folder);

#endif

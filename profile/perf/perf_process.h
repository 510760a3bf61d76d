/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a recording with their threads and mappings, and the kernel's mappings, over
 * time. */
#ifndef UX_PERF_PROCESS_H
#define UX_PERF_PROCESS_H

#include "perf_event.h"
#include "perf_space.h"

struct ux_perf_process {
	struct ux_perf_space *space; /* NULL: nothing is mapped */
	/*
	 * Mappings before the last exec. An instruction of the old program made the exec system
	 * call: until the new program runs, that instruction is the leaf of user mode.
	 */
	struct ux_perf_space *before;
	uint32_t threads;   /* threads that are known and have not ended */
	uint32_t dump;      /* module of the profile: the jitdump that it writes; 0: unknown */
	uint32_t dump_read; /* events of the jitdump before the last sample */
};

struct ux_perf_thread {
	uint32_t pid;
	uint32_t tid;
	uint32_t comm;    /* string; 0: unknown */
	uint32_t process; /* index */
	uint32_t number;  /* number of the profile's thread; 0: none yet */
	bool alive;
};

UX_VEC(ux_perf_process_list, struct ux_perf_process);
UX_VEC(ux_perf_thread_list, struct ux_perf_thread);

/* A file, identified by its inode; zeroed: unknown. */
struct ux_perf_inode {
	uint32_t major;
	uint32_t minor;
	uint64_t ino;
	uint64_t generation; /* the number of a deleted file is used again, in a new generation */
};

ux_inline uint64_t ux_perf_inode_hash(struct ux_perf_inode i)
{
	return ux_hash_mix(ux_hash_u64(i.ino ^ i.generation),
			   (uint64_t)i.major << 32 | i.minor | 1);
}

ux_inline bool ux_perf_inode_eq(struct ux_perf_inode a, struct ux_perf_inode b)
{
	return a.major == b.major && a.minor == b.minor && a.ino == b.ino &&
	       a.generation == b.generation;
}

/* Reads an inode as in MMAP2. */
ux_inline struct ux_perf_inode ux_perf_inode_read(struct ux_cur *c)
{
	struct ux_perf_inode i = {.major = ux_cur_u32(c)};
	i.minor = ux_cur_u32(c);
	i.ino = ux_cur_u64(c);
	i.generation = ux_cur_u64(c);
	return i;
}

UX_VEC(ux_perf_inodes, struct ux_perf_inode);
UX_MAP(ux_perf_inode_ids, struct ux_perf_inode, struct ux_id, ux_perf_inode_hash, ux_perf_inode_eq);

/* Modules by identity; threads of the profile. */
struct ux_perf_module_key {
	uint32_t path;
	uint32_t pid;
	struct ux_id id;
	struct ux_perf_inode inode; /* inode of a file without an ID */
};

ux_inline uint64_t ux_perf_module_hash(struct ux_perf_module_key key)
{
	return ux_hash_mix(ux_hash_u64((uint64_t)key.path << 32 | key.pid),
			   ux_hash_bytes(ux_bytes(key.id.bytes, key.id.size)) +
				   ux_perf_inode_hash(key.inode));
}

ux_inline bool ux_perf_module_eq(struct ux_perf_module_key a, struct ux_perf_module_key b)
{
	return a.path == b.path && a.pid == b.pid && ux_id_eq(&a.id, &b.id) &&
	       ux_perf_inode_eq(a.inode, b.inode);
}

ux_inline uint64_t ux_perf_thread_hash(struct ux_profile_thread t)
{
	return ux_hash_mix(ux_hash_u64((uint64_t)t.pid << 32 | t.tid), (uint64_t)t.comm << 1 | 1);
}

ux_inline bool ux_perf_thread_eq(struct ux_profile_thread a, struct ux_profile_thread b)
{
	return a.pid == b.pid && a.tid == b.tid && a.comm == b.comm;
}

UX_MAP(ux_perf_module_map, struct ux_perf_module_key, uint32_t, ux_perf_module_hash,
       ux_perf_module_eq);
UX_MAP(ux_perf_thread_map, struct ux_profile_thread, uint32_t, ux_perf_thread_hash,
       ux_perf_thread_eq);

/* Zeroed except for `profile`, to which modules and threads are added. */
struct ux_perf_processes {
	struct ux_profile *profile;
	struct ux_perf_spaces spaces;
	struct ux_perf_space *kernel; /* modules and programs; an address in none of them is the
					 kernel's */
	uint32_t kernel_module;       /* module of the profile; 0: not added yet */
	struct ux_perf_process_list processes;
	struct ux_perf_thread_list threads;
	struct ux_profile_numbers process_of; /* by pid */
	struct ux_profile_numbers thread_of;  /* by tid */
	uint32_t recent[16];                  /* indexes of threads that had samples, by tid */
	struct ux_perf_module_map modules;
	/* inodes by module number; may be shorter than the list of modules */
	struct ux_perf_inodes inodes;
	struct ux_perf_thread_map numbers;
	uint64_t unkept; /* mappings beyond the limit */
};

void ux_perf_processes_deinit(struct ux_perf_processes *p);

/* Returns whether these functions read records of a type. */
bool ux_perf_processes_read(uint32_t type);

/* Takes a record of these types. UX_ECORRUPT, UX_ENOMEM, UX_ELIMIT of the profile. */
enum ux_code ux_perf_processes_add(struct ux_perf_processes *p, const struct ux_perf_record *record,
				   bool swap, struct ux_error *err) ux_must;

/* Sets the thread of a sample; valid until the next call. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_perf_processes_thread(struct ux_perf_processes *p, uint32_t pid, uint32_t tid,
				      const struct ux_perf_thread **ret, struct ux_error *err)
	ux_must;

/* Sets the module of the kernel. */
enum ux_code ux_perf_processes_kernel(struct ux_perf_processes *p, uint32_t *ret,
				      struct ux_error *err) ux_must;

/* Reads a build ID from a perf record: without its size, it has up to 20 bytes, padded with zeros.
 */
struct ux_id ux_perf_build_id(struct ux_bytes bytes, bool has_size);

#endif

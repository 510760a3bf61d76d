/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process, as /proc/PID/maps lists them. */
#ifndef UX_PROC_MAPS_H
#define UX_PROC_MAPS_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "vec.h"

enum {
	UX_PROC_MAPS_MAX = 64 << 20, /* bytes of the list that are read at most */
};

enum ux_proc_map_kind {
	UX_PROC_MAP_FILE,   /* a file, deleted or not */
	UX_PROC_MAP_MEMORY, /* a file in memory (memfd, shared or huge pages), which may be an ELF
			       file */
	UX_PROC_MAP_ANON,   /* anonymous: "", [heap], [anon:...], //anon */
	UX_PROC_MAP_VDSO,
	UX_PROC_MAP_VSYSCALL,
	UX_PROC_MAP_SPECIAL, /* [vvar], [uprobes] and others; their code has no names */
};

struct ux_proc_map {
	uint64_t start;
	uint64_t end;     /* above start */
	uint64_t off;     /* offset in the file */
	uint64_t dev;     /* device number as of makedev() */
	uint64_t ino;     /* 0: no file */
	const char *path; /* without " (deleted)"; "" when the line has none */
	enum ux_proc_map_kind kind;
	bool exec;
	bool deleted; /* the path ends in " (deleted)" */
};

UX_VEC(ux_proc_map_list, struct ux_proc_map);

/* Immutable once parsed. Its strings live as long as it does. */
struct ux_proc_maps {
	struct ux_arena arena;
	struct ux_proc_map_list list; /* sorted by address, without overlaps */
	uint64_t skipped;             /* lines that are malformed or not in order of address */
};

/*
 * Parses lines "START-END PERM OFFSET MAJOR:MINOR INODE PATH". In a path a newline is written as
 * \012, all other characters are verbatim. Truncated and malformed lines are counted and skipped.
 * UX_ELIMIT, UX_ENOMEM; *ret is zeroed on failure. Source: proc_pid_maps(5); Linux,
 * fs/proc/task_mmu.c, show_map_vma().
 */
enum ux_code ux_proc_maps_parse(struct ux_bytes text, struct ux_proc_maps *ret,
				struct ux_error *err) ux_must;
void ux_proc_maps_deinit(struct ux_proc_maps *m);

/* Finds the index of the mapping that contains an address. Returns false when none does. */
bool ux_proc_maps_find(const struct ux_proc_maps *m, uint64_t addr, size_t *ret);

#endif

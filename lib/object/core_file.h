/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps: which files were mapped in the process, and their build IDs. */
#ifndef UX_CORE_FILE_H
#define UX_CORE_FILE_H

#include "elf_file.h"
#include "id.h"
#include "vec.h"

enum {
	UX_CORE_MODULES_MAX = 65536 /* the kernel's default limit is 65,530 mappings */
};

/* A file that was mapped. `path` points into the core dump. */
struct ux_core_module {
	const char *path;
	uint64_t start;   /* address of its first mapping */
	uint64_t end;     /* end of its last mapping */
	struct ux_id gnu; /* size 0: it has none, or its first page was not dumped */
};

UX_VEC(ux_core_modules, struct ux_core_module);

/* Returns true for an ELF file of type ET_CORE. */
bool ux_core_is(struct ux_bytes file);

/*
 * Reads the note NT_FILE (Linux, fs/binfmt_elf.c, "fill_files_note") and, in the dumped memory, the
 * ELF header and the notes at the start of each mapped file. The modules are in the order of their
 * addresses. UX_ENOTFOUND: no such note. UX_ECORRUPT: it is damaged. UX_ELIMIT: more than
 * UX_CORE_MODULES_MAX files. *ret must be released also after a failure.
 */
enum ux_code ux_core_read_modules(const struct ux_elf *core, struct ux_core_modules *ret,
				  struct ux_error *err) ux_must;

/*
 * Returns the dumped memory of the vDSO, an ELF image that the kernel maps into processes, and sets
 * *ret_start to its address. Its code is on stacks of i386 and arm64: system calls on i386, and
 * returns from signal handlers on both. Empty: the process had none, or it was not dumped.
 */
struct ux_bytes ux_core_vdso(const struct ux_elf *core, uint64_t *ret_start);

enum {
	UX_CORE_THREADS_MAX = 65536
};

/* A thread of the process. `registers` are the user's, as the kernel stores them in struct
 * user_regs_struct or user_pt_regs; they point into the core dump and have its byte order. */
struct ux_core_thread {
	uint32_t tid;
	uint16_t
		signal; /* the signal that ended the process, which the first thread got; 0: none */
	struct ux_bytes registers;
};

UX_VEC(ux_core_threads, struct ux_core_thread);

/*
 * Reads the notes NT_PRSTATUS (Linux, include/linux/elfcore.h, struct elf_prstatus) of x86-64,
 * i386, arm64 and arm. The thread that got the signal comes first. UX_ENOTFOUND: no such note, or
 * another machine. UX_ECORRUPT; UX_ELIMIT: more than UX_CORE_THREADS_MAX threads. UX_ENOMEM. *ret
 * must be released also after a failure.
 */
enum ux_code ux_core_read_threads(const struct ux_elf *core, struct ux_core_threads *ret,
				  struct ux_error *err) ux_must;

#endif

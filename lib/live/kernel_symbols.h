/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel's symbols and build IDs, from where it tells them. */
#ifndef UX_KERNEL_SYMBOLS_H
#define UX_KERNEL_SYMBOLS_H

#include "bpf_programs.h"
#include "error.h"
#include "id.h"
#include "kallsyms.h"
#include "kernel_code.h"

#include <stdatomic.h>

/* Of the kernel, or of a module of it. */
struct ux_kernel_part {
	const char *name;  /* "" for the kernel */
	const char *label; /* "[kernel]", "[ext4]" */
	char build_id[UX_ID_TEXT];
	bool is_file;   /* else it is made while the kernel runs: "bpf", "__builtin__ftrace" */
	uint64_t start; /* of a module, as /proc/modules has it; 0: unknown */
};

UX_VEC(ux_kernel_parts, struct ux_kernel_part);

/* Immutable but for the count of its holders, the code of its parts and the BPF programs, which are
 * set once each. */
struct ux_kernel_symbols_now {
	atomic_uint refs;
	struct ux_kallsyms symbols;
	struct ux_arena arena;
	struct ux_kernel_parts parts;         /* by name */
	struct ux_kernel_code *_Atomic *code; /* of each part; NULL: not asked for yet */
	struct ux_bpf_programs *_Atomic bpf;  /* NULL: not asked for yet */
	char release[256];                    /* "6.1.0-56-amd64"; "": not told */
	struct ux_error why;                  /* code UX_OK: there are symbols */
	uint64_t read_ns;                     /* when, by the caller's clock */
};

/* Reads /proc/kallsyms, /proc/modules, /proc/sys/kernel/osrelease, /sys/kernel/notes, /sys/module
 * below root (""). NULL: no memory; any other failure is in `why`. */
struct ux_kernel_symbols_now *ux_kernel_symbols_read(const char *root, uint64_t now_ns);

struct ux_kernel_symbols_now *ux_kernel_symbols_hold(struct ux_kernel_symbols_now *k);
void ux_kernel_symbols_drop(struct ux_kernel_symbols_now *k); /* NULL is fine */

/* The part of that name, as symbols tell it. Never NULL: of one that is not known, the kernel. */
const struct ux_kernel_part *ux_kernel_part_find(const struct ux_kernel_symbols_now *k,
						 const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel's symbols, as /proc/kallsyms lists them. */
#ifndef UX_KALLSYMS_H
#define UX_KALLSYMS_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "kernel_modules.h"
#include "vec.h"

enum {
	UX_KALLSYMS_MOST = 256 << 20, /* bytes of a list that are read */
};

struct ux_kernel_symbol {
	uint64_t start; /* addresses as the kernel runs */
	uint64_t end;   /* of what it has: at most where the next symbol begins */
	const char *name;
	const char *module; /* "" for the kernel itself; "bpf", "ext4", "__builtin__ftrace" */
};

UX_VEC(ux_kernel_symbols, struct ux_kernel_symbol);

/* Immutable once parsed: any number of threads may look up. Strings live as long as it. */
struct ux_kallsyms {
	struct ux_arena arena;
	struct ux_kernel_symbols symbols; /* code, by start, one an address */
	uint64_t text;                    /* of _text; 0: not listed */
	uint64_t stext;                   /* of _stext; 0: not listed */
	uint64_t skipped;                 /* lines that are none */
};

/*
 * Reads "ADDRESS TYPE NAME", and "\t[MODULE]" behind it, of code symbols. Of several names of an
 * address one is kept: no marker of a section (_text, ..._text_start), few leading underscores,
 * global, short, byte order. There are no sizes: a symbol ends where the next one, of code or data,
 * begins, and at the latest where its module does (modules may be NULL), or at the end of its page
 * when nothing is known behind it. UX_EDENIED: the kernel hides the addresses, all of them are 0.
 * UX_ENOTFOUND: no code symbols in it. UX_ELIMIT, UX_ENOMEM. *ret is zeroed on failure. Source:
 * Linux, kernel/kallsyms.c, s_show().
 */
enum ux_code ux_kallsyms_parse(struct ux_bytes list, const struct ux_kernel_modules *modules,
			       struct ux_kallsyms *ret, struct ux_error *err) ux_must;
void ux_kallsyms_deinit(struct ux_kallsyms *k);

/* The symbol that has an address, or NULL. */
const struct ux_kernel_symbol *ux_kallsyms_find(const struct ux_kallsyms *k, uint64_t addr);

/* "gettimeofday", "time", "getcpu" and where it begins, for addresses in the vsyscall page,
 * which has three entry points and no symbols on x86-64; NULL elsewhere. */
const char *ux_vsyscall_name(uint64_t addr, uint64_t *ret_start);

#endif

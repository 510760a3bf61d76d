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
	UX_KALLSYMS_MOST = 256 << 20, /* bytes of the list that are read at most */
};

struct ux_kernel_symbol {
	uint64_t start; /* addresses as the kernel runs */
	uint64_t end;   /* at most the start of the next symbol */
	const char *name;
	const char *module; /* "" for the kernel itself; "bpf", "ext4", "__builtin__ftrace" */
};

UX_VEC(ux_kernel_symbols, struct ux_kernel_symbol);

/* Immutable once parsed. Its strings live as long as it does. */
struct ux_kallsyms {
	struct ux_arena arena;
	struct ux_kernel_symbols symbols; /* symbols of code, sorted by start, one per address */
	uint64_t text;                    /* address of _text; 0: not listed */
	uint64_t stext;                   /* address of _stext; 0: not listed */
	uint64_t skipped;                 /* malformed lines */
};

/*
 * Parses lines "ADDRESS TYPE NAME", followed by "\t[MODULE]" for a module, and keeps the symbols of
 * code. Of several names at one address one is kept, in this order of preference: not a marker of a
 * section (_text, ..._text_start), fewest leading underscores, global, shortest, first in byte
 * order. There are no sizes: a symbol ends where the next symbol of code or data begins, at the
 * latest at the end of its module (modules may be NULL), or at the end of its page when nothing
 * follows. UX_EDENIED: the kernel hides the addresses, all of them are 0. UX_ENOTFOUND: it has no
 * symbols of code. UX_ELIMIT, UX_ENOMEM. *ret is zeroed on failure. Source: Linux,
 * kernel/kallsyms.c, s_show().
 */
enum ux_code ux_kallsyms_parse(struct ux_bytes list, const struct ux_kernel_modules *modules,
			       struct ux_kallsyms *ret, struct ux_error *err) ux_must;
void ux_kallsyms_deinit(struct ux_kallsyms *k);

/* The symbol that contains an address, or NULL. */
const struct ux_kernel_symbol *ux_kallsyms_find(const struct ux_kallsyms *k, uint64_t addr);

/* The name and start of the function at an address in the vsyscall page, which has three entry
 * points ("gettimeofday", "time", "getcpu") and no symbols on x86-64; NULL elsewhere. */
const char *ux_vsyscall_name(uint64_t addr, uint64_t *ret_start);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel: its symbols, its modules, and the addresses at which their code is loaded. */
#ifndef UX_KERNEL_SYMBOLS_H
#define UX_KERNEL_SYMBOLS_H

#include "error.h"
#include "file_symbols.h"
#include "gsym_encode.h"
#include "id.h"
#include "kernel.h"

#include <stdatomic.h>

/* Contiguous code that was loaded with one distance between pc and address. */
struct ux_kernel_span {
	uint64_t start; /* address */
	uint64_t size;
	uint64_t pc; /* pc of the first byte */
};

/* The code of the kernel or of one module. Immutable. */
struct ux_kernel_code {
	struct ux_file_symbols *symbols; /* a reference; NULL: no symbols */
	struct ux_kernel_span *spans;    /* malloc'ed; sorted by start */
	size_t n_spans;
	bool guessed; /* the kernel hides the addresses, so they are computed by the rule of the
			 module loader */
	struct ux_error lost; /* why the symbols are incomplete; code UX_OK: they are complete */
};

/* The facts about the running kernel that ux_kernel_code_create() needs. */
struct ux_kernel_loaded {
	const char *root;   /* prefix of /sys */
	const char *module; /* "" for the kernel */
	uint64_t start;     /* start of a module, from /proc/modules; 0: unknown */
	const struct ux_kallsyms *kallsyms;
};

/*
 * Computes where the code of a file is loaded. It takes over the reference to symbols (NULL: none),
 * also on failure. The sections of a module are at the addresses in /sys/module; the kernel is
 * moved as a whole by KASLR. UX_ENOMEM.
 */
enum ux_code ux_kernel_code_create(struct ux_file_symbols *symbols,
				   const struct ux_kernel_loaded *loaded,
				   struct ux_kernel_code **ret, struct ux_error *err) ux_must;
void ux_kernel_code_free(struct ux_kernel_code *c); /* NULL is fine */

/* Converts an address to a pc. Returns false when the file has no code there. */
bool ux_kernel_code_pc(const struct ux_kernel_code *c, uint64_t addr, uint64_t *ret);

/* The loaded BPF programs. Immutable. */
struct ux_bpf_programs {
	struct ux_bpf_code code;
	struct ux_error lost; /* why programs are missing; code UX_OK: none is missing */
};

/* Reads all loaded BPF programs. Only UX_ENOMEM is returned; any other failure is stored in
 * (*ret)->lost. bpf(2) needs CAP_SYS_ADMIN, and kernel.kptr_restrict may hide the addresses even
 * then. */
enum ux_code ux_bpf_programs_read(struct ux_bpf_programs **ret, struct ux_error *err) ux_must;
void ux_bpf_programs_free(struct ux_bpf_programs *p); /* NULL is fine */

/* The kernel or one of its modules. */
struct ux_kernel_part {
	const char *name;  /* "" for the kernel */
	const char *label; /* "[kernel]", "[ext4]" */
	char build_id[UX_ID_TEXT];
	bool is_file;   /* false: code that the running kernel has generated, "bpf" or
			   "__builtin__ftrace" */
	uint64_t start; /* start of a module, from /proc/modules; 0: unknown */
};

UX_VEC(ux_kernel_parts, struct ux_kernel_part);

/* The running kernel at one moment. Immutable except for the reference count, the code of its parts
 * and the BPF programs: each of these is set once. */
struct ux_kernel {
	atomic_uint refs;
	struct ux_kallsyms symbols;
	struct ux_arena arena;
	struct ux_kernel_parts parts;         /* sorted by name; the first is the kernel */
	struct ux_kernel_code *_Atomic *code; /* code of each part; NULL: not loaded yet */
	struct ux_bpf_programs *_Atomic bpf;  /* NULL: not read yet */
	char release[256];                    /* "6.1.0-56-amd64"; "": unknown */
	struct ux_error why; /* why there are no symbols; code UX_OK: there are some */
	uint64_t read_ns;    /* time at which it was read, by the caller's clock */
};

/* Reads /proc/kallsyms, /proc/modules, /proc/sys/kernel/osrelease, /sys/kernel/notes and
 * /sys/module below root, which is "" except in tests. Returns NULL when memory is short; any other
 * failure is stored in `why`. */
struct ux_kernel *ux_kernel_read(const char *root, uint64_t now_ns);

struct ux_kernel *ux_kernel_hold(struct ux_kernel *k);
void ux_kernel_drop(struct ux_kernel *k); /* NULL is fine */

/* Returns the part of the module with that name in kallsyms, or the kernel itself if it has no such
 * module; never NULL. */
const struct ux_kernel_part *ux_kernel_part_find(const struct ux_kernel *k, const char *name);

/* --- as a GSYM (kernel_gsym.c) ---------------------------------------------------------------- */

/*
 * Returns in *ret the pc at which vmlinux has the first byte of its code, for a kernel that is
 * loaded at `text`. On x86-64, the only one to load it into the last 2 GiB, the linker puts it at
 * one address (__START_KERNEL, with the default CONFIG_PHYSICAL_START). On other machines that
 * depends on the configuration: false, with *ret = text. Source: Linux,
 * arch/x86/include/asm/page_types.h.
 */
bool ux_kernel_link_base(uint64_t text, uint64_t *ret);

/*
 * Passes a GSYM with the functions of a part to the sink: names and sizes, no lines. Its UUID is
 * the build ID; its pcs are the same as in vmlinux, or for a module count from its .text, as in the
 * GSYM of its file. UX_ENOTFOUND: the part has no build ID, or no symbols, or its address is
 * hidden. The same symbols give the same bytes wherever the kernel was loaded.
 */
enum ux_code ux_kernel_gsym_write(const struct ux_kernel *k, const struct ux_kernel_part *part,
				  ux_gsym_sink_fn *sink, void *ctx, struct ux_error *err) ux_must;

#endif

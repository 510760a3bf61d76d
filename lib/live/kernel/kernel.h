/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of the running kernel's reports about its code: symbols, modules and BPF programs. */
#ifndef UX_KERNEL_H
#define UX_KERNEL_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "vec.h"

struct ux_kernel_module {
	uint64_t start; /* 0: the kernel hides it */
	uint64_t size;
	const char *name;
};

UX_VEC(ux_kernel_module_list, struct ux_kernel_module);

/* Immutable once parsed. */
struct ux_kernel_modules {
	struct ux_arena arena;
	struct ux_kernel_module_list list; /* sorted by start */
	uint64_t skipped;                  /* malformed lines */
};

/*
 * Parses the lines of /proc/modules: "NAME SIZE USERS DEPENDENCIES STATE ADDRESS [(TAINT)]".
 * UX_ELIMIT, UX_ENOMEM; *ret is zeroed on failure. Source: Linux, kernel/module/procfs.c, m_show().
 */
enum ux_code ux_kernel_modules_parse(struct ux_bytes list, struct ux_kernel_modules *ret,
				     struct ux_error *err) ux_must;
void ux_kernel_modules_deinit(struct ux_kernel_modules *m);

/* Returns the module that contains an address, or NULL. */
const struct ux_kernel_module *ux_kernel_modules_find(const struct ux_kernel_modules *m,
						      uint64_t addr);

/* Returns the GNU build ID in ELF notes of the running kernel, which are in /sys/kernel/notes and
 * /sys/module/NAME/notes/.note.gnu.build-id; empty when they have none. */
struct ux_bytes ux_kernel_build_id(struct ux_bytes notes);

/*
 * Finds the path of a module's file in modules.dep, like "kernel/fs/ext4/ext4.ko.xz". It is
 * relative to the directory of modules.dep unless it begins with '/'. `name` is as in
 * /proc/modules, where '-' is replaced by '_'. Returns a slice of the list; empty when the module
 * is not listed. Source: modules.dep(5).
 */
struct ux_bytes ux_modules_dep_find(struct ux_bytes list, const char *name);

/* Returns the path of a module up to and including ".ko", without a suffix for compression such
 * as ".xz"; empty when there is no ".ko" at its end or before such a suffix. */
struct ux_bytes ux_module_path_plain(struct ux_bytes path);

/* Returns whether a path is of the file of a module, compressed or not, or of its debug file.
 * `module` is as in /proc/modules, where '-' is replaced by '_'. */
bool ux_module_path_is(struct ux_bytes path, const char *module);

enum {
	UX_KALLSYMS_MAX = 256 << 20, /* bytes of the list that are read at most */
};

struct ux_kernel_symbol {
	uint64_t start; /* address in the running kernel */
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
 * Parses lines "ADDRESS TYPE NAME", which "\t[MODULE]" follows for a module, and stores the symbols
 * of code. If several names have one address, one of them is stored, in this order of preference:
 * not a marker of a section (_text, ..._text_start), fewest leading underscores, global, shortest,
 * first in byte order. The list has no sizes, so a symbol ends where the next symbol of code or
 * data begins, and not after the end of its module (modules may be NULL); the last symbol ends at
 * the end of its page. UX_EDENIED: the kernel hides the addresses, so that all of them are 0.
 * UX_ENOTFOUND: the list has no symbols of code. UX_ELIMIT, UX_ENOMEM. *ret is zeroed on failure.
 * Source: Linux, kernel/kallsyms.c, s_show().
 */
enum ux_code ux_kallsyms_parse(struct ux_bytes list, const struct ux_kernel_modules *modules,
			       struct ux_kallsyms *ret, struct ux_error *err) ux_must;
void ux_kallsyms_deinit(struct ux_kallsyms *k);

/* Returns the symbol that contains an address, or NULL. */
const struct ux_kernel_symbol *ux_kallsyms_find(const struct ux_kallsyms *k, uint64_t addr);

/* Returns the name of the function at an address in the vsyscall page, and its start in
 * *ret_start. On x86-64 this page has three entry points ("gettimeofday", "time", "getcpu") and no
 * symbols. Returns NULL for other addresses. */
const char *ux_vsyscall_name(uint64_t addr, uint64_t *ret_start);

UX_VEC(ux_btf_offsets, uint32_t);

/* The names of functions and files in BTF, the kernel's compact type information. The struct points
 * into the bytes that it was opened with. */
struct ux_btf {
	struct ux_bytes strings;     /* ends with a NUL, if there are any */
	struct ux_btf_offsets names; /* for each type the offset of its name in strings; 0 if it is
					not a function */
	uint64_t unread; /* bytes from the first type of an unknown kind on, which are not parsed */
};

/*
 * Parses the header, types and strings of BTF in the byte order of this machine. UX_EUNSUPPORTED:
 * another format or version. UX_ECORRUPT: the header gives sizes that exceed the input. UX_ENOMEM.
 * *ret is zeroed on failure. Source: Linux, Documentation/bpf/btf.rst; include/uapi/linux/btf.h.
 */
enum ux_code ux_btf_open(struct ux_btf *ret, struct ux_bytes btf, struct ux_error *err) ux_must;
void ux_btf_close(struct ux_btf *b);

/* Returns the string at an offset; "" when the offset is invalid. */
const char *ux_btf_string(const struct ux_btf *b, uint32_t off);

/* Returns the name of the function that a type describes; "" when the type is not a function. */
const char *ux_btf_function(const struct ux_btf *b, uint32_t type);

/*
 * The information that BPF_OBJ_GET_INFO_BY_FD returns about a program (struct bpf_prog_info), and
 * its BTF. Each array is given as bytes in the byte order of this machine. Missing parts are empty.
 */
struct ux_bpf_info {
	struct ux_bytes tag;         /* 8 bytes */
	struct ux_bytes name;        /* at most 15 characters, padded with NULs */
	struct ux_bytes starts;      /* jited_ksyms: u64 for each function */
	struct ux_bytes sizes;       /* jited_func_lens: u32 for each function */
	struct ux_bytes tags;        /* prog_tags: 8 bytes for each function */
	struct ux_bytes functions;   /* func_info: records for each function */
	size_t function_size;        /* func_info_rec_size */
	struct ux_bytes lines;       /* line_info: records */
	size_t line_size;            /* line_info_rec_size */
	struct ux_bytes jited_lines; /* jited_line_info: the address of each line */
	size_t jited_line_size;      /* jited_line_info_rec_size */
	struct ux_bytes btf;
};

struct ux_bpf_line {
	uint64_t start; /* address */
	const char *dir;
	const char *base;
	uint32_t line;
	uint32_t order; /* if two lines have one address, the one with the higher order is used */
};

struct ux_bpf_function {
	uint64_t start; /* addresses */
	uint64_t end;
	const char *name; /* as in kallsyms: bpf_prog_TAG_NAME */
};

UX_VEC(ux_bpf_lines, struct ux_bpf_line);
UX_VEC(ux_bpf_functions, struct ux_bpf_function);

/* The code of all programs. Its strings live as long as it does. It is immutable once
 * ux_bpf_code_sort() was called. */
struct ux_bpf_code {
	struct ux_arena arena;
	struct ux_bpf_functions functions;
	struct ux_bpf_lines lines;
};

void ux_bpf_code_init(struct ux_bpf_code *c);
void ux_bpf_code_deinit(struct ux_bpf_code *c);

/*
 * Adds a program. UX_ECORRUPT, UX_EUNSUPPORTED: its information is invalid, and a part of it may
 * have been added. UX_ELIMIT, UX_ENOMEM. Source: Linux, include/uapi/linux/bpf.h;
 * kernel/bpf/core.c, bpf_get_prog_name(); Documentation/bpf/btf.rst.
 */
enum ux_code ux_bpf_code_add(struct ux_bpf_code *c, const struct ux_bpf_info *info,
			     struct ux_error *err) ux_must;

/* Sorts functions and lines for lookups. Must be called once, after the last program was added. */
void ux_bpf_code_sort(struct ux_bpf_code *c);

/* Returns the function that contains an address, or NULL. */
const struct ux_bpf_function *ux_bpf_code_find(const struct ux_bpf_code *c, uint64_t addr);

/* Returns the line of an address in function f, or NULL. */
const struct ux_bpf_line *ux_bpf_code_line(const struct ux_bpf_code *c,
					   const struct ux_bpf_function *f, uint64_t addr);

#endif

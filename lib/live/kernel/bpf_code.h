/* SPDX-License-Identifier: Apache-2.0 */
/* Code of loaded BPF programs: names, files and lines by address, and the BTF that has them. */
#ifndef UX_BPF_CODE_H
#define UX_BPF_CODE_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "vec.h"

UX_VEC(ux_btf_offsets, uint32_t);

/* BTF, the kernel's compact type information: the parts with names of functions and files. It
 * points into the bytes it was opened with. */
struct ux_btf {
	struct ux_bytes strings; /* ends with a NUL, if there are any */
	struct ux_btf_offsets
		names;   /* of each type: offset in strings; 0 if it is not a function */
	uint64_t unread; /* bytes of types from one of an unknown kind on */
};

/*
 * Parses header, types and strings in the machine's byte order. UX_EUNSUPPORTED: another format or
 * version. UX_ECORRUPT: parts exceed the bytes. UX_ENOMEM. *ret is zeroed on failure. Source:
 * Linux, Documentation/bpf/btf.rst; include/uapi/linux/btf.h.
 */
enum ux_code ux_btf_open(struct ux_btf *ret, struct ux_bytes btf, struct ux_error *err) ux_must;
void ux_btf_close(struct ux_btf *b);

/* The string at an offset; "" when the offset is invalid. */
const char *ux_btf_string(const struct ux_btf *b, uint32_t off);

/* The name of the function of a type; "" when the type is not a function. */
const char *ux_btf_function(const struct ux_btf *b, uint32_t type);

/*
 * The information of BPF_OBJ_GET_INFO_BY_FD about a program (struct bpf_prog_info), each array as
 * bytes in the machine's byte order, and its BTF. Missing parts are empty.
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
	uint32_t order; /* of two lines at one address the later one wins */
};

struct ux_bpf_function {
	uint64_t start; /* addresses */
	uint64_t end;
	const char *name; /* as in kallsyms: bpf_prog_TAG_NAME */
};

UX_VEC(ux_bpf_lines, struct ux_bpf_line);
UX_VEC(ux_bpf_functions, struct ux_bpf_function);

/* The code of all programs. Its strings live as long as it does. Immutable once sorted. */
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

/* Must be called once, after the last program. */
void ux_bpf_code_sort(struct ux_bpf_code *c);

/* The function that contains an address, or NULL. */
const struct ux_bpf_function *ux_bpf_code_find(const struct ux_bpf_code *c, uint64_t addr);

/* The line of an address in f, or NULL. */
const struct ux_bpf_line *ux_bpf_code_line(const struct ux_bpf_code *c,
					   const struct ux_bpf_function *f, uint64_t addr);

#endif

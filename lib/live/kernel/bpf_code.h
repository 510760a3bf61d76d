/* SPDX-License-Identifier: Apache-2.0 */
/* Code of loaded BPF programs: names, files and lines by address, from what bpf(2) tells of each.
 */
#ifndef UX_BPF_CODE_H
#define UX_BPF_CODE_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "vec.h"

/*
 * What BPF_OBJ_GET_INFO_BY_FD tells of a program (struct bpf_prog_info), each array as its bytes,
 * in the machine's byte order, and of its BTF. Empty where it has none.
 */
struct ux_bpf_info {
	struct ux_bytes tag;         /* 8 bytes */
	struct ux_bytes name;        /* at most 15 characters, NULs behind */
	struct ux_bytes starts;      /* jited_ksyms: u64 for each function */
	struct ux_bytes sizes;       /* jited_func_lens: u32 for each function */
	struct ux_bytes tags;        /* prog_tags: 8 bytes for each function */
	struct ux_bytes functions;   /* func_info: records for each function */
	size_t function_size;        /* func_info_rec_size */
	struct ux_bytes lines;       /* line_info: records */
	size_t line_size;            /* line_info_rec_size */
	struct ux_bytes jited_lines; /* jited_line_info: where the code of each of these begins */
	size_t jited_line_size;      /* jited_line_info_rec_size */
	struct ux_bytes btf;
};

struct ux_bpf_line {
	uint64_t start; /* address */
	const char *dir;
	const char *base;
	uint32_t line;
	uint32_t order; /* of two at one address the later one has the code */
};

struct ux_bpf_function {
	uint64_t start; /* addresses */
	uint64_t end;
	const char *name; /* as kallsyms has it: bpf_prog_TAG_NAME */
};

UX_VEC(ux_bpf_lines, struct ux_bpf_line);
UX_VEC(ux_bpf_functions, struct ux_bpf_function);

/* Of all programs. Strings live as long as it. Once sorted it is immutable. */
struct ux_bpf_code {
	struct ux_arena arena;
	struct ux_bpf_functions functions;
	struct ux_bpf_lines lines;
};

void ux_bpf_code_init(struct ux_bpf_code *c);
void ux_bpf_code_deinit(struct ux_bpf_code *c);

/*
 * Adds a program. UX_ECORRUPT, UX_EUNSUPPORTED: what it tells makes no sense, and it may be there
 * in part. UX_ELIMIT, UX_ENOMEM. Source: Linux, include/uapi/linux/bpf.h; kernel/bpf/core.c,
 * bpf_get_prog_name(); Documentation/bpf/btf.rst.
 */
enum ux_code ux_bpf_code_add(struct ux_bpf_code *c, const struct ux_bpf_info *info,
			     struct ux_error *err) ux_must;

/* To be called once, behind the last program. */
void ux_bpf_code_sort(struct ux_bpf_code *c);

/* The function that has an address, or NULL. */
const struct ux_bpf_function *ux_bpf_code_find(const struct ux_bpf_code *c, uint64_t addr);

/* The line of an address in f, or NULL. */
const struct ux_bpf_line *ux_bpf_code_line(const struct ux_bpf_code *c,
					   const struct ux_bpf_function *f, uint64_t addr);

#endif

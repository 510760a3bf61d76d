/* SPDX-License-Identifier: Apache-2.0 */
/* The code for GPUs in a file. */
#ifndef UNHEX_GPU_H
#define UNHEX_GPU_H

#include <stdbool.h>

#include <unhex/api.h>
#include <unhex/error.h>
#include <unhex/extract.h>
#include <unhex/ids.h>
#include <unhex/input.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a piece is; others may come. */
enum ux_gpu_kind {
	UX_GPU_OTHER,
	UX_GPU_CUBIN,  /* code for one GPU */
	UX_GPU_PTX,    /* text that the driver compiles when the program runs: no addresses yet */
	UX_GPU_LTO_IR, /* what a linker is yet to compile: no addresses yet */
};

/* The pieces in a file. Immutable once open: any number of threads may ask; closing is one
 * thread's, when no other is in it any more. */
struct ux_gpu;

enum {
	UX_GPU_ARCH_TEXT = 32
};

/* One piece. The caller sets `size`; as much as that is filled. */
struct ux_gpu_piece {
	size_t size;                 /* sizeof(struct ux_gpu_piece) */
	uint32_t number;             /* from 1 on: what ux_extract_opts.gpu takes as text */
	uint32_t kind;               /* enum ux_gpu_kind */
	char arch[UX_GPU_ARCH_TEXT]; /* "sm_90a"; of what is no cubin "compute_90" */
	const char *name;            /* as a rule of the source file; often "". Lives as long as the
					pieces */
	uint64_t off;                /* where it, or the entry that has it, begins in the file */
	uint64_t bytes;              /* of its content, unpacked */
};

/* A kernel, or a function that stayed out of line. */
struct ux_gpu_function {
	const char *name; /* linkage name; "" never */
	uint64_t start;   /* pc, as lookups take it: its offset in the cubin */
	uint64_t size;    /* bytes */
	uint32_t index;   /* in the symbol table: CUPTI's functionIndex */
	bool kernel;      /* a program can start it */
};

/* Takes one function; it and its name live until this returns. False ends the walk. */
typedef bool ux_gpu_function_fn(void *ctx, const struct ux_gpu_function *function);

/*
 * Finds the GPU code in a host program (an ELF file with fat binaries), or takes a fat binary or a
 * cubin, which is its own only piece. A damaged fat binary costs its rest. Bytes given in memory
 * have to live, unchanged, as long as *ret, which is untouched on failure and needs ux_gpu_close().
 * Reads headers alone. Files without GPU code, of whichever kind, have no pieces. UX_ENOMEM;
 * UX_ENOTFOUND, UX_EDENIED, UX_EIO: it cannot be read. err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_open(const struct ux_input *in, struct ux_gpu **ret,
				struct ux_error *err) UX_MUST;

/* NULL is fine. Since 0.1. */
UX_API void ux_gpu_close(struct ux_gpu *gpu);

/* How many pieces there are. Any thread. Since 0.1. */
UX_API size_t ux_gpu_count(const struct ux_gpu *gpu);

/* How many fat binaries are damaged, so that pieces may be missing; *ret_first, which may be NULL,
 * is why the first one is, with code UX_OK when none is. Any thread. Since 0.1. */
UX_API uint64_t ux_gpu_damaged(const struct ux_gpu *gpu, struct ux_error *ret_first);

/* Piece number i + 1. UX_EINVAL: there is none, or ret->size is too small. err may be NULL. Any
 * thread. Since 0.1. */
UX_API enum ux_code ux_gpu_piece_at(const struct ux_gpu *gpu, size_t i, struct ux_gpu_piece *ret,
				    struct ux_error *err) UX_MUST;

/*
 * The identities of piece number i + 1, a cubin: "file:HEX32", and "cubin-crc:HEX8", by which
 * CUPTI's records name it. They are those that ux_ids_read() gives for its content.
 * UX_EUNSUPPORTED: it is no cubin. UX_ECORRUPT: it does not unpack. UX_ELIMIT, UX_ENOMEM,
 * UX_EINVAL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_ids(const struct ux_gpu *gpu, size_t i, struct ux_ids *ret,
			       struct ux_error *err) UX_MUST;

/* The content of piece number i + 1, unpacked, to a function, which gets it at once or not at all:
 * a cubin for ux_module_open(), or text. Codes of ux_gpu_ids() but UX_EUNSUPPORTED, and those of
 * fn. Any thread. Since 0.1. */
UX_API enum ux_code ux_gpu_content(const struct ux_gpu *gpu, size_t i, ux_write_fn *fn, void *ctx,
				   struct ux_error *err) UX_MUST;

/* Calls fn with each function of piece number i + 1, a cubin, in the order of its symbol table.
 * Codes of ux_gpu_ids(); UX_ENOTFOUND: its symbol table was stripped. Any thread. Since 0.1. */
UX_API enum ux_code ux_gpu_functions(const struct ux_gpu *gpu, size_t i, ux_gpu_function_fn *fn,
				     void *ctx, struct ux_error *err) UX_MUST;

/* "cubin", "ptx", "lto-ir", "other"; never NULL. Any thread. Since 0.1. */
UX_API const char *ux_gpu_kind_name(enum ux_gpu_kind kind);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU code that is embedded in a file. */
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

/* The kind of a piece of GPU code. Later versions may add kinds. */
enum ux_gpu_kind {
	UX_GPU_OTHER,
	UX_GPU_CUBIN,  /* code for one GPU */
	UX_GPU_PTX,    /* text that the driver compiles when the program runs: no addresses yet */
	UX_GPU_LTO_IR, /* code that is compiled when it is linked: no addresses yet */
};

/*
 * The pieces of GPU code in a file. It is immutable, so any number of threads may use it. It may be
 * closed when no other thread uses it any more.
 */
struct ux_gpu;

enum {
	UX_GPU_ARCH_TEXT = 32
};

/* One piece. The caller sets `size`; only that many bytes are filled in. */
struct ux_gpu_piece {
	size_t size;                 /* sizeof(struct ux_gpu_piece) */
	uint32_t number;             /* from 1 on; ux_extract_opts.gpu takes it as text */
	uint32_t kind;               /* enum ux_gpu_kind */
	char arch[UX_GPU_ARCH_TEXT]; /* "sm_90a" for a cubin, else "compute_90" */
	const char *name;            /* Usually the name of the source file, often "". Valid until
					ux_gpu_close(). */
	uint64_t off;   /* where the piece, or the entry that contains it, begins in the file */
	uint64_t bytes; /* size of its content after decompression */
};

/* A kernel, or a function that was not inlined. */
struct ux_gpu_function {
	const char *name; /* linkage name, never "" */
	uint64_t start;   /* its pc in lookups, which is its offset in the cubin */
	uint64_t size;    /* bytes */
	uint32_t index;   /* index in the symbol table: CUPTI's functionIndex */
	bool kernel;      /* the host program can launch it */
};

/*
 * Receives one function. The struct and its name are valid only during the call. Returning false
 * ends the walk.
 */
typedef bool ux_gpu_function_fn(void *ctx, const struct ux_gpu_function *function);

/*
 * Finds the GPU code in a host program (an ELF file with fat binaries), in a fat binary, or in a
 * cubin, which has one piece: itself. The rest of a damaged fat binary is skipped. Bytes given in
 * memory must stay valid and unchanged until ux_gpu_close(). Only headers are read. A file of any
 * kind without GPU code has no pieces. *ret is unchanged on failure. UX_ENOMEM; UX_ENOTFOUND,
 * UX_EDENIED, UX_EIO: the file cannot be read. err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_open(const struct ux_input *in, struct ux_gpu **ret,
				struct ux_error *err) UX_MUST;

/* Releases the object. NULL is allowed. Since 0.1. */
UX_API void ux_gpu_close(struct ux_gpu *gpu);

/* Returns the number of pieces. Any thread. Since 0.1. */
UX_API size_t ux_gpu_count(const struct ux_gpu *gpu);

/*
 * Returns the number of damaged fat binaries; pieces of them may be missing. *ret_first (which may
 * be NULL) describes the damage of the first one; its code is UX_OK when none is damaged. Any
 * thread. Since 0.1.
 */
UX_API uint64_t ux_gpu_damaged(const struct ux_gpu *gpu, struct ux_error *ret_first);

/*
 * Piece number i + 1. UX_EINVAL: no such piece, or ret->size is too small. err may be NULL. Any
 * thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_piece_at(const struct ux_gpu *gpu, size_t i, struct ux_gpu_piece *ret,
				    struct ux_error *err) UX_MUST;

/*
 * Reads the identities of piece number i + 1, which must be a cubin: "file:HEX32", and
 * "cubin-crc:HEX8", which CUPTI's records use. They are the same as ux_ids_read() reads from its
 * content. UX_EUNSUPPORTED: not a cubin. UX_ECORRUPT: it cannot be decompressed. UX_ELIMIT,
 * UX_ENOMEM, UX_EINVAL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_ids(const struct ux_gpu *gpu, size_t i, struct ux_ids *ret,
			       struct ux_error *err) UX_MUST;

/*
 * Calls fn once with the whole decompressed content of piece number i + 1, which is a cubin for
 * ux_module_open(), or text. On failure fn is not called. Codes of ux_gpu_ids(), except
 * UX_EUNSUPPORTED, and as of fn. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_content(const struct ux_gpu *gpu, size_t i, ux_write_fn *fn, void *ctx,
				   struct ux_error *err) UX_MUST;

/*
 * Calls fn with each function of piece number i + 1, a cubin, in the order of its symbol table.
 * Codes of ux_gpu_ids(), and UX_ENOTFOUND: its symbol table was stripped. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_gpu_functions(const struct ux_gpu *gpu, size_t i, ux_gpu_function_fn *fn,
				     void *ctx, struct ux_error *err) UX_MUST;

/* "cubin", "ptx", "lto-ir", "other"; never NULL. Any thread. Since 0.1. */
UX_API const char *ux_gpu_kind_name(enum ux_gpu_kind kind);

#ifdef __cplusplus
}
#endif
#endif

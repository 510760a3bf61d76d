/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenated source files with a table at the end: docs/formats/sources.md. */
#ifndef UX_SOURCE_PACK_H
#define UX_SOURCE_PACK_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "out.h"

enum {
	UX_SOURCE_PACK_FILES_MAX = 200000,
	UX_SOURCE_PACK_TABLE_MAX = 64 << 20, /* bytes of the table */
};

struct ux_packed_source {
	const char *path; /* canonical */
	uint64_t off;
	uint64_t size;
};

/*
 * Writes a pack: contents are written immediately, the table is kept in memory until the end.
 * Before use everything is zero except write and ctx.
 */
struct ux_source_packer {
	enum ux_code (*write)(void *ctx, struct ux_bytes bytes, struct ux_error *err);
	void *ctx;
	uint64_t size; /* bytes of contents so far */
	uint32_t count;
	struct ux_out table;
};

/* Appends contents of the current file. */
enum ux_code ux_source_packer_put(struct ux_source_packer *p, struct ux_bytes content,
				  struct ux_error *err) ux_must;

/*
 * Ends the current file, whose contents began at off, and sets its path. UX_ELIMIT: too many files.
 */
enum ux_code ux_source_packer_name(struct ux_source_packer *p, const char *path, uint64_t off,
				   struct ux_error *err) ux_must;

/* The same for contents that ended before their path was known: size bytes at off. */
enum ux_code ux_source_packer_entry(struct ux_source_packer *p, const char *path, uint64_t off,
				    uint64_t size, struct ux_error *err) ux_must;
enum ux_code ux_source_packer_end(struct ux_source_packer *p, struct ux_error *err) ux_must;
void ux_source_packer_deinit(struct ux_source_packer *p);

/*
 * Reads the files in a pack, sorted by path; if a path occurs twice, the last one is used.
 * Everything is checked, since the pack comes from the confined child. The paths are allocated in
 * the arena. UX_ECORRUPT, UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_source_pack_read(struct ux_bytes pack, struct ux_arena *arena,
				 struct ux_packed_source **ret, size_t *ret_n, struct ux_error *err)
	ux_must;

#endif

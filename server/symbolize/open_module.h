/* SPDX-License-Identifier: Apache-2.0 */
/* An open module: its candidates, the frame caches and the names of functions. */
#ifndef UX_OPEN_MODULE_H
#define UX_OPEN_MODULE_H

#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "gsym_names.h"
#include "gsym_segments.h"
#include "store.h"

#include <stdatomic.h>

enum {
	UX_MODULE_CANDIDATES_MAX = 8 /* candidates of one module that are opened, best first */
};

/*
 * The candidates of a module, best first. Shared between threads; released by
 * ux_open_module_unref(). Of a large file in a bucket only parts are on the disk until more is
 * needed; the functions below fetch the bytes that they read. Codes of functions that fetch:
 * UX_EUNAVAILABLE, with a message if the bucket cannot be reached; UX_ECORRUPT: no candidate can be
 * read; UX_ENOMEM.
 */
struct ux_open_module;

size_t ux_open_module_count(const struct ux_open_module *m);

/*
 * Returns the GSYM of a candidate; after the whole file was fetched it returns another one, and
 * both stay valid as long as the module. If only parts are on the disk, only look up addresses that
 * were passed to ux_open_module_bring(); there is no index then.
 */
const struct ux_gsym *ux_open_module_gsym(const struct ux_open_module *m, size_t i);

/* Returns the level of trust of the candidates, which is the same for all that give names. */
enum ux_trust ux_open_module_trust(const struct ux_open_module *m);

/* Returns the quality of the best candidate. */
enum ux_quality ux_open_module_quality(const struct ux_open_module *m);

/*
 * Tests whether the module has only the symbols of a stripped file. True at most once a minute, so
 * that the caller can look for better ones.
 */
bool ux_open_module_is_poor(struct ux_open_module *m);

/*
 * Sets the lowest virtual address of the module's image, from the best candidate that records it.
 * UX_ENOTFOUND: none does, because their writers saw only functions, not the image.
 */
enum ux_code ux_open_module_image_start(const struct ux_open_module *m, uint64_t *ret,
					struct ux_error *err) ux_must;

/*
 * Converts a position in the module's file to a pc, by the best candidate that has the table of
 * segments. UX_ENOTFOUND, with no message: none has it, or there is no code at the position.
 */
enum ux_code ux_open_module_file_pc(struct ux_open_module *m, uint64_t off, uint64_t *ret,
				    struct ux_error *err) ux_must;

/*
 * Sets the segments of the module's code, by the best candidate that has their table.
 * UX_ENOTFOUND, with no message: none has it.
 */
enum ux_code ux_open_module_segments(struct ux_open_module *m, struct ux_gsym_segments *ret,
				     struct ux_error *err) ux_must;

/*
 * Sets the start and size of the function at pc, by the best candidate that knows one there.
 * UX_ENOTFOUND.
 */
enum ux_code ux_open_module_extent(struct ux_open_module *m, uint64_t pc, uint64_t *ret_start,
				   uint64_t *ret_size, struct ux_error *err) ux_must;

/*
 * Finds the start of the function with that linkage name, in the whole files, in the best candidate
 * that has it. The names of a candidate are read by the first call, and cached as frames are.
 * *budget is the number of functions that may still be read, and is reduced accordingly; reading is
 * charged to `work`. size: of the function, as Linux prints it (ux_gsym_starts_filter()); 0:
 * unknown. UX_ENOTFOUND, with no message: no such function. UX_ELIMIT: the budget is used up.
 * UX_EUNAVAILABLE, with no message: work was refused. UX_ENOMEM.
 */
enum ux_code ux_open_module_find(struct ux_open_module *m, struct ux_bytes name, uint64_t size,
				 uint64_t *budget, struct ux_work *work, uint64_t *ret,
				 struct ux_error *err) ux_must;

/*
 * As ux_open_module_find(), but finds all functions with that name: writes the starts of at most
 * `max`, ascending, and sets *ret_n. *ret_more is set if there are more, and else is not changed.
 */
enum ux_code ux_open_module_find_all(struct ux_open_module *m, struct ux_bytes name,
				     uint64_t *budget, struct ux_work *work, uint64_t *starts,
				     size_t max, size_t *ret_n, bool *ret_more,
				     struct ux_error *err) ux_must;

/*
 * Fetches what lookups of n addresses, minus `back`, read; the whole files if that is much.
 * ux_resolve() calls it. A caller that calls it earlier learns before the answer has begun that a
 * bucket cannot be reached, and fetches the parts for several lookups in one go.
 */
enum ux_code ux_open_module_bring(struct ux_open_module *m, const uint64_t *pcs, size_t n,
				  uint64_t back, struct ux_error *err) ux_must;

/* Fetches the whole files; then anything may be read from them. */
enum ux_code ux_open_module_complete(struct ux_open_module *m, struct ux_error *err) ux_must;

/* NULL is allowed. */
void ux_open_module_unref(struct ux_open_module *m);

/* ux_open_module_unref() as a scope guard. */
static inline void ux_open_module_release(struct ux_open_module **m)
{
	ux_open_module_unref(*m);
}

/*
 * Returns the frame cache for a demangling mode, which must be released by ux_frame_cache_unref()
 * before the module. full is NULL, or a full cache that is replaced by a new one, and whose
 * reference is released. NULL: memory is short.
 */
struct ux_frame_cache *ux_open_module_frames(struct ux_open_module *m, enum ux_demangle_mode mode,
					     struct ux_frame_cache *full);

/*
 * Notes that n addresses were added to a frame cache of the module. After many additions, the
 * filler of the module cache makes a frame cache with all functions of the module.
 */
void ux_open_module_note_added(struct ux_open_module *m, enum ux_demangle_mode mode, size_t n);

/*
 * Makes a filled frame cache that replaces the present one. False: no room for it, nothing to fill
 * it with, or *stop was set.
 */
bool ux_open_module_fill(struct ux_open_module *m, enum ux_demangle_mode mode,
			 const atomic_bool *stop);

/* --- for the cache of modules ----------------------------------------------------------------- */

/* The memory of all open modules and its limit. No memory order is needed for either. */
struct ux_module_memory {
	/* bytes of the frame caches, indexes and lists of names of all modules, approximately */
	atomic_size_t bytes;
	/* bytes; above it, caches of the least recently used modules are evicted */
	atomic_size_t max;
	struct ux_frame_filler *filler; /* fills frame caches */
};

/* Returns a share of the limit: the limit divided by `share`. */
size_t ux_module_memory_share(const struct ux_module_memory *memory, size_t share);

/*
 * Opens the candidates of a module that can resolve addresses, with one reference. `id` is for
 * messages. UX_EUNAVAILABLE: the bucket cannot be reached; other codes: no candidate can be opened.
 */
enum ux_code ux_open_module_open(struct ux_open_module **ret, struct ux_blobs *blobs,
				 struct ux_module_memory *memory, const struct ux_module *row,
				 const char *id, struct ux_error *err) ux_must;

void ux_open_module_ref(struct ux_open_module *m);

/* Returns its number in the index. */
int64_t ux_open_module_number(const struct ux_open_module *m);

/* Tests whether a candidate was unavailable. Such a module must not be kept open. */
bool ux_open_module_is_partial(const struct ux_open_module *m);

/* Tests whether only parts of a candidate were on the disk when it was opened. */
bool ux_open_module_had_parts(const struct ux_open_module *m);

/*
 * Tests whether whole files are on the disk as well as parts of them. The parts are removed when
 * the module is opened again.
 */
bool ux_open_module_is_double(const struct ux_open_module *m);

/* Returns the bytes that its parts take on the disk. */
uint64_t ux_open_module_parts_bytes(const struct ux_open_module *m);

/*
 * Tests whether the caller should note the use of the module in the index. True from time to time.
 */
bool ux_open_module_note_use(struct ux_open_module *m);

/*
 * Drops the names and the frame caches. Returns their size, including caches that requests still
 * hold.
 */
size_t ux_open_module_drop_frames(struct ux_open_module *m);

/*
 * Replaces the indexes of a module by empty ones, unless a request uses it. The caller prevents
 * that a request begins to use it. Returns their size.
 */
size_t ux_open_module_drop_indexes(struct ux_open_module *m);

#endif

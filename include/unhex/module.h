/* SPDX-License-Identifier: Apache-2.0 */
/* A module's symbols, opened for lookups. */
#ifndef UNHEX_MODULE_H
#define UNHEX_MODULE_H

#include <unhex/api.h>
#include <unhex/error.h>
#include <unhex/extract.h>
#include <unhex/frame.h>
#include <unhex/input.h>
#include <unhex/quality.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Immutable once open: any number of threads may look up at once, without a lock; closing is one
 * thread's, when no other is in it any more.
 */
struct ux_module;

/* Flags of a module. */
enum {
	/*
	 * Prepare for many single lookups: reads the whole file once and takes memory about as
	 * large as it, and then a lookup in a large function costs no more than in a small one.
	 * Batches do not need it.
	 */
	UX_MODULE_INDEX = 1,
	/* Prepare for ux_module_find(): reads the names of all functions, 16 bytes of memory each.
	 */
	UX_MODULE_NAMES = 2,
};

/* All zeros but for `size` is the default; see struct ux_extract_opts for versions. */
struct ux_module_opts {
	size_t size;                           /* sizeof(struct ux_module_opts) */
	const struct ux_extract_opts *extract; /* how other files than GSYM are read; NULL: the
						  default */
	uint64_t flags;                        /* UX_MODULE_* */
};

/*
 * Opens a GSYM file (at once, whatever its size: only header and bounds are checked, records as
 * they are read) or an ELF or Mach-O file (which is extracted into memory first). Bytes given in
 * memory have to live, unchanged, as long as the module; a path is mapped.
 *
 * opts may be NULL. *ret is untouched on failure. UX_EUNSUPPORTED: no GSYM, ELF or Mach-O file, or
 * a GSYM of another version. UX_ECORRUPT: a damaged one. For ELF and Mach-O also the codes of
 * ux_extract_to_fn(). err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_open(const struct ux_input *in, const struct ux_module_opts *opts,
				   struct ux_module **ret, struct ux_error *err) UX_MUST;

/* Ends the strings of all answers, too. NULL is fine. Since 0.1. */
UX_API void ux_module_close(struct ux_module *m);

/*
 * "gnu:HEX", of a Mach-O file "uuid:HEX32", or "" when the file names none (or one of over 64
 * bytes). A GSYM does not distinguish the two: "gnu:HEX". Lives as long as m. Any thread. Since
 * 0.1.
 */
UX_API const char *ux_module_build_id(const struct ux_module *m);

/* Flags of a lookup. */
enum {
	/* The addresses are where calls return to: the call is before, so 1 is subtracted from each
	 * first. Frames' offsets are those of the address that was looked up. */
	UX_LOOKUP_RETURN_ADDRESS = 1,
};

/*
 * The frames at pc, a virtual address as the file has it, innermost first. Of more than `max`
 * the outermost are kept; UX_FRAMES_MOST is always enough. *ret_n is their number.
 *
 * UX_ENOTFOUND: no function is known there, and *ret_n is untouched. UX_ECORRUPT: the record is
 * damaged. UX_EINVAL: an unknown flag. err may be NULL, which saves writing the message.
 *
 * Allocates nothing, takes no lock, makes no system call. Strings live as long as m. Any thread.
 * Since 0.1.
 */
UX_API enum ux_code ux_module_lookup(const struct ux_module *m, uint64_t pc, uint32_t flags,
				     struct ux_frame *frames, size_t max, size_t *ret_n,
				     struct ux_error *err) UX_MUST;

/*
 * Looks up n addresses in any order, much faster than one by one, and leaves the frames of pcs[i]
 * in frames[spans[i].first] and the next spans[i].n - 1, all of them, innermost first. spans has
 * room for n, frames for max (below 2^32). Equal addresses share frames, so that n profile samples
 * need far less than n of them; *ret_n is how many were written.
 *
 * UX_ELIMIT: frames is too small; *ret_n says how many it takes, frames and spans have no meaning.
 * UX_ECORRUPT: some record is damaged, its addresses have no frames and err describes the first;
 * the other answers are there. Of both *ret_n is set. UX_ENOMEM: no answers. UX_EINVAL: an unknown
 * flag. An address without symbols is no failure: its span is empty.
 *
 * Allocates 16 bytes an address while it works. Strings live as long as m. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_lookup_many(const struct ux_module *m, const uint64_t *pcs, size_t n,
					  uint32_t flags, struct ux_frame_span *spans,
					  struct ux_frame *frames, size_t max, size_t *ret_n,
					  struct ux_error *err) UX_MUST;

/*
 * The same for a function that is called with the frames of each address, once for each i below n
 * but in another order, on this thread. It ends the batch by returning false, which is UX_OK here.
 * UX_ENOMEM: some calls are missing. Since 0.1.
 */
UX_API enum ux_code ux_module_lookup_each(const struct ux_module *m, const uint64_t *pcs, size_t n,
					  uint32_t flags, ux_frames_fn *fn, void *ctx,
					  struct ux_error *err) UX_MUST;

/*
 * The pc of byte `offset` of the function with that linkage name; of several the lowest one is
 * meant. Profilers of GPUs record addresses so: a kernel and an offset in it. The offset may be
 * past the function's end. UX_ENOTFOUND: no function has the name, or the name is UX_NO_NAME; *ret
 * is untouched. UX_ELIMIT: a hostile file, whose names are too long to be read. UX_ENOMEM. err may
 * be NULL.
 *
 * Of a module opened with UX_MODULE_NAMES it costs less than a microsecond and allocates nothing;
 * of another it reads all names, each time. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_find(const struct ux_module *m, const char *function, uint64_t offset,
				   uint64_t *ret, struct ux_error *err) UX_MUST;

/*
 * The other names of the function at pc, where the linker folded functions into one or symbols
 * share a range: at most `max` of them into names, *ret_n how many there are. A GSYM has them when
 * it was extracted with UX_EXTRACT_ALTERNATIVES or is a linker's with merged functions. flags and
 * codes as of ux_module_lookup(); UX_OK with none is the usual answer. Names live as long as m. Any
 * thread. Since 0.1.
 */
UX_API enum ux_code ux_module_alternatives(const struct ux_module *m, uint64_t pc, uint32_t flags,
					   const char **names, size_t max, size_t *ret_n,
					   struct ux_error *err) UX_MUST;

/*
 * How much is known, counted by reading all of the module's records; time in proportion to its
 * size, no allocation. A GSYM does not record which symbol table a name came from, so
 * UX_QUALITY_SYMTAB stands for functions without lines. ret_counts may be NULL. UX_ECORRUPT: a
 * record is damaged; nothing is set. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_measure(const struct ux_module *m, enum ux_quality *ret_quality,
				      struct ux_counts *ret_counts, struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif

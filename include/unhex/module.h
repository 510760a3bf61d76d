/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up addresses in a module's symbols. */
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
 * An open module. It is immutable, so any number of threads may look up at the same time, without a
 * lock. It may be closed when no other thread uses it any more.
 */
struct ux_module;

/* Flags of a module. */
enum {
	/*
	 * Prepare for many single lookups. This reads the whole file once and takes about as much
	 * memory as the file's size; a lookup in a large function then costs no more than in a
	 * small function. Batches do not need it.
	 */
	UX_MODULE_INDEX = 1,
	/*
	 * Prepare for ux_module_find(). This reads the names of all functions and takes 16 bytes of
	 * memory for each.
	 */
	UX_MODULE_NAMES = 2,
	/*
	 * Frames have columns if the DWARF of the file has them. Reading them takes longer and
	 * needs more memory. A GSYM has none.
	 */
	UX_MODULE_COLUMNS = 4,
};

/*
 * All zeros but for `size` is the default; see struct ux_extract_opts for how structs of other
 * versions are handled.
 */
struct ux_module_opts {
	size_t size; /* sizeof(struct ux_module_opts) */
	const struct ux_extract_opts
		*extract; /* how files other than GSYM are extracted; NULL: the default */
	uint64_t flags;   /* UX_MODULE_* */
};

/*
 * Opens a GSYM file, or an ELF or Mach-O file, which is first extracted into memory. Opening a GSYM
 * takes the same time at any size: only the header and the bounds of its tables are checked, and
 * records are checked when they are read. Bytes given in memory must stay valid and unchanged as
 * long as the module is open; the file at a path is mapped.
 *
 * opts may be NULL. *ret is untouched on failure. UX_EUNSUPPORTED: not a GSYM, ELF or Mach-O file,
 * or an unknown version of GSYM. UX_ECORRUPT: the file is damaged. For ELF and Mach-O also the
 * codes of ux_extract_to_fn(). err may be NULL. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_open(const struct ux_input *in, const struct ux_module_opts *opts,
				   struct ux_module **ret, struct ux_error *err) UX_MUST;

/*
 * Closes the module. This also releases the strings of all frames that it returned. m may be NULL.
 * Since 0.1.
 */
UX_API void ux_module_close(struct ux_module *m);

/*
 * Returns "gnu:HEX", for a Mach-O file "uuid:HEX32", or "" when the file has no build ID or one
 * longer than 64 bytes. A GSYM does not distinguish the two kinds; the result for a GSYM is
 * "gnu:HEX". Valid as long as m is open. Any thread. Since 0.1.
 */
UX_API const char *ux_module_build_id(const struct ux_module *m);

/* Flags of a lookup. */
enum {
	/*
	 * The addresses are return addresses. The call is before them, so 1 is subtracted from each
	 * before the lookup. A frame's offset still refers to the address that was passed.
	 */
	UX_LOOKUP_RETURN_ADDRESS = 1,
};

/*
 * Writes the frames at pc, a virtual address of the file, innermost first. When there are more than
 * `max`, the outermost are kept; UX_FRAMES_MAX is always enough. *ret_n is the number of frames
 * written.
 *
 * UX_ENOTFOUND: no function is known at pc; *ret_n is unchanged. UX_ECORRUPT: the function's record
 * is damaged. UX_EINVAL: an unknown flag. err may be NULL, which saves the time of writing the
 * message.
 *
 * Allocates nothing, takes no lock, makes no system call. Strings live as long as m. Any thread.
 * Since 0.1.
 */
UX_API enum ux_code ux_module_lookup(const struct ux_module *m, uint64_t pc, uint32_t flags,
				     struct ux_frame *frames, size_t max, size_t *ret_n,
				     struct ux_error *err) UX_MUST;

/*
 * Looks up n addresses in any order, much faster than single lookups. The frames of pcs[i],
 * innermost first, are the spans[i].n elements of `frames` from index spans[i].first on. spans has
 * room for n elements, frames for max (below 2^32). Equal addresses share frames, so that n samples
 * of a profile need far fewer than n frames. *ret_n is the number of frames written.
 *
 * UX_ELIMIT: frames is too small. *ret_n is then the number that is needed, and the content of
 * frames and spans is undefined. UX_ECORRUPT: a record is damaged. Its addresses have no frames,
 * err describes the first damaged record, and all other results are valid; *ret_n is set.
 * UX_ENOMEM: no results. UX_EINVAL: an unknown flag. An address without symbols is not a failure:
 * its span is empty.
 *
 * Temporarily allocates 16 bytes for each address. Strings are valid as long as m is open. Any
 * thread. Since 0.1.
 */
UX_API enum ux_code ux_module_lookup_many(const struct ux_module *m, const uint64_t *pcs, size_t n,
					  uint32_t flags, struct ux_frame_span *spans,
					  struct ux_frame *frames, size_t max, size_t *ret_n,
					  struct ux_error *err) UX_MUST;

/*
 * As ux_module_lookup_many(), but calls fn with the frames of each address: once for each index
 * below n, in unspecified order, on the calling thread. When fn returns false the batch ends with
 * UX_OK. UX_ENOMEM: fn was not called for all addresses. Since 0.1.
 */
UX_API enum ux_code ux_module_lookup_each(const struct ux_module *m, const uint64_t *pcs, size_t n,
					  uint32_t flags, ux_frames_fn *fn, void *ctx,
					  struct ux_error *err) UX_MUST;

/* A function of a module. The caller sets `size`; only that many bytes are filled in. */
struct ux_function {
	size_t size;      /* sizeof(struct ux_function) */
	const char *name; /* linkage name, as in its frame; valid as long as the module is open */
	uint64_t start;   /* the first pc of the function */
	uint64_t bytes;   /* size of its range, up to a function inside of it or to the end of the
			     part with pc; 0: unknown */
};

/*
 * Finds the function that is the outermost frame at pc, with its range: for counting samples by
 * function, or drawing its code. Flags and codes of ux_module_lookup(), and UX_EINVAL: ret->size is
 * too small. *ret is unchanged on failure. Allocates nothing, takes no lock. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_function(const struct ux_module *m, uint64_t pc, uint32_t flags,
				       struct ux_function *ret, struct ux_error *err) UX_MUST;

/*
 * Finds the pc of byte `offset` of the function with that linkage name or of any other symbol of
 * code; if several functions have that name, the one at the lowest pc. Profilers of GPUs record
 * addresses in this form, as a kernel and an offset in it. The offset may be past the function's
 * end. UX_ENOTFOUND: no function has the name, or the name is UX_NO_NAME; *ret is unchanged.
 * UX_ELIMIT: the names of a hostile file are too long to be read. UX_ENOMEM. err may be NULL.
 *
 * When the module was opened with UX_MODULE_NAMES, a call takes less than a microsecond and
 * allocates nothing. Otherwise each call reads all names. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_find(const struct ux_module *m, const char *function, uint64_t offset,
				   uint64_t *ret, struct ux_error *err) UX_MUST;

/*
 * Writes the alternative names of the function at pc, which exist where the linker folded identical
 * functions or several symbols share a range. At most `max` names are written; *ret_n is how many
 * exist. A GSYM has them when it was extracted with UX_EXTRACT_ALTERNATIVES, or was written by a
 * linker that records merged functions. Flags and codes of ux_module_lookup(). Most functions have
 * no other names, which is UX_OK. Names are valid as long as m is open. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_alternatives(const struct ux_module *m, uint64_t pc, uint32_t flags,
					   const char **names, size_t max, size_t *ret_n,
					   struct ux_error *err) UX_MUST;

/*
 * Measures the quality of a module by reading all of its records. The time is proportional to the
 * module's size; nothing is allocated. A GSYM does not record which symbol table a name came from,
 * so UX_QUALITY_SYMTAB stands for functions without lines. ret_counts may be NULL. UX_ECORRUPT: a
 * record is damaged; no result is set. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_module_measure(const struct ux_module *m, enum ux_quality *ret_quality,
				      struct ux_counts *ret_counts, struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif

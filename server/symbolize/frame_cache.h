/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame cache of a module: a resolved address costs one hash lookup when it is requested again.
 */
#ifndef UX_FRAME_CACHE_H
#define UX_FRAME_CACHE_H

#include "bytes.h"
#include "out.h"
#include "unhex/demangle.h"
#include "unhex/frame.h"

#include <stdatomic.h>

/*
 * Profiles contain the same addresses again and again, and most of the cost of an address is
 * reading its record and demangling its names. The cache keeps the results: for each address the
 * number of its innermost frame, for each frame the number of the frame that it is inlined into,
 * and each text once. Numbers begin at 1; 0 means "none".
 *
 * A cache only grows. A thread that finds it full replaces it by an empty one
 * (ux_open_module_frames()). The hash tables are read and extended under its lock. The item with a
 * given number never changes or moves, and is read without the lock. Items refer to strings in the
 * module's files, so the module must be held while its cache is used.
 */
struct ux_frame_cache;

enum {
	UX_FRAME_CACHE_MAX = 24 << 20, /* default size limit of one cache in bytes */
	UX_FRAME_CACHE_MODES = UX_DEMANGLE_ELIDED + 1,
	/*
	 * longest text in bytes: a demangled function name, or one part of a path. A longer one is
	 * cut and ends with UX_TEXT_CUT: a crafted file may have one name as long as the file in
	 * the 257 frames of each address.
	 */
	UX_FRAME_TEXT_MAX = 8192,
	/* Addresses whose memory is prefetched together, so that the cache misses overlap. */
	UX_FRAME_CACHE_GROUP = 32,
};

struct ux_cached_text {
	const char *data; /* NUL-terminated */
	/*
	 * of a function: its linkage name, as the module's file has it; otherwise the same as data.
	 * It may be longer than any text; linkage_size then covers only its start.
	 */
	const char *linkage;
	/*
	 * lower half of ux_hash_bytes() of each, so that writers of tables of texts need not wait
	 * for the bytes
	 */
	uint32_t hash, linkage_hash;
	uint16_t size, linkage_size;
	bool plain; /* printable ASCII without quotes and backslashes, which JSON need not escape */
};
static_assert(2 * UX_FRAME_TEXT_MAX + 1 <= UINT16_MAX, "a path has two texts and a slash");

struct ux_cached_file {
	uint32_t dir, base; /* numbers of texts */
	uint32_t path;      /* both joined; number of a text that only this path uses */
};

struct ux_cached_frame {
	uint32_t function; /* number of the demangled text */
	uint32_t file;
	uint32_t line;
	/* number of the frame that this one is inlined into, always a smaller number; 0: none */
	uint32_t up;
};

/*
 * A name or a path, encoded as a field of the string table of an OTLP message: tag, size and bytes.
 * A cache stores equal bytes once, whichever texts have them, so a message that writes each string
 * once only has to compare numbers. Up to UX_CACHED_STRING_BEHIND bytes after the field can be
 * read.
 */
struct ux_cached_string {
	const uint8_t *field;
	uint32_t hash; /* the lower half of ux_hash_bytes() of the bytes */
	uint16_t size; /* of the whole field */
	uint16_t head; /* of the tag and the size */
};
enum {
	UX_CACHED_STRING_TAG = 0x2a, /* as in otlp_fields.h */
	UX_CACHED_STRING_BEHIND = 192,
};

/* A function of a file, as formats with a table of functions write it. */
struct ux_cached_function {
	uint32_t text; /* number of its name, 0: none */
	uint32_t file;
	uint32_t name, linkage, path; /* numbers of a ux_cached_string, 0: the empty one */
};

struct ux_cached_line {
	uint32_t function; /* number of a ux_cached_function */
	uint32_t line;
};

/*
 * The frames of an address, innermost first, in one piece of memory. n is 0 if the function that
 * contains the address has no name.
 */
struct ux_cached_stack {
	uint32_t n;
	uint32_t unused;
	struct ux_cached_line lines[]; /* at least UX_CACHED_LINES_MIN can be read, whatever n is */
};

enum {
	UX_CACHED_LINES_MIN = 3, /* most addresses have no more frames than this */
};

/*
 * Creates a cache. `all`: the total size of all caches, to which this one adds its size. NULL when
 * memory is short.
 */
struct ux_frame_cache *ux_frame_cache_create(enum ux_demangle_mode mode, atomic_size_t *all);
struct ux_frame_cache *ux_frame_cache_ref(struct ux_frame_cache *m);
void ux_frame_cache_unref(struct ux_frame_cache *m);

/* Sets the size limit, while no other thread knows the cache. */
void ux_frame_cache_limit(struct ux_frame_cache *m, size_t max);

/* Returns the bytes of memory that the cache uses. */
size_t ux_frame_cache_bytes(struct ux_frame_cache *m);

/*
 * Subtracts `back` from each of n addresses, and finds their innermost frames. An address that is
 * not cached gets UX_FRAME_UNKNOWN; returns the number of such addresses. An address below `back`
 * has no frames. ret_offsets is NULL, or receives the distance from the start of the function for
 * each cached address with frames.
 */
#define UX_FRAME_UNKNOWN UINT32_MAX
size_t ux_frame_cache_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			   uint32_t *ret, uint64_t *ret_offsets);

/*
 * The same without offsets, and without waiting for a thread that adds to the cache. False: a
 * thread is adding, or an address is not cached.
 */
bool ux_frame_cache_try_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			     uint32_t *ret);

/* The lock must be held around calls of ux_frame_cache_add(). */
void ux_frame_cache_lock(struct ux_frame_cache *m);
void ux_frame_cache_unlock(struct ux_frame_cache *m);

/*
 * Adds the frames of an address, innermost first; n is 0 if there are none. False when the cache is
 * full or memory is short.
 */
bool ux_frame_cache_add(struct ux_frame_cache *m, uint64_t pc, const struct ux_frame *frames,
			size_t n, uint32_t *ret) ux_must;

/*
 * Finds the stacks of n frames (0: none) that exist already; ret gets NULL for the others. Returns
 * the number of missing stacks. Stacks are read without the lock, as items are.
 */
size_t ux_frame_cache_find_stacks(struct ux_frame_cache *m, const uint32_t *frames, size_t n,
				  const struct ux_cached_stack **ret);

/*
 * Creates the stacks that ux_frame_cache_find_stacks() did not find. Returns how many of the first
 * frames have a stack then; fewer than n: the cache is full, or memory is short.
 */
size_t ux_frame_cache_make_stacks(struct ux_frame_cache *m, const uint32_t *frames, size_t n,
				  const struct ux_cached_stack **ret);

struct ux_gsym;

/*
 * Fills a new cache, which no other thread knows, with the frames of all functions of g, the
 * module's best candidate: then their addresses need neither a lookup nor a lock. Lookups still
 * resolve addresses with other rules: several functions at one start, damaged records, functions
 * without a name. That takes 10 to 20 ns for each byte of the file; it ends early with
 * UX_EUNAVAILABLE when *stop is set, or after ten times as long. UX_ELIMIT: the cache is too small;
 * UX_ENOTFOUND, UX_ECORRUPT: g has nothing to fill it with; UX_ENOMEM. On failure the cache must be
 * released.
 */
enum ux_code ux_frame_cache_fill(struct ux_frame_cache *m, const struct ux_gsym *g,
				 const atomic_bool *stop) ux_must;

/* Whether the cache was filled. */
bool ux_frame_cache_is_filled(const struct ux_frame_cache *m);

enum {
	/* A list's first piece has 2^6 items; each further one has twice as many. */
	UX_FRAME_CACHE_PIECE_FIRST = 6,
	UX_FRAME_CACHE_PIECES = 30, /* index of the last piece, plus 1 */
};

/*
 * A list that grows by pieces, so that items never move. The piece of an item is the highest bit of
 * its place; the place is the item's number plus 2^6 - 1.
 */
struct ux_frame_cache_list {
	/* where an item with the place 0 would be, so that a place needs no subtraction */
	uintptr_t origins[UX_FRAME_CACHE_PIECES];
	size_t n;
};

/* The first member of a cache. Used only by the inline functions below. */
struct ux_frame_cache_lists {
	struct ux_frame_cache_list frames, files, texts, functions, strings;
};

ux_inline size_t ux_frame_cache_place(uint32_t number)
{
	return (size_t)number + ((1 << UX_FRAME_CACHE_PIECE_FIRST) - 1);
}

ux_inline size_t ux_frame_cache_piece(size_t place)
{
	return (size_t)(8 * sizeof(place) - 1) ^ (size_t)__builtin_clzl(place);
}

ux_inline void *ux_frame_cache_item(const struct ux_frame_cache_list *l, size_t size,
				    uint32_t number)
{
	size_t place = ux_frame_cache_place(number);
	return (void *)(l->origins[ux_frame_cache_piece(place)] + place * size);
}

/*
 * Return the items of numbers that ux_frame_cache_find() or ux_frame_cache_add() returned to this
 * thread, or that such an item contains. The number must not be 0.
 */
ux_inline const struct ux_cached_frame *ux_cached_frame(const struct ux_frame_cache *m, uint32_t i)
{
	return ux_frame_cache_item(&((const struct ux_frame_cache_lists *)m)->frames,
				   sizeof(struct ux_cached_frame), i);
}

ux_inline const struct ux_cached_file *ux_cached_file(const struct ux_frame_cache *m, uint32_t i)
{
	return ux_frame_cache_item(&((const struct ux_frame_cache_lists *)m)->files,
				   sizeof(struct ux_cached_file), i);
}

ux_inline const struct ux_cached_text *ux_cached_text(const struct ux_frame_cache *m, uint32_t i)
{
	return ux_frame_cache_item(&((const struct ux_frame_cache_lists *)m)->texts,
				   sizeof(struct ux_cached_text), i);
}

ux_inline const struct ux_cached_function *ux_cached_function(const struct ux_frame_cache *m,
							      uint32_t i)
{
	return ux_frame_cache_item(&((const struct ux_frame_cache_lists *)m)->functions,
				   sizeof(struct ux_cached_function), i);
}

ux_inline const struct ux_cached_string *ux_cached_string(const struct ux_frame_cache *m,
							  uint32_t i)
{
	return ux_frame_cache_item(&((const struct ux_frame_cache_lists *)m)->strings,
				   sizeof(struct ux_cached_string), i);
}

ux_inline struct ux_bytes ux_cached_text_bytes(const struct ux_frame_cache *m, uint32_t i)
{
	const struct ux_cached_text *t = ux_cached_text(m, i);
	return ux_bytes(t->data, t->size);
}

/* The linkage name of a function's text, cut to the longest text. */
ux_inline struct ux_bytes ux_cached_linkage(const struct ux_cached_text *t)
{
	return ux_bytes(t->linkage, t->linkage_size);
}

/* Prefetches the start of a text; the processor's own prefetcher then fetches the rest. */
ux_inline void ux_cached_text_prefetch(const struct ux_cached_text *t)
{
	enum {
		LINE = 64, /* bytes of one prefetch */
		MAX = 512,
	};
	for (size_t at = 0; at < t->size && at < MAX; at += LINE)
		__builtin_prefetch(t->data + at);
}

/* Prefetches a frame; 0 is allowed and does nothing. */
ux_inline void ux_frame_cache_prefetch(const struct ux_frame_cache *m, uint32_t i)
{
	if (i != 0)
		__builtin_prefetch(ux_cached_frame(m, i));
}

/* The texts of a frame. If the frame has no file, dir and base are empty. */
struct ux_frame_text {
	struct ux_bytes function; /* demangled */
	struct ux_bytes dir, base;
	uint32_t line;
	bool inlined;
};

struct ux_frame_text ux_frame_cache_text(const struct ux_frame_cache *m, uint32_t frame);

/*
 * Prefetches the memory that ux_frame_cache_json() reads for n frames, at most
 * UX_FRAME_CACHE_GROUP.
 */
void ux_frame_cache_prefetch_json(const struct ux_frame_cache *m, const uint32_t *frames, size_t n);

/*
 * Appends the JSON array of a frame and the frames that it is inlined into; frame 0: an empty
 * array.
 */
void ux_frame_cache_json(const struct ux_frame_cache *m, uint32_t frame, struct ux_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the frame cache: its tables, and the numbers of their items. */
#ifndef UX_FRAME_CACHE_INTERNAL_H
#define UX_FRAME_CACHE_INTERNAL_H

#include "frame_cache.h"

#include "arena.h"
#include "frame_map.h"
#include "map.h"

#include <pthread.h>

#define OFFSET_FAR UINT32_MAX

enum {
	FRAME_CACHE_STACKS_PAGE = 64 /* frames of a page */
};

/*
 * The stacks of frames with consecutive numbers, such as the frames of one function in a filled
 * cache. Few of its many frames are ever requested as stacks.
 */
struct stacks_page {
	const struct ux_cached_stack *stacks[FRAME_CACHE_STACKS_PAGE]; /* NULL: not made yet */
	/*
	 * for each frame that occurs in a stack: twice the number of its function, plus 1 if the
	 * function has no name; 0: not known yet
	 */
	uint32_t functions[FRAME_CACHE_STACKS_PAGE];
};

/* A cached address. */
struct address_slot {
	uint64_t pc;
	uint32_t offset; /* from the start of its function; OFFSET_FAR: see far_offsets */
	uint32_t frame;  /* number of its innermost frame plus 1; 0: the slot is free */
};

/*
 * A frame or a string, found by its content. The tag is one half of its hash: most items that
 * differ are told apart without reading them.
 */
struct frame_slot {
	uint32_t number; /* 0: the slot is free */
	uint32_t tag;
};
static inline uint64_t number_key_hash(uint64_t key)
{
	return ux_hash_u64(key);
}

static inline bool number_key_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(cached_numbers, uint64_t, uint32_t, number_key_hash, number_key_eq);
UX_MAP(cached_offsets, uint64_t, uint64_t, number_key_hash, number_key_eq);

struct ux_frame_cache {
	/* guarded by lock, except for items whose number is known */
	struct ux_frame_cache_lists lists;
	/* acquire-release, so that the last holder frees the cache after all reads */
	atomic_uint refs;
	enum ux_demangle_mode mode;
	atomic_size_t *all;    /* a sum, so no memory order is needed */
	pthread_rwlock_t lock; /* guards lists and the fields below */
	size_t bytes;          /* total size */
	size_t max;            /* its limit */
	/*
	 * all functions of the best candidate, if the cache was filled with them; never changes
	 * once other threads know the cache
	 */
	struct ux_frame_map *map;
	/* hash table with open addressing; the size is a power of two */
	struct address_slot *addresses;
	size_t addresses_cap, n_addresses;
	struct cached_offsets far_offsets; /* offsets that need 32 bits or more, by address */
	struct frame_slot *frame_slots;    /* hash table of frames by content */
	size_t frame_slots_cap;
	struct cached_numbers
		/* numbers of texts, by address in the mapping of the module's file and by use */
		text_numbers;
	struct cached_numbers file_numbers;
	struct cached_numbers function_numbers; /* by text and file */
	struct frame_slot *string_slots;        /* hash table of strings by their bytes */
	size_t string_slots_cap;
	uint8_t *strings_at, *strings_end; /* free memory for strings, within the arena */
	/* stack pages by frame number; NULL: no stack yet. Frame 0 is the empty stack. */
	struct stacks_page **stacks;
	size_t stacks_cap;
	struct ux_arena arena; /* holds demangled texts */
	struct ux_out name;    /* buffer of the demangler */
};

static_assert(offsetof(struct ux_frame_cache, lists) == 0, "frame_cache.h casts to it");

ux_inline void frame_cache_charge(struct ux_frame_cache *m, size_t bytes)
{
	m->bytes += bytes;
	atomic_fetch_add_explicit(m->all, bytes, memory_order_relaxed);
}

/* Appends a cleared item and returns it with its number; NULL: no room. */
void *frame_cache_append(struct ux_frame_cache *m, struct ux_frame_cache_list *l, size_t size,
			 uint32_t *ret_number);

/* Makes a table of pointers or numbers longer; new elements are zero. False: no room. */
bool frame_cache_lengthen(struct ux_frame_cache *m, void **table, size_t *cap, size_t want,
			  size_t size);

/* Allocates memory that is freed with the cache; NULL: no room. */
void *frame_cache_memory(struct ux_frame_cache *m, size_t size, size_t align);

/*
 * Allocates a table of twice the size, into which the caller moves the entries. NULL: no room; the
 * old table stays.
 */
void *frame_cache_table_grow(struct ux_frame_cache *m, size_t cap, size_t size, size_t *ret_cap);

/* --- frames, texts and files ------------------------------------------------------------------ */

ux_inline uint32_t cached_frame_tag(const struct ux_cached_frame *f)
{
	uint64_t hash = ux_hash_mix(((uint64_t)f->function << 32 | f->file) ^ ux_hash_seed,
				    ((uint64_t)f->line << 32 | f->up) ^ 0xd6e8feb86659fd93u);
	return (uint32_t)(hash >> 32);
}

/*
 * Returns the slot of an equal frame in a table of `cap` slots, a power of two, or the free slot
 * where it belongs.
 */
ux_inline struct frame_slot *frame_cache_frame_slot(const struct ux_frame_cache *m,
						    struct frame_slot *slots, size_t cap,
						    const struct ux_cached_frame *f, uint32_t tag)
{
	size_t i = tag & (cap - 1);
	for (; slots[i].number != 0; i = (i + 1) & (cap - 1)) {
		if (slots[i].tag == tag &&
		    memcmp(f, ux_cached_frame(m, slots[i].number), sizeof(*f)) == 0)
			break;
	}
	return &slots[i];
}

/*
 * Returns the number of an equal frame. Without one, adds the frame to the cache and to the table,
 * which must have a free slot. 0: no room.
 */
ux_inline uint32_t frame_cache_frame_among(struct ux_frame_cache *m, struct frame_slot *slots,
					   size_t cap, const struct ux_cached_frame *f)
{
	const uint32_t tag = cached_frame_tag(f);
	struct frame_slot *slot = frame_cache_frame_slot(m, slots, cap, f, tag);
	if (slot->number == 0) {
		struct ux_cached_frame *item =
			frame_cache_append(m, &m->lists.frames, sizeof(*f), &slot->number);
		if (!item)
			return 0;
		slot->tag = tag;
		*item = *f;
	}
	return slot->number;
}

/* Gets the number of a frame, and adds it if there is no equal one. False: no room. */
bool frame_cache_frame_number(struct ux_frame_cache *m, const struct ux_cached_frame *f,
			      uint32_t *ret);

ux_inline uint64_t cached_text_key(const char *s, bool function)
{
	return (uintptr_t)s << 1 | function;
}

/* Gets the number of a text. s points into a file of the module, which stores each text once. */
bool frame_cache_text_number(struct ux_frame_cache *m, const char *s, bool function, uint32_t *ret);

/* Returns the map's slot for the number of a key; a new slot has 0. NULL: no room. */
uint32_t *frame_cache_number_slot(struct ux_frame_cache *m, struct cached_numbers *map,
				  uint64_t key);

/*
 * Gets the number of the string with these bytes, which must stay valid; `hash` is the lower half
 * of their ux_hash_bytes().
 */
bool frame_cache_string_number(struct ux_frame_cache *m, struct ux_bytes text, uint32_t hash,
			       uint32_t *ret);

/* Gets the number of the file of a frame. */
bool frame_cache_file_number(struct ux_frame_cache *m, const struct ux_frame *f, uint32_t *ret);

#endif

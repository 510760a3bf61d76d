/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile in memory, independent of the format that it was read from: samples, their stacks, the
 * locations in these, and the modules of the locations.
 */
#ifndef UX_PROFILE_H
#define UX_PROFILE_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "id.h"
#include "map.h"
#include "vec.h"

enum {
	UX_PROFILE_VALUES_MAX = 16,   /* values of a sample, such as a count and nanoseconds */
	UX_PROFILE_DEPTH_MAX = 65536, /* locations in a stack */
};

/* Limit of the memory of one profile, for its strings and for each of its tables. */
#define UX_PROFILE_BYTES_MAX (UINT64_C(8) << 30)

/* --- strings ---------------------------------------------------------------------------------- */

/* Distinct strings, numbered in the order in which they were added. Number 0 is "". */
UX_VEC(ux_string_list, struct ux_bytes);
UX_MAP(ux_string_numbers, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

struct ux_strings {
	struct ux_arena arena;
	struct ux_string_list list;
	struct ux_string_numbers numbers;
};

/* UX_ENOMEM. The strings must be released in either case. */
enum ux_code ux_strings_init(struct ux_strings *s, struct ux_error *err) ux_must;
void ux_strings_deinit(struct ux_strings *s);

/* Adds a string, or finds it, and sets its number. The bytes are copied. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_strings_add(struct ux_strings *s, struct ux_bytes text, uint32_t *ret,
			    struct ux_error *err) ux_must;

/* Returns the string with that number, followed by a NUL; valid as long as the strings. */
static inline struct ux_bytes ux_strings_get(const struct ux_strings *s, uint32_t number)
{
	return s->list.data[number];
}

/* --- modules and locations -------------------------------------------------------------------- */

enum ux_profile_module_kind {
	UX_PROFILE_FILE,   /* an executable or a library */
	UX_PROFILE_VDSO,   /* code that the kernel maps into processes */
	UX_PROFILE_KERNEL, /* the kernel itself, or one of its modules */
	UX_PROFILE_JIT,    /* code that a program made at run time */
};

/* A module's properties. Strings are numbers of strings. */
struct ux_profile_module {
	enum ux_profile_module_kind kind;
	uint32_t path;     /* as in the recording */
	uint32_t pid;      /* process that made the code, for JIT code */
	struct ux_id id;   /* size 0: unknown */
	uint32_t debug_id; /* as ux_debug_id_format() writes it; set if it is known without an ID;
			      0: none */
	uint32_t source;   /* origin of its symbols after symbolization; 0: it has none */
	uint32_t why;      /* why locations have no names; 0: no known reason */
	uint64_t start;    /* address of the kernel's _text, or of its module; 0: unknown */
	uint64_t base;     /* lowest virtual address of its image, if has_base */
	bool has_base;
};

/* Meaning of a location's address. */
enum ux_profile_address_kind {
	UX_PROFILE_NO_ADDRESS, /* a function that is known only by its name */
	UX_PROFILE_PC,         /* virtual address in the module's file */
	UX_PROFILE_OFFSET,     /* position in the module's file */
	UX_PROFILE_ADDRESS,    /* address in the process, or in the kernel */
	UX_PROFILE_RELATIVE,   /* bytes from the lowest virtual address of the module's file */
};

/* Where a sample was taken, or where a function was called. */
struct ux_profile_location {
	uint32_t module; /* 0: unknown */
	uint8_t kind;    /* enum ux_profile_address_kind */
	bool returns;    /* it is a return address: the call is before it */
	bool named;      /* the recording had its frames, which are kept */
	uint64_t address;
	uint32_t first; /* index of its innermost frame; several locations may share it */
	uint32_t n;     /* frames; 0: it has no name */
};

/* A function at a location. Strings are numbers of strings. */
struct ux_profile_frame {
	uint32_t name;    /* for people to read; 0: `linkage` is to be demangled */
	uint32_t linkage; /* linkage name; 0: unknown */
	uint32_t file;
	uint32_t line; /* 0: unknown */
	uint32_t column;
	uint32_t start_line; /* first line of the function */
	bool inlined;        /* all but the last frame of a location */
};

/* --- samples ---------------------------------------------------------------------------------- */

/* A stack: a location and the stack that called it. Number 0 is the empty stack. */
struct ux_profile_stack {
	uint32_t caller;   /* a stack, with a lower number */
	uint32_t location; /* a location */
};

struct ux_profile_thread {
	uint32_t pid;
	uint32_t tid;
	uint32_t comm; /* a string */
};

/* All samples of one thread with the same stack, or if times are kept, one sample. */
struct ux_profile_sample {
	uint32_t stack;
	uint32_t thread;  /* 0: unknown */
	uint64_t time_ns; /* on the recording's clock; 0: unknown, or several samples */
	size_t first;     /* index of its first value in `values` */
};

/* Name and unit of a value of samples: "cpu", "nanoseconds". Strings. */
struct ux_profile_type {
	uint32_t name;
	uint32_t unit;
};

UX_VEC(ux_profile_modules, struct ux_profile_module);
UX_VEC(ux_profile_locations, struct ux_profile_location);
UX_VEC(ux_profile_frames, struct ux_profile_frame);
UX_VEC(ux_profile_stacks, struct ux_profile_stack);
UX_VEC(ux_profile_threads, struct ux_profile_thread);
UX_VEC(ux_profile_samples, struct ux_profile_sample);
UX_VEC(ux_profile_values, int64_t);
UX_VEC(ux_profile_starts, uint64_t);

/* Returned by ux_profile_start(): the start of the function is unknown. */
#define UX_PROFILE_NO_START UINT64_MAX

/*
 * Numbers of stacks by content: open addressing over stacks[], which holds the keys. There are
 * millions of stacks, and a struct ux_profile_numbers would take six times as much memory.
 */
struct ux_profile_stack_index {
	uint32_t *slots; /* malloc'ed: index into stacks[]; 0: the slot is free */
	size_t cap;      /* a power of two, at least a quarter of it empty; or 0 */
};

/* Keys of the tables below. */
struct ux_profile_place {
	uint32_t module;
	uint8_t kind;
	bool returns;
	uint64_t address;
};

ux_inline uint64_t ux_profile_place_hash(struct ux_profile_place p)
{
	return ux_hash_mix(ux_hash_u64(p.address),
			   (uint64_t)p.module << 16 | (uint64_t)p.kind << 8 | p.returns | 1u << 15);
}

ux_inline bool ux_profile_place_eq(struct ux_profile_place a, struct ux_profile_place b)
{
	return a.address == b.address && a.module == b.module && a.kind == b.kind &&
	       a.returns == b.returns;
}

ux_inline bool ux_profile_number_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(ux_profile_places, struct ux_profile_place, uint32_t, ux_profile_place_hash,
       ux_profile_place_eq);
UX_MAP(ux_profile_numbers, uint64_t, uint32_t, ux_hash_u64, ux_profile_number_eq);

/*
 * A profile. Zeroed is empty once ux_profile_init() was called. One thread at a time. Element 0 of
 * modules, locations, stacks and threads stands for "unknown" or "empty". Everyone may read the
 * fields; only the functions below change them.
 */
struct ux_profile {
	struct ux_strings strings;
	struct ux_profile_modules modules;
	struct ux_profile_locations locations;
	struct ux_profile_frames frames;
	struct ux_profile_stacks stacks;
	struct ux_profile_threads threads;
	struct ux_profile_samples samples;
	struct ux_profile_values values;
	struct ux_profile_type types[UX_PROFILE_VALUES_MAX];
	size_t n_types;
	struct ux_profile_starts starts; /* ux_profile_start() */
	uint64_t start_ns;               /* wall clock at the start of the recording; 0: unknown */
	uint64_t duration_ns;
	struct ux_profile_type period_type;
	int64_t period;
	uint32_t host;    /* string: name of the recorded host, as uname -n prints it; 0: unknown */
	uint32_t release; /* string: of the recorded kernel, as uname -r prints it; 0: unknown */
	bool keep_starts; /* ux_profile_symbolize() keeps the starts of functions */
	bool keep_times;  /* each sample stays separate; set before the first one is added */
	/*
	 * Limit of the memory of all tables, including a reader's, set before the first element is
	 * added; 0: each table has its own limit (UX_PROFILE_BYTES_MAX). `charged` is their size,
	 * counted as elements are added.
	 */
	uint64_t max;
	uint64_t charged;
	struct ux_profile_places places; /* location of a place */
	struct ux_profile_stack_index stack_of;
	struct ux_profile_numbers sample_of; /* sample of (thread, stack) */
};

/* UX_ENOMEM. The profile must be released in either case. */
enum ux_code ux_profile_init(struct ux_profile *p, struct ux_error *err) ux_must;
void ux_profile_deinit(struct ux_profile *p);

/* Charges memory before it is allocated. UX_ELIMIT: p->max would be exceeded. */
enum ux_code ux_profile_charge(struct ux_profile *p, size_t bytes, struct ux_error *err) ux_must;

/* Adds a string, or finds it, and sets its number. The bytes are copied. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_profile_string(struct ux_profile *p, struct ux_bytes text, uint32_t *ret,
			       struct ux_error *err) ux_must;

/* Returns the string with that number, followed by a NUL; valid as long as the profile. */
static inline struct ux_bytes ux_profile_text(const struct ux_profile *p, uint32_t number)
{
	return p->strings.list.data[number];
}

/*
 * Returns whether a text is the name of a function. Without a name, other programs write an address
 * ("0x7f12", "[0x7f12]"), "[unknown]" or "??".
 */
bool ux_profile_is_name(struct ux_bytes text);

/* Return whether a frame, or the innermost frame of a location, has a name: the definition of
 * "named" for all formats. */
bool ux_profile_frame_is_named(const struct ux_profile *p, const struct ux_profile_frame *frame);
bool ux_profile_is_named(const struct ux_profile *p, const struct ux_profile_location *l);

/* Each appends an element and sets its number. UX_ENOMEM; UX_ELIMIT: there are 2^32 already. */
enum ux_code ux_profile_add_module(struct ux_profile *p, struct ux_profile_module module,
				   uint32_t *ret, struct ux_error *err) ux_must;
enum ux_code ux_profile_add_thread(struct ux_profile *p, struct ux_profile_thread thread,
				   uint32_t *ret, struct ux_error *err) ux_must;

/* Appends a location, equal to another one or not. */
enum ux_code ux_profile_add_location(struct ux_profile *p, struct ux_profile_location location,
				     uint32_t *ret, struct ux_error *err) ux_must;

/* Finds the location of a place, or adds it without a name. */
enum ux_code ux_profile_locate(struct ux_profile *p, struct ux_profile_place place, uint32_t *ret,
			       struct ux_error *err) ux_must;

/* Gives a location its frames, innermost first. It must have none. */
enum ux_code ux_profile_name(struct ux_profile *p, uint32_t location,
			     const struct ux_profile_frame *frames, size_t n, struct ux_error *err)
	ux_must;

/* The same, with the frames of another location of the same module. */
static inline void ux_profile_name_as(struct ux_profile *p, uint32_t location, uint32_t other)
{
	p->locations.data[location].first = p->locations.data[other].first;
	p->locations.data[location].n = p->locations.data[other].n;
}

/* Finds or adds the stack in which `caller` called the location. */
enum ux_code ux_profile_push(struct ux_profile *p, uint32_t caller, uint32_t location,
			     uint32_t *ret, struct ux_error *err) ux_must;

/*
 * Adds a sample with p->n_types values. Unless times are kept, its values are added to the sample
 * with the same stack and thread. UX_ENOMEM.
 */
enum ux_code ux_profile_add_sample(struct ux_profile *p, uint32_t thread, uint32_t stack,
				   uint64_t time_ns, const int64_t *values, struct ux_error *err)
	ux_must;

/* Releases the tables that find earlier stacks and samples: none may be added afterwards. */
void ux_profile_settle(struct ux_profile *p);

/*
 * Sets the index of the value with that name among n, or else with that number, counted from 1; an
 * empty name selects the last one, as in pprof. UX_ENOTFOUND: no such value; the message lists the
 * names.
 */
enum ux_code ux_profile_types_find(const struct ux_profile_type *types, size_t n,
				   const struct ux_strings *strings, struct ux_bytes name,
				   size_t *ret, struct ux_error *err) ux_must;

static inline enum ux_code ux_profile_type_find(const struct ux_profile *p, struct ux_bytes name,
						size_t *ret, struct ux_error *err)
{
	return ux_profile_types_find(p->types, p->n_types, &p->strings, name, ret, err);
}

/*
 * Sets a malloc'ed array of the numbers of all samples, ordered by thread, then by time, then as
 * they were added. UX_ENOMEM.
 */
enum ux_code ux_profile_order(const struct ux_profile *p, uint32_t **ret, struct ux_error *err)
	ux_must;

/* Returns the p->n_types values of a sample; NULL if there are no types. */
static inline const int64_t *ux_profile_sample_values(const struct ux_profile *p,
						      const struct ux_profile_sample *sample)
{
	return p->n_types > 0 ? &p->values.data[sample->first] : NULL;
}

/* Returns the pc at which a location's outermost function begins, in which others may be inlined;
 * UX_PROFILE_NO_START: unknown, or not kept. */
static inline uint64_t ux_profile_start(const struct ux_profile *p, uint32_t location)
{
	return location < p->starts.size ? p->starts.data[location] : UX_PROFILE_NO_START;
}

/* Keeps that pc. UX_ENOMEM. */
enum ux_code ux_profile_keep_start(struct ux_profile *p, uint32_t location, uint64_t start,
				   struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Code that recorded processes made at run time, by the jitdumps that they left: the function at an
 * address when a sample was taken. */
#ifndef UX_PROFILE_JIT_H
#define UX_PROFILE_JIT_H

#include "jit.h"
#include "profile_symbolize.h"

/* Code at an address: the identity of a jitdump's location. */
struct ux_profile_code {
	uint64_t address;
	uint32_t module; /* the jitdump */
	uint32_t code;   /* as the jitdump numbers it */
	bool returns;
};

ux_inline uint64_t ux_profile_code_hash(struct ux_profile_code c)
{
	return ux_hash_mix(ux_hash_u64(c.address), (uint64_t)c.code << 32 |
							   (uint64_t)c.module << 1 | c.returns |
							   UINT64_C(1) << 63);
}

ux_inline bool ux_profile_code_eq(struct ux_profile_code a, struct ux_profile_code b)
{
	return a.address == b.address && a.module == b.module && a.code == b.code &&
	       a.returns == b.returns;
}

UX_MAP(ux_profile_codes, struct ux_profile_code, uint32_t, ux_profile_code_hash,
       ux_profile_code_eq);

/* The jitdump of a module. */
struct ux_profile_dump {
	bool opened;
	bool usable; /* it was read, at least its beginning */
	struct ux_jitdump dump;
	bool listed; /* the server's symbols of the process: */
	struct ux_runtime_list spans;
	uint32_t *span_modules; /* malloc'ed: the module of each; 0: not added yet */
};

UX_VEC(ux_profile_dump_list, struct ux_profile_dump);

/* Zeroed except for the sources. One thread at a time. */
struct ux_profile_jit {
	const struct ux_profile_sources *sources;
	struct ux_profile_dump_list list;  /* jitdumps by module index; may lack the last modules */
	struct ux_profile_codes locations; /* locations of the profile that were made */
	int64_t wall_ns;  /* wall clock minus CLOCK_MONOTONIC in the recording; 0: unknown */
	uint64_t untimed; /* addresses that were looked up without a time */
	uint64_t unsure;  /* addresses that were looked up by times of an unknown clock */
};

void ux_profile_jit_deinit(struct ux_profile_jit *j);

/*
 * Opens the jitdump of a module, which ux_jitdump_open() finds by its path and process. Sets the
 * module's source, or the reason why it has none. *ret is NULL if there is no jitdump, and valid
 * until another one is opened. UX_ENOMEM, UX_ELIMIT of the profile.
 */
enum ux_code ux_profile_jit_open(struct ux_profile_jit *j, struct ux_profile *p, uint32_t module,
				 const struct ux_jitdump **ret, struct ux_error *err) ux_must;

/*
 * Sets a number that changes with the code of the process at a time, by its jitdump or the server's
 * symbols. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_profile_jit_version(struct ux_profile_jit *j, struct ux_profile *p, uint32_t module,
				    uint64_t time, uint32_t *ret, struct ux_error *err) ux_must;

/*
 * Sets the location of an address at a time of CLOCK_MONOTONIC. Time 0: the time is of another
 * clock; the last code there is taken, and counted in `untimed`. The location has a name; or,
 * without a jitdump, it is in a module of its own for each time span of the server's symbols. *ret
 * is 0 if there is no code. Errors as above.
 */
enum ux_code ux_profile_jit_locate(struct ux_profile_jit *j, struct ux_profile *p, uint32_t module,
				   struct ux_profile_place place, uint64_t time, uint32_t *ret,
				   struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the profiles of a time range, and caches such sums. */
#ifndef UX_PROFILE_SPAN_H
#define UX_PROFILE_SPAN_H

#include "profile.h"
#include "server.h"

enum {
	UX_SPAN_PROFILES_MAX = 4096,     /* kept profiles in one sum at most */
	UX_SPAN_BYTES_MAX = 256 << 20,   /* bytes of their messages, uncompressed */
	UX_SPAN_CACHE_MAX = 64 << 20,    /* bytes of the sums that are cached */
	UX_SPAN_CACHE_ENTRIES_MAX = 256, /* number of cached sums */
};

/* The sum of several kept profiles. Immutable; released by ux_profile_span_unref(). */
struct ux_profile_span {
	atomic_uint refs;
	struct ux_profile profile;
	size_t n;        /* number of its profiles */
	bool more;       /* limits were reached, so earlier profiles are missing */
	size_t n_lost;   /* profiles whose bytes are lost or damaged */
	ux_time started; /* start of the earliest profile; 0: it has none */
	ux_time ended;
};

/* NULL is allowed. */
void ux_profile_span_unref(struct ux_profile_span *s);
static inline void ux_profile_span_release(struct ux_profile_span **s)
{
	ux_profile_span_unref(*s);
}

/* Any thread. */
struct ux_span_cache;
enum ux_code ux_span_cache_create(struct ux_span_cache **ret, struct ux_error *err) ux_must;
/* NULL is allowed. */
void ux_span_cache_destroy(struct ux_span_cache *c);

/*
 * Sums up the selected profiles, latest first, until a limit is reached, or only the profile
 * `number` if that is not 0. Locations without names get names from the modules that the server has
 * by now. Charges the work of the request, and the memory that requests share while the sum is
 * built. UX_ENOTFOUND: no such profile. UX_ELIMIT, UX_EUNAVAILABLE, UX_ENOMEM, UX_EIO.
 */
enum ux_code ux_profile_span_get(struct ux_request *req, const struct ux_profile_filter *filter,
				 int64_t number, struct ux_profile_span **ret) ux_must;

/* Reads the bytes of a kept profile into an empty one; *ret_size is their size in memory. */
enum ux_code ux_kept_profile_read(struct ux_store *s, const struct ux_kept_profile *row,
				  struct ux_profile *p, size_t *ret_size, struct ux_error *err)
	ux_must;

#endif

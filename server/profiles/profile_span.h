/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of the profiles of a span of time, and a cache of such sums. */
#ifndef UX_PROFILE_SPAN_H
#define UX_PROFILE_SPAN_H

#include "profile.h"
#include "server.h"

enum {
	UX_SPAN_PROFILES_MAX = 4096,     /* kept profiles that one sum has at most */
	UX_SPAN_BYTES_MAX = 256 << 20,   /* of their messages, without compression */
	UX_SPAN_CACHE_MAX = 64 << 20,    /* bytes of the sums that are cached */
	UX_SPAN_CACHE_ENTRIES_MAX = 256, /* their number */
};

/* The sum of several kept profiles. Immutable; released by ux_profile_span_unref(). */
struct ux_profile_span {
	atomic_uint refs;
	struct ux_profile profile;
	size_t n;        /* profiles that it has */
	bool more;       /* there were more, which began earlier: the limits above were reached */
	size_t n_lost;   /* profiles whose bytes are lost or damaged */
	ux_time started; /* of those that it has; 0 when there are none */
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
 * Adds up what the filter selects, the latest first, as far as the limits allow, or the profile
 * `number` alone when that is not 0. Locations that have no names yet get those that the server has
 * by now. Charged to the work of the request, and to the memory that requests share while it is
 * made. UX_ENOTFOUND: there is no such profile. UX_ELIMIT, UX_EUNAVAILABLE, UX_ENOMEM, UX_EIO.
 */
enum ux_code ux_profile_span_get(struct ux_request *req, const struct ux_profile_filter *filter,
				 int64_t number, struct ux_profile_span **ret) ux_must;

/* Reads the bytes of a kept profile into an empty one; *ret_size is their size in memory. */
enum ux_code ux_kept_profile_read(struct ux_store *s, const struct ux_kept_profile *row,
				  struct ux_profile *p, size_t *ret_size, struct ux_error *err)
	ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps profiles that arrive as OTLP messages or are uploaded, by service, host and time. Removes
 * old ones, and merges neighbours in time.
 */
#ifndef UX_PROFILE_KEEPER_H
#define UX_PROFILE_KEEPER_H

#include "bytes.h"
#include "code_budget.h"
#include "server.h"
#include "vec.h"

#include <stdatomic.h>

struct ux_span_cache;

/* Any thread, except ux_profile_keeper_tick(). */
struct ux_profile_keeper {
	struct ux_server *server;
	struct ux_span_cache *spans;
	/* the settings, which may change; no memory order needed */
	_Atomic int64_t keep_s; /* 0: nothing is kept */
	_Atomic uint64_t bytes_max;
	_Atomic uint64_t profiles_max; /* of each namespace; 0: no limit */
	/* counters since the start, for /metrics; no memory order needed */
	_Atomic uint64_t kept;
	_Atomic uint64_t merged;
	_Atomic uint64_t removed;
	_Atomic uint64_t failed;
	int64_t next_tick; /* seconds of the monotonic clock */
};

/* Facts about a profile besides its bytes. Texts are "" if unknown. */
struct ux_profile_origin {
	const char *ns;
	const char *service; /* "": from the message; an OTLP message has one for each resource */
	const char *host;
	const char *build;
	ux_time ended; /* 0: the time in the profile, or now if it has none */
	const char *key_id;
	bool alone; /* never merged with others, because the client gets its number */
	bool named; /* its locations have names already */
};

UX_VEC(ux_kept_numbers, int64_t);

/* UX_ENOMEM. Nothing is kept before ux_profile_keeper_configure(). */
enum ux_code ux_profile_keeper_create(struct ux_profile_keeper **ret, struct ux_server *server,
				      struct ux_error *err) ux_must;
/* NULL is allowed. */
void ux_profile_keeper_destroy(struct ux_profile_keeper *k);

void ux_profile_keeper_configure(struct ux_profile_keeper *k, uint64_t keep_ms, uint64_t bytes,
				 uint64_t profiles);

/* NULL is allowed. */
bool ux_profile_keeper_is_on(const struct ux_profile_keeper *k);

/*
 * Keeps an ExportProfilesServiceRequest whose locations have names: one profile for each service,
 * host and build in it, all of them or none. It is on disk when this returns. Does nothing if
 * keeping is off; k may be NULL. Codes of ux_profile_keep_as().
 */
enum ux_code ux_profile_keep(struct ux_profile_keeper *k, const char *ns, struct ux_bytes message,
			     struct ux_work *work, struct ux_error *err) ux_must;

/*
 * Keeps a profile of any format (ux_profile_parse()), and appends the number of each stored profile
 * to `ret`, which may be NULL. Locations without names get names from this server's modules.
 * UX_EINVAL: the service is unknown. UX_EUNAVAILABLE: keeping is off, or `work` was stopped.
 * UX_ECORRUPT, UX_EUNSUPPORTED, UX_ELIMIT: the profile cannot be read, or has too many resources,
 * or takes too much work. UX_EIO: the store failed.
 */
enum ux_code ux_profile_keep_as(struct ux_profile_keeper *k, const struct ux_profile_origin *origin,
				struct ux_bytes bytes, struct ux_work *work,
				struct ux_kept_numbers *ret, struct ux_error *err) ux_must;

/*
 * Removes profiles that are too old or exceed the limit, and merges old ones. Called once a second,
 * by one thread.
 */
void ux_profile_keeper_tick(struct ux_profile_keeper *k);

#endif

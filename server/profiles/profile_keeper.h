/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps profiles: those that pass as OTLP messages and those that are uploaded, by service, host
 * and time. Old ones are removed, and neighbours in time are merged.
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
	/* counters since the start, for /metrics; no memory order needed */
	_Atomic uint64_t kept;
	_Atomic uint64_t merged;
	_Atomic uint64_t removed;
	_Atomic uint64_t failed;
	int64_t next_tick; /* seconds of the monotonic clock */
};

/* What is known about a profile beside its bytes. Texts are "" where unknown. */
struct ux_profile_origin {
	const char *ns;
	const char *service; /* "": as the message says, which OTLP's does for each resource */
	const char *host;
	const char *build;
	ux_time ended; /* 0: as the profile says, else now */
	const char *key_id;
	bool alone; /* it is never merged with others, since the client gets its number */
};

UX_VEC(ux_kept_numbers, int64_t);

/* UX_ENOMEM. Nothing is kept before ux_profile_keeper_configure(). */
enum ux_code ux_profile_keeper_create(struct ux_profile_keeper **ret, struct ux_server *server,
				      struct ux_error *err) ux_must;
/* NULL is allowed. */
void ux_profile_keeper_destroy(struct ux_profile_keeper *k);

void ux_profile_keeper_configure(struct ux_profile_keeper *k, uint64_t keep_ms, uint64_t bytes);

/* NULL is allowed. */
bool ux_profile_keeper_is_on(const struct ux_profile_keeper *k);

/*
 * Keeps an ExportProfilesServiceRequest that has its names: one profile for each service, host and
 * build in it. It is on the disk when this returns. Does nothing when nothing is to be kept; k may
 * be NULL. Codes as of ux_profile_keep_as().
 */
enum ux_code ux_profile_keep(struct ux_profile_keeper *k, const char *ns, struct ux_bytes message,
			     struct ux_error *err) ux_must;

/*
 * Keeps a profile of any format (ux_profile_parse()), and appends the number of each that it became
 * to `ret`, which may be NULL. Locations without names get those that this server has. UX_EINVAL:
 * it names no service. UX_EUNAVAILABLE: nothing is kept here, or `work` was stopped. UX_ECORRUPT,
 * UX_EUNSUPPORTED, UX_ELIMIT: the profile. UX_EIO: the store.
 */
enum ux_code ux_profile_keep_as(struct ux_profile_keeper *k, const struct ux_profile_origin *origin,
				struct ux_bytes bytes, struct ux_work *work,
				struct ux_kept_numbers *ret, struct ux_error *err) ux_must;

/* Removes what is too old or too much, and merges what is old. Called once a second, by one thread.
 */
void ux_profile_keeper_tick(struct ux_profile_keeper *k);

#endif

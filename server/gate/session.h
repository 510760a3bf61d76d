/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of browsers: a cookie in place of a token, for the pages and their script. */
#ifndef UX_SESSION_H
#define UX_SESSION_H

#include "http.h"
#include "index.h"

/*
 * "KEYID.EXPIRES.MAC": made after a token was shown once, so that the browser keeps no token. It
 * stands for the key with all its scopes while the key is good, for half a day at most, and until
 * this process ends, whose secret it is made with.
 */
enum {
	UX_SESSION_SECONDS = 12 * 60 * 60,
	UX_SESSION_SECRET = 32, /* bytes */
	UX_SESSION_TEXT = 128   /* bytes of a cookie's value, with the NUL */
};

#define UX_SESSION_COOKIE "unhex-session"

/* Immutable after init. */
struct ux_sessions {
	uint8_t secret[UX_SESSION_SECRET];
	bool ready; /* there was randomness for the secret; else there are no sessions */
};

void ux_sessions_init(struct ux_sessions *s);

/* The value of a cookie for that key. UX_EUNAVAILABLE: there are no sessions. */
enum ux_code ux_session_make(const struct ux_sessions *s, const char *key_id, ux_time now,
			     char text[UX_SESSION_TEXT], struct ux_error *err) ux_must;

/* The ID of the key that a value stands for; false for one that we did not make, or that is over.
 */
bool ux_session_read(const struct ux_sessions *s, struct ux_bytes text, ux_time now,
		     char key_id[UX_KEY_ID_SIZE]) ux_must;

/* The value of our cookie in the request. */
bool ux_session_cookie(const struct ux_request *req, struct ux_bytes *ret);

/*
 * Whether a page of this very server sent the request. Requests that change something by a cookie,
 * which the browser adds for every page, need it; SameSite=Strict alone lets other ports of this
 * host in. Decided by Sec-Fetch-Site, else by Origin, which must be the Host; no page can set them.
 */
bool ux_session_same_origin(const struct ux_request *req);

/*
 * The key of a request that has a session: by its cookie, for reading methods, or when it is of the
 * same origin. UX_ENOTFOUND, with no message: there is no session, or it is over, or its key is.
 */
enum ux_code ux_session_key(const struct ux_sessions *s, struct ux_index *ix,
			    struct ux_request *req, ux_time now, struct ux_key *ret) ux_must;

#endif

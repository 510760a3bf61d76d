/* SPDX-License-Identifier: Apache-2.0 */
/* The server: everything of `unhex serve` but its options' text. */
#ifndef UX_SERVE_H
#define UX_SERVE_H

#include "http.h"
#include "keeper.h"
#include "settings.h"

/*
 * Takes over settings, which were loaded from source; both are read again by a reload.
 * Serves until SIGTERM or SIGINT, then lets requests in flight end and returns UX_OK. Prints to
 * stdout, on the first start of a folder, "unhex: admin key TOKEN ..." once, and then
 * "unhex: serving on http://HOST:PORT data=DIR" when it is ready; logs to stderr. Blocks SIGTERM,
 * SIGINT and SIGPIPE in the process: call it from main() before there are threads.
 *
 * UX_EINVAL: an address that makes no sense. UX_EUNAVAILABLE: the address is taken. UX_ECONFLICT:
 * another server holds the folder.
 */
enum ux_code ux_server_run(const struct ux_settings_source *source, struct ux_settings *settings,
			   struct ux_error *err) ux_must;

/* --- settings that change while the server runs ----------------------------------------------- */

/* Who takes over what of the settings; all of it is the main thread's. */
struct ux_running {
	const struct ux_settings_source *source;
	struct ux_settings *settings; /* in force */
	struct ux_server *server;
	struct ux_http_limits *limits; /* of the app that serves */
	struct ux_keeper *keeper;
};

/* The settings as net/ wants them. */
struct ux_http_limits ux_limits_of_settings(const struct ux_settings *s);

/* Hands every setting that may change to who uses it: at the start, and after a reload. */
void ux_settings_apply(struct ux_running *r);

/*
 * Reads the configuration and the certificate again. A mistake in either leaves everything as it is
 * and is logged; so is each key that changed, and what waits for a restart.
 */
void ux_reload(struct ux_running *r);

/* Whole seconds of milliseconds, none of them lost. */
static inline unsigned ux_seconds_of(uint64_t ms)
{
	return (unsigned)((ms + 999) / 1000);
}

/*
 * What the settings say takes the place of what was in force; requests at work go on with that, so
 * it stays until ux_access_forget(). One thread. UX_EINVAL: a network that is none.
 */
enum ux_code ux_access_apply(struct ux_server *s, const struct ux_settings *settings,
			     struct ux_error *err) ux_must;

/* Frees all; no request may be served any more. */
void ux_access_forget(struct ux_server *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that change while the server serves. */
#ifndef UX_RELOAD_H
#define UX_RELOAD_H

#include "http.h"
#include "keeper.h"
#include "settings.h"

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Upstreams as the settings name them. */
#ifndef UX_OPEN_UPSTREAMS_H
#define UX_OPEN_UPSTREAMS_H

#include "server.h"
#include "settings.h"

/* What ux_server_upstreams_open() would refuse, before anything else is opened. */
enum ux_code ux_server_upstreams_check(const struct ux_settings *settings, struct ux_error *err)
	ux_must;

/* Sets s->fetcher and s->wanted when there are any; the caller closes the fetcher. */
enum ux_code ux_server_upstreams_open(struct ux_server *s, const struct ux_settings *settings,
				      struct ux_error *err) ux_must;

/* Asks those of new settings from now on, also none; what is under way ends. A server that began
 * without any goes on so. One thread. */
enum ux_code ux_server_upstreams_change(struct ux_server *s, const struct ux_settings *settings,
					struct ux_error *err) ux_must;

#endif

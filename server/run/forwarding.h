/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarder of a running server. */
#ifndef UX_FORWARDING_H
#define UX_FORWARDING_H

#include "server.h"
#include "settings.h"

/* Checks the settings without opening anything. The codes of ux_forward_check(). */
enum ux_code ux_forwarding_check(const struct ux_settings *settings, struct ux_error *err) ux_must;

/* Opens s->forwarder if the settings have a receiver. dir: the folder of the store. */
enum ux_code ux_forwarding_open(struct ux_server *s, const struct ux_settings *settings,
				const char *dir, struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Access as the configuration says. */
#ifndef UX_ACCESS_SETTINGS_H
#define UX_ACCESS_SETTINGS_H

#include "auth.h"
#include "settings.h"

/*
 * What the settings say takes the place of what was in force; requests at work go on with that, so
 * it stays until ux_access_forget(). One thread. UX_EINVAL: a network that is none.
 */
enum ux_code ux_access_apply(struct ux_server *s, const struct ux_settings *settings,
			     struct ux_error *err) ux_must;

/* Frees all; nobody may be served any more. */
void ux_access_forget(struct ux_server *s);

#endif

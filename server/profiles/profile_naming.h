/* SPDX-License-Identifier: Apache-2.0 */
/* Names the locations of a profile, from the modules of this server. */
#ifndef UX_PROFILE_NAMING_H
#define UX_PROFILE_NAMING_H

#include "code_budget.h"
#include "profile.h"
#include "server.h"

/*
 * Gives frames to locations without frames that have a virtual address in a module with an ID.
 * Starts to fetch modules that the store lacks, for the next profile; the module then says why its
 * locations have no names. Charges `work`; NULL: no limit. UX_ENOMEM, UX_ELIMIT, UX_EUNAVAILABLE:
 * the work was refused or stopped.
 */
enum ux_code ux_profile_name_all(struct ux_server *s, const char *ns, struct ux_profile *p,
				 struct ux_work *work, struct ux_error *err) ux_must;

#endif

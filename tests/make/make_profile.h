/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles for tests, written as stacks of names. */
#ifndef UX_MAKE_PROFILE_H
#define UX_MAKE_PROFILE_H

#include "profile.h"

/* Begins a profile with values "name/unit name/unit". Failures abort. */
void make_profile(struct ux_profile *p, const char *types);

/*
 * Adds a sample. Its stack is a list of frames from the outermost inwards, separated by ';':
 *   MODULE!NAME             a function of /lib/MODULE, at a line of /src/NAME.c
 *   MODULE!OUTER|INNER      a call that is inlined
 *   MODULE@1234             an address (hex) without a name
 */
void make_profile_sample(struct ux_profile *p, const char *stack, uint32_t thread, int64_t first,
			 int64_t second);

uint32_t make_profile_string(struct ux_profile *p, const char *text);
uint32_t make_profile_thread(struct ux_profile *p, const char *comm, uint32_t pid, uint32_t tid);

#endif

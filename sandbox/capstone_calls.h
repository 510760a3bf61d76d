/* SPDX-License-Identifier: Apache-2.0 */
/* capstone, loaded when code is to be read: docs/decisions/0001-dependencies.md says why. */
#ifndef UX_CAPSTONE_CALLS_H
#define UX_CAPSTONE_CALLS_H

#include "error.h"

#include <capstone/capstone.h>

/* What is called of it. */
#define UX_CAPSTONE_CALLS(X) \
	X(cs_open)           \
	X(cs_option)         \
	X(cs_malloc)         \
	X(cs_disasm_iter)    \
	X(cs_free)           \
	X(cs_close)

struct ux_capstone_calls {
#define UX_CAPSTONE_CALL(name) __typeof__(name) *name;
	UX_CAPSTONE_CALLS(UX_CAPSTONE_CALL)
#undef UX_CAPSTONE_CALL
};

/* Loads the library, for the life of the process. UX_EUNSUPPORTED: it is not installed. Any thread.
 */
enum ux_code ux_capstone_load(struct ux_capstone_calls *ret, struct ux_error *err) ux_must;

#endif

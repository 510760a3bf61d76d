/* SPDX-License-Identifier: Apache-2.0 */
/* The version that was built. */
#include "unhex/version.h"

const char *ux_version(void)
{
	return UX_VERSION;
}

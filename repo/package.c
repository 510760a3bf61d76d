/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kinds and roles of packages. */
#include "package.h"

const char *ux_package_kind_name(enum ux_package_kind kind)
{
	static const char *const names[UX_PACKAGE_KIND_COUNT] = {
		[UX_PACKAGE_DEB] = "deb",     [UX_PACKAGE_RPM] = "rpm",
		[UX_PACKAGE_APK] = "apk",     [UX_PACKAGE_PACMAN] = "pacman",
		[UX_PACKAGE_LAYER] = "layer",
	};
	return (unsigned)kind < UX_PACKAGE_KIND_COUNT ? names[kind] : "unknown";
}

const char *ux_package_role_name(enum ux_package_role role)
{
	static const char *const names[UX_PACKAGE_ROLE_COUNT] = {
		[UX_PACKAGE_STRIPPED] = "stripped",
		[UX_PACKAGE_DEBUG] = "debug",
		[UX_PACKAGE_SOURCE] = "source",
	};
	return (unsigned)role < UX_PACKAGE_ROLE_COUNT ? names[role] : "unknown";
}

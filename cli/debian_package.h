/* SPDX-License-Identifier: Apache-2.0 */
/* Which package of this Debian or Ubuntu machine owns a file. */
#ifndef UX_DEBIAN_PACKAGE_H
#define UX_DEBIAN_PACKAGE_H

#include "out.h"

/*
 * Appends the name of the package with the debug file of `path`, as dpkg's lists of files name the
 * owner of that path: "dpkg-dbgsym", "libc6-dbg". Appends nothing and returns false if no package
 * owns it.
 */
bool ux_debian_debug_package(struct ux_out *out, const char *path);

#endif

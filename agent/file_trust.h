/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how far the symbols of a file that was found on this host are trusted. */
#ifndef UX_FILE_TRUST_H
#define UX_FILE_TRUST_H

#include "open_helper.h"
#include "provenance.h"

/*
 * Returns UX_TRUST_HOST for a file of root in the host's mount namespace, UX_TRUST_CONTAINER for a
 * file of root elsewhere, and UX_TRUST_USER for every file that others than root can change, or
 * whose owner another machine, a program or an image of a user asserts (file->far, file->nosuid).
 * host: it is in the host's mount namespace.
 */
enum ux_trust ux_file_trust(const struct ux_opened *file, bool host);

/* Returns the number of the mount namespace of a process; 0: unknown. dir: its folder in /proc. */
uint64_t ux_mount_namespace_read(int dir);

#endif

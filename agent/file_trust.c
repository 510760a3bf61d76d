/* SPDX-License-Identifier: Apache-2.0 */
/* The levels are described in docs/trust.md. */
#include "file_trust.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum ux_trust ux_file_trust(const struct ux_opened *file, bool host)
{
	if (file->owner != 0 || (file->mode & (S_IWGRP | S_IWOTH)) != 0 || file->far ||
	    file->nosuid)
		return UX_TRUST_USER;
	return host ? UX_TRUST_HOST : UX_TRUST_CONTAINER;
}

uint64_t ux_mount_namespace_read(int dir)
{
	char text[64];
	uint64_t number = 0;
	ssize_t n = readlinkat(dir, "ns/mnt", text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "mnt:[%" SCNu64 "]", &number) == 1 ? number : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The processors on which events are opened. */
#ifndef UX_ONLINE_CPUS_H
#define UX_ONLINE_CPUS_H

#include "bytes.h"
#include "error.h"
#include "vec.h"

UX_VEC(ux_cpus, int);

enum {
	UX_CPUS_MAX = 1 << 14
};

/* Appends the numbers of a list like "0-3,8", as sysfs writes it; stops at the first malformed
 * part. */
enum ux_code ux_cpus_parse_list(struct ux_bytes list, struct ux_cpus *ret, struct ux_error *err)
	ux_must;

/* Appends the processors that have a line in /proc/stat: proc(5), "cpu0 287811 47477 ...". */
enum ux_code ux_cpus_parse_stat(struct ux_bytes stat, struct ux_cpus *ret, struct ux_error *err)
	ux_must;

/*
 * Lists the online processors in ascending order: from sysfs, or from /proc/stat where sysfs is not
 * mounted, as in a bare chroot. Zeroed *ret. UX_EIO: neither lists them; UX_ENOMEM.
 */
enum ux_code ux_cpus_read(struct ux_cpus *ret, struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The processors on which events are opened. */
#include "online_cpus.h"

#include "proc_files.h"
#include "text.h"

#include <fcntl.h>

enum {
	LIST_MAX = 1 << 16, /* bytes of sysfs's list */
	STAT_MAX = 1 << 24, /* bytes of /proc/stat: its lines of interrupts are long */
};

static enum ux_code cpus_append(struct ux_cpus *ret, uint64_t number, struct ux_error *err)
{
	return ux_cpus_append(ret, (int)number) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_cpus_parse_list(struct ux_bytes s, struct ux_cpus *ret, struct ux_error *err)
{
	for (size_t at = 0; at < s.size;) {
		uint64_t first = 0, last = 0;
		size_t n = ux_digits_parse(ux_bytes(s.data + at, s.size - at), 10, &first);
		if (n == 0)
			break;
		at += n;
		last = first;
		if (at < s.size && s.data[at] == '-') {
			at++;
			at += ux_digits_parse(ux_bytes(s.data + at, s.size - at), 10, &last);
		}
		for (uint64_t i = first;
		     i <= ux_min(last, (uint64_t)INT_MAX) && ret->size < UX_CPUS_MAX; i++)
			UX_TRY(cpus_append(ret, i, err));
		if (at < s.size && s.data[at] != ',')
			break;
		at++;
	}
	return UX_OK;
}

enum ux_code ux_cpus_parse_stat(struct ux_bytes stat, struct ux_cpus *ret, struct ux_error *err)
{
	struct ux_bytes line;
	while (ux_text_take_line(&stat, &line) && ret->size < UX_CPUS_MAX) {
		uint64_t number = 0;
		if (line.size < 4 || memcmp(line.data, "cpu", 3) != 0)
			continue;
		/* The first line, "cpu  609050 ...", is the sum of all. */
		if (ux_digits_parse(ux_bytes(line.data + 3, line.size - 3), 10, &number) == 0 ||
		    number > INT_MAX)
			continue;
		UX_TRY(cpus_append(ret, number, err));
	}
	return UX_OK;
}

enum ux_code ux_cpus_read(struct ux_cpus *ret, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read list = {0};
	ux_cleanup(ux_read_deinit) struct ux_read stat = {0};
	if (ux_proc_read(AT_FDCWD, "/sys/devices/system/cpu/online", LIST_MAX, &list, NULL) ==
	    UX_OK)
		UX_TRY(ux_cpus_parse_list(list.bytes, ret, err));
	if (ret->size > 0)
		return UX_OK;
	if (ux_proc_read(AT_FDCWD, "/proc/stat", STAT_MAX, &stat, NULL) == UX_OK)
		UX_TRY(ux_cpus_parse_stat(stat.bytes, ret, err));
	return ret->size > 0 ? UX_OK
			     : ux_error_set(err, UX_EIO,
					    "neither /sys/devices/system/cpu/online nor /proc/stat "
					    "lists the processors");
}

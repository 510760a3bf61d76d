/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the processes of this host, and reads the mappings of new ones. */
#include "host_scan.h"

#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

enum {
	READS_EACH = 2,          /* how many scans read a new process */
	TURN_MAX = 32,           /* known processes that one scan reads again */
	PROCESSES_MAX = 1 << 22, /* the maximum of Linux */
};

void ux_host_scan_deinit(struct ux_host_scan *s)
{
	ux_host_processes_deinit(&s->processes);
}

static void host_read_loadavg(char *ret, size_t size)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	*ret = '\0';
	if (ux_proc_read(AT_FDCWD, "/proc/loadavg", size, &text, NULL) != UX_OK)
		return;
	/* "0.00 0.01 0.05 1/123 4567": the last field is the ID of the newest process. */
	const uint8_t *blank = ux_bytes_find_last(text.bytes, ' ');
	if (blank)
		snprintf(ret, size, "%.*s",
			 (int)ux_min((size_t)(text.bytes.data + text.bytes.size - blank), size - 1),
			 (const char *)blank);
}

bool ux_host_scan_is_due(const struct ux_host_scan *s)
{
	char now[sizeof(s->last_loadavg)];
	host_read_loadavg(now, sizeof(now));
	return s->again || *now == '\0' || strcmp(now, s->last_loadavg) != 0;
}

static int host_by_pid(const void *a, const void *b)
{
	const struct ux_host_process *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static enum ux_code host_list(struct ux_host_processes *ret, struct ux_error *err)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry = NULL;
	if (!folder)
		return ux_error_os(err, errno, "cannot list /proc");
	bool whole = true;
	while (whole && (entry = readdir(folder)) != NULL) {
		uint64_t pid = 0;
		if (!ux_decimal_parse(ux_bytes_cstr(entry->d_name), &pid) || pid == 0 ||
		    pid > INT32_MAX || ret->size == PROCESSES_MAX)
			continue;
		const struct ux_host_process p = {.pid = (pid_t)pid, .ino = entry->d_ino};
		whole = ux_host_processes_append(ret, p);
	}
	(void)closedir(folder);
	if (!whole)
		return ux_error_nomem(err);
	if (ret->size > 1)
		qsort(ret->data, ret->size, sizeof(*ret->data), host_by_pid);
	return UX_OK;
}

/* Shows the mappings of one process to the table. A process that has ended has none. */
static enum ux_code host_read_process(struct ux_host_scan *s, pid_t pid, struct ux_file_table *t,
				      struct ux_error *err)
{
	char name[32];
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps maps = {0};
	struct ux_error why = UX_ERROR_INIT;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	enum ux_code code = ux_proc_read(AT_FDCWD, name, UX_PROC_MAPS_MAX, &text, &why);
	if (code == UX_OK)
		code = ux_proc_maps_parse(text.bytes, &maps, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	s->denied += code == UX_EDENIED;
	for (size_t i = 0; i < maps.list.size; i++)
		UX_TRY(ux_file_table_sight(t, pid, &maps.list.data[i], err));
	return UX_OK;
}

/* Takes over from the previous scan how often each process was read. Both lists are sorted. */
static void host_compare(const struct ux_host_processes *before, struct ux_host_processes *now)
{
	for (size_t i = 0, j = 0; i < now->size; i++) {
		struct ux_host_process *p = &now->data[i];
		while (j < before->size && before->data[j].pid < p->pid)
			j++;
		if (j < before->size && before->data[j].pid == p->pid &&
		    before->data[j].ino == p->ino)
			p->reads = before->data[j].reads;
	}
}

enum ux_code ux_host_scan_run(struct ux_host_scan *s, enum ux_host_scan_depth depth,
			      struct ux_file_table *t, struct ux_error *err)
{
	ux_cleanup(ux_host_processes_deinit) struct ux_host_processes now = {0};
	host_read_loadavg(s->last_loadavg, sizeof(s->last_loadavg));
	UX_TRY(host_list(&now, err));
	host_compare(&s->processes, &now);
	struct ux_host_processes before = s->processes;
	s->processes = now;
	now = before;
	s->denied = 0;
	ux_file_table_begin(t);
	s->again = false;
	size_t n = s->processes.size;
	size_t from = s->turn < n ? s->turn : 0, to = ux_min(from + TURN_MAX, n);
	for (size_t i = 0; i < n; i++) {
		struct ux_host_process *p = &s->processes.data[i];
		bool is_turn = i >= from && i < to;
		if (depth != UX_HOST_SCAN_ALL && p->reads >= READS_EACH && !is_turn)
			continue;
		s->again = s->again || p->reads == 0;
		p->reads++;
		if (s->works)
			s->works(s->ctx);
		UX_TRY(host_read_process(s, p->pid, t, err));
	}
	s->turn = to;
	return UX_OK;
}

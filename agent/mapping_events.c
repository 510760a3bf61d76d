/* SPDX-License-Identifier: Apache-2.0 */
/* Reads new mappings of code as the kernel reports them. */
#include "mapping_events.h"

#include "cursor.h"
#include "online_cpus.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

enum {
	RING_BYTES = 1 << 16, /* for each processor; holds about 500 records */
	CPUS_MAX = 4096,
	DRAIN_MAX = 1 << 20, /* bytes of records that are copied before they are parsed */
};

bool ux_mapping_events_are_whole(const struct ux_mapping_events *e)
{
	ux_cleanup(ux_cpus_deinit) struct ux_cpus now = {0};
	const struct ux_cpus *opened = &e->events.cpus;
	if (!e->open)
		return true;
	if (e->ended || ux_cpus_read(&now, NULL) != UX_OK || now.size != opened->size)
		return false;
	return memcmp(now.data, opened->data, now.size * sizeof(*now.data)) == 0;
}

enum ux_code ux_mapping_events_open(struct ux_mapping_events *e, struct ux_error *err)
{
	const struct ux_record_options all = {.all = true};
	struct ux_record_result result = {0};
	UX_TRY(ux_record_events_init(&e->events, &all, &result, err));
	/* A dummy event, which counts nothing: the kernel writes only records about mappings. */
	e->events.attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(e->events.attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	e->events.ring_size = RING_BYTES;
	UX_TRY(ux_record_events_open(&e->events, -1, &result, err));
	ux_record_events_enable(&e->events, true);
	e->open = true;
	return UX_OK;
}

void ux_mapping_events_close(struct ux_mapping_events *e)
{
	ux_record_events_deinit(&e->events);
	ux_out_deinit(&e->records);
	*e = (struct ux_mapping_events){0};
}

bool ux_mapping_events_wait(struct ux_mapping_events *e, int stop, int timeout_ms, bool *ret_stop)
{
	struct pollfd polls[CPUS_MAX + 1];
	size_t n = e->open ? ux_min(e->events.polls.size, (size_t)CPUS_MAX) : 0;
	for (size_t i = 0; i < n; i++)
		polls[i] = (struct pollfd){.fd = e->ended ? -1 : e->events.polls.data[i],
					   .events = POLLIN};
	polls[n] = (struct pollfd){.fd = stop, .events = POLLIN};
	int ready = poll(polls, n + 1, timeout_ms);
	*ret_stop = ready > 0 && polls[n].revents != 0;
	/* Stop polling a descriptor that has ended: it would always be ready. */
	for (size_t i = 0; i < n; i++)
		e->ended = e->ended || (polls[i].revents & (POLLHUP | POLLERR)) != 0;
	return ready > *ret_stop;
}

bool ux_mapping_record_read(struct ux_bytes record, pid_t *ret_pid, struct ux_proc_map *ret,
			    char path[PATH_MAX], struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(record, "record of a mapping", /* swap= */ false);
	uint32_t type = ux_cur_u32(&c);
	ux_cur_skip(&c, 4); /* cpu mode and size */
	if (c.failed || type != PERF_RECORD_MMAP2)
		return false;
	uint32_t pid = ux_cur_u32(&c);
	ux_cur_skip(&c, 4); /* thread */
	*ret = (struct ux_proc_map){.start = ux_cur_u64(&c)};
	uint64_t size = ux_cur_u64(&c);
	ret->end = ret->start + size;
	ret->off = ux_cur_u64(&c);
	uint32_t major = ux_cur_u32(&c), minor = ux_cur_u32(&c);
	ret->dev = (uint64_t)makedev(major, minor);
	ret->ino = ux_cur_u64(&c);
	ux_cur_skip(&c, 8); /* generation of the inode */
	uint32_t protection = ux_cur_u32(&c);
	ux_cur_skip(&c, 4); /* flags */
	struct ux_bytes name = ux_cur_str(&c);
	if (ux_cur_status(&c, err) != UX_OK || pid > INT32_MAX || name.size >= PATH_MAX)
		return false;
	static const char ending[] = " (deleted)";
	size_t tail = sizeof(ending) - 1;
	ret->deleted = name.size > tail && memcmp(name.data + name.size - tail, ending, tail) == 0;
	size_t length = name.size - (ret->deleted ? tail : 0);
	if (length > 0)
		memcpy(path, name.data, length);
	path[length] = '\0';
	ret->path = path;
	ret->exec = (protection & PROT_EXEC) != 0;
	ret->kind = ret->ino == 0                      ? UX_PROC_MAP_ANON
		    : strncmp(path, "/memfd:", 7) == 0 ? UX_PROC_MAP_MEMORY
						       : UX_PROC_MAP_FILE;
	*ret_pid = (pid_t)pid;
	return true;
}

static enum ux_code events_take_records(struct ux_mapping_events *e, struct ux_file_table *t,
					bool *ret_lost, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(ux_out_bytes(&e->records), "records", /* swap= */ false);
	ux_file_table_begin(t);
	while (ux_cur_more(&c)) {
		struct ux_cur at = c;
		pid_t pid = 0;
		struct ux_proc_map map;
		char path[PATH_MAX];
		uint32_t type = ux_cur_u32(&c);
		ux_cur_skip(&c, 2);
		uint16_t size = ux_cur_u16(&c);
		if (size < 8)
			ux_cur_bad(&c, "record is smaller than its header");
		struct ux_bytes record = ux_cur_take(&at, size);
		ux_cur_skip(&c, size - 8U);
		UX_TRY(ux_cur_status(&c, err));
		e->seen++;
		if (type == PERF_RECORD_LOST) {
			e->lost++;
			*ret_lost = true;
		}
		if (ux_mapping_record_read(record, &pid, &map, path, NULL))
			UX_TRY(ux_file_table_sight(t, pid, &map, err));
	}
	return UX_OK;
}

enum ux_code ux_mapping_events_take(struct ux_mapping_events *e, struct ux_file_table *t,
				    bool *ret_lost, struct ux_error *err)
{
	*ret_lost = false;
	ux_out_reset(&e->records);
	for (size_t i = 0; i < e->events.rings.size; i++) {
		ux_record_ring_drain(&e->events.rings.data[i], &e->records);
		UX_TRY(ux_out_status(&e->records, err));
		if (e->records.size < DRAIN_MAX && i + 1 < e->events.rings.size)
			continue;
		UX_TRY(events_take_records(e, t, ret_lost, err));
		ux_out_reset(&e->records);
	}
	return UX_OK;
}

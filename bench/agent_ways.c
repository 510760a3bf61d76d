/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to notice the programs that a host executes, side by side: scanning /proc, the proc
 * connector, fanotify and the kernel's records of mappings. Each counts the files below a folder
 * that it could open while they were mapped, and its own processor time. bench/agent_ways.py runs
 * it.
 *   agent_ways scan|connector|fanotify|mappings SECONDS FOLDER [SCAN_MS]
 */
#include "clock.h"
#include "host_scan.h"
#include "mapping_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SETTLE_MS = 100,
	PENDING_MAX = 4096,
};

static struct ux_file_room room;
static struct ux_open_helper opener;
static struct ux_file_table table = {.room = &room, .opener = &opener};
static const char *folder;
static uint64_t fanotify_seen;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void read_process(pid_t pid)
{
	char name[32];
	struct ux_read text = {0};
	struct ux_proc_maps maps = {0};
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	ux_file_table_begin(&table);
	if (ux_proc_read(AT_FDCWD, name, UX_PROC_MAPS_MAX, &text, NULL) == UX_OK &&
	    ux_proc_maps_parse(text.bytes, &maps, NULL) == UX_OK)
		for (size_t i = 0; i < maps.list.size; i++)
			(void)!ux_file_table_sight(&table, pid, &maps.list.data[i], NULL);
	ux_proc_maps_deinit(&maps);
	ux_read_deinit(&text);
}

static void run_scan(int64_t end, int64_t every_ms)
{
	struct ux_host_scan scan = {0};
	for (;;) {
		int64_t next = ux_clock_ms() + every_ms;
		if (ux_host_scan_run(&scan, UX_HOST_SCAN_ALL, &table, NULL) != UX_OK)
			die("/proc");
		if (next >= end)
			break;
		struct timespec t = ux_clock_timespec(ux_max(next - ux_clock_ms(), INT64_C(0)) *
						      UX_CLOCK_NS_IN_MS);
		(void)nanosleep(&t, NULL);
	}
	ux_host_scan_deinit(&scan);
}

/* After exec a process is read when its libraries are mapped. */
static void run_connector(int64_t end)
{
	static struct {
		pid_t pid;
		int64_t due_ms;
	} pending[PENDING_MAX];
	size_t n = 0;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
	struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		die("connector");
	uint8_t start[NLMSG_LENGTH(sizeof(struct cn_msg) + sizeof(enum proc_cn_mcast_op))] = {0};
	const struct nlmsghdr head = {.nlmsg_len = sizeof(start), .nlmsg_type = NLMSG_DONE};
	const enum proc_cn_mcast_op op = PROC_CN_MCAST_LISTEN;
	const struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof(op)};
	memcpy(start, &head, sizeof(head));
	memcpy(start + NLMSG_HDRLEN, &message, sizeof(message));
	memcpy(start + NLMSG_HDRLEN + sizeof(message), &op, sizeof(op));
	if (send(fd, start, sizeof(start), 0) < 0)
		die("connector");
	while (ux_clock_ms() < end) {
		uint8_t bytes[8192];
		int64_t now = ux_clock_ms();
		while (n > 0 && pending[0].due_ms <= now) {
			read_process(pending[0].pid);
			memmove(pending, pending + 1, --n * sizeof(*pending));
		}
		int64_t wait = ux_min(end, n > 0 ? pending[0].due_ms : end) - now;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, (int)wait) <= 0)
			continue;
		ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
		struct proc_event event;
		size_t at = NLMSG_HDRLEN + sizeof(struct cn_msg);
		if (got < (ssize_t)(at + offsetof(struct proc_event, event_data) +
				    sizeof(event.event_data.exec)))
			continue;
		memcpy(&event, bytes + at, ux_min(sizeof(event), (size_t)got - at));
		if (event.what == PROC_EVENT_EXEC && n < PENDING_MAX) {
			pending[n].pid = event.event_data.exec.process_pid;
			pending[n++].due_ms = ux_clock_ms() + SETTLE_MS;
		}
	}
}

static void run_fanotify(int64_t end)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC | O_LARGEFILE);
	if (fd < 0 || fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN_EXEC, AT_FDCWD,
				    folder) != 0)
		die("fanotify");
	while (ux_clock_ms() < end) {
		struct fanotify_event_metadata events[256];
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, (int)(end - ux_clock_ms())) <= 0)
			continue;
		ssize_t got = read(fd, events, sizeof(events));
		for (const struct fanotify_event_metadata *e = events;
		     got > 0 && FAN_EVENT_OK(e, got); e = FAN_EVENT_NEXT(e, got)) {
			char link[64], path[PATH_MAX];
			snprintf(link, sizeof(link), "/proc/self/fd/%d", e->fd);
			ssize_t size = readlink(link, path, sizeof(path) - 1);
			path[size > 0 ? size : 0] = '\0';
			fanotify_seen += strncmp(path, folder, strlen(folder)) == 0;
			close(e->fd);
		}
	}
}

static void run_mappings(int64_t end)
{
	struct ux_mapping_events events = {0};
	struct ux_error err = UX_ERROR_INIT;
	bool lost = false, stop = false;
	if (ux_mapping_events_open(&events, &err) != UX_OK)
		die(err.text);
	while (ux_clock_ms() < end) {
		if (!ux_mapping_events_wait(&events, -1, (int)(end - ux_clock_ms()), &stop))
			continue;
		struct timespec t = {.tv_nsec = SETTLE_MS * UX_CLOCK_NS_IN_MS};
		(void)nanosleep(&t, NULL);
		if (ux_mapping_events_take(&events, &table, &lost, &err) != UX_OK)
			die(err.text);
		if (lost)
			fprintf(stderr, "records were lost\n");
	}
	ux_mapping_events_close(&events);
}

int main(int argc, char **argv)
{
	ux_file_room_init(&room, UX_FILE_ROOM_MAX);
	if (argc < 4) {
		fprintf(stderr, "usage: agent_ways WAY SECONDS FOLDER [SCAN_MS]\n");
		return 2;
	}
	folder = argv[3];
	int64_t end = ux_clock_ms() + (int64_t)strtol(argv[2], NULL, 10) * 1000;
	struct rlimit files = {UX_FILE_ROOM_MAX * 2, UX_FILE_ROOM_MAX * 2};
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (strcmp(argv[1], "scan") == 0)
		run_scan(end, argc > 4 ? strtol(argv[4], NULL, 10) : 1000);
	else if (strcmp(argv[1], "connector") == 0)
		run_connector(end);
	else if (strcmp(argv[1], "fanotify") == 0)
		run_fanotify(end);
	else
		run_mappings(end);
	struct rusage used;
	uint64_t seen = fanotify_seen, libraries = 0;
	for (size_t i = 0; i < table.waiting.size; i++) {
		const char *path = table.waiting.data[i].path;
		if (strncmp(path, folder, strlen(folder)) != 0)
			continue;
		bool library = strstr(path, ".so") != NULL;
		libraries += library;
		seen += !library;
	}
	(void)getrusage(RUSAGE_SELF, &used);
	printf("%s: %" PRIu64 " programs, %" PRIu64 " libraries, %.3f s of processor time\n",
	       argv[1], seen, libraries,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	ux_file_table_deinit(&table);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of a service manager: three environment variables and datagrams. */
#include "service_manager.h"

#include "clock.h"
#include "text.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	FIRST_PASSED = 3, /* SD_LISTEN_FDS_START */
	MESSAGE_MAX = 512,
	MICROSECONDS = 1000000,
	CALLS_PER_TIMEOUT = 2, /* as sd_watchdog_enabled(3) advises */
};

static bool service_variable(const char *name, uint64_t *ret)
{
	const char *text = getenv(name);
	return text && ux_decimal_parse(ux_bytes_cstr(text), ret);
}

enum ux_code ux_passed_socket(int *ret, struct ux_error *err)
{
	uint64_t pid = 0, n = 0;
	bool ours = service_variable("LISTEN_PID", &pid) && pid == (uint64_t)getpid() &&
		    service_variable("LISTEN_FDS", &n) && n > 0;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*ret = ours ? FIRST_PASSED : -1;
	if (ours && n > 1)
		return ux_error_set(err, UX_EINVAL, "%" PRIu64 " sockets were passed; expected one",
				    n);
	return UX_OK;
}

/* Parses a path, or with a leading '@' an abstract socket name. */
static socklen_t service_address(const char *path, struct sockaddr_un *un)
{
	size_t n = strlen(path);
	*un = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((path[0] != '/' && path[0] != '@') || n >= sizeof(un->sun_path))
		return 0;
	memcpy(un->sun_path, path, n);
	if (path[0] == '@')
		un->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

void ux_service_notify(const char *fmt, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un;
	char text[MESSAGE_MAX];
	va_list args;
	socklen_t size = path ? service_address(path, &un) : 0;
	if (size == 0)
		return;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	size_t sent = ux_min((size_t)ux_max(n, 0), sizeof(text) - 1);
	(void)!sendto(fd, text, sent, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&un, size);
	close(fd);
}

void ux_service_reloading(void)
{
	ux_service_notify("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, (uint64_t)ux_clock_ns() / 1000);
}

unsigned ux_service_watchdog(void)
{
	uint64_t us = 0, pid = 0;
	if (!service_variable("WATCHDOG_USEC", &us) ||
	    (service_variable("WATCHDOG_PID", &pid) && pid != (uint64_t)getpid()))
		return 0;
	return (unsigned)ux_max(us / MICROSECONDS / CALLS_PER_TIMEOUT, UINT64_C(1));
}

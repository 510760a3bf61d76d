/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	TRIES = 8 /* a program that writes into the folder may add a file meanwhile */
};

/* The folder that a signal handler removes. Whoever takes it out of here owns it. */
static _Atomic(struct ux_scratch *) listed;

/* An entry of getdents64(2). opendir(3) allocates, which a signal handler must not. */
struct scratch_entry {
	uint64_t inode;
	int64_t next;
	uint16_t size;
	uint8_t kind;
	char name[];
};

static void scratch_empty(int folder)
{
	_Alignas(struct scratch_entry) char buffer[4096];
	for (;;) {
		long n = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
		if (n <= 0)
			return;
		for (long at = 0; at < n;) {
			const struct scratch_entry *e = (const void *)(buffer + at);
			(void)unlinkat(folder, e->name,
				       0); /* not "." and "..", which are folders */
			at += e->size;
		}
	}
}

static void scratch_remove(struct ux_scratch *s)
{
	int child = atomic_load(&s->child);
	if (child > 0)
		(void)kill(child, SIGKILL);
	for (int i = 0; i < TRIES; i++) {
		int folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (folder < 0)
			return;
		scratch_empty(folder);
		(void)close(folder);
		if (rmdir(s->path) == 0)
			return;
	}
}

enum ux_code ux_scratch_open(struct ux_scratch *s, struct ux_error *err)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(s->path, sizeof(s->path), "%s/unhex-XXXXXX",
			 tmp && tmp[0] == '/' ? tmp : "/tmp");
	if (n >= (int)sizeof(s->path) || !mkdtemp(s->path)) {
		int os_errno = n >= (int)sizeof(s->path) ? ENAMETOOLONG : errno;
		s->path[0] = '\0';
		return ux_error_os(err, os_errno, "cannot create a temporary folder");
	}
	struct ux_scratch *none = NULL;
	s->listed = atomic_compare_exchange_strong(&listed, &none, s);
	return UX_OK;
}

void ux_scratch_close(struct ux_scratch *s)
{
	if (s->path[0] == '\0')
		return;
	struct ux_scratch *mine = s;
	if (!s->listed || atomic_compare_exchange_strong(&listed, &mine, NULL))
		scratch_remove(s);
	*s = UX_SCRATCH_INIT;
}

void ux_scratch_remove_all(void)
{
	struct ux_scratch *s = atomic_exchange(&listed, NULL);
	if (s)
		scratch_remove(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a live process. */
#include "target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PIECES_MOST = 256 /* a call; the kernel takes 1024 */
};

enum ux_code ux_target_memory_open(struct ux_target_memory *m, pid_t pid, struct ux_error *err)
{
	char path[64];
	if (pid <= 0)
		return ux_error_set(err, UX_EINVAL, "process %d; expected 1 or more", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return ux_error_set(err, UX_ENOTFOUND, "no process %d", (int)pid);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot read the memory of process %d", (int)pid);
	m->fd = fd;
	m->pid = pid;
	return UX_OK;
}

void ux_target_memory_close(struct ux_target_memory *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct ux_target_memory *m = ctx;
	for (size_t done = 0; done < size;) {
		if (addr + done > INT64_MAX)
			return false;
		ssize_t n = pread(m->fd, (char *)buf + done, size - done, (off_t)(addr + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/*
 * One system call, in which the kernel copies faster than the process can call functions. It takes
 * a process ID, which may be another's by now; so this is for comparing with what was read by the
 * file.
 */
static bool read_many(void *ctx, const struct ux_memory_piece *pieces, size_t n)
{
	const struct ux_target_memory *m = ctx;
	struct iovec to[PIECES_MOST], from[PIECES_MOST];
	for (size_t done = 0; done < n; done += PIECES_MOST) {
		size_t some = ux_min(n - done, (size_t)PIECES_MOST), size = 0;
		for (size_t i = 0; i < some; i++) {
			const struct ux_memory_piece *p = &pieces[done + i];
			to[i] = (struct iovec){p->buf, p->size};
			from[i] = (struct iovec){(void *)(uintptr_t)p->addr, p->size};
			size += p->size;
		}
		ssize_t got = process_vm_readv(m->pid, to, some, from, some, 0);
		if (got < 0 && errno == ENOSYS) {
			for (size_t i = 0; i < some; i++)
				if (!read_memory(ctx, pieces[done + i].addr, to[i].iov_base,
						 to[i].iov_len))
					return false;
		} else if (got < 0 || (size_t)got != size) {
			return false;
		}
	}
	return true;
}

struct ux_memory_reader ux_target_memory_reader(struct ux_target_memory *m)
{
	return (struct ux_memory_reader){read_memory, read_many, m};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of reading a package as a stream. */
#include "file.h"
#include "member_stream.h"
#include "sandbox_child.h"
#include "sandbox_stream.h"

#include <errno.h>
#include <unistd.h>

enum {
	PACKAGE = UX_SANDBOX_FILES + UX_SANDBOX_EXE, /* descriptors */
	MEMBERS = UX_SANDBOX_FILES + UX_SANDBOX_GSYM,
};

/* Members are written to a file, and each is reported to the parent. */
struct stream_task {
	struct ux_sandbox_member current;
	uint64_t ahead;         /* bytes that the parent has not finished... */
	unsigned ahead_members; /* ...and members */
};

static enum ux_code stream_task_read(void *ctx, void *to, size_t n, size_t *ret,
				     struct ux_error *err)
{
	ssize_t got = 0;
	(void)ctx;
	do
		got = read(PACKAGE, to, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return ux_error_os(err, errno, "cannot read the package");
	*ret = (size_t)got;
	return UX_OK;
}

/* Waits until the parent has finished enough for a member of this size. */
static enum ux_code stream_task_wait(struct stream_task *t, uint64_t size, struct ux_error *err)
{
	while (t->ahead_members == UX_STREAM_AHEAD_MAX ||
	       (t->ahead_members > 0 && t->ahead + size > UX_STREAM_WINDOW)) {
		uint64_t taken = 0;
		ssize_t n = read(UX_SANDBOX_SOCKET, &taken, sizeof(taken));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(taken) || taken > t->ahead)
			return ux_error_set(err, UX_EUNAVAILABLE, "no receiver for the members");
		t->ahead -= taken;
		t->ahead_members--;
	}
	return UX_OK;
}

static enum ux_code stream_task_begin(void *ctx, enum ux_member_kind kind, const char *name,
				      uint64_t size, struct ux_error *err)
{
	struct stream_task *t = ctx;
	uint64_t end = t->current.off + t->current.bytes;
	if (strlen(name) >= sizeof(t->current.name))
		return ux_error_set(err, UX_ELIMIT, "a name in the package is too long: %zu bytes",
				    strlen(name));
	UX_TRY(stream_task_wait(t, size, err));
	t->current = (struct ux_sandbox_member){.kind = (uint32_t)kind,
						.off = (end + UX_STREAM_ALIGN - 1) /
						       UX_STREAM_ALIGN * UX_STREAM_ALIGN};
	memcpy(t->current.name, name, strlen(name));
	return UX_OK;
}

static enum ux_code stream_task_put(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct stream_task *t = ctx;
	UX_TRY(ux_file_write_at(MEMBERS, t->current.off + t->current.bytes, bytes, err));
	t->current.bytes += bytes.size;
	return UX_OK;
}

static enum ux_code stream_task_end(void *ctx, struct ux_error *err)
{
	struct stream_task *t = ctx;
	if (write(UX_SANDBOX_SOCKET, &t->current, sizeof(t->current)) !=
	    (ssize_t)sizeof(t->current))
		return ux_error_os(err, errno, "cannot report a member");
	t->ahead += t->current.bytes;
	t->ahead_members++;
	return UX_OK;
}

enum ux_code ux_sandbox_stream_work(const struct ux_archive_calls *calls, struct ux_bytes identity,
				    struct ux_error *err)
{
	struct stream_task t = {0};
	const struct ux_stream_source source = {.read = stream_task_read, .identity = identity};
	const struct ux_stream_sink sink = {.begin = stream_task_begin,
					    .put = stream_task_put,
					    .end = stream_task_end,
					    .ctx = &t};
	return ux_member_stream_read(calls, &source, &sink, err);
}

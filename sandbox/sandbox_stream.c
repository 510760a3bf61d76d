/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side of reading a package as a stream. */
#include "sandbox_stream.h"

#include "child_process.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct ux_sandbox_stream {
	struct ux_child child;
	struct ux_sandbox_limits limits;
	int input;    /* the socket for the package's bytes */
	int pack;     /* the file with the members */
	uint64_t end; /* end of the last member in it */
};

static void stream_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void ux_sandbox_stream_end(struct ux_sandbox_stream *s)
{
	if (!s)
		return;
	ux_child_deinit(&s->child);
	stream_close_fd(s->input);
	stream_close_fd(s->pack);
	free(s);
}

static enum ux_code stream_begin(struct ux_sandbox_stream *s, struct ux_bytes identity,
				 const char *program, struct ux_error *err)
{
	struct ux_sandbox_request task = {.task = UX_SANDBOX_STREAM};
	int files[UX_SANDBOX_FILE_COUNT] = UX_SANDBOX_NO_FILES, pair[2];
	task.identity_size = (uint32_t)ux_min(identity.size, sizeof(task.identity));
	if (task.identity_size > 0)
		memcpy(task.identity, identity.data, task.identity_size);
	UX_TRY(ux_file_temporary(&s->pack, err));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return ux_error_os(err, errno, "cannot create a socket for the sandbox");
	s->input = pair[0];
	files[UX_SANDBOX_EXE] = pair[1];
	files[UX_SANDBOX_GSYM] = s->pack;
	const struct ux_sandbox_request request = ux_sandbox_request_make(files, &s->limits, &task);
	enum ux_code code = ux_child_move_files(&s->child, files, err);
	if (code == UX_OK)
		code = s->limits.forks ? ux_child_fork(&s->child, s->limits.forks, &request, err)
				       : ux_child_start(&s->child, &request, program, err);
	/* only the child may hold the other end: when the child is gone, sending must fail */
	close(pair[1]);
	if (s->child.moved[UX_SANDBOX_EXE] >= 0)
		close(s->child.moved[UX_SANDBOX_EXE]);
	s->child.moved[UX_SANDBOX_EXE] = -1;
	return code;
}

enum ux_code ux_sandbox_stream_start(struct ux_sandbox_stream **ret,
				     const struct ux_sandbox_limits *limits,
				     struct ux_bytes identity, const char *program,
				     struct ux_error *err)
{
	struct ux_sandbox_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	*s = (struct ux_sandbox_stream){
		.child = ux_child_none, .limits = *limits, .input = -1, .pack = -1};
	enum ux_code code = stream_begin(s, identity, program, err);
	if (code == UX_OK)
		*ret = s;
	else
		ux_sandbox_stream_end(s);
	return code;
}

int ux_sandbox_stream_input(const struct ux_sandbox_stream *s)
{
	return s->input;
}

bool ux_sandbox_stream_ready(const struct ux_sandbox_stream *s)
{
	struct pollfd p = {.fd = s->child.talk, .events = POLLIN};
	return poll(&p, 1, 0) > 0;
}

/* Waits for a message. False: the caller's limits->stop ended it. */
static bool stream_wait(const struct ux_sandbox_stream *s)
{
	struct pollfd p[] = {{.fd = s->child.talk, .events = POLLIN},
			     {.fd = s->limits.stop ? *s->limits.stop : -1, .events = POLLIN}};
	while (poll(p, ux_countof(p), -1) < 0 && errno == EINTR)
		;
	return p[0].revents != 0;
}

/* The child may have been taken over by the package, so everything is checked. */
static enum ux_code stream_take_member(struct ux_sandbox_stream *s,
				       const struct ux_sandbox_member *got,
				       struct ux_stream_member *ret, struct ux_error *err)
{
	UX_ARENA(arena, 2 * UX_PATH_BYTES);
	struct stat st;
	const char *path = NULL;
	size_t n = strnlen(got->name, sizeof(got->name));
	bool kind = got->kind == UX_MEMBER_OBJECT || got->kind == UX_MEMBER_PACKED ||
		    got->kind == UX_MEMBER_GSYM;
	if (fstat(s->pack, &st) != 0)
		return ux_error_os(err, errno, "cannot read an unpacked member");
	if (!kind || n == sizeof(got->name) || got->off < s->end ||
	    got->off % UX_STREAM_ALIGN != 0 || got->off > (uint64_t)st.st_size ||
	    got->bytes > (uint64_t)st.st_size - got->off)
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox sent an invalid answer");
	UX_TRY(ux_path_canonical(ux_bytes(got->name, n), &arena, &path, err));
	if (strcmp(path, got->name) != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox sent an invalid answer");
	ret->kind = (enum ux_member_kind)got->kind;
	ret->part = (struct ux_sandbox_part){s->pack, got->off, got->bytes};
	memcpy(ret->name, got->name, n + 1);
	s->end = got->off + got->bytes;
	return UX_OK;
}

/*
 * Receives a message. If a child ended without reading everything that ux_sandbox_stream_taken()
 * sent, the first call fails although its last messages are there.
 */
static ssize_t stream_receive(const struct ux_sandbox_stream *s, void *to, size_t size)
{
	ssize_t n = 0;
	bool reset = false;
	do {
		n = recv(s->child.talk, to, size, MSG_TRUNC);
		if (n < 0 && errno == ECONNRESET && !reset)
			reset = true;
		else if (n >= 0 || errno != EINTR)
			break;
	} while (true);
	return n;
}

enum ux_code ux_sandbox_stream_next(struct ux_sandbox_stream *s, struct ux_stream_member *ret,
				    bool *ret_more, struct ux_error *err)
{
	union {
		struct ux_sandbox_member member;
		struct ux_sandbox_reply reply;
	} got;
	struct ux_sandbox_found found = {0};
	*ret_more = false;
	if (!stream_wait(s))
		return ux_error_set(err, UX_EUNAVAILABLE, "reading the input was stopped");
	ssize_t n = stream_receive(s, &got, sizeof(got));
	if (n <= 0)
		return ux_child_end_error(&s->child, &s->limits, &found.out_of_time, err);
	if (n == (ssize_t)sizeof(got.member)) {
		*ret_more = true;
		return stream_take_member(s, &got.member, ret, err);
	}
	if (n != (ssize_t)sizeof(got.reply))
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox sent an invalid answer");
	return ux_sandbox_reply_take(&got.reply, -1, &s->limits, &found, err);
}

void ux_sandbox_stream_taken(struct ux_sandbox_stream *s, const struct ux_stream_member *m)
{
	/* The child reads these before its messages are too many, so none is ever lost. */
	(void)!send(s->child.talk, &m->part.size, sizeof(m->part.size),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ux_sandbox_stream_release(const struct ux_sandbox_part *part)
{
	uint64_t size = (part->size + UX_STREAM_ALIGN - 1) / UX_STREAM_ALIGN * UX_STREAM_ALIGN;
	/* A file system without holes keeps the space until the package ends. */
	(void)!fallocate(part->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)part->off,
			 (off_t)size);
}

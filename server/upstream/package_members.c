/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of a package that have a build ID: confined children read it as a stream. */
#include "fetcher_internal.h"

#include "file.h"
#include "sandbox_stream.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	UNPACK_MEMORY = 768 << 20, /* bytes; decoders have windows of up to 128 MiB */
	UNPACK_SECONDS = 600,      /* seconds of processor time; Debian's kernel takes 60 */
	FACTS_MEMORY = 256 << 20,
	FACTS_OUTPUT = 64 << 20,
	FACTS_SECONDS = 60,
};

#define UNPACKED_MAX (UINT64_C(64) << 30) /* bytes of all files of a package */

/* State of one search. */
struct member_search {
	struct ux_bytes package;
	const atomic_bool *stop;
	bool (*wants)(void *ctx, const struct ux_id *id);
	ux_package_member_fn *found;
	void *ctx;
	struct ux_sandbox_stream *stream;
	struct ux_fork_server *forks;
	int scratch; /* file for the answers of children */
	pthread_t sender;
	bool sending; /* the thread was started */
};

/* Sends the package to the child, which may exit before it has read everything. */
static void *search_send(void *arg)
{
	struct member_search *s = arg;
	int fd = ux_sandbox_stream_input(s->stream);
	for (size_t at = 0; at < s->package.size;) {
		ssize_t n = send(fd, s->package.data + at, s->package.size - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return NULL;
		at += (size_t)ux_max(n, (ssize_t)0);
	}
	(void)!shutdown(fd, SHUT_WR);
	return NULL;
}

static void search_end(struct member_search *s)
{
	if (s->sending) {
		/* wakes the thread, if it still waits for the child to read */
		(void)!shutdown(ux_sandbox_stream_input(s->stream), SHUT_RDWR);
		pthread_join(s->sender, NULL);
	}
	ux_sandbox_stream_end(s->stream);
	ux_fork_server_stop(s->forks);
	if (s->scratch >= 0)
		close(s->scratch);
}

/*
 * Tests whether the name says that the file has an ID that is not wanted:
 * "/usr/lib/debug/.build-id/ab/cdef.debug".
 */
static bool member_is_another(const struct member_search *s, const char *name)
{
	static const char folder[] = "/.build-id/";
	char digits[2 * UX_ID_BYTES_MAX + 1];
	struct ux_id id = {.type = UX_ID_GNU};
	const char *at = strstr(name, folder);
	size_t n = 0, size = 0;
	if (!at)
		return false;
	for (at += sizeof(folder) - 1; *at && *at != '.' && n < sizeof(digits) - 1; at++)
		if (*at != '/')
			digits[n++] = *at;
	if (!ux_hex_decode(ux_bytes(digits, n), id.bytes, sizeof(id.bytes), &size) || size < 8)
		return false;
	id.size = (__typeof__(id.size))size;
	return !s->wants(s->ctx, &id);
}

/* Inspects a member. A member that cannot be read does not hinder the others. */
static enum ux_code search_look_at(struct member_search *s, const struct ux_stream_member *m,
				   struct ux_error *err)
{
	ux_cleanup(ux_module_facts_vec_deinit) struct ux_module_facts_vec facts = {0};
	const struct ux_sandbox_limits limits = {.memory = FACTS_MEMORY,
						 .output = FACTS_OUTPUT,
						 .seconds = FACTS_SECONDS,
						 .forks = s->forks};
	struct ux_error why = UX_ERROR_INIT;
	if (lseek(s->scratch, 0, SEEK_SET) != 0 || ftruncate(s->scratch, 0) != 0)
		return ux_error_os(err, errno, "cannot use a temporary file");
	enum ux_code code = ux_sandbox_facts(&m->part, /* no_gpu= */ true, s->scratch, &limits,
					     NULL, &facts, &why);
	if (code == UX_ENOMEM || code == UX_EUNAVAILABLE) {
		*err = why;
		return code;
	}
	for (size_t i = 0; code == UX_OK && i < facts.size; i++) {
		const struct ux_id *id = ux_id_set_find(&facts.data[i].ids, UX_ID_GNU);
		if (!id || facts.data[i].gsym ||
		    !(facts.data[i].supplementary || s->wants(s->ctx, id)))
			continue;
		const struct ux_package_member member = {m->name, m->part, *id};
		return s->found(s->ctx, &member, err);
	}
	return UX_OK;
}

static enum ux_code search_all(struct member_search *s, struct ux_error *err)
{
	bool more = true;
	while (more) {
		struct ux_stream_member m;
		UX_TRY(ux_sandbox_stream_next(s->stream, &m, &more, err));
		if (!more)
			break;
		if (atomic_load_explicit(s->stop, memory_order_relaxed))
			return ux_error_set(err, UX_EUNAVAILABLE, "the server is stopping");
		enum ux_code code = UX_OK;
		if (m.kind == UX_MEMBER_OBJECT && !member_is_another(s, m.name))
			code = search_look_at(s, &m, err);
		ux_sandbox_stream_release(&m.part);
		ux_sandbox_stream_taken(s->stream, &m);
		UX_TRY(code);
	}
	return UX_OK;
}

enum ux_code ux_package_members_find(struct ux_bytes package,
				     bool (*wants)(void *ctx, const struct ux_id *id),
				     ux_package_member_fn *found, void *ctx,
				     const atomic_bool *stop, struct ux_error *err)
{
	ux_cleanup(search_end) struct member_search s = {.package = package,
							 .stop = stop,
							 .wants = wants,
							 .found = found,
							 .ctx = ctx,
							 .scratch = -1};
	UX_TRY(ux_file_temporary(&s.scratch, err));
	UX_TRY(ux_fork_server_start(&s.forks, NULL, err));
	const struct ux_sandbox_limits limits = {.memory = UNPACK_MEMORY,
						 .output = UNPACKED_MAX,
						 .seconds = UNPACK_SECONDS,
						 .forks = s.forks};
	UX_TRY(ux_sandbox_stream_start(&s.stream, &limits, UX_BYTES_NONE, NULL, err));
	int status = pthread_create(&s.sender, NULL, search_send, &s);
	if (status != 0)
		return ux_error_os(err, status, "cannot start a thread");
	s.sending = true;
	return search_all(&s, err);
}

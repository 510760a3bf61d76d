/* SPDX-License-Identifier: Apache-2.0 */
/* Packages as streams: download, hash, child. */
#include "package_stream.h"

#include "apk_check.h"
#include "polite_client.h"
#include "repo_url.h"
#include "text.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum {
	READ_MEMORY = 400 << 20, /* bytes of address space; decoders have windows up to 128 MiB */
	READ_SECONDS = 3600,     /* seconds of processor time for reading */
};

#define MEMBERS_MAX    (UINT64_C(64) << 30) /* bytes of all members of one package */
#define SIZE_BYTES_MAX (UINT64_C(16) << 30) /* bytes of a package of unknown size */

struct ux_package_stream {
	struct ux_package_stream_options o;
	struct ux_sandbox_limits limits;
	struct ux_sandbox_stream *members;
	pthread_t feeder;
	bool feeds;            /* the thread was started and not waited for */
	atomic_bool cancelled; /* nothing more is wanted */
	/* belong to the thread until it was waited for: */
	struct sha256_ctx sha;
	struct ux_apk_check apk;
	uint64_t bytes;
	uint64_t again; /* bytes of a repeated attempt that were received before */
	bool deaf;      /* the child accepts no more bytes */
	enum ux_package_cause feed_cause;
	struct ux_error feed_err;
	/* belong to the caller: */
	uint8_t digest[SHA256_DIGEST_SIZE];
	enum ux_package_cause cause;
};

const char *ux_package_cause_name(enum ux_package_cause cause)
{
	static const char *const names[UX_CAUSE_COUNT] = {
		[UX_CAUSE_NONE] = "",          [UX_CAUSE_NETWORK] = "network",
		[UX_CAUSE_GONE] = "gone",      [UX_CAUSE_REFUSED] = "refused",
		[UX_CAUSE_MIRROR] = "mirror",  [UX_CAUSE_SIZE] = "size",
		[UX_CAUSE_HASH] = "hash",      [UX_CAUSE_DAMAGED] = "damaged",
		[UX_CAUSE_TOO_MUCH] = "limit", [UX_CAUSE_LOCAL] = "local",
		[UX_CAUSE_LOST] = "lost",
	};
	return (unsigned)cause < UX_CAUSE_COUNT ? names[cause] : "unknown";
}

/* --- the thread that passes the bytes on ------------------------------------------------------ */

static void feed_child(struct ux_package_stream *s, struct ux_bytes bytes)
{
	int to = ux_sandbox_stream_input(s->members);
	while (bytes.size > 0 && !s->deaf) {
		ssize_t n = send(to, bytes.data, bytes.size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		s->deaf = n <= 0;
		if (!s->deaf)
			bytes = ux_bytes(bytes.data + n, bytes.size - (size_t)n);
	}
}

/* Begins an attempt: bytes received before are not taken again. The hash proves that they are the
 * same. */
static enum ux_code feed_begin(void *ctx, struct ux_error *err)
{
	struct ux_package_stream *s = ctx;
	(void)err;
	s->again = s->bytes;
	return UX_OK;
}

/* Takes a piece of the package: counts, hashes and passes it on. */
static enum ux_code feed_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_package_stream *s = ctx;
	uint64_t max = s->o.size > 0 ? s->o.size : SIZE_BYTES_MAX;
	size_t known = (size_t)ux_min(s->again, (uint64_t)bytes.size);
	if (atomic_load(&s->cancelled))
		return ux_error_set(err, UX_ECONFLICT, "reading the package was stopped");
	if (s->o.stopped && s->o.stopped(s->o.stopped_ctx)) {
		s->feed_cause = UX_CAUSE_LOST;
		return ux_error_set(err, UX_ECONFLICT, "another worker gets the package");
	}
	s->again -= known;
	bytes = ux_bytes(bytes.data + known, bytes.size - known);
	if (bytes.size > max - s->bytes) {
		s->feed_cause = UX_CAUSE_SIZE;
		return ux_error_set(err, UX_ECORRUPT, "package exceeds %" PRIu64 " bytes", max);
	}
	s->bytes += bytes.size;
	sha256_update(&s->sha, bytes.size, bytes.data);
	if (s->o.apk.size > 0)
		ux_apk_check_put(&s->apk, bytes);
	feed_child(s, bytes);
	return UX_OK;
}

static enum ux_package_cause feed_cause_of(const struct ux_package_stream *s, enum ux_code code)
{
	const char *path = NULL;
	if (code == UX_ENOTFOUND)
		return UX_CAUSE_GONE;
	if (code == UX_EDENIED)
		return UX_CAUSE_REFUSED;
	return code == UX_ENOMEM || ux_repo_url_is_file(s->o.url, &path) ? UX_CAUSE_LOCAL
									 : UX_CAUSE_NETWORK;
}

static void *feed_run(void *ctx)
{
	struct ux_package_stream *s = ctx;
	struct ux_polite_answer answer;
	const struct ux_polite_request request = {
		.url = s->o.url,
		.max = SIZE_BYTES_MAX,
		.begin = feed_begin,
		.sink = feed_take,
		.ctx = s,
	};
	enum ux_code code = ux_polite_get(s->o.mirrors, &request, &answer, &s->feed_err);
	if (code != UX_OK && s->feed_cause == UX_CAUSE_NONE)
		s->feed_cause = answer.outside ? UX_CAUSE_MIRROR : feed_cause_of(s, code);
	(void)shutdown(ux_sandbox_stream_input(s->members), SHUT_WR);
	return NULL;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void stream_wait_feeder(struct ux_package_stream *s)
{
	if (s->feeds)
		(void)pthread_join(s->feeder, NULL);
	s->feeds = false;
}

void ux_package_stream_close(struct ux_package_stream *s)
{
	if (!s)
		return;
	atomic_store(&s->cancelled, true);
	if (s->members) /* the thread may wait for a child that waits for the caller */
		(void)shutdown(ux_sandbox_stream_input(s->members), SHUT_RDWR);
	stream_wait_feeder(s);
	ux_sandbox_stream_end(s->members);
	ux_apk_check_deinit(&s->apk);
	free(s);
}

static enum ux_code stream_start(struct ux_package_stream *s, struct ux_error *err)
{
	UX_TRY(ux_repo_url_check(s->o.url, err));
	const struct ux_bytes identity = ux_bytes(s->o.apk.hash, s->o.apk.size);
	UX_TRY(ux_sandbox_stream_start(&s->members, &s->limits,
				       s->o.apk.sha256 ? identity : UX_BYTES_NONE, NULL, err));
	int r = pthread_create(&s->feeder, NULL, feed_run, s);
	if (r != 0)
		return ux_error_os(err, r, "cannot start a thread");
	s->feeds = true;
	return UX_OK;
}

enum ux_code ux_package_stream_open(struct ux_package_stream **ret,
				    const struct ux_package_stream_options *options,
				    struct ux_error *err)
{
	struct ux_package_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	s->o = *options;
	s->feed_err = (struct ux_error)UX_ERROR_INIT;
	s->limits = (struct ux_sandbox_limits){.memory = READ_MEMORY,
					       .output = MEMBERS_MAX,
					       .seconds = READ_SECONDS,
					       .forks = options->forks};
	sha256_init(&s->sha);
	if (options->apk.size > 0)
		ux_apk_check_init(&s->apk, &options->apk);
	enum ux_code code = stream_start(s, err);
	if (code == UX_OK)
		*ret = s;
	else
		ux_package_stream_close(s);
	return code;
}

/* --- reading ---------------------------------------------------------------------------------- */

bool ux_package_stream_ready(const struct ux_package_stream *s)
{
	return ux_sandbox_stream_ready(s->members);
}

void ux_package_stream_taken(struct ux_package_stream *s, const struct ux_stream_member *m)
{
	ux_sandbox_stream_taken(s->members, m);
}

enum ux_package_cause ux_package_stream_cause(const struct ux_package_stream *s)
{
	return s->cause;
}

uint64_t ux_package_stream_bytes(const struct ux_package_stream *s)
{
	return s->bytes;
}

const uint8_t *ux_package_stream_sha256(const struct ux_package_stream *s)
{
	return s->digest;
}

static enum ux_code stream_check_size(struct ux_package_stream *s, struct ux_error *err)
{
	if (s->o.size == 0 || s->bytes == s->o.size)
		return UX_OK;
	s->cause = UX_CAUSE_SIZE;
	return ux_error_set(err, UX_ECORRUPT,
			    "package has %" PRIu64 " bytes; its repository index says %" PRIu64,
			    s->bytes, s->o.size);
}

static enum ux_code stream_check_hash(struct ux_package_stream *s, struct ux_error *err)
{
	char have[2 * SHA256_DIGEST_SIZE + 1], want[sizeof(have)];
	sha256_digest(&s->sha, sizeof(s->digest), s->digest);
	if (s->o.apk.size > 0) {
		enum ux_code code = ux_apk_check_end(&s->apk, err);
		if (code != UX_OK)
			s->cause = code == UX_ECORRUPT ? UX_CAUSE_HASH : UX_CAUSE_LOCAL;
		UX_TRY(code);
	}
	if (!s->o.sha256 || memcmp(s->digest, s->o.sha256, sizeof(s->digest)) == 0)
		return UX_OK;
	s->cause = UX_CAUSE_HASH;
	ux_hex_encode(ux_bytes(s->digest, sizeof(s->digest)), have);
	ux_hex_encode(ux_bytes(s->o.sha256, sizeof(s->digest)), want);
	return ux_error_set(err, UX_ECORRUPT,
			    "package has the SHA-256 %.16s...; its repository index says %.16s...",
			    have, want);
}

/* Checks the size and hash after all bytes have come. */
static enum ux_code stream_check_bytes(struct ux_package_stream *s, struct ux_error *err)
{
	stream_wait_feeder(s);
	if (s->feed_cause != UX_CAUSE_NONE) {
		s->cause = s->feed_cause;
		*err = s->feed_err;
		return s->feed_err.code;
	}
	UX_TRY(stream_check_size(s, err));
	return stream_check_hash(s, err);
}

static enum ux_package_cause stream_cause_of(enum ux_code code)
{
	if (code == UX_ECONFLICT) /* an .apk of version 3, which has its hashes inside */
		return UX_CAUSE_HASH;
	if (code == UX_ECORRUPT || code == UX_EINVAL || code == UX_EUNSUPPORTED)
		return UX_CAUSE_DAMAGED;
	return code == UX_ELIMIT ? UX_CAUSE_TOO_MUCH : UX_CAUSE_LOCAL;
}

enum ux_code ux_package_stream_next(struct ux_package_stream *s, struct ux_stream_member *ret,
				    bool *ret_more, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT, bytes = UX_ERROR_INIT;
	enum ux_code code = ux_sandbox_stream_next(s->members, ret, ret_more, &why);
	if (code == UX_OK && *ret_more)
		return UX_OK;
	*ret_more = false;
	if (stream_check_bytes(s, &bytes) != UX_OK) {
		*err = err->code == UX_OK ? bytes : *err;
		return bytes.code;
	}
	if (code != UX_OK) {
		s->cause = stream_cause_of(code);
		*err = err->code == UX_OK ? why : *err;
	}
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of objects in transit: copied, downloaded, hashed. */
#include "clone_endpoint.h"

#include "clock.h"
#include "file.h"
#include "http_client.h"
#include "retry.h"
#include "server_answer.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BUFFER = 128 << 10,
	SILENCE_MS = 60000,            /* ms without a byte until a server is given up */
	TRANSFER_MS = 24 * 3600 * 1000 /* ms for one object */
};

enum ux_code ux_clone_temporary_part(struct ux_clone_endpoint *e, struct ux_clone_part *p,
				     uint64_t *ret_have, struct ux_error *err)
{
	(void)e;
	*ret_have = 0;
	return ux_file_temporary(&p->fd, err);
}

static enum ux_code part_read(int fd, uint8_t *buffer, size_t size, uint64_t off, size_t *ret,
			      struct ux_error *err)
{
	ssize_t n = 0;
	do {
		n = pread(fd, buffer, size, (off_t)off);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return ux_error_os(err, errno, "cannot read");
	*ret = (size_t)n;
	return UX_OK;
}

enum ux_code ux_clone_copy(int from, uint64_t off, uint64_t size, int to, struct ux_error *err)
{
	uint8_t buffer[BUFFER];
	while (size > 0) {
		size_t n = 0;
		UX_TRY(part_read(from, buffer, (size_t)ux_min(size, (uint64_t)BUFFER), off, &n,
				 err));
		if (n == 0)
			return ux_error_set(err, UX_ECORRUPT,
					    "the file is truncated: %" PRIu64 " bytes are missing",
					    size);
		UX_TRY(ux_file_write(to, ux_bytes(buffer, n), err));
		off += n;
		size -= n;
	}
	return UX_OK;
}

enum ux_code ux_clone_hash(int fd, uint64_t size, uint8_t hash[UX_MANIFEST_HASH],
			   struct ux_error *err)
{
	uint8_t buffer[BUFFER];
	struct sha256_ctx sha;
	uint64_t off = 0;
	size_t n = 0;
	sha256_init(&sha);
	do {
		UX_TRY(part_read(fd, buffer, sizeof(buffer), off, &n, err));
		sha256_update(&sha, n, buffer);
		off += n;
	} while (n > 0 && off <= size);
	if (off != size)
		return ux_error_set(err, UX_ECORRUPT,
				    off > size ? "content exceeds the %" PRIu64
						 " bytes in the manifest"
					       : "content is shorter than the %" PRIu64
						 " bytes in the manifest",
				    size);
	static_assert(SHA256_DIGEST_SIZE == UX_MANIFEST_HASH, "the hash is a SHA-256");
	sha256_digest(&sha, SHA256_DIGEST_SIZE, hash);
	return UX_OK;
}

/* --- downloads -------------------------------------------------------------------------------- */

/* The state of one download. */
struct download {
	const struct ux_entry *o;
	int fd;
	uint64_t have;
};

/* A server may send all of it, whatever range was requested. */
static enum ux_code download_begins(void *ctx, const struct ux_http_answer *answer,
				    struct ux_error *err)
{
	struct download *d = ctx;
	if (d->have == 0 || answer->part_off == d->have)
		return UX_OK;
	if (answer->status != 200)
		return ux_error_set(err, UX_EUNSUPPORTED, "the source sent the wrong range");
	d->have = 0;
	if (ftruncate(d->fd, 0) != 0 || lseek(d->fd, 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot truncate a file");
	return UX_OK;
}

static enum ux_code download_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct download *d = ctx;
	if (bytes.size > d->o->size - d->have)
		return ux_error_set(err, UX_ECORRUPT,
				    "content exceeds the %" PRIu64 " bytes in the manifest",
				    d->o->size);
	UX_TRY(ux_file_write(d->fd, bytes, err));
	d->have += bytes.size;
	return UX_OK;
}

static enum ux_code download_once(struct ux_http_client *client, const char *path,
				  struct download *d, unsigned *ret_retry_after_s,
				  struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	char range[48];
	const char *const headers[] = {range, NULL};
	json_t *doc = NULL;
	const struct ux_http_call call = {
		.path = path,
		.headers = d->have > 0 ? headers : NULL,
		.timeout_ms = TRANSFER_MS,
		.silence_ms = SILENCE_MS,
		.answer_max = SIZE_MAX,
		.sink = download_write,
		.sink_ctx = d,
		.begins = download_begins,
	};
	(void)snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-", d->have);
	if (lseek(d->fd, (off_t)d->have, SEEK_SET) < 0)
		return ux_error_os(err, errno, "cannot seek");
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	*ret_retry_after_s = answer.retry_after_s;
	if (answer.status == 200 || answer.status == 206)
		return UX_OK;
	if (answer.status == 404 || answer.status == 410)
		return ux_error_set(err, UX_ENOTFOUND, "the source no longer has the object");
	if (answer.status == 416) /* the local file is longer than the server's */
		return ux_error_set(err, UX_ECORRUPT, "content is shorter than the manifest says");
	enum ux_code code = ux_server_answer(&answer, &doc, err);
	json_decref(doc);
	return code != UX_OK ? code
			     : ux_error_set(err, UX_EUNSUPPORTED,
					    "unexpected HTTP status %u for a file", answer.status);
}

enum ux_code ux_clone_download(struct ux_http_client *client, const char *path,
			       const struct ux_entry *o, int fd, uint64_t have,
			       struct ux_error *err)
{
	struct ux_retry retry = {.max = UX_CLONE_TRIES, .deadline_ms = ux_clock_ms() + TRANSFER_MS};
	struct download d = {.o = o, .fd = fd, .have = have};
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		unsigned retry_after_s = 0;
		const uint64_t before = d.have;
		enum ux_code code = download_once(client, path, &d, &retry_after_s, &why);
		if (code == UX_OK)
			return UX_OK;
		if (d.have > before)
			ux_retry_reset(&retry);
		if (code != UX_EUNAVAILABLE ||
		    !ux_retry_again(&retry, retry_after_s > 0, retry_after_s)) {
			*err = err->code == UX_OK ? why : *err;
			return code;
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS Signature Version 4. It signs the SHA-256 of a canonical form of the request:
 *
 *	METHOD \n PATH \n QUERY \n (name:value \n for each signed header, by name) \n NAMES \n
 *PAYLOAD
 *
 * and the key is derived from the secret by four HMACs, over the day, the region, the service and a
 * constant, so that a leaked derived key is usable only for one day in one region.
 */
#include "s3_sign.h"

#include "text.h"

#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <time.h>

enum {
	SCOPE_MAX = 128, /* bytes of "DAY/REGION/s3/aws4_request" */
	HASH_TEXT = 2 * SHA256_DIGEST_SIZE + 1,
};

/* A request, and the values that both ways of signing compute from it. */
struct s3_signing {
	const struct ux_s3_signed *request;
	const struct ux_s3_keys *keys;
	char date[UX_S3_DATE_SIZE];
	char scope[SCOPE_MAX];
	struct ux_out lines; /* the signed headers, "name:value\n" */
	struct ux_out names; /* "host;x-amz-date" */
};

static void s3_signing_deinit(struct s3_signing *s)
{
	ux_out_deinit(&s->lines);
	ux_out_deinit(&s->names);
}

void ux_s3_encode(struct ux_out *out, struct ux_bytes s, bool path)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i];
		if (ux_is_letter(c) || ux_is_digit(c) || (c != 0 && strchr("-._~", c)) ||
		    (path && c == '/')) {
			ux_out_u8(out, c);
			continue;
		}
		ux_out_u8(out, '%');
		ux_out_u8(out, (uint8_t)digits[c >> 4]);
		ux_out_u8(out, (uint8_t)digits[c & 15]);
	}
}

void ux_s3_query_add(struct ux_out *query, const char *name, struct ux_bytes value)
{
	if (query->size > 0)
		ux_out_u8(query, '&');
	ux_s3_encode(query, ux_bytes_cstr(name), false);
	ux_out_u8(query, '=');
	ux_s3_encode(query, value, false);
}

void ux_s3_date(int64_t time, char date[UX_S3_DATE_SIZE])
{
	struct tm tm = {.tm_mday = 1};
	time_t seconds = (time_t)time;
	(void)gmtime_r(&seconds, &tm);
	if (strftime(date, UX_S3_DATE_SIZE, "%Y%m%dT%H%M%SZ", &tm) == 0)
		date[0] = '\0'; /* a year of five digits does not fit */
}

static void s3_hmac(const uint8_t *key, size_t key_size, struct ux_bytes text,
		    uint8_t digest[SHA256_DIGEST_SIZE])
{
	struct hmac_sha256_ctx ctx;
	hmac_sha256_set_key(&ctx, key_size, key);
	hmac_sha256_update(&ctx, text.size, text.data);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, digest);
	explicit_bzero(&ctx, sizeof(ctx));
}

/* Computes the signature of text, in hex. False when memory is short. */
static bool s3_signature(const struct s3_signing *s, struct ux_bytes text, char ret[HASH_TEXT])
{
	uint8_t key[SHA256_DIGEST_SIZE], next[SHA256_DIGEST_SIZE];
	const char *region = s->request->region;
	struct ux_out secret = {0};
	ux_out_fmt(&secret, "AWS4%s", s->keys->secret);
	if (secret.failed)
		return false;
	s3_hmac(secret.data, secret.size, ux_bytes(s->date, 8), next);
	explicit_bzero(secret.data, secret.size);
	ux_out_deinit(&secret);
	s3_hmac(next, sizeof(next), ux_bytes_cstr(region), key);
	s3_hmac(key, sizeof(key), ux_bytes_cstr("s3"), next);
	s3_hmac(next, sizeof(next), ux_bytes_cstr("aws4_request"), key);
	s3_hmac(key, sizeof(key), text, next);
	explicit_bzero(key, sizeof(key));
	ux_hex_encode(ux_bytes(next, sizeof(next)), ret);
	return true;
}

/* Signs the canonical form of the request with this query and payload. */
static enum ux_code s3_signing_end(const struct s3_signing *s, struct ux_bytes query,
				   const char *payload, char ret[HASH_TEXT], struct ux_error *err)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hash[HASH_TEXT];
	struct sha256_ctx ctx;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_out_fmt(&text, "%s\n%s\n", s->request->method, s->request->path);
	ux_out_put(&text, query.data, query.size);
	ux_out_u8(&text, '\n');
	ux_out_put(&text, s->lines.data, s->lines.size);
	ux_out_u8(&text, '\n');
	ux_out_put(&text, s->names.data, s->names.size);
	ux_out_fmt(&text, "\n%s", payload);
	UX_TRY(ux_out_status(&text, err));
	sha256_init(&ctx);
	sha256_update(&ctx, text.size, text.data);
	sha256_digest(&ctx, sizeof(digest), digest);
	ux_hex_encode(ux_bytes(digest, sizeof(digest)), hash);
	ux_out_reset(&text);
	ux_out_fmt(&text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", s->date, s->scope, hash);
	UX_TRY(ux_out_status(&text, err));
	return s3_signature(s, ux_out_bytes(&text), ret) ? UX_OK : ux_error_nomem(err);
}

static int s3_header_order(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t n = strcspn(x, ":"), m = strcspn(y, ":");
	int order = memcmp(x, y, ux_min(n, m));
	return order != 0 ? order : (n > m) - (n < m);
}

/* Sorts the headers and writes their canonical form. */
static enum ux_code s3_signing_headers(struct s3_signing *s, const char **headers, size_t n,
				       struct ux_error *err)
{
	qsort(headers, n, sizeof(*headers), s3_header_order);
	for (size_t i = 0; i < n; i++) {
		size_t name = strcspn(headers[i], ":");
		struct ux_bytes value = ux_trim(ux_bytes_cstr(headers[i] + name + 1));
		ux_out_fmt(&s->lines, "%.*s:", (int)name, headers[i]);
		ux_out_put(&s->lines, value.data, value.size);
		ux_out_u8(&s->lines, '\n');
		ux_out_fmt(&s->names, "%s%.*s", i > 0 ? ";" : "", (int)name, headers[i]);
	}
	UX_TRY(ux_out_status(&s->lines, err));
	return ux_out_status(&s->names, err);
}

/* Fills everything in s but the signature. own: headers that the way of signing adds. */
static enum ux_code s3_signing_begin(struct s3_signing *s, const char *const *own, size_t n_own,
				     struct ux_error *err)
{
	const char *all[UX_S3_SIGNED_MAX];
	size_t n = 0;
	ux_s3_date(s->request->time, s->date);
	int size = snprintf(s->scope, sizeof(s->scope), "%.8s/%s/s3/aws4_request", s->date,
			    s->request->region);
	if (size < 0 || (size_t)size >= sizeof(s->scope))
		return ux_error_set(err, UX_EINVAL, "the name of the region is too long");
	for (; n < n_own; n++)
		all[n] = own[n];
	for (const char *const *h = s->request->headers; h && *h; h++) {
		if (n == ux_countof(all) || !strchr(*h, ':'))
			return ux_error_set(err, UX_EINVAL, "a header cannot be signed");
		all[n++] = *h;
	}
	return s3_signing_headers(s, all, n, err);
}

/* Formats a header in its signed form, malloc'ed. */
static char *s3_header(const char *name, const char *value)
{
	char *line = NULL;
	return asprintf(&line, "%s:%s", name, value) < 0 ? NULL : line;
}

enum ux_code ux_s3_sign(const struct ux_s3_signed *request, const struct ux_s3_keys *keys,
			struct ux_out *ret, struct ux_error *err)
{
	char date[UX_S3_DATE_SIZE], signature[HASH_TEXT];
	ux_cleanup(s3_signing_deinit) struct s3_signing s = {.request = request, .keys = keys};
	ux_s3_date(request->time, date);
	ux_cleanup(ux_free_ptr) char *host = s3_header("host", request->host);
	ux_cleanup(ux_free_ptr) char *payload = s3_header("x-amz-content-sha256", request->payload);
	ux_cleanup(ux_free_ptr) char *when = s3_header("x-amz-date", date);
	ux_cleanup(ux_free_ptr) char *token =
		s3_header("x-amz-security-token", keys->session ? keys->session : "");
	if (!host || !payload || !when || !token)
		return ux_error_nomem(err);
	const char *own[] = {host, payload, when, token};
	UX_TRY(s3_signing_begin(&s, own, keys->session ? 4 : 3, err));
	UX_TRY(s3_signing_end(&s, ux_bytes_cstr(request->query), request->payload, signature, err));
	ux_out_fmt(ret, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=", keys->id, s.scope);
	ux_out_put(ret, s.names.data, s.names.size);
	ux_out_fmt(ret, ",Signature=%s", signature);
	return ux_out_status(ret, err);
}

enum ux_code ux_s3_presign(const struct ux_s3_signed *request, const struct ux_s3_keys *keys,
			   unsigned expires_s, struct ux_out *ret, struct ux_error *err)
{
	char signature[HASH_TEXT], expires[16];
	ux_cleanup(s3_signing_deinit) struct s3_signing s = {.request = request, .keys = keys};
	ux_cleanup(ux_out_deinit) struct ux_out query = {0};
	ux_cleanup(ux_out_deinit) struct ux_out who = {0};
	ux_cleanup(ux_free_ptr) char *host = s3_header("host", request->host);
	if (!host)
		return ux_error_nomem(err);
	if (expires_s == 0 || expires_s > UX_S3_EXPIRES_MAX)
		return ux_error_set(err, UX_EINVAL, "lifetime of a URL is out of range: %u seconds",
				    expires_s);
	const char *own[] = {host};
	UX_TRY(s3_signing_begin(&s, own, 1, err));
	ux_out_fmt(&who, "%s/%s", keys->id, s.scope);
	UX_TRY(ux_out_status(&who, err));
	snprintf(expires, sizeof(expires), "%u", expires_s);
	ux_s3_query_add(&query, "X-Amz-Algorithm", ux_bytes_cstr("AWS4-HMAC-SHA256"));
	ux_s3_query_add(&query, "X-Amz-Credential", ux_out_bytes(&who));
	ux_s3_query_add(&query, "X-Amz-Date", ux_bytes_cstr(s.date));
	ux_s3_query_add(&query, "X-Amz-Expires", ux_bytes_cstr(expires));
	if (keys->session)
		ux_s3_query_add(&query, "X-Amz-Security-Token", ux_bytes_cstr(keys->session));
	ux_s3_query_add(&query, "X-Amz-SignedHeaders", ux_out_bytes(&s.names));
	if (request->query[0] != '\0')
		ux_out_fmt(&query, "&%s", request->query);
	UX_TRY(ux_out_status(&query, err));
	UX_TRY(s3_signing_end(&s, ux_out_bytes(&query), UX_S3_UNSIGNED, signature, err));
	ux_out_put(ret, query.data, query.size);
	ux_out_fmt(ret, "&X-Amz-Signature=%s", signature);
	return ux_out_status(ret, err);
}

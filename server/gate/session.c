/* SPDX-License-Identifier: Apache-2.0 */
/* Browser sessions. */
#include "auth.h"

#include "file.h"
#include "index.h"
#include "text.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>

enum {
	MAC_TEXT = 2 * SHA256_DIGEST_SIZE,
	ID_TEXT = UX_KEY_ID_SIZE - 1,
};

void ux_sessions_init(struct ux_sessions *s)
{
	s->ready = getrandom(s->secret, sizeof(s->secret), 0) == (ssize_t)sizeof(s->secret);
}

enum ux_code ux_sessions_share(struct ux_sessions *s, const char *path, struct ux_error *err)
{
	struct ux_mapping file = {0};
	struct sha256_ctx ctx;
	struct stat st;
	if (stat(path, &st) != 0)
		return ux_error_os(err, errno, "cannot open %.200s", path);
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return ux_error_set(err, UX_EINVAL,
				    "session-key %.160s: readable by others; chmod it to 0600",
				    path);
	UX_TRY(ux_file_map(path, &file, err));
	size_t size = file.bytes.size;
	sha256_init(&ctx);
	sha256_update(&ctx, size, file.bytes.data);
	sha256_digest(&ctx, sizeof(s->secret), s->secret);
	ux_file_unmap(&file);
	s->ready = size >= sizeof(s->secret);
	return s->ready ? UX_OK
			: ux_error_set(err, UX_EINVAL,
				       "session-key %.160s has %zu bytes; expected at least %zu",
				       path, size, sizeof(s->secret));
}

static void session_mac_of(const struct ux_sessions *s, struct ux_bytes text,
			   char mac[MAC_TEXT + 1])
{
	struct hmac_sha256_ctx ctx;
	uint8_t digest[SHA256_DIGEST_SIZE];
	hmac_sha256_set_key(&ctx, sizeof(s->secret), s->secret);
	hmac_sha256_update(&ctx, text.size, text.data);
	hmac_sha256_digest(&ctx, sizeof(digest), digest);
	ux_hex_encode(ux_bytes(digest, sizeof(digest)), mac);
}

enum ux_code ux_session_make(const struct ux_sessions *s, const char *token_id, ux_time now,
			     char text[UX_SESSION_TEXT], struct ux_error *err)
{
	char mac[MAC_TEXT + 1];
	if (!s->ready)
		return ux_error_set(err, UX_EUNAVAILABLE, "cannot get random bytes for sessions");
	int n = snprintf(text, UX_SESSION_TEXT, "%.*s.%" PRId64, ID_TEXT, token_id,
			 now + UX_SESSION_SECONDS);
	session_mac_of(s, ux_bytes(text, (size_t)n), mac);
	snprintf(text + n, UX_SESSION_TEXT - (size_t)n, ".%s", mac);
	return UX_OK;
}

bool ux_session_read(const struct ux_sessions *s, struct ux_bytes text, ux_time now,
		     char token_id[UX_KEY_ID_SIZE])
{
	char mac[MAC_TEXT + 1];
	uint64_t expires = 0;
	/* The MAC is checked before any other part is used. */
	if (!s->ready || text.size < ID_TEXT + 1 + 1 + 1 + MAC_TEXT)
		return false;
	size_t n = text.size - MAC_TEXT - 1;
	session_mac_of(s, ux_bytes(text.data, n), mac);
	if (text.data[n] != '.' || !memeql_sec(text.data + n + 1, mac, MAC_TEXT))
		return false;
	struct ux_bytes digits = ux_bytes(text.data + ID_TEXT + 1, n - ID_TEXT - 1);
	if (text.data[ID_TEXT] != '.' || !ux_decimal_parse(digits, &expires) ||
	    expires > INT64_MAX || (ux_time)expires <= now)
		return false;
	memcpy(token_id, text.data, ID_TEXT);
	token_id[ID_TEXT] = '\0';
	return true;
}

/* Cuts the next "name=value" off the front of a Cookie header (RFC 6265, 4.2.1). */
static struct ux_bytes session_next_pair(struct ux_bytes *line)
{
	const uint8_t *semicolon = memchr(line->data, ';', line->size);
	size_t n = semicolon ? (size_t)(semicolon - line->data) : line->size;
	struct ux_bytes pair = ux_bytes(line->data, n);
	*line = semicolon ? ux_bytes(semicolon + 1, line->size - n - 1) : UX_BYTES_NONE;
	while (pair.size > 0 && (*pair.data == ' ' || *pair.data == '\t'))
		pair = ux_bytes(pair.data + 1, pair.size - 1);
	return pair;
}

bool ux_session_cookie(const struct ux_request *req, struct ux_bytes *ret)
{
	static const char name[] = UX_SESSION_COOKIE "=";
	struct ux_bytes line;
	if (!ux_request_header(req, "Cookie", &line))
		return false;
	while (line.size > 0) {
		struct ux_bytes pair = session_next_pair(&line);
		if (ux_bytes_starts(pair, ux_bytes_cstr(name))) {
			size_t n = sizeof(name) - 1;
			*ret = ux_bytes(pair.data + n, pair.size - n);
			return true;
		}
	}
	return false;
}

static bool session_starts_any_case(struct ux_bytes s, const char *prefix)
{
	return s.size >= strlen(prefix) &&
	       strncasecmp((const char *)s.data, prefix, strlen(prefix)) == 0;
}

bool ux_session_same_origin(const struct ux_request *req)
{
	struct ux_bytes site, origin, host;
	if (ux_request_header(req, "Sec-Fetch-Site", &site))
		return ux_bytes_eq(site, UX_STR("same-origin"));
	if (!ux_request_header(req, "Origin", &origin) || !ux_request_header(req, "Host", &host))
		return false;
	size_t scheme = session_starts_any_case(origin, "http://")    ? 7
			: session_starts_any_case(origin, "https://") ? 8
								      : 0;
	return scheme > 0 && origin.size - scheme == host.size && host.size > 0 &&
	       strncasecmp((const char *)origin.data + scheme, (const char *)host.data,
			   host.size) == 0;
}

enum ux_code ux_session_key(const struct ux_sessions *s, struct ux_index *ix,
			    struct ux_request *req, ux_time now, struct ux_key *ret)
{
	struct ux_bytes text;
	char id[UX_KEY_ID_SIZE];
	struct ux_key key;
	bool reads = req->method == UX_METHOD_GET || req->method == UX_METHOD_HEAD;
	if (!ux_session_cookie(req, &text) || !ux_session_read(s, text, now, id) ||
	    (!reads && !ux_session_same_origin(req)))
		return UX_ENOTFOUND;
	if (ux_key_of_token(ix, id, now, &req->arena, &key, NULL) != UX_OK)
		return UX_ENOTFOUND;
	*ret = key;
	return UX_OK;
}

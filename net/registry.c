/* SPDX-License-Identifier: Apache-2.0 */
/* A client of container registries. */
#include "registry.h"

#include "arena.h"
#include "clock.h"
#include "file.h"
#include "http_client.h"
#include "retry.h"
#include "text.h"

#include <jansson.h>
#include <nettle/sha2.h>
#include <unistd.h>

enum {
	CALL_MS = 60000,
	SILENCE_MS = 60000, /* ms, for a download */
	REDIRECTS_MAX = 5,
	TOKEN_MAX = 16 << 10,
	CONFIG_MAX = 1 << 20, /* bytes of config.json */
	LINE_BYTES_MAX = TOKEN_MAX + 64,
	URL_MAX = 2048,
};

#define DOCKER_HOST "registry-1.docker.io"
/* the name under which "docker login" stores the key of DOCKER_HOST */
#define DOCKER_AUTH "https://index.docker.io/v1/"

bool ux_digest_is(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	return strncmp(text, "sha256:", 7) == 0 && strspn(text + 7, digits) == 64 &&
	       text[7 + 64] == '\0';
}

static bool reference_is_host(struct ux_bytes part)
{
	return part.size > 0 && (memchr(part.data, '.', part.size) != NULL ||
				 memchr(part.data, ':', part.size) != NULL ||
				 ux_bytes_eq(part, UX_STR("localhost")));
}

static bool reference_set(char *to, size_t size, struct ux_bytes text, const char *allowed)
{
	if (text.size == 0 || text.size >= size)
		return false;
	memcpy(to, text.data, text.size);
	to[text.size] = '\0';
	return strspn(to, allowed) == text.size;
}

#define LOWER   "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum ux_code ux_image_reference_parse(const char *text, struct ux_image_reference *ret,
				      struct ux_error *err)
{
	struct ux_bytes rest = ux_bytes_cstr(text), host = ux_bytes_cstr(DOCKER_HOST);
	struct ux_bytes tag = UX_STR("latest");
	const char *slash = strchr(text, '/');
	bool docker = true;
	*ret = (struct ux_image_reference){0};
	if (slash && reference_is_host(ux_bytes(text, (size_t)(slash - text)))) {
		host = ux_bytes(text, (size_t)(slash - text));
		docker = ux_bytes_eq(host, UX_STR("docker.io"));
		host = docker ? ux_bytes_cstr(DOCKER_HOST) : host;
		rest = ux_bytes_cstr(slash + 1);
	}
	const char *at = strchr((const char *)rest.data, '@'); /* after the host */
	if (at) {
		tag = ux_bytes_cstr(at + 1);
		rest.size = (size_t)((const uint8_t *)at - rest.data);
	}
	const uint8_t *colon = rest.size > 0 ? memrchr(rest.data, ':', rest.size) : NULL;
	if (colon) {
		size_t n = (size_t)(colon - rest.data);
		if (!at)
			tag = ux_bytes(colon + 1, rest.size - n - 1);
		rest.size = n;
	}
	bool library = docker && rest.size > 0 && !memchr(rest.data, '/', rest.size);
	char name[256];
	if (!reference_set(name, sizeof(name) - 8, rest, LOWER "._-/") || name[0] == '/' ||
	    !reference_set(ret->host, sizeof(ret->host), host, LETTERS ".-:[]") ||
	    strspn(ret->host, ".-:]") > 0 ||
	    !reference_set(ret->tag, sizeof(ret->tag), tag, LETTERS "._-:") ||
	    (at && !ux_digest_is(ret->tag)) || strstr(name, ".."))
		return ux_error_set(err, UX_EINVAL,
				    "\"%.80s\" is neither an image's folder or file nor a "
				    "reference: [HOST/]NAME[:TAG][@sha256:HEX]",
				    text);
	snprintf(ret->name, sizeof(ret->name), "%s%.240s", library ? "library/" : "", name);
	return UX_OK;
}

bool ux_challenge_parameter(const char *challenge, const char *name, char *ret, size_t size)
{
	size_t n = strlen(name);
	*ret = '\0';
	for (const char *p = strchr(challenge, ' '); p && *p != '\0';) {
		p += strspn(p, " ,");
		const char *equal = strchr(p, '=');
		if (!equal)
			return false;
		bool mine = (size_t)(equal - p) == n && strncasecmp(p, name, n) == 0;
		const char *value = equal + 1;
		bool quoted = *value == '"';
		value += quoted;
		size_t length = strcspn(value, quoted ? "\"" : ", ");
		if (mine && length < size) {
			memcpy(ret, value, length);
			ret[length] = '\0';
		}
		if (mine)
			return length < size && length > 0;
		p = value + length + (quoted && value[length] == '"');
	}
	return false;
}

struct ux_registry {
	struct ux_http_client *http;
	struct ux_image_reference reference;
	char *cacert;
	char *proxy;
	unsigned tries;
	int64_t deadline_ms;
	char basic[TOKEN_MAX];     /* credentials in base64; "": none */
	char line[LINE_BYTES_MAX]; /* the Authorization header; "": none */
};

/*
 * Tests whether a key may be sent there without encryption: only to a host of the loopback network.
 */
static bool registry_host_is_loopback(const char *host)
{
	size_t n = strcspn(host, ":");
	return (n == 9 && strncmp(host, "localhost", n) == 0) || strncmp(host, "127.", 4) == 0 ||
	       strncmp(host, "[::1]", 5) == 0;
}

static json_t *registry_read_config(void)
{
	char path[PATH_MAX];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	int n = folder && *folder
			? snprintf(path, sizeof(path), "%s/config.json", folder)
			: snprintf(path, sizeof(path), "%s/.docker/config.json", home ? home : "");
	if (n < 0 || (size_t)n >= sizeof(path) || ux_file_map(path, &file, NULL) != UX_OK ||
	    file.bytes.size > CONFIG_MAX)
		return NULL;
	return json_loadb((const char *)file.bytes.data, file.bytes.size, 0, NULL);
}

/* Reads the credentials of "docker login"; none is not an error. */
static void registry_read_login(struct ux_registry *r)
{
	const char *name =
		strcmp(r->reference.host, DOCKER_HOST) == 0 ? DOCKER_AUTH : r->reference.host;
	json_t *config = registry_read_config();
	json_t *one = json_object_get(json_object_get(config, "auths"), name);
	const char *auth = json_string_value(json_object_get(one, "auth"));
	if (auth && strspn(auth, LETTERS "+/=-_") == strlen(auth) && strlen(auth) < TOKEN_MAX)
		snprintf(r->basic, sizeof(r->basic), "%s", auth);
	json_decref(config);
}

enum ux_code ux_registry_open(struct ux_registry **ret, const struct ux_image_reference *reference,
			      const char *cacert, const char *proxy, unsigned tries,
			      int64_t deadline_ms, struct ux_error *err)
{
	char url[URL_MAX];
	struct ux_registry *r = calloc(1, sizeof(*r));
	if (!r)
		return ux_error_nomem(err);
	r->reference = *reference;
	r->tries = tries;
	r->deadline_ms = deadline_ms;
	r->cacert = cacert ? strdup(cacert) : NULL;
	r->proxy = proxy ? strdup(proxy) : NULL;
	snprintf(url, sizeof(url), "%s://%s",
		 registry_host_is_loopback(reference->host) ? "http" : "https", reference->host);
	const struct ux_http_client_options options = {
		.url = url, .cafile = r->cacert, .proxy = r->proxy};
	enum ux_code code = cacert && !r->cacert ? ux_error_nomem(err)
						 : ux_http_client_create(&r->http, &options, err);
	if (code != UX_OK) {
		ux_registry_close(r);
		return code;
	}
	registry_read_login(r);
	*ret = r;
	return UX_OK;
}

void ux_registry_close(struct ux_registry *r)
{
	if (!r)
		return;
	ux_http_client_destroy(r->http);
	explicit_bzero(r->basic, sizeof(r->basic));
	explicit_bzero(r->line, sizeof(r->line));
	free(r->cacert);
	free(r->proxy);
	free(r);
}

/* Makes the URL of the service that issues tokens: its origin, and its path with the request. */
static enum ux_code registry_token_url(const struct ux_registry *r, const char *challenge,
				       char *origin, char *path, struct ux_error *err)
{
	char realm[URL_MAX / 2], service[256];
	UX_ARENA(arena, 64 << 10);
	if (!ux_challenge_parameter(challenge, "realm", realm, sizeof(realm)))
		return ux_error_set(err, UX_EUNSUPPORTED, "the registry names no token server");
	bool has_service = ux_challenge_parameter(challenge, "service", service, sizeof(service));
	const char *host = strstr(realm, "://");
	size_t n = host ? (size_t)(host + 3 - realm) + strcspn(host + 3, "/?#") : 0;
	if (!host || strcspn(realm, "@#") != strlen(realm) ||
	    (strncmp(realm, "https://", 8) != 0 && !registry_host_is_loopback(host + 3)))
		return ux_error_set(err, UX_EDENIED,
				    "refusing to send credentials unencrypted to %.80s", realm);
	char scope[320];
	snprintf(scope, sizeof(scope), "repository:%s:pull", r->reference.name);
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(service));
	const char *coded_scope = ux_percent_encode(&arena, ux_bytes_cstr(scope));
	if (!coded || !coded_scope)
		return ux_error_nomem(err);
	snprintf(origin, URL_MAX, "%.*s", (int)n, realm);
	snprintf(path, URL_MAX, "%.900s%s%s%.500s%sscope=%.500s", realm + n,
		 strchr(realm + n, '?') ? "&" : "?", has_service ? "service=" : "",
		 has_service ? coded : "", has_service ? "&" : "", coded_scope);
	return UX_OK;
}

static enum ux_code registry_take_token(struct ux_registry *r, const struct ux_out *body,
					struct ux_error *err)
{
	json_t *doc = json_loadb((const char *)body->data, body->size, 0, NULL);
	const char *token = json_string_value(json_object_get(doc, "token"));
	token = token ? token : json_string_value(json_object_get(doc, "access_token"));
	bool good = token && strlen(token) < TOKEN_MAX &&
		    strspn(token, LETTERS "-._~+/=") == strlen(token);
	if (good)
		snprintf(r->line, sizeof(r->line), "Authorization: Bearer %s", token);
	json_decref(doc);
	return good ? UX_OK
		    : ux_error_set(err, UX_EUNSUPPORTED,
				   "the registry's token server sent no token");
}

static enum ux_code registry_get_token(struct ux_registry *r, const char *challenge,
				       struct ux_error *err)
{
	char origin[URL_MAX], path[URL_MAX], line[LINE_BYTES_MAX];
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct ux_http_client *http = NULL;
	UX_TRY(registry_token_url(r, challenge, origin, path, err));
	const struct ux_http_client_options options = {
		.url = origin, .cafile = r->cacert, .proxy = r->proxy};
	UX_TRY(ux_http_client_create(&http, &options, err));
	const char *const headers[] = {r->basic[0] != '\0' ? line : NULL, NULL};
	const struct ux_http_call call = {.path = path, .headers = headers, .timeout_ms = CALL_MS};
	snprintf(line, sizeof(line), "Authorization: Basic %s", r->basic);
	enum ux_code code = ux_http_client_call(http, &call, &answer, err);
	explicit_bzero(line, sizeof(line));
	ux_http_client_destroy(http);
	UX_TRY(code);
	if (answer.status != 200)
		return ux_error_set(err, UX_EDENIED, "no token for the registry: HTTP status %u",
				    answer.status);
	return registry_take_token(r, &answer.body, err);
}

/* Authenticates as a 401 demands. */
static enum ux_code registry_authenticate(struct ux_registry *r, const char *challenge,
					  struct ux_error *err)
{
	if (strncasecmp(challenge, "Bearer ", 7) == 0)
		return registry_get_token(r, challenge, err);
	if (strncasecmp(challenge, "Basic", 5) != 0 || r->basic[0] == '\0')
		return ux_error_set(
			err, UX_EDENIED,
			"%.100s needs credentials: docker login, or podman login --authfile "
			"~/.docker/config.json",
			r->reference.host);
	snprintf(r->line, sizeof(r->line), "Authorization: Basic %s", r->basic);
	return UX_OK;
}

enum ux_code ux_registry_authorize(struct ux_registry *r, const char *challenge, const char **ret,
				   struct ux_error *err)
{
	UX_TRY(registry_authenticate(r, challenge, err));
	*ret = r->line;
	return UX_OK;
}

bool ux_registry_is_blob_url(const char *url, struct ux_image_reference *ret)
{
	static const char version[] = "/v2/", blobs[] = "/blobs/";
	const char *host = strstr(url, "://");
	if (!host)
		return false;
	host += 3;
	size_t n = strcspn(host, "/");
	if (strncmp(host + n, version, strlen(version)) != 0)
		return false;
	const char *name = host + n + strlen(version);
	const char *blob = strstr(name, blobs);
	*ret = (struct ux_image_reference){0};
	return blob && ux_digest_is(blob + strlen(blobs)) &&
	       reference_set(ret->host, sizeof(ret->host), ux_bytes(host, n), LETTERS ".-:[]") &&
	       reference_set(ret->name, sizeof(ret->name), ux_bytes(name, (size_t)(blob - name)),
			     LOWER "._-/") &&
	       reference_set(ret->tag, sizeof(ret->tag), ux_bytes_cstr(blob + strlen(blobs)),
			     LETTERS ":");
}

enum ux_code ux_registry_blob_url(const struct ux_image_reference *reference, const char *digest,
				  char *ret, size_t size, struct ux_error *err)
{
	int n = snprintf(ret, size, "%s://%s/v2/%s/blobs/%s",
			 registry_host_is_loopback(reference->host) ? "http" : "https",
			 reference->host, reference->name, digest);
	return n > 0 && (size_t)n < size
		       ? UX_OK
		       : ux_error_set(err, UX_ELIMIT, "the URL of a blob is too long");
}

/* A fetch: a blob's bytes go to a file and a hash; a manifest stays in memory. */
struct fetch {
	int fd; /* -1: manifest */
	uint64_t max;
	uint64_t got;
	struct sha256_ctx sha;
};

static enum ux_code fetch_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct fetch *f = ctx;
	if (bytes.size > f->max - f->got)
		return ux_error_set(err, UX_ELIMIT, "the registry sent more than %" PRIu64 " bytes",
				    f->max);
	f->got += bytes.size;
	sha256_update(&f->sha, bytes.size, bytes.data);
	return ux_file_write(f->fd, bytes, err);
}

static enum ux_code fetch_begin(struct fetch *f, struct ux_error *err)
{
	f->got = 0;
	sha256_init(&f->sha);
	if (f->fd >= 0 && (ftruncate(f->fd, 0) != 0 || lseek(f->fd, 0, SEEK_SET) != 0))
		return ux_error_set(err, UX_EIO, "cannot use a temporary file");
	return UX_OK;
}

static enum ux_code registry_status(const struct ux_registry *r, const char *path, unsigned status,
				    struct ux_error *err)
{
	enum ux_code code = status == 404                        ? UX_ENOTFOUND
			    : status == 401 || status == 403     ? UX_EDENIED
			    : status == 429 || status / 100 == 5 ? UX_EUNAVAILABLE
								 : UX_EUNSUPPORTED;
	return ux_error_set(err, code, "%.80s answered HTTP %u for %.120s", r->reference.host,
			    status, path);
}

static enum ux_code registry_try(struct ux_registry *r, const char *path, struct fetch *f,
				 struct ux_http_answer *answer, struct ux_error *err)
{
	static const char accept[] = "Accept: application/vnd.oci.image.index.v1+json, "
				     "application/vnd.oci.image.manifest.v1+json, "
				     "application/vnd.docker.distribution.manifest.list.v2+json, "
				     "application/vnd.docker.distribution.manifest.v2+json, */*";
	const char *const headers[] = {accept, r->line[0] != '\0' ? r->line : NULL, NULL};
	int64_t left = r->deadline_ms - ux_clock_ms();
	if (left <= 0)
		return ux_error_set(err, UX_ELIMIT, "the push exceeded its deadline");
	UX_TRY(fetch_begin(f, err));
	const struct ux_http_call call = {
		.path = path,
		.headers = headers,
		.timeout_ms = f->fd >= 0 ? left : ux_min(left, (int64_t)CALL_MS),
		.silence_ms = SILENCE_MS,
		.answer_max = f->fd >= 0 ? f->max + 1 : UX_MANIFEST_BYTES_MAX,
		.redirects = REDIRECTS_MAX,
		.sink = f->fd >= 0 ? fetch_take : NULL,
		.sink_ctx = f,
	};
	return ux_http_client_call(r->http, &call, answer, err);
}

/* Fetches a path, with a token if one is demanded, and again if the registry is busy. */
static enum ux_code registry_fetch(struct ux_registry *r, const char *path, struct fetch *f,
				   struct ux_http_answer *ret, struct ux_error *err)
{
	bool authenticated = false;
	struct ux_retry retry = {.max = r->tries, .deadline_ms = r->deadline_ms};
	for (;;) {
		ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = registry_try(r, path, f, &answer, &why);
		if (code == UX_OK && answer.status == 401 && !authenticated) {
			authenticated = true;
			UX_TRY(registry_authenticate(r, answer.authenticate, err));
			continue;
		}
		if (code == UX_OK && answer.status == 200) {
			*ret = answer;
			answer = (struct ux_http_answer){0};
			return UX_OK;
		}
		if (code == UX_OK)
			code = registry_status(r, path, answer.status, &why);
		if (code != UX_EUNAVAILABLE ||
		    !ux_retry_again(&retry, /* busy= */ false, answer.retry_after_s)) {
			*err = err->code == UX_OK ? why : *err;
			return code;
		}
	}
}

static enum ux_code digest_check(struct sha256_ctx *sha, const char *want, struct ux_error *err)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hex[2 * SHA256_DIGEST_SIZE + 1];
	sha256_digest(sha, sizeof(digest), digest);
	ux_hex_encode(ux_bytes(digest, sizeof(digest)), hex);
	if (strcmp(hex, want + strlen("sha256:")) == 0)
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT,
			    "content has the digest sha256:%.12s..., expected %.19s...", hex, want);
}

enum ux_code ux_digest_check(struct ux_bytes bytes, const char *want, struct ux_error *err)
{
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, bytes.size, bytes.data);
	return digest_check(&sha, want, err);
}

enum ux_code ux_registry_manifest(struct ux_registry *r, const char *tag, struct ux_out *ret,
				  struct ux_error *err)
{
	char path[640];
	struct fetch f = {.fd = -1};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	snprintf(path, sizeof(path), "/v2/%s/manifests/%s", r->reference.name, tag);
	UX_TRY(registry_fetch(r, path, &f, &answer, err));
	if (ux_digest_is(tag))
		UX_TRY(ux_digest_check(ux_out_bytes(&answer.body), tag, err));
	ux_out_put(ret, answer.body.data, answer.body.size);
	return ux_out_status(ret, err);
}

enum ux_code ux_registry_blob(struct ux_registry *r, const char *digest, uint64_t size, int fd,
			      struct ux_error *err)
{
	char path[640];
	struct fetch f = {.fd = fd, .max = size};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	snprintf(path, sizeof(path), "/v2/%s/blobs/%s", r->reference.name, digest);
	UX_TRY(registry_fetch(r, path, &f, &answer, err));
	return digest_check(&f.sha, digest, err);
}

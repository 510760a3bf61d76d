/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP client. No other file uses libcurl. */
#include "http_client.h"

#include "address.h"
#include "clock.h"
#include "curl_calls.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <strings.h>
#include <unistd.h>

enum {
	CONNECT_MS = 10000,
	CALL_MS = 30000,
	ANSWER_BYTES = 16 << 20,
	WORDS_BYTES = 64 << 10, /* bytes of an answer that are not passed to the sink */
	EXPECT_MIN = 1 << 20,   /* least bytes of a body that waits for "100 Continue" */
};

struct ux_http_client {
	CURL *curl;
	char *url;  /* without a trailing '/' */
	char *auth; /* "Authorization: Bearer ...", or NULL */
	char *agent;
	char *cafile;
	char *proxy;
	unsigned connect_ms;
	uint64_t rate; /* bytes a second for bodies; 0: no limit */
	uint64_t receive_rate;
	enum ux_http_reach reach;
	const char *private_advice;
	struct curl_slist *lines; /* headers of the call in progress */
};

/* State of one call. */
struct transfer {
	const struct ux_http_call *call;
	struct ux_http_answer *answer;
	size_t answer_max;
	uint64_t sent;     /* bytes of the body sent */
	uint64_t received; /* bytes of the answer received */
	bool encoded;      /* see client_is_encoded() */
	bool too_big;
	bool silent; /* nothing was received for too long */
	bool enough; /* an error document exceeds its limit */
	bool cancelled;
	bool refused; /* the address is not allowed */
	bool own;     /* it is a private address of the URL's own host */
	int read_errno;
	CURL *curl;
	enum ux_code sink_code; /* result of the caller's function, if it ended the call */
	struct ux_error sink_err;
	curl_off_t progress; /* bytes received, and the time of the last change */
	int64_t progress_ms;
	struct {
		curl_off_t moved; /* `progress` at the begin of the period */
		int64_t begin_ms; /* 0: nothing has moved yet */
		uint64_t bytes_s;
		unsigned s;
	} pace;
	bool slow; /* it was below the lowest rate in a period */
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

/*
 * Places of trusted roots, for a libcurl that was not built for a distribution and therefore knows
 * none. Both are NULL if libcurl knows, or if nothing was found. Set once, by client_start_curl().
 */
static struct {
	bool searched;
	const char *file;
	const char *folder; /* folder of files named by hash, as by c_rehash */
} client_roots;

static const char *client_readable_path(const char *path)
{
	return path && *path && access(path, R_OK) == 0 ? path : NULL;
}

/*
 * Searches for trusted roots. The variables are OpenSSL's; if one of them is set, only they count.
 */
static void client_find_roots(void)
{
	static const char *const usual[] = {
		"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
		"/etc/pki/tls/certs/ca-bundle.crt",                  /* RHEL, older Fedora */
		"/etc/ssl/ca-bundle.pem",                            /* openSUSE */
		"/etc/ssl/cert.pem", /* Alpine without the package */
	};
	const char *file = getenv("SSL_CERT_FILE");
	const char *folder = getenv("SSL_CERT_DIR");
	client_roots.searched = true;
	client_roots.file = client_readable_path(file);
	client_roots.folder = client_readable_path(folder);
	if ((file && *file) || (folder && *folder))
		return;
	for (size_t i = 0; i < ux_countof(usual) && !client_roots.file; i++)
		client_roots.file = client_readable_path(usual[i]);
}

static void client_start_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
	if (!version->cainfo && !version->capath)
		client_find_roots();
}

static void client_set_roots(const struct ux_http_client *c)
{
	const char *file = c->cafile ? c->cafile : client_roots.file;
	if (file)
		curl_easy_setopt(c->curl, CURLOPT_CAINFO, file);
	if (!c->cafile && client_roots.folder)
		curl_easy_setopt(c->curl, CURLOPT_CAPATH, client_roots.folder);
}

/* Tests whether a call failed because there is no file of trusted roots. */
static bool client_lacks_roots(const struct ux_http_client *c, CURLcode code)
{
	return code == CURLE_PEER_FAILED_VERIFICATION && client_roots.searched && !c->cafile &&
	       !client_roots.file && !client_roots.folder;
}

/*
 * Tests that no byte is below 0x20 or equal to 0x7f: such a byte could end the header or begin
 * another one.
 */
static bool client_fits_header(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

/* Checks HOST or HOST:PORT at the start of text, before an optional path. */
static bool client_is_authority(const char *text)
{
	size_t n = strcspn(text, "/");
	const char *user = memchr(text, '@', n);
	if (user) {
		n -= (size_t)(user + 1 - text);
		text = user + 1;
	}
	const char *bracket = n > 0 && text[0] == '[' ? memchr(text, ']', n) : NULL;
	size_t host = bracket ? (size_t)(bracket + 1 - text) : strcspn(text, ":/");
	uint64_t port = 0;
	if (host == 0 || (text[0] == '[' && !bracket))
		return false;
	if (host >= n)
		return true;
	return text[host] == ':' &&
	       (host + 1 == n ||
		(ux_decimal_parse(ux_bytes(text + host + 1, n - host - 1), &port) &&
		 port <= UINT16_MAX));
}

enum ux_code ux_http_url_check(const char *url, struct ux_error *err)
{
	const char *host = strncasecmp(url, "http://", 7) == 0    ? url + 7
			   : strncasecmp(url, "https://", 8) == 0 ? url + 8
								  : NULL;
	if (!host)
		return ux_error_set(err, UX_EINVAL,
				    "'%.80s' is not a URL; expected http:// or https://", url);
	if (!client_fits_header(url) || strpbrk(url, " ?#"))
		return ux_error_set(err, UX_EINVAL,
				    "the URL has a query, a space or a control character");
	if (!client_is_authority(host))
		return ux_error_set(
			err, UX_EINVAL,
			"'%.80s' is not a URL; expected http://HOST or http://HOST:PORT", url);
	return UX_OK;
}

static enum ux_code client_check_options(const struct ux_http_client_options *o,
					 struct ux_error *err)
{
	UX_TRY(ux_http_url_check(o->url ? o->url : "", err));
	if (o->token && !client_fits_header(o->token))
		return ux_error_set(err, UX_EINVAL,
				    "the token has a byte that is not allowed in a header");
	return UX_OK;
}

/* strdup() that returns NULL for NULL, and records a failure. */
static char *client_copy(const char *s, bool *failed)
{
	char *p = s ? strdup(s) : NULL;
	*failed = *failed || (s && !p);
	return p;
}

static void client_copy_options(struct ux_http_client *c, const struct ux_http_client_options *o,
				bool *failed)
{
	c->url = client_copy(o->url, failed);
	for (size_t n = c->url ? strlen(c->url) : 0; n > 0 && c->url[n - 1] == '/'; n--)
		c->url[n - 1] = '\0';
	if (o->token && o->token[0] != '\0' &&
	    asprintf(&c->auth, "Authorization: Bearer %s", o->token) < 0) {
		c->auth = NULL;
		*failed = true;
	}
	c->agent = client_copy(o->agent ? o->agent : "unhex/" UX_VERSION, failed);
	c->cafile = client_copy(o->cafile, failed);
	c->proxy = client_copy(o->proxy, failed);
	c->rate = o->rate;
	c->receive_rate = o->receive_rate;
	c->connect_ms = o->connect_ms ? o->connect_ms : CONNECT_MS;
	c->reach = o->reach;
	c->private_advice = o->private_advice;
}

enum ux_code ux_http_client_create(struct ux_http_client **ret,
				   const struct ux_http_client_options *options,
				   struct ux_error *err)
{
	UX_TRY(client_check_options(options, err));
	UX_TRY(ux_curl_load(err));
	pthread_once(&curl_once, client_start_curl);
	struct ux_http_client *c = calloc(1, sizeof(*c));
	bool failed = c == NULL;
	if (c) {
		client_copy_options(c, options, &failed);
		c->curl = curl_easy_init();
	}
	if (failed || !c->curl) {
		ux_http_client_destroy(c);
		return ux_error_nomem(err);
	}
	*ret = c;
	return UX_OK;
}

void ux_http_client_destroy(struct ux_http_client *c)
{
	if (!c)
		return;
	if (c->curl)
		curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->lines);
	if (c->auth)
		explicit_bzero(c->auth, strlen(c->auth));
	free(c->auth);
	free(c->url);
	free(c->agent);
	free(c->cafile);
	free(c->proxy);
	free(c);
}

void ux_http_answer_deinit(struct ux_http_answer *answer)
{
	ux_out_deinit(&answer->body);
}

/*
 * Tests for an encoded answer. The client requests no encoding, and decodes none. An encoded answer
 * is refused at its first byte: it is not the requested file, and could be endless.
 */
static bool client_is_encoded(CURL *curl)
{
	struct curl_header *h = NULL;
	return curl_easy_header(curl, "Content-Encoding", 0, CURLH_HEADER, -1, &h) == CURLHE_OK &&
	       strcasecmp(h->value, "identity") != 0;
}

/* Reads a header. A value is used whole or not at all. */
static void client_read_value(CURL *curl, const char *name, char *ret, size_t size)
{
	struct curl_header *h = NULL;
	ret[0] = '\0';
	if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK &&
	    strlen(h->value) < size)
		snprintf(ret, size, "%s", h->value);
}

/* Reads "bytes FIRST-LAST/SIZE" (RFC 9110, 14.4). */
static uint64_t client_read_part_off(CURL *curl)
{
	static const char unit[] = "bytes ";
	struct curl_header *h = NULL;
	uint64_t first = 0;
	if (curl_easy_header(curl, "Content-Range", 0, CURLH_HEADER, -1, &h) != CURLHE_OK ||
	    strncasecmp(h->value, unit, sizeof(unit) - 1) != 0)
		return UINT64_MAX;
	struct ux_bytes text = ux_bytes_cstr(h->value + sizeof(unit) - 1);
	size_t n = ux_digits_parse(text, 10, &first);
	return n > 0 && n < text.size && text.data[n] == '-' ? first : UINT64_MAX;
}

static void client_read_entity(CURL *curl, struct ux_http_answer *answer)
{
	client_read_value(curl, "ETag", answer->etag, sizeof(answer->etag));
	client_read_value(curl, "Last-Modified", answer->modified, sizeof(answer->modified));
	client_read_value(curl, "Content-Type", answer->type, sizeof(answer->type));
	answer->part_off = answer->status == 206 ? client_read_part_off(curl) : UINT64_MAX;
}

/* Passes a piece of a body on to the caller. */
static bool client_sink(struct transfer *t, struct ux_bytes piece, bool first)
{
	const struct ux_http_call *call = t->call;
	if (first && call->begins) {
		client_read_entity(t->curl, t->answer);
		t->sink_code = call->begins(call->sink_ctx, t->answer, &t->sink_err);
	}
	int64_t before = ux_clock_ms();
	if (t->sink_code == UX_OK)
		t->sink_code = call->sink(call->sink_ctx, piece, &t->sink_err);
	if (t->pace.begin_ms != 0) /* the server is not slow while the caller works */
		t->pace.begin_ms += ux_clock_ms() - before;
	return t->sink_code == UX_OK;
}

static size_t client_on_answer(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	size_t bytes = size * n;
	long status = 0;
	curl_off_t announced = -1;
	if (t->received == 0)
		curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
	if (bytes > t->answer_max - t->received ||
	    (announced > 0 && (uint64_t)announced > t->answer_max)) {
		t->too_big = true;
		return 0;
	}
	bool first = t->received == 0;
	t->encoded = t->encoded || (first && client_is_encoded(t->curl));
	if (t->encoded)
		return 0;
	t->received += bytes;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	t->answer->status = (unsigned)status;
	if (t->call->sink && (status == 200 || (status == 206 && t->call->begins)))
		return client_sink(t, ux_bytes(data, bytes), first) ? bytes : 0;
	t->enough = t->call->sink && t->answer->body.size + bytes > WORDS_BYTES;
	if (t->enough)
		return 0;
	ux_out_put(&t->answer->body, data, bytes);
	return t->answer->body.failed ? 0 : bytes;
}

static uint64_t client_body_size(const struct ux_http_call *call)
{
	return call->from_file ? call->body_size : call->body.size;
}

/*
 * Tests whether a period has ended in which too little was moved. While the server computes its
 * answer, after the whole body was sent, no period begins.
 */
static bool client_is_slow(struct transfer *t, curl_off_t down, curl_off_t up)
{
	int64_t now = ux_clock_ms();
	bool waits = down == 0 && (uint64_t)up >= client_body_size(t->call);
	if (waits || t->pace.begin_ms == 0) {
		t->pace.moved = down + up;
		t->pace.begin_ms = waits ? 0 : now;
		return false;
	}
	if (now - t->pace.begin_ms < (int64_t)t->pace.s * 1000)
		return false;
	bool slow = (uint64_t)(down + up - t->pace.moved) < t->pace.bytes_s * t->pace.s;
	t->pace.moved = down + up;
	t->pace.begin_ms = now;
	return slow;
}

/* Called about once a second: ends the call if too little moves, or nothing for too long. */
static int client_on_progress(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
			      curl_off_t up)
{
	struct transfer *t = ctx;
	(void)down_all, (void)up_all;
	if (down + up != t->progress) {
		t->progress = down + up;
		t->progress_ms = ux_clock_ms();
	}
	t->silent =
		t->call->silence_ms > 0 && ux_clock_ms() - t->progress_ms >= t->call->silence_ms;
	t->slow = client_is_slow(t, down, up);
	t->cancelled = t->call->cancelled && t->call->cancelled(t->call->cancelled_ctx);
	return t->silent || t->slow || t->cancelled;
}

/* Length of the scheme, host and port of a URL, as written. */
static size_t client_origin_size(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	return (size_t)(host - url) + strcspn(host, "/?#");
}

/*
 * Tests whether curl is about to connect to the URL's own server rather than to the target of a
 * redirect.
 */
static bool client_is_own_origin(const struct ux_http_client *c, CURL *curl)
{
	char *url = NULL;
	size_t n = client_origin_size(c->url);
	return curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK && url &&
	       client_origin_size(url) == n && strncasecmp(url, c->url, n) == 0;
}

/* State of the address check for one call. */
struct guard {
	struct ux_http_client *client;
	struct transfer *transfer;
};

/* Called after the name was resolved, to check the address, whatever the name is. */
static curl_socket_t client_on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct guard *g = ctx;
	(void)purpose;
	enum ux_address_kind kind = ux_address_kind(&to->addr, to->addrlen);
	bool own = kind == UX_ADDRESS_PRIVATE && client_is_own_origin(g->client, g->transfer->curl);
	if (kind == UX_ADDRESS_NEVER ||
	    (kind == UX_ADDRESS_PRIVATE && !(own && g->client->reach == UX_HTTP_OWN))) {
		g->transfer->refused = true;
		g->transfer->own |= own;
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/*
 * Installs the address check. Disables proxies, because a proxy would connect to any address for
 * the client.
 */
static void client_set_guard(CURL *curl, const char *url, struct guard *g)
{
	if (g->client->reach == UX_HTTP_ANYWHERE) {
		if (g->client->proxy)
			curl_easy_setopt(curl, CURLOPT_PROXY, g->client->proxy);
		return;
	}
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, client_on_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, g);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	if (strncasecmp(url, "https:", 6) == 0)
		curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
}

static size_t client_on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	const struct ux_http_call *call = t->call;
	size_t want = (size_t)ux_min((uint64_t)(size * n), client_body_size(call) - t->sent);
	if (want == 0)
		return 0;
	if (!call->from_file) {
		memcpy(data, call->body.data + t->sent, want);
		t->sent += want;
		return want;
	}
	ssize_t got = 0;
	do {
		got = pread(call->body_fd, data, want, (off_t)(call->body_off + t->sent));
	} while (got < 0 && errno == EINTR);
	if (got <= 0) { /* end of file before body_size: the file was truncated */
		t->read_errno = got < 0 ? errno : EPIPE;
		return CURL_READFUNC_ABORT;
	}
	t->sent += (uint64_t)got;
	return (size_t)got;
}

/* libcurl seeks to the start of the body when a reused connection turns out to be closed. */
static int client_on_seek(void *ctx, curl_off_t off, int origin)
{
	struct transfer *t = ctx;
	if (origin != SEEK_SET || off < 0 || (uint64_t)off > client_body_size(t->call))
		return CURL_SEEKFUNC_FAIL;
	t->sent = (uint64_t)off;
	return CURL_SEEKFUNC_OK;
}

static bool client_add_line(struct ux_http_client *c, const char *line)
{
	struct curl_slist *longer = curl_slist_append(c->lines, line);
	c->lines = longer ? longer : c->lines;
	return longer != NULL;
}

static bool client_add_lines(struct ux_http_client *c, const struct ux_http_call *call)
{
	char type[128];
	snprintf(type, sizeof(type), "Content-Type: %s", call->type ? call->type : "");
	bool ok = client_add_line(c, type) && (!c->auth || client_add_line(c, c->auth));
	/*
	 * Waiting for "100 Continue" is worth a round trip if a refusal saves sending much; libcurl
	 * waits with each PUT.
	 */
	if (client_body_size(call) < EXPECT_MIN)
		ok = ok && client_add_line(c, "Expect:");
	for (const char *const *h = call->headers; h && *h && ok; h++)
		ok = client_fits_header(*h) && client_add_line(c, *h);
	return ok;
}

static void client_set_body(CURL *curl, struct transfer *t)
{
	const struct ux_http_call *call = t->call;
	switch (call->method) {
	case UX_METHOD_GET:
	case UX_METHOD_COUNT:
		return;
	case UX_METHOD_OPTIONS:
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "OPTIONS");
		return;
	case UX_METHOD_HEAD:
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
		return;
	case UX_METHOD_DELETE:
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
		return;
	case UX_METHOD_POST:
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)client_body_size(call));
		break;
	case UX_METHOD_PUT:
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE,
				 (curl_off_t)client_body_size(call));
		break;
	}
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, client_on_body);
	curl_easy_setopt(curl, CURLOPT_READDATA, t);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, client_on_seek);
	curl_easy_setopt(curl, CURLOPT_SEEKDATA, t);
}

static void client_set_options(struct ux_http_client *c, struct transfer *t, const char *url,
			       char *words)
{
	CURL *curl = c->curl;
	int64_t ms = t->call->timeout_ms > 0 ? t->call->timeout_ms : CALL_MS;
	curl_easy_reset(curl); /* keeps open connections */
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, c->agent);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, c->lines);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ux_min(ms, (int64_t)LONG_MAX));
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ux_min(ms, (int64_t)c->connect_ms));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, client_on_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	client_set_roots(c);
	if (t->call->redirects > 0) {
		curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
		curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)t->call->redirects);
		curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	}
	if (c->rate > 0)
		curl_easy_setopt(curl, CURLOPT_MAX_SEND_SPEED_LARGE,
				 (curl_off_t)ux_min(c->rate, (uint64_t)INT64_MAX));
	if (c->receive_rate > 0)
		curl_easy_setopt(curl, CURLOPT_MAX_RECV_SPEED_LARGE,
				 (curl_off_t)ux_min(c->receive_rate, (uint64_t)INT64_MAX));
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, client_on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
	client_set_body(curl, t);
}

/*
 * Returns the reason for a failed connection. libcurl repeats host and port, which are in the URL.
 */
static const char *client_reason(const struct ux_http_client *c, CURLcode code, const char *words,
				 char *text, size_t size)
{
	long number = 0;
	if (code == CURLE_COULDNT_CONNECT &&
	    curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &number) == CURLE_OK && number > 0)
		return strerror_r((int)number, text, size);
	return words[0] != '\0' ? words : curl_easy_strerror(code);
}

static enum ux_code client_failure(const struct ux_http_client *c, const struct transfer *t,
				   CURLcode code, const char *words, struct ux_error *err)
{
	char system[80];
	if (t->too_big)
		return ux_error_set(err, UX_ELIMIT, "the response of %.60s exceeds %zu bytes",
				    c->url, t->answer_max);
	if (t->encoded)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the response of %.60s has an unrequested Content-Encoding",
				    c->url);
	if (t->sink_code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = t->sink_err;
		return t->sink_code;
	}
	if (t->read_errno != 0)
		return ux_error_os(err, t->read_errno, "cannot read the file to send");
	if (code == CURLE_OUT_OF_MEMORY || t->answer->body.failed)
		return ux_error_nomem(err);
	if (t->refused && code == CURLE_COULDNT_CONNECT)
		return ux_error_set(err, UX_EDENIED,
				    "%.60s resolves to an address that is not public%s%s", c->url,
				    t->own && c->private_advice ? "; " : "",
				    t->own && c->private_advice ? c->private_advice : "");
	if (t->cancelled)
		return ux_error_set(err, UX_EUNAVAILABLE, "the request to %.80s was cancelled",
				    c->url);
	if (t->slow)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "%.80s is too slow: less than %" PRIu64
				    " bytes a second for %u s",
				    c->url, t->pace.bytes_s, t->pace.s);
	if (code == CURLE_OPERATION_TIMEDOUT || t->silent)
		return ux_error_set(err, UX_EUNAVAILABLE, "%.80s: deadline exceeded", c->url);
	t->answer->untrusted =
		client_lacks_roots(c, code) || code == CURLE_PEER_FAILED_VERIFICATION;
	if (client_lacks_roots(c, code))
		return ux_error_set(
			err, UX_EUNAVAILABLE,
			"cannot verify %.60s: no root certificates; install ca-certificates, or set SSL_CERT_FILE",
			c->url);
	if (code == CURLE_PEER_FAILED_VERIFICATION && !c->cafile)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "cannot trust %.50s: %.50s; --cacert FILE names other roots",
				    c->url, words[0] != '\0' ? words : curl_easy_strerror(code));
	return ux_error_set(err, UX_EUNAVAILABLE, "cannot reach %.60s: %.80s", c->url,
			    client_reason(c, code, words, system, sizeof(system)));
}

/*
 * Reads a challenge. A server may offer several ways to authenticate, each in a header of its own.
 */
static void client_read_challenge(CURL *curl, struct ux_http_answer *answer)
{
	struct curl_header *h = NULL;
	for (size_t i = 0;
	     curl_easy_header(curl, "WWW-Authenticate", i, CURLH_HEADER, -1, &h) == CURLHE_OK; i++)
		if (answer->authenticate[0] == '\0' || strncasecmp(h->value, "Bearer ", 7) == 0)
			snprintf(answer->authenticate, sizeof(answer->authenticate), "%s",
				 h->value);
}

static void client_read_answer(CURL *curl, struct ux_http_answer *answer)
{
	long status = 0;
	curl_off_t retry = 0, length = -1;
	char *location = NULL;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry);
	curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &location);
	curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	answer->status = (unsigned)status;
	if (status == 401)
		client_read_challenge(curl, answer);
	if (status >= 400)
		client_read_value(curl, "Server", answer->software, sizeof(answer->software));
	client_read_entity(curl, answer);
	answer->length = length >= 0 ? (uint64_t)length : UINT64_MAX;
	answer->retry_after_s = (unsigned)ux_min(retry, (curl_off_t)UINT_MAX);
	if (location && strlen(location) < sizeof(answer->location))
		snprintf(answer->location, sizeof(answer->location), "%s", location);
}

/* A client that limits its own rate moves at least half of that. */
static void client_set_pace(const struct ux_http_client *c, struct transfer *t)
{
	uint64_t own = ux_min(c->rate ? c->rate : UINT64_MAX,
			      c->receive_rate ? c->receive_rate : UINT64_MAX);
	uint64_t least =
		t->call->slow_bytes_s ? t->call->slow_bytes_s : (uint64_t)UX_HTTP_SLOW_BYTES_S;
	t->pace.bytes_s = ux_min(least, own / 2);
	t->pace.s = t->call->slow_s ? t->call->slow_s : (unsigned)UX_HTTP_SLOW_S;
}

enum ux_code ux_http_client_call(struct ux_http_client *c, const struct ux_http_call *call,
				 struct ux_http_answer *ret, struct ux_error *err)
{
	char words[CURL_ERROR_SIZE] = "";
	ux_cleanup(ux_free_ptr) char *url = NULL;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct transfer t = {.call = call, .answer = &answer};
	t.answer_max = call->answer_max ? call->answer_max : ANSWER_BYTES;
	t.curl = c->curl;
	t.sink_err = (struct ux_error)UX_ERROR_INIT;
	t.progress_ms = ux_clock_ms();
	client_set_pace(c, &t);
	curl_slist_free_all(ux_take(&c->lines));
	if (asprintf(&url, "%s%s", c->url, call->path) < 0) {
		url = NULL;
		return ux_error_nomem(err);
	}
	if (!client_add_lines(c, call))
		return ux_error_nomem(err);
	client_set_options(c, &t, url, words);
	struct guard guard = {.client = c, .transfer = &t};
	client_set_guard(c->curl, url, &guard);
	CURLcode code = curl_easy_perform(c->curl);
	if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && t.enough)) {
		enum ux_code failure = client_failure(c, &t, code, words, err);
		ret->untrusted = answer.untrusted;
		return failure;
	}
	client_read_answer(c->curl, &answer);
	*ret = answer;
	answer = (struct ux_http_answer){0};
	return UX_OK;
}

char *ux_percent_encode(struct ux_arena *arena, struct ux_bytes s)
{
	static const char digits[] = "0123456789ABCDEF";
	char *text = ux_arena_array(arena, char, s.size * 3 + 1);
	size_t n = 0;
	if (!text)
		return NULL;
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i];
		bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
		if (letter || (c >= '0' && c <= '9') || (c != 0 && strchr("-._~:", c))) {
			text[n++] = (char)c;
			continue;
		}
		text[n++] = '%';
		text[n++] = digits[c >> 4];
		text[n++] = digits[c & 15];
	}
	text[n] = '\0';
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the server: query, announce, send, finish. */
#include "push_work.h"

#include "clock.h"
#include "json_out.h"
#include "retry.h"
#include "server_answer.h"

#include <nettle/sha2.h>

#include "text.h"

enum {
	FINISH_TRIES = 4,     /* how often bytes that the server lost are sent again */
	PATIENT_TRIES = 8,    /* attempts with which a caller waits for a busy server to the end */
	CALL_MS = 60000,      /* timeout of a call without a large body */
	CHUNK_MIN = 64 << 10, /* smallest chunk; bounds the size that the server proposes */
	CHUNK_MAX = 256 << 20,
	TEXT_MAX = 1000, /* bytes of a description or file name, as limited by the server */
	UID_SIZE = 33,
};

enum ux_code ux_push_client_open(struct ux_push_client *c, const struct ux_push_options *o,
				 struct ux_error *err)
{
	struct ux_http_client_options options = {.url = o->url,
						 .token = o->token,
						 .cafile = o->cacert,
						 .proxy = o->proxy,
						 .rate = o->rate};
	c->options = o;
	c->timeout_ms = o->timeout_ms;
	c->deadline_ms = ux_clock_ms() + o->timeout_ms;
	c->tries = o->retries + 1;
	return ux_http_client_create(&c->http, &options, err);
}

enum ux_code ux_push_client_share(struct ux_push_client *c, const struct ux_push_options *o,
				  const struct ux_push_client *other, struct ux_error *err)
{
	UX_TRY(ux_push_client_open(c, o, err));
	c->deadline_ms = other->deadline_ms;
	c->direct.off_until_ms = other->direct.off_until_ms;
	return UX_OK;
}

void ux_push_client_close(struct ux_push_client *c)
{
	if (c->http)
		ux_http_client_destroy(c->http);
	c->http = NULL;
	ux_push_direct_close(&c->direct);
}

/* Facts in the server's answer that decide about a retry. */
struct call_notes {
	char word[32];          /* code in the error document; "": none */
	unsigned status;        /* HTTP status; 0: no answer */
	unsigned retry_after_s; /* the server's Retry-After; 0: none */
	bool untrusted;         /* see struct ux_http_answer */
};

static struct ux_retry client_retry(const struct ux_push_client *c)
{
	return (struct ux_retry){.max = c->tries, .deadline_ms = c->deadline_ms};
}

/* Returns the failure for a push that exceeded its timeout. */
static enum ux_code client_timed_out(const struct ux_push_client *c, struct ux_error *err)
{
	return ux_error_set(err, UX_EUNAVAILABLE,
			    "push exceeded its timeout of %" PRId64 " s; raise it with --timeout",
			    c->timeout_ms / 1000);
}

/* Makes one attempt. Returns the document of a 2xx answer, or the error. */
static enum ux_code client_try(const struct ux_push_client *c, struct ux_http_call call,
			       json_t **ret, struct call_notes *notes, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	int64_t left = c->deadline_ms - ux_clock_ms();
	*notes = (struct call_notes){0};
	if (left <= 0)
		return client_timed_out(c, err);
	call.timeout_ms = call.timeout_ms ? ux_min(call.timeout_ms, left) : left;
	enum ux_code code = ux_http_client_call(c->http, &call, &answer, err);
	notes->untrusted = answer.untrusted;
	UX_TRY(code);
	notes->status = answer.status;
	notes->retry_after_s = answer.retry_after_s;
	ux_server_error_word(&answer, notes->word, sizeof(notes->word));
	return ux_server_answer(&answer, ret, err);
}

/*
 * Returns whether the call should be repeated no matter how often it has failed. An earlier request
 * of this process, whose connection broke, may still hold or finish the upload; that ends by
 * itself. A server that limits its clients, is being restarted or lacks its index says when to
 * retry; a caller that permits few attempts does not want to wait for the latter two.
 */
static bool client_is_busy(const struct ux_push_client *c, const struct call_notes *notes)
{
	return strcmp(notes->word, "busy") == 0 || notes->status == 429 ||
	       (notes->status == 503 && notes->retry_after_s > 0 && c->tries >= PATIENT_TRIES);
}

/* Waits before the next attempt, after a temporary failure. False: there is no further attempt. */
static bool client_again(const struct ux_push_client *c, struct ux_retry *retry,
			 const struct call_notes *notes, const struct ux_error *why)
{
	bool first = retry->pauses == 0;
	if (notes->untrusted)
		return false;
	int64_t ms = ux_retry_next(retry, client_is_busy(c, notes), notes->retry_after_s);
	if (ms == UX_RETRY_NONE)
		return false;
	if (first && c->options->retrying)
		c->options->retrying(c->options->ctx, why);
	ux_retry_wait(ms);
	return true;
}

/* Repeats client_try() while the server cannot be reached or is busy. */
static enum ux_code client_request(const struct ux_push_client *c, const struct ux_http_call *call,
				   json_t **ret, struct call_notes *notes, struct ux_error *err)
{
	struct ux_retry retry = client_retry(c);
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = client_try(c, *call, ret, notes, &why);
		if (code == UX_OK)
			return UX_OK;
		bool passes = code == UX_EUNAVAILABLE || client_is_busy(c, notes);
		if (passes && client_again(c, &retry, notes, &why))
			continue;
		if (code == UX_EUNAVAILABLE && ux_clock_ms() >= c->deadline_ms)
			return client_timed_out(c, err);
		*err = err->code == UX_OK ? why : *err;
		return code;
	}
}

static const char *query_text(json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));
	return text ? text : "";
}

static void answer_set_reason(struct ux_push_answer *a, const char *reason)
{
	snprintf(a->reason, sizeof(a->reason), "%s", reason);
}

static void query_write_ids(struct ux_json *j, const struct ux_id_set *ids)
{
	char text[UX_ID_TEXT];
	ux_json_key(j, "ids");
	ux_json_array_begin(j);
	for (size_t i = 0; i < ids->size; i++)
		ux_json_cstr(j, ux_id_format(&ids->ids[i], text));
	ux_json_array_end(j);
}

static void query_write_trust(struct ux_json *j, enum ux_trust trust)
{
	if (trust != UX_TRUST_NONE)
		ux_json_key_cstr(j, "trust", ux_trust_name(trust));
}

static void query_write(const struct ux_push_query_entry *entries, size_t n, bool force,
			struct ux_out *out)
{
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "modules");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < n; i++) {
		ux_json_object_begin(&j);
		query_write_ids(&j, entries[i].ids);
		ux_json_key_cstr(&j, "quality", ux_quality_name(entries[i].quality));
		query_write_trust(&j, entries[i].trust);
		ux_json_object_end(&j);
	}
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "force", force);
	ux_json_object_end(&j);
}

static bool answer_quality(const char *word, enum ux_quality *ret)
{
	for (unsigned q = 0; q < UX_QUALITY_COUNT; q++) {
		if (strcmp(ux_quality_name((enum ux_quality)q), word) != 0)
			continue;
		*ret = (enum ux_quality)q;
		return true;
	}
	return false;
}

static enum ux_code answer_read_verdict(json_t *answer, struct ux_push_answer *ret,
					struct ux_error *err)
{
	static const struct {
		const char *word;
		enum ux_push_verdict verdict;
	} words[] = {
		{"wanted", UX_PUSH_WANTED},
		{"uploaded", UX_PUSH_UPLOADED},
		{"already-there", UX_PUSH_ALREADY_THERE},
		{"better-there", UX_PUSH_BETTER_THERE},
		{"pending", UX_PUSH_PENDING},
		{"invalid", UX_PUSH_REFUSED},
	};
	const char *status = query_text(answer, "status");
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (strcmp(words[i].word, status) != 0)
			continue;
		ret->verdict = words[i].verdict;
		answer_set_reason(ret, query_text(answer, "reason"));
		ret->has_quality = answer_quality(query_text(answer, "quality"), &ret->quality);
		return UX_OK;
	}
	return ux_error_set(err, UX_EUNSUPPORTED, "server sent the unknown status \"%.32s\"",
			    status);
}

static enum ux_code query_send(struct ux_push_client *c, const struct ux_push_query_entry *entries,
			       size_t n, bool force, struct ux_push_answer *answers,
			       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct call_notes notes;
	query_write(entries, n, force, &body);
	UX_TRY(ux_out_status(&body, err));
	struct ux_http_call call = {
		.method = UX_METHOD_POST,
		.path = "/v1/query",
		.type = "application/json",
		.body = ux_out_bytes(&body),
		.timeout_ms = CALL_MS,
	};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = client_request(c, &call, &doc, &notes, &why);
	if (code == UX_EINVAL) /* the server is not an unhex server: not an error of the caller */
		return ux_error_set(err, UX_EUNSUPPORTED, "%s", why.text);
	if (code != UX_OK) {
		*err = err->code == UX_OK ? why : *err;
		return code;
	}
	json_t *list = json_object_get(doc, "answers");
	if (json_array_size(list) != n)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "server sent %zu answers to a query for %zu modules",
				    json_array_size(list), n);
	for (size_t i = 0; i < n; i++)
		UX_TRY(answer_read_verdict(json_array_get(list, i), &answers[i], err));
	return UX_OK;
}

enum ux_code ux_push_query(struct ux_push_client *c, const struct ux_push_query_entry *entries,
			   size_t n, bool force, struct ux_push_answer *answers,
			   struct ux_error *err)
{
	for (size_t at = 0; at < n; at += UX_PUSH_QUERY_MAX) {
		size_t some = ux_min(n - at, (size_t)UX_PUSH_QUERY_MAX);
		UX_TRY(query_send(c, entries + at, some, force, answers + at, err));
	}
	return UX_OK;
}

/* State of one upload. */
struct transfer {
	struct ux_push_client *c;
	const struct ux_push_upload *upload;
	char uid[UID_SIZE];
	uint64_t offset; /* bytes that the server has received */
	uint64_t chunk;  /* chunk size in bytes */
	/* where the bucket accepts the next bytes; NULL: it accepts none */
	json_t *direct;
	struct call_notes notes; /* from the last answer */
};

static void transfer_deinit(struct transfer *t)
{
	json_decref(t->direct);
}

static enum ux_code upload_read_state(struct transfer *t, json_t *doc, struct ux_error *err)
{
	json_int_t offset = json_integer_value(json_object_get(doc, "offset"));
	json_int_t chunk = json_integer_value(json_object_get(doc, "chunk_size"));
	const char *uid = query_text(doc, "uid");
	if (offset < 0 || (uint64_t)offset > t->upload->bytes.size || strlen(uid) != UID_SIZE - 1 ||
	    strspn(uid, "0123456789abcdef") != UID_SIZE - 1)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "server sent an inconsistent upload state");
	memcpy(t->uid, uid, UID_SIZE);
	t->offset = (uint64_t)offset;
	json_decref(t->direct);
	t->direct = json_incref(json_object_get(doc, "direct"));
	t->chunk = (uint64_t)ux_min(ux_max(chunk, (json_int_t)CHUNK_MIN), (json_int_t)CHUNK_MAX);
	return UX_OK;
}

static enum ux_code upload_get_state(struct transfer *t, const struct ux_http_call *call,
				     struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	UX_TRY(client_request(t->c, call, &doc, &t->notes, err));
	return upload_read_state(t, doc, err);
}

/* Returns the longest prefix of the text that the server accepts, cut at a character boundary. */
static struct ux_bytes upload_file_name(const char *text)
{
	struct ux_bytes s = ux_bytes_cstr(text);
	if (s.size <= TEXT_MAX)
		return s;
	s.size = TEXT_MAX;
	while (s.size > 0 && (s.data[s.size] & 0xc0) == 0x80)
		s.size--;
	return s;
}

static enum ux_code upload_announce(struct transfer *t, struct ux_error *err)
{
	const struct ux_push_upload *u = t->upload;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hex[2 * SHA256_DIGEST_SIZE + 1];
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, u->bytes.size, u->bytes.data);
	sha256_digest(&sha, sizeof(digest), digest);
	ux_hex_encode(ux_bytes(digest, sizeof(digest)), hex);
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	struct ux_json j = ux_json_make(&body);
	ux_json_object_begin(&j);
	query_write_ids(&j, u->ids);
	ux_json_key_u64(&j, "size", u->bytes.size);
	ux_json_key_cstr(&j, "sha256", hex);
	ux_json_key_cstr(&j, "kind", u->kind);
	ux_json_key_cstr(&j, "quality", ux_quality_name(u->quality));
	query_write_trust(&j, u->trust);
	ux_json_key_str(&j, "description", upload_file_name(u->description));
	for (int i = 0; u->provenance && i < UX_PROVENANCE_COUNT; i++) {
		const enum ux_provenance_fact fact = (enum ux_provenance_fact)i;
		const char *text = ux_provenance_get(u->provenance, fact);
		if (text[0] != '\0')
			ux_json_key_str(&j, ux_provenance_name(fact), upload_file_name(text));
	}
	ux_json_key_str(&j, "file", upload_file_name(u->file));
	ux_json_key_bool(&j, "force", u->force);
	ux_json_key_bool(&j, "skip_known", true);
	ux_json_key_bool(&j, "resume", true);
	ux_json_key_bool(&j, "direct", !ux_push_direct_is_off(t->c));
	ux_json_object_end(&j);
	UX_TRY(ux_out_status(&body, err));
	struct ux_http_call call = {
		.method = UX_METHOD_POST,
		.path = "/v1/uploads",
		.type = "application/json",
		.body = ux_out_bytes(&body),
		.timeout_ms = CALL_MS,
	};
	return upload_get_state(t, &call, err);
}

/* Sends the next chunk, in one attempt. */
static enum ux_code upload_send_piece(struct transfer *t, struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	char path[96];
	struct ux_bytes bytes = t->upload->bytes;
	size_t n = (size_t)ux_min(t->chunk, bytes.size - t->offset);
	snprintf(path, sizeof(path), "/v1/uploads/%s?offset=%" PRIu64, t->uid, t->offset);
	if (t->c->sends)
		t->c->sends(t->c->sends_ctx, t->c, n);
	struct ux_http_call call = {
		.method = UX_METHOD_PUT,
		.path = path,
		.type = "application/octet-stream",
		.body = ux_bytes(bytes.data + t->offset, n),
	};
	UX_TRY(client_try(t->c, call, &doc, &t->notes, err));
	if (t->c->sent)
		t->c->sent(t->c->sent_ctx, n);
	return upload_read_state(t, doc, err);
}

static enum ux_code upload_get_offset(struct transfer *t, struct ux_error *err)
{
	char path[64];
	snprintf(path, sizeof(path), "/v1/uploads/%s%s", t->uid,
		 t->direct && !ux_push_direct_is_off(t->c) ? "?direct=1" : "");
	struct ux_http_call call = {.method = UX_METHOD_GET, .path = path, .timeout_ms = CALL_MS};
	return upload_get_state(t, &call, err);
}

/*
 * Sends to the bucket, as far as the server offers it and the bucket takes it. The server says how
 * many bytes have arrived.
 */
static enum ux_code upload_send_direct(struct transfer *t, struct ux_error *err)
{
	struct ux_bytes bytes = t->upload->bytes;
	while (t->direct && t->offset < bytes.size) {
		uint64_t before = t->offset;
		if (ux_push_direct_send(t->c, t->direct, bytes, before) == 0)
			return UX_OK;
		UX_TRY(upload_get_offset(t, err));
		if (t->offset <= before) /* it arrived in a bucket that the server does not use */
			ux_push_direct_give_up(t->c);
	}
	return UX_OK;
}

/*
 * Sends all chunks. After a broken connection the server's offset is queried and sending continues
 * there, as long as each attempt makes progress.
 */
static enum ux_code upload_send_all(struct transfer *t, struct ux_error *err)
{
	struct ux_retry retry = client_retry(t->c);
	UX_TRY(upload_send_direct(t, err));
	while (t->offset < t->upload->bytes.size) {
		uint64_t before = t->offset;
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = upload_send_piece(t, &why);
		if (code == UX_OK && t->offset <= before)
			code = ux_error_set(&why, UX_EUNSUPPORTED,
					    "server accepted a piece, but its upload did not grow");
		if (code == UX_OK) {
			ux_retry_reset(&retry);
			continue;
		}
		bool passes = code == UX_EUNAVAILABLE || code == UX_ECONFLICT;
		if (!passes || !client_again(t->c, &retry, &t->notes, &why)) {
			*err = err->code == UX_OK ? why : *err;
			return code;
		}
		UX_TRY(upload_get_offset(t, err));
		if (t->offset > before)
			ux_retry_reset(&retry);
	}
	return UX_OK;
}

static enum ux_code upload_finish_once(struct transfer *t, struct ux_push_answer *ret,
				       struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	char path[64];
	snprintf(path, sizeof(path), "/v1/uploads/%s/finish", t->uid);
	struct ux_http_call call = {.method = UX_METHOD_POST, .path = path};
	UX_TRY(client_request(t->c, &call, &doc, &t->notes, err));
	return answer_read_verdict(doc, ret, err);
}

/* A repeated finish returns the result of the first. */
static enum ux_code upload_wait_finish(struct transfer *t, struct ux_push_answer *ret,
				       struct ux_error *err)
{
	struct ux_retry retry = client_retry(t->c);
	do {
		UX_TRY(upload_finish_once(t, ret, err));
	} while (ret->verdict == UX_PUSH_PENDING &&
		 ux_retry_again(&retry, /* busy= */ true, t->notes.retry_after_s));
	return UX_OK;
}

/*
 * A server that crashed may have fewer bytes than it reported. Then the missing bytes are sent
 * again.
 */
static enum ux_code upload_transfer(struct transfer *t, struct ux_push_answer *ret,
				    struct ux_error *err)
{
	UX_TRY(upload_announce(t, err));
	for (unsigned tries = 1;; tries++) {
		struct ux_error why = UX_ERROR_INIT;
		UX_TRY(upload_send_all(t, err));
		enum ux_code code = upload_wait_finish(t, ret, &why);
		if (code == UX_OK)
			return UX_OK;
		if (strcmp(t->notes.word, "incomplete") != 0 || tries == FINISH_TRIES) {
			*err = err->code == UX_OK ? why : *err;
			return code;
		}
		UX_TRY(upload_get_offset(t, err));
	}
}

enum ux_code ux_push_upload(struct ux_push_client *c, const struct ux_push_upload *upload,
			    struct ux_push_answer *ret, struct ux_error *err)
{
	ux_cleanup(transfer_deinit) struct transfer t = {.c = c, .upload = upload};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = upload_transfer(&t, ret, &why);
	bool damaged = code == UX_EINVAL && strcmp(t.notes.word, "hash_mismatch") == 0;
	bool forgotten = code == UX_ENOTFOUND && t.uid[0] != '\0';
	if (damaged || forgotten) {
		/*
		 * The bytes were damaged in transit and the server has dropped them, or it lost the
		 * announcement in a power cut. Announce and send them once more from the start.
		 */
		why = (struct ux_error)UX_ERROR_INIT;
		code = upload_transfer(&t, ret, &why);
	}
	if (code == UX_OK)
		return UX_OK;
	bool better = strcmp(t.notes.word, "better_there") == 0;
	if (better || code == UX_ECONFLICT || code == UX_EINVAL || code == UX_ELIMIT) {
		ret->verdict = better ? UX_PUSH_BETTER_THERE : UX_PUSH_REFUSED;
		answer_set_reason(ret, why.text);
		return UX_OK;
	}
	*err = err->code == UX_OK ? why : *err;
	return code;
}

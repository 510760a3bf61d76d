/* SPDX-License-Identifier: Apache-2.0 */
/* Maps statuses and error documents to error codes. Source: docs/api/openapi.yaml. */
#include "server_answer.h"

#include "json_out.h"

static json_t *server_answer_parse(const struct ux_http_answer *answer)
{
	return json_loadb((const char *)answer->body.data, answer->body.size, 0, NULL);
}

static enum ux_code server_answer_code(unsigned status)
{
	switch (status) {
	case 401:
	case 403:
		return UX_EDENIED;
	case 404:
		return UX_ENOTFOUND;
	case 409:
		return UX_ECONFLICT;
	case 413:
		return UX_ELIMIT;
	case 408:
	case 429:
	case 500:
	case 502:
	case 503:
	case 504:
		return UX_EUNAVAILABLE;
	default:
		return status >= 500 ? UX_EIO : status >= 400 ? UX_EINVAL : UX_EUNSUPPORTED;
	}
}

/* A server tells programs which header a key goes into; commands send it, and have it from here. */
static enum ux_code server_answer_no_key(const char *message, struct ux_error *err)
{
	const char *how = strstr(message, ": send Authorization");
	size_t n = how ? (size_t)(how - message) : strlen(message);
	return ux_error_set(err, UX_EDENIED, "server says: %.*s (HTTP 401)%s",
			    (int)ux_min(n, (size_t)90), message,
			    how ? ": --token-file FILE or UNHEX_TOKEN" : "");
}

/* unhex says why it refuses: this answer is from a proxy, or from another server. */
static enum ux_code server_answer_foreign(const struct ux_http_answer *answer, enum ux_code code,
					  struct ux_error *err)
{
	const char *help = "";
	if (answer->status == 413)
		help = ": a proxy limits the size of requests; in nginx, raise "
		       "client_max_body_size";
	else if (answer->status == 502 || answer->status == 504)
		help = ": a proxy does not reach the server";
	return ux_error_set(err, code, "%.40s answered HTTP %u%s",
			    answer->software[0] != '\0' ? answer->software : "server",
			    answer->status, help);
}

enum ux_code ux_server_answer(const struct ux_http_answer *answer, json_t **ret,
			      struct ux_error *err)
{
	unsigned status = answer->status;
	json_t *doc = server_answer_parse(answer);
	if (status >= 200 && status < 300 && doc) {
		*ret = doc;
		return UX_OK;
	}
	const char *message =
		json_string_value(json_object_get(json_object_get(doc, "error"), "message"));
	enum ux_code code = server_answer_code(status);
	if (status >= 300 && status < 400)
		code = ux_error_set(err, code, "server redirects to %.100s (HTTP %u)",
				    answer->location, status);
	else if (status < 300)
		code = ux_error_set(err, code, "server answered HTTP %u without JSON", status);
	else if (message && status == 401)
		code = server_answer_no_key(message, err);
	else if (message)
		code = ux_error_set(err, code, "server says: %.110s (HTTP %u)", message, status);
	else
		code = server_answer_foreign(answer, code, err);
	json_decref(doc);
	return code;
}

enum ux_code ux_server_answer_line(const json_t *doc, struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *text = json_dumps(doc, JSON_COMPACT);
	if (!text)
		return ux_error_nomem(err);
	ux_json_copy(out, ux_bytes_cstr(text));
	ux_out_u8(out, '\n');
	return UX_OK;
}

void ux_server_error_word(const struct ux_http_answer *answer, char *word, size_t size)
{
	json_t *doc = server_answer_parse(answer);
	const char *text =
		json_string_value(json_object_get(json_object_get(doc, "error"), "code"));
	snprintf(word, size, "%s", text ? text : "");
	json_decref(doc);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP/HTTP for profiles: bodies of requests and answers. */
#include "otlp_exchange.h"

#include "json_out.h"
#include "otlp_json.h"
#include "packed_file.h"
#include "protobuf.h"

#include <strings.h>

static const char protobuf_type[] = "application/x-protobuf";
static const char json_type[] = "application/json";

/* The values of google.rpc.Code for HTTP statuses. */
enum rpc_code {
	RPC_UNKNOWN = 2,
	RPC_INVALID_ARGUMENT = 3,
	RPC_NOT_FOUND = 5,
	RPC_PERMISSION_DENIED = 7,
	RPC_RESOURCE_EXHAUSTED = 8,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
	RPC_UNAUTHENTICATED = 16,
};

enum otlp_response_field {
	OTLP_PARTIAL_SUCCESS = 1, /* field of ExportProfilesServiceResponse */
	OTLP_ERROR_MESSAGE = 2,   /* field of ExportProfilesPartialSuccess */
};

enum rpc_status_field {
	RPC_STATUS_CODE = 1,
	RPC_STATUS_MESSAGE = 2,
};

/* Returns whether `value` is this content type, with or without parameters. */
static bool otlp_type_is(struct ux_bytes value, const char *type)
{
	const size_t n = strlen(type);
	if (value.size < n || strncasecmp((const char *)value.data, type, n) != 0)
		return false;
	return value.size == n || value.data[n] == ';' || value.data[n] == ' ';
}

static bool otlp_is_json(const struct ux_request *req)
{
	struct ux_bytes type;
	return ux_request_header(req, "Content-Type", &type) && otlp_type_is(type, json_type);
}

const char *ux_otlp_type(const struct ux_request *req)
{
	return otlp_is_json(req) ? json_type : protobuf_type;
}

/* --- requests --------------------------------------------------------------------------------- */

void ux_otlp_body_deinit(struct ux_otlp_body *b)
{
	if (b->quota)
		b->quota->bytes -= b->plain.bytes.size;
	ux_file_unmap(&b->plain);
	ux_out_deinit(&b->converted);
	*b = (struct ux_otlp_body){0};
}

static enum ux_code otlp_unsupported(struct ux_request *req, struct ux_response *res,
				     const char *what, struct ux_bytes found)
{
	res->status = 415;
	return ux_error_set(&req->err, UX_EUNSUPPORTED, "%s '%.*s'", what,
			    (int)ux_min(found.size, (size_t)60), (const char *)found.data);
}

/* Decompresses the body. Its memory counts for the quota of the answer. */
static enum ux_code otlp_body_inflate(struct ux_request *req, struct ux_otlp_body *b)
{
	if (req->body.size == 0)
		return UX_OK;
	UX_TRY(ux_packed_inflate(req->body, (size_t)req->body_max, &b->plain, &req->err));
	b->message = b->plain.bytes;
	size_t bytes = req->answer.bytes + b->plain.bytes.size;
	enum ux_code code =
		req->answer.may ? req->answer.may(&req->answer, bytes, /* try= */ false) : UX_OK;
	if (code != UX_OK)
		return code;
	b->quota = &req->answer;
	req->answer.bytes = bytes;
	return UX_OK;
}

/* Converts JSON to protobuf, which all later steps read. */
static enum ux_code otlp_body_convert(struct ux_request *req, struct ux_otlp_body *b)
{
	b->json = b->message;
	UX_TRY(ux_otlp_json_convert(b->json, &b->converted, &req->err));
	b->message = ux_out_bytes(&b->converted);
	return UX_OK;
}

enum ux_code ux_otlp_body_read(struct ux_request *req, struct ux_response *res,
			       struct ux_otlp_body *ret)
{
	struct ux_bytes type = UX_STR(""), coding = UX_STR("identity");
	(void)ux_request_header(req, "Content-Type", &type);
	(void)ux_request_header(req, "Content-Encoding", &coding);
	*ret = (struct ux_otlp_body){.message = req->body, .converted.quota = &req->answer};
	if (!otlp_type_is(type, protobuf_type) && !otlp_type_is(type, json_type))
		return otlp_unsupported(
			req, res, "expected application/x-protobuf or application/json, not", type);
	if (otlp_type_is(coding, "gzip") || otlp_type_is(coding, "zstd"))
		UX_TRY(otlp_body_inflate(req, ret));
	else if (!otlp_type_is(coding, "identity"))
		return otlp_unsupported(req, res, "expected gzip, zstd or no encoding, not",
					coding);
	return otlp_is_json(req) ? otlp_body_convert(req, ret) : UX_OK;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void otlp_put_warning(struct ux_out *out, const char *warning)
{
	ux_cleanup(ux_out_deinit) struct ux_out inner = {0};
	ux_protobuf_put_bytes(&inner, OTLP_ERROR_MESSAGE, ux_bytes_cstr(warning));
	ux_protobuf_put_message(out, OTLP_PARTIAL_SUCCESS, &inner);
}

static void otlp_put_json_warning(struct ux_json *j, const char *warning)
{
	ux_json_key(j, "partialSuccess");
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "errorMessage", warning);
	ux_json_object_end(j);
}

enum ux_code ux_otlp_accept(struct ux_request *req, struct ux_response *res, const char *warning)
{
	ux_out_reset(&req->out);
	if (otlp_is_json(req)) {
		struct ux_json j = ux_json_make(&req->out);
		ux_json_object_begin(&j);
		if (warning)
			otlp_put_json_warning(&j, warning);
		ux_json_object_end(&j);
	} else if (warning) {
		otlp_put_warning(&req->out, warning);
	}
	return ux_response_out(req, res, ux_otlp_type(req));
}

static enum rpc_code otlp_rpc_code(unsigned status)
{
	switch (status) {
	case 400:
	case 415:
	case 422:
		return RPC_INVALID_ARGUMENT;
	case 401:
		return RPC_UNAUTHENTICATED;
	case 403:
		return RPC_PERMISSION_DENIED;
	case 404:
		return RPC_NOT_FOUND;
	case 413:
	case 429:
		return RPC_RESOURCE_EXHAUSTED;
	case 501:
		return RPC_UNIMPLEMENTED;
	case 503:
		return RPC_UNAVAILABLE;
	default:
		return status >= 500 ? RPC_INTERNAL : RPC_UNKNOWN;
	}
}

void ux_otlp_error(struct ux_request *req, struct ux_response *res)
{
	const char *message = res->message ? res->message : "";
	ux_out_reset(&req->out);
	if (otlp_is_json(req)) {
		struct ux_json j = ux_json_make(&req->out);
		ux_json_object_begin(&j);
		ux_json_key_u64(&j, "code", otlp_rpc_code(res->status));
		ux_json_key_cstr(&j, "message", message);
		ux_json_object_end(&j);
	} else {
		ux_protobuf_put_uint(&req->out, RPC_STATUS_CODE, otlp_rpc_code(res->status));
		ux_protobuf_put_bytes(&req->out, RPC_STATUS_MESSAGE, ux_bytes_cstr(message));
	}
	res->type = ux_otlp_type(req);
	res->body = req->out.failed ? UX_BYTES_NONE : ux_out_bytes(&req->out);
}

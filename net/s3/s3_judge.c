/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the answer to a request: S3's success, S3's refusal, or not S3's. Proxies, pages of logins
 * and of maintenance answer in place of the store, with any status. Such an answer says nothing
 * about an object, so it is a temporary failure.
 */
#include "s3_answer.h"
#include "s3_request.h"

enum {
	NOT_IMPLEMENTED = 501,
};

static bool s3_is_passing(unsigned status, const char *code)
{
	return (status >= 500 && status != NOT_IMPLEMENTED) || status == 429 || status == 408 ||
	       strcmp(code, "RequestTimeout") == 0 || strcmp(code, "SlowDown") == 0 ||
	       strcmp(code, "InternalError") == 0 || strcmp(code, "ServiceUnavailable") == 0;
}

static enum ux_code s3_code_of(unsigned status, const char *code)
{
	/* A missing bucket does not mean that the object is lost. */
	if (s3_is_passing(status, code) || strcmp(code, "NoSuchBucket") == 0)
		return UX_EUNAVAILABLE;
	switch (status) {
	case 404:
		return UX_ENOTFOUND;
	case 401:
	case 403:
		return UX_EDENIED;
	case 409:
	case 412:
		return UX_ECONFLICT;
	case 416:
		return UX_ECORRUPT;
	case NOT_IMPLEMENTED:
		return UX_EUNSUPPORTED;
	default:
		return UX_EIO;
	}
}

/* Makes the error of an answer that is not a success. HEAD has no body: its status has to do. */
static enum ux_code s3_refused(const struct ux_s3 *s3, const struct ux_s3_request *r,
			       const struct ux_http_answer *answer, const struct ux_s3_answer *said,
			       bool *ret_again, struct ux_error *err)
{
	bool foreign = said->code[0] == '\0' && r->method != UX_METHOD_HEAD &&
		       answer->status != NOT_IMPLEMENTED;
	enum ux_code code = foreign ? UX_EUNAVAILABLE : s3_code_of(answer->status, said->code);
	*ret_again = foreign || s3_is_passing(answer->status, said->code);
	return ux_error_set(err, code, "%s %.50s: %u%s%.32s%s%.40s", ux_method_name(r->method),
			    r->key ? r->key : ux_s3_place(s3), answer->status,
			    foreign ? ", without a code of S3" : (said->code[0] != '\0' ? " " : ""),
			    said->code, said->request[0] != '\0' ? ", request " : "",
			    said->request);
}

const char *ux_s3_foreign(const struct ux_s3_request *r, const struct ux_http_answer *answer)
{
	if (strncasecmp(answer->type, "text/html", strlen("text/html")) == 0)
		return "is an HTML page";
	return r->tagged && answer->etag[0] == '\0' ? "has no ETag" : NULL;
}

static enum ux_code s3_check(const struct ux_s3 *s3, const struct ux_s3_request *r,
			     const struct ux_http_answer *answer, const struct ux_s3_answer *said,
			     bool *ret_again, struct ux_error *err)
{
	const char *foreign = ux_s3_foreign(r, answer);
	if (!foreign && r->root && strcmp(said->root, r->root) != 0)
		foreign = "has not the expected document";
	*ret_again = foreign != NULL;
	return !foreign ? UX_OK
			: ux_error_set(err, UX_EUNAVAILABLE, "%s %.50s: %u, but the answer %s",
				       ux_method_name(r->method), r->key ? r->key : ux_s3_place(s3),
				       answer->status, foreign);
}

enum ux_code ux_s3_judge(const struct ux_s3 *s3, const struct ux_s3_request *r,
			 const struct ux_http_answer *answer, bool *ret_again, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_s3_answer *said = calloc(1, sizeof(*said));
	*ret_again = false;
	if (!said)
		return ux_error_nomem(err);
	bool fine = answer->status >= 200 && answer->status < 300;
	if ((!fine || r->root) &&
	    ux_s3_answer_read(ux_out_bytes(&answer->body), said, NULL, NULL, NULL) != UX_OK)
		*said = (struct ux_s3_answer){0};
	if (fine && r->root && strcmp(said->root, "Error") == 0)
		fine = false;
	return fine ? s3_check(s3, r, answer, said, ret_again, err)
		    : s3_refused(s3, r, answer, said, ret_again, err);
}

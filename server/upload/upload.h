/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the handlers of uploads and of the queries before them. */
#ifndef UX_UPLOAD_H
#define UX_UPLOAD_H

#include "cursor.h"
#include "json_out.h"
#include "request_values.h"
#include "server.h"
#include "text.h"

/* Finds the upload named in the request's path. UX_ENOTFOUND: no such upload in this namespace. */
enum ux_code ux_upload_of(struct ux_request *req, struct ux_upload *ret) ux_must;

/*
 * Finds an upload of the namespace and, if it is open, opens its part. *ret_word: the code of the
 * error document, or unchanged. Otherwise like ux_upload_hold().
 */
enum ux_code ux_upload_open(struct ux_server *s, const char *ns, const char *uid,
			    struct ux_arena *arena, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size,
			    const char **ret_word, struct ux_error *err) ux_must;

/*
 * Finds the upload and, if it is open, opens its part, which the caller closes; until then no other
 * request can write to it or end it. *ret_part is NULL for an upload that has ended. UX_ECONFLICT
 * with the code "busy": another request has the part open, so the client may retry.
 */
enum ux_code ux_upload_hold(struct ux_request *req, struct ux_response *res, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size) ux_must;

/*
 * Ends an open upload whose bytes are already a ready or pending candidate of its module, so that
 * they need not be sent. True if it ended; *up is then updated.
 */
bool ux_upload_is_known(struct ux_request *req, struct ux_upload *up);

/*
 * Writes the state of an upload as JSON; direct: with URLs of the bucket, if the settings say so.
 */
enum ux_code ux_upload_answer(struct ux_request *req, struct ux_response *res,
			      const struct ux_upload *up, uint64_t offset, bool direct) ux_must;

/* Adds the header Upload-Offset: the offset at which the client has to continue. */
void ux_upload_offset_field(struct ux_request *req, struct ux_response *res, uint64_t offset);

/*
 * Gets the level of trust of a caller's symbols: the claim ("": "ci"), or the level of its key if
 * that is lower. UX_EINVAL: there is no such level.
 */
enum ux_code ux_request_trust(struct ux_request *req, struct ux_bytes claim, enum ux_trust *ret)
	ux_must;

/* --- the JSON of POST /v1/query --------------------------------------------------------------- */

/* An entry of a query: an ID, or all IDs of a module. */
struct ux_query {
	struct ux_bytes id; /* its first ID, as the client sent it */
	const char **ids;   /* canonical */
	size_t n_ids;       /* 0: invalid */
	enum ux_quality quality;
	bool has_quality;      /* the request has "quality" */
	struct ux_bytes trust; /* its "trust"; "": it has none */
	enum ux_trust level;   /* of the caller and that */
	bool is_other;         /* agents found another file with its build ID */
	const char *invalid;   /* reason why it cannot be answered; NULL: it can */
};

/* A request whose entries are read one after the other, in place. The body must live as long. */
struct ux_query_request {
	bool force;
	bool modules;       /* its entries are modules, not IDs */
	size_t left;        /* entries not yet read */
	size_t passed;      /* entries read */
	struct ux_cur next; /* before the next entry */
};

/* Checks everything but the IDs and qualities of single entries. UX_EINVAL, UX_ELIMIT. */
enum ux_code ux_query_request_parse(struct ux_query_request *q, struct ux_bytes body,
				    struct ux_error *err) ux_must;

/*
 * Reads the next entry; there must be one. Its IDs are in the arena, as is the error of an invalid
 * one. UX_ENOMEM, UX_ELIMIT: the arena is full.
 */
enum ux_code ux_query_request_next(struct ux_query_request *q, struct ux_arena *arena,
				   struct ux_query *ret, struct ux_error *err) ux_must;

/* Writes the durations of the stages of uploads in the format of Prometheus. */
void ux_upload_metrics(struct ux_server *s, struct ux_out *out);

/* --- routes ----------------------------------------------------------------------------------- */

/* POST /v1/query; /v1/uploads, /v1/uploads/{uid} and /v1/uploads/{uid}/finish. */
ux_handler_fn ux_handle_query;
ux_handler_fn ux_handle_upload_announce, ux_handle_upload_state, ux_handle_upload_begin,
	ux_handle_upload_data, ux_handle_upload_finish;

#endif

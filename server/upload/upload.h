/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of an upload share. */
#ifndef UX_UPLOAD_H
#define UX_UPLOAD_H

#include "text.h"
#include "json_out.h"
#include "server.h"

/* The upload that the request's path names. UX_ENOTFOUND, also for one of another namespace. */
enum ux_code ux_upload_of(struct ux_request *req, struct ux_upload *ret) ux_must;

/*
 * The same, and while it is open its part, which the caller closes; until then no other request
 * writes to it or ends it. *ret_part is NULL for an upload that has ended. UX_ECONFLICT with
 * the code "busy": another request has the part, so the client may retry.
 */
enum ux_code ux_upload_hold(struct ux_request *req, struct ux_response *res, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size) ux_must;

/*
 * Ends an open upload whose bytes are already a candidate of its module, ready or pending, so
 * that they need not be sent. True when it has ended, with *up updated.
 */
bool ux_upload_is_known(struct ux_request *req, struct ux_upload *up);

/* Writes the state of an upload as JSON. */
enum ux_code ux_upload_answer(struct ux_request *req, struct ux_response *res,
			      const struct ux_upload *up, uint64_t offset) ux_must;

/* Adds the header Upload-Offset: where the client has to go on. */
void ux_upload_offset_field(struct ux_request *req, struct ux_response *res, uint64_t offset);

/* POST /v1/query; /v1/uploads, /v1/uploads/{uid} and /v1/uploads/{uid}/finish. */
ux_handler_fn ux_handle_query;
ux_handler_fn ux_handle_upload_announce, ux_handle_upload_state, ux_handle_upload_begin,
	ux_handle_upload_data, ux_handle_upload_finish;

#endif

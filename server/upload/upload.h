/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of an upload share. */
#ifndef UX_UPLOAD_H
#define UX_UPLOAD_H

#include "text.h"
#include "json_out.h"
#include "server.h"

/* The upload that the path names. UX_ENOTFOUND, also for one of another namespace. */
enum ux_code ux_upload_of(struct ux_request *req, struct ux_upload *ret) ux_must;

/*
 * The same, and with it, while it is open, its part, which is the caller's to close: until then
 * nobody else writes to it or ends it. *ret_part is NULL for an upload that has ended. UX_ECONFLICT
 * with the word "busy": another request has the part; asking again is right.
 */
enum ux_code ux_upload_hold(struct ux_request *req, struct ux_response *res, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size) ux_must;

/*
 * Ends an open upload whose bytes a candidate of its module already is, ready or being read: nobody
 * needs to send them. True, and *up as it is now, when it has ended.
 */
bool ux_upload_is_known(struct ux_request *req, struct ux_upload *up);

/* Its state as JSON. */
enum ux_code ux_upload_answer(struct ux_request *req, struct ux_response *res,
			      const struct ux_upload *up, uint64_t offset) ux_must;

/* Tells a client that sent the wrong bytes which ones are expected. */
void ux_upload_offset_field(struct ux_request *req, struct ux_response *res, uint64_t offset);

/* POST /v1/query; /v1/uploads, /v1/uploads/{uid} and /v1/uploads/{uid}/finish. */
ux_handler_fn ux_handle_query;
ux_handler_fn ux_handle_upload_announce, ux_handle_upload_state, ux_handle_upload_begin,
	ux_handle_upload_data, ux_handle_upload_finish;

#endif

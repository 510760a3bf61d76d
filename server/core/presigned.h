/* SPDX-License-Identifier: Apache-2.0 */
/* Presigned URLs: clients get files directly from the bucket, and send them directly to it. */
#ifndef UX_PRESIGNED_H
#define UX_PRESIGNED_H

#include "json_out.h"
#include "server.h"

/*
 * Answers with status 302 and a presigned URL of the blob in the bucket, if the settings allow that
 * for this size. The URL allows only the method of the request, GET or HEAD. False: this server
 * must send the blob itself. That is also the case if the bucket does not answer, because this
 * server may have a copy.
 */
bool ux_presigned_redirect(struct ux_request *req, struct ux_response *res,
			   const struct ux_blob_hash *blob, uint64_t size) ux_must;

/*
 * Writes the member "direct" of an open upload's state: the URLs to which the client may send the
 * next pieces, from offset on. Writes nothing if the settings forbid direct uploads of this size.
 */
void ux_presigned_put_pieces(struct ux_request *req, const struct ux_upload *up, uint64_t offset,
			     struct ux_json *j);

#endif

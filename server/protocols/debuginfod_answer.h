/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of /buildid/... share. */
#ifndef UX_DEBUGINFOD_ANSWER_H
#define UX_DEBUGINFOD_ANSWER_H

#include "server.h"

/* Some bytes of a blob, as a file. */
struct ux_debuginfod_file {
	struct ux_blob_hash blob;
	uint64_t blob_size;
	uint64_t off; /* of what is asked for, in the blob */
	uint64_t size;
	const char *name;    /* path of the file: its last component is told */
	const char *archive; /* that it came in; NULL: in none */
	ux_time created;
};

enum ux_code ux_debuginfod_not_found(struct ux_request *req) ux_must;

/* The path's ID, canonical. Clients send lower-case hex; "gnu:" and other types are for other
 * routes: UX_ENOTFOUND. */
enum ux_code ux_debuginfod_id(struct ux_request *req, const char **ret) ux_must;

/* Its module, which lives like a body, and whose use is noted. UX_ENOTFOUND. */
enum ux_code ux_debuginfod_module(struct ux_request *req, struct ux_module *ret) ux_must;

/* The same as far as it is known: zeroed when nothing is, since others may have it. The ID too. */
enum ux_code ux_debuginfod_some(struct ux_request *req, struct ux_module *ret, const char **ret_id)
	ux_must;

/* Others are asked; the handler ends with what this gives (upstreams.h). */
enum ux_code ux_debuginfod_fetch(struct ux_request *req, struct ux_response *res, const char *id,
				 enum ux_want want, const char *source) ux_must;

/* Answers with the file, a range of it or "you have it", and the headers that clients read. */
enum ux_code ux_debuginfod_answer(struct ux_request *req, struct ux_response *res,
				  const struct ux_debuginfod_file *f) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a server for frames. */
#ifndef UX_REMOTE_LOOKUP_H
#define UX_REMOTE_LOOKUP_H

#include "bytes.h"
#include "demangle.h"
#include "error.h"
#include "out.h"
#include "server_options.h"
#include "unhex/frame.h"
#include "wire.h"

enum {
	UX_REMOTE_BATCH = 10000 /* addresses of one request */
};

struct ux_http_client;
struct json_t; /* of jansson */

/* One module on one server. Zeroed = closed. One thread at a time. */
struct ux_remote {
	struct ux_http_client *client;
	const char *id; /* the caller's */
	enum ux_demangle_mode demangle;
	bool json_only; /* the server does not know the compact form */
	/* The last answer, which frames' strings are in: JSON, or the compact form and its bytes.
	 */
	struct json_t *answer;
	struct ux_out bytes;
	struct ux_wire_read reply;
};

enum ux_code ux_remote_open(struct ux_remote *r, const struct ux_server_choice *server,
			    const char *id, enum ux_demangle_mode demangle, struct ux_error *err)
	ux_must;
void ux_remote_close(struct ux_remote *r);

/* What is asked: an address, or "NAME+OFFSET" where that is not empty. */
struct ux_remote_place {
	uint64_t address;
	struct ux_bytes name;
};

/*
 * Asks for n places (at most UX_REMOTE_BATCH): in the compact form, or in JSON where one has a
 * name. UX_ENOTFOUND: the server has no symbols for the module; UX_EDENIED: it wants a key, or
 * another one; UX_EUNAVAILABLE: also when they are on their way to it; UX_EUNSUPPORTED: what it
 * answered is not what an unhex server answers.
 */
enum ux_code ux_remote_ask(struct ux_remote *r, const struct ux_remote_place *places, size_t n,
			   struct ux_error *err) ux_must;

/* Reads r->bytes, an answer in the compact form to n places; codes as above. */
enum ux_code ux_remote_read(struct ux_remote *r, size_t n, struct ux_error *err) ux_must;

/*
 * The frames of place number i of the last question, at most max; they live until the next one.
 */
size_t ux_remote_frames(const struct ux_remote *r, size_t i, struct ux_frame *frames, size_t max);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a server: symbolizing and explaining. */
#ifndef UX_REMOTE_H
#define UX_REMOTE_H

#include "bytes.h"
#include "common_options.h"
#include "demangle.h"
#include "error.h"
#include "gsym_segments.h"
#include "id.h"
#include "out.h"
#include "runtime_part.h"
#include "unhex/frame.h"
#include "unhex/quality.h"
#include "wire.h"

enum {
	UX_REMOTE_BATCH = 10000 /* addresses per request */
};

struct ux_http_client;
struct json_t; /* of jansson */

/* One module on one server. Zeroed = closed. One thread at a time. */
struct ux_remote {
	struct ux_http_client *client;
	const char *id; /* owned by the caller */
	enum ux_demangle_mode demangle;
	bool json_only; /* the server does not support the compact form */
	/* The last answer, which owns the strings of frames. It is either JSON, or the compact
	 * form and its bytes. */
	struct json_t *answer;
	struct ux_out bytes;
	struct ux_wire_read reply;
};

enum ux_code ux_remote_open(struct ux_remote *r, const struct ux_server_selection *server,
			    const char *id, enum ux_demangle_mode demangle, struct ux_error *err)
	ux_must;
void ux_remote_close(struct ux_remote *r);

/* An address. If name is not empty, it is "NAME+OFFSET" and is used instead. */
struct ux_remote_address {
	uint64_t address;
	struct ux_bytes name;
};

/*
 * Sends a request for n addresses (at most UX_REMOTE_BATCH) in the compact form, or in JSON if one
 * of them has a name. UX_ENOTFOUND: the server has no symbols for the module. UX_EDENIED: it
 * requires a key, or did not accept the one that was sent. UX_EUNAVAILABLE: it cannot be reached,
 * or it is still fetching the symbols. UX_EUNSUPPORTED: the answer is not an unhex server's.
 */
enum ux_code ux_remote_send(struct ux_remote *r, const struct ux_remote_address *addresses,
			    size_t n, struct ux_error *err) ux_must;

/*
 * Appends the server's symbols of the run-time code of a process, sorted. Codes of
 * ux_explain_remote().
 */
enum ux_code ux_remote_find_runtime(const struct ux_server_selection *server, const char *host,
				    uint32_t pid, struct ux_runtime_list *ret, struct ux_error *err)
	ux_must;

/*
 * Finds the modules that have a file with that path, or with that name if it has no slash: writes
 * the first ID of each, at most `max`. Codes of ux_explain_remote().
 */
enum ux_code ux_remote_find_file(const struct ux_server_selection *server, const char *file,
				 struct ux_id *ids, size_t max, size_t *ret_n, struct ux_error *err)
	ux_must;

/*
 * Requests the lowest virtual address of the module's image from the server's GSYM:
 * ux_gsym_image_base(). Codes of that function, of ux_http_client_call() and of ux_server_answer().
 */
enum ux_code ux_remote_image_base(const struct ux_server_selection *server, const char *id,
				  uint64_t *ret, struct ux_error *err) ux_must;

/*
 * Requests the segments of a module's executable code, which are at the end of the server's GSYM.
 * Codes as above. UX_ENOTFOUND also if the GSYM has no segments: an older unhex, or another writer,
 * made it.
 */
enum ux_code ux_remote_segments(const struct ux_server_selection *server, const char *id,
				struct ux_gsym_segments *ret, struct ux_error *err) ux_must;

enum {
	UX_REMOTE_GSYM_MAX = 1 << 30, /* bytes */
};

/* Sets the whole GSYM of a module, whose functions are then searched by name. Codes as above;
 * UX_ELIMIT: it has more than UX_REMOTE_GSYM_MAX bytes. */
enum ux_code ux_remote_gsym(const struct ux_server_selection *server, const char *id,
			    struct ux_out *ret, struct ux_error *err) ux_must;

enum {
	UX_REMOTE_HEAD = 64 << 10, /* bytes; more than the headers of any linker's programs */
};

/*
 * Appends the first UX_REMOTE_HEAD bytes of a module's executable, by the debuginfod route. Codes
 * as above; UX_ENOTFOUND also for an ID that is not a build ID.
 */
enum ux_code ux_remote_executable_head(const struct ux_server_selection *server,
				       const struct ux_id *id, struct ux_out *ret,
				       struct ux_error *err) ux_must;

/* Parses r->bytes, the answer to a request for n addresses in the compact form. Codes of
 * ux_remote_send(). */
enum ux_code ux_remote_read(struct ux_remote *r, size_t n, struct ux_error *err) ux_must;

/* Copies at most max frames of address i of the last request and returns their number. Their
 * strings live until the next request. */
size_t ux_remote_frames(const struct ux_remote *r, size_t i, struct ux_frame *frames, size_t max);

/* Returns the quality of the symbols that answered the last request. */
enum ux_quality ux_remote_quality(const struct ux_remote *r);

/*
 * Sends GET /v1/explain and appends the server's explanation of the ID, or of each pc if there are
 * any, as text or as one JSON object per line. The name may be an abbreviated ID. *ret_found is set
 * if the module, or every pc, was found. Codes of ux_http_client_call(), ux_server_answer() and
 * ux_remote_id_resolve().
 */
enum ux_code ux_explain_remote(const struct ux_server_selection *server, const char *name,
			       const uint64_t *pcs, size_t n, bool json, struct ux_out *out,
			       bool *ret_found, struct ux_error *err) ux_must;

/* Appends the progress of a server's crawls. Codes of ux_explain_remote(). */
enum ux_code ux_crawl_status(const struct ux_server_selection *server, bool json,
			     struct ux_out *out, struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Building the body of a request to an unhex server, and reading the body of its reply. */
#ifndef UNHEX_QUESTION_H
#define UNHEX_QUESTION_H

#include <unhex/api.h>
#include <unhex/demangle.h>
#include <unhex/error.h>
#include <unhex/frame.h>
#include <unhex/quality.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Nothing in this header uses a network. A struct ux_question becomes the body of a POST
 * /v1/symbolize request with the content type below. The body of a response with status 200 and the
 * same content type becomes a struct ux_reply. <unhex/client.h> sends requests with libcurl; any
 * other HTTP client works too. The format is described in docs/formats/symbolize-binary.md.
 */
#define UX_QUESTION_TYPE "application/x-unhex-symbolize"

/* Flags of a question. */
enum {
	/* The addresses are return addresses: the byte before each one is looked up. */
	UX_QUESTION_RETURN_ADDRESSES = 1,
};

/*
 * All zeros but for `size` is the default: linkage names and no deadline. See struct
 * ux_extract_opts for how structs of other versions are handled.
 */
struct ux_question_opts {
	size_t size;         /* sizeof(struct ux_question_opts) */
	uint32_t flags;      /* UX_QUESTION_RETURN_ADDRESSES */
	uint32_t demangle;   /* enum ux_demangle_mode */
	uint32_t timeout_ms; /* ms; when this time has passed, the server replies with the answers
				it has. 0: no deadline. */
};

/* A request that is being built; modules are added to it. Not thread-safe. */
struct ux_question;

/* opts may be NULL. UX_EINVAL: an unknown flag or mode. UX_ENOMEM. Since 0.1. */
UX_API enum ux_code ux_question_create(const struct ux_question_opts *opts,
				       struct ux_question **ret, struct ux_error *err) UX_MUST;

/* Releases the question. q may be NULL. Since 0.1. */
UX_API void ux_question_destroy(struct ux_question *q);

/*
 * Adds a module, given by one of its identities ("gnu:HEX", bare hexadecimal, "go:TEXT", ...), and
 * the virtual addresses in it, as its file has them. Servers accept 10,000 modules and 100,000
 * addresses in one request. UX_EINVAL: the text is not an identity. UX_ENOMEM. On failure the
 * question is unchanged. Since 0.1.
 */
UX_API enum ux_code ux_question_add(struct ux_question *q, const char *id, const uint64_t *pcs,
				    size_t n, struct ux_error *err) UX_MUST;

/*
 * Returns the request body, which is valid until the next call with q. NULL: out of memory. Since
 * 0.1.
 */
UX_API const void *ux_question_bytes(struct ux_question *q, size_t *ret_size);

/* Removes all modules. Since 0.1. */
UX_API void ux_question_clear(struct ux_question *q);

enum ux_module_status {
	UX_MODULE_FOUND,
	UX_MODULE_MISSING, /* no source has symbols for the module */
	UX_MODULE_FAILED,  /* `reason` tells why */
	UX_MODULE_PENDING, /* Its symbols are still being fetched, or the deadline passed: retry. */
};

/* The result for one module of the question. */
struct ux_reply_module {
	enum ux_module_status status;
	enum ux_quality
		quality;    /* quality of the best symbols that exist, when the module was found */
	const char *reason; /* "" when the server gave none */
	uint32_t retry_after_s; /* for a pending module: seconds until a retry makes sense */
	size_t n; /* Number of addresses with an answer: all of them when the module was found and
		     there was enough time, else the first n. */
};

/* A reply that was read. It is immutable, so any number of threads may use it. */
struct ux_reply;

/*
 * Reads a reply's body, which is copied. UX_ECORRUPT: the bytes violate the format.
 * UX_EUNSUPPORTED: they have a different version of the format. UX_ENOMEM. Since 0.1.
 */
UX_API enum ux_code ux_reply_open(const void *bytes, size_t size, struct ux_reply **ret,
				  struct ux_error *err) UX_MUST;

/* Releases the reply and all its strings. r may be NULL. Since 0.1. */
UX_API void ux_reply_close(struct ux_reply *r);

/* Returns the number of modules in the reply, which are in the order of the question. Since 0.1. */
UX_API size_t ux_reply_count(const struct ux_reply *r);

/* Returns module i < ux_reply_count(). Since 0.1. */
UX_API struct ux_reply_module ux_reply_module_at(const struct ux_reply *r, size_t i);

/*
 * Writes the frames of address number `address` of a module, innermost first. When there are more
 * than `max`, the outermost are kept. Returns the number of frames written. 0: nothing is known
 * about this address, or the module has fewer addresses. A frame's offset is not transmitted and is
 * always 0. Since 0.1.
 */
UX_API size_t ux_reply_frames(const struct ux_reply *r, size_t module, size_t address,
			      struct ux_frame *frames, size_t max);

#ifdef __cplusplus
}
#endif
#endif

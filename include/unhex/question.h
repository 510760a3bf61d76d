/* SPDX-License-Identifier: Apache-2.0 */
/* Asking an unhex server for many names at once: what is sent, and what comes back. */
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
 * Nothing in here uses a network: a question becomes bytes, which are the body of a POST
 * /v1/symbolize of the type below, and the body of the answer (of status 200, of the same type)
 * becomes a reply. <unhex/client.h> does that with libcurl, any other way of sending does too. The
 * bytes are described in docs/formats/symbolize-binary.md.
 */
#define UX_QUESTION_TYPE "application/x-unhex-symbolize"

/* Flags of a question. */
enum {
	/* The addresses are where calls return to: the byte before each is looked up. */
	UX_QUESTION_RETURN_ADDRESSES = 1,
};

/* All zeros but for `size`: linkage names, no deadline. See struct ux_extract_opts for versions. */
struct ux_question_opts {
	size_t size;         /* sizeof(struct ux_question_opts) */
	uint32_t flags;      /* UX_QUESTION_RETURN_ADDRESSES */
	uint32_t demangle;   /* enum ux_demangle_mode */
	uint32_t timeout_ms; /* after this the server answers with what it has; 0: when all is done
			      */
};

/* Grows as modules are added. One thread at a time. */
struct ux_question;

/* opts may be NULL. UX_EINVAL: an unknown flag or mode. UX_ENOMEM. Since 0.1. */
UX_API enum ux_code ux_question_create(const struct ux_question_opts *opts,
				       struct ux_question **ret, struct ux_error *err) UX_MUST;

/* NULL is fine. Since 0.1. */
UX_API void ux_question_destroy(struct ux_question *q);

/*
 * One more module, by one of its identities ("gnu:HEX", bare hexadecimal, "go:TEXT", ...), and the
 * virtual addresses in it, as its file has them. Servers take 10,000 modules and 100,000 addresses
 * in all. UX_EINVAL: it is no identity. UX_ENOMEM. The question is as before then. Since 0.1.
 */
UX_API enum ux_code ux_question_add(struct ux_question *q, const char *id, const uint64_t *pcs,
				    size_t n, struct ux_error *err) UX_MUST;

/* What is to be sent; lives until the next call. NULL: memory was short. Since 0.1. */
UX_API const void *ux_question_bytes(struct ux_question *q, size_t *ret_size);

/* Takes all modules out. Since 0.1. */
UX_API void ux_question_clear(struct ux_question *q);

enum ux_module_status {
	UX_MODULE_FOUND,
	UX_MODULE_MISSING, /* no source has symbols of it */
	UX_MODULE_FAILED,  /* with `reason` */
	UX_MODULE_PENDING, /* they are on their way, or the time was over: ask again */
};

/* About one module of the question. */
struct ux_reply_module {
	enum ux_module_status status;
	enum ux_quality quality; /* of the best symbols there are, when found */
	const char *reason;      /* "" when there is none */
	uint32_t retry_after_s;  /* of a pending one: seconds until a retry makes sense */
	size_t n; /* addresses that were answered: all of a module that was found, the first of one
		     for which the time was not enough */
};

/* Immutable: any number of threads may read it. */
struct ux_reply;

/*
 * Reads what a server answered; the bytes are copied. UX_ECORRUPT: they break the form.
 * UX_EUNSUPPORTED: they are of another version. UX_ENOMEM. Since 0.1.
 */
UX_API enum ux_code ux_reply_open(const void *bytes, size_t size, struct ux_reply **ret,
				  struct ux_error *err) UX_MUST;

/* Ends all strings of it. NULL is fine. Since 0.1. */
UX_API void ux_reply_close(struct ux_reply *r);

/* How many modules it is about, in the order of the question. Since 0.1. */
UX_API size_t ux_reply_count(const struct ux_reply *r);

/* Module i < ux_reply_count(). Since 0.1. */
UX_API struct ux_reply_module ux_reply_module_at(const struct ux_reply *r, size_t i);

/*
 * The frames of address `address` of a module, innermost first; of more than `max` the outermost.
 * Returns how many; 0 when nothing is known there, or the module has not so many addresses. Frames'
 * offsets are not sent: 0. Since 0.1.
 */
UX_API size_t ux_reply_frames(const struct ux_reply *r, size_t module, size_t address,
			      struct ux_frame *frames, size_t max);

#ifdef __cplusplus
}
#endif
#endif

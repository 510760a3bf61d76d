/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a package in a confined child while it arrives. Members that can have symbols are written
 * one after the other to a file without a name; the caller frees the space of finished ones.
 */
#ifndef UX_SANDBOX_STREAM_H
#define UX_SANDBOX_STREAM_H

#include "path_canonical.h"
#include "sandbox.h"

enum {
	UX_STREAM_ALIGN = 4096,     /* alignment of members, so that all their pages can be freed */
	UX_STREAM_AHEAD_MAX = 64,   /* members that the caller has not finished... */
	UX_STREAM_WINDOW = 96 << 20 /* ...and their bytes, unless a single one has more */
};

/* A member. */
struct ux_stream_member {
	enum ux_member_kind kind; /* UX_MEMBER_OBJECT, UX_MEMBER_PACKED or UX_MEMBER_GSYM */
	struct ux_sandbox_part part;
	char name[UX_PATH_BYTES]; /* canonical */
};

struct ux_sandbox_stream;

/*
 * Starts the child. identity: see ux_stream_source; it is copied. limits->output bounds the bytes
 * of all members, limits->seconds its processor time. limits, and the fork server in it, must
 * outlive the stream. Codes of ux_sandbox_extract() for a child that cannot be started.
 */
enum ux_code ux_sandbox_stream_start(struct ux_sandbox_stream **ret,
				     const struct ux_sandbox_limits *limits,
				     struct ux_bytes identity, const char *program,
				     struct ux_error *err) ux_must;

/*
 * The socket that takes the bytes of the package, by send() with MSG_NOSIGNAL: EPIPE when the child
 * has ended. The package ends with shutdown(). It stays open until the stream is ended, and may be
 * written by another thread.
 */
int ux_sandbox_stream_input(const struct ux_sandbox_stream *s);

/* Returns whether a member, or the end, is there without waiting. */
bool ux_sandbox_stream_ready(const struct ux_sandbox_stream *s);

/*
 * Waits for the next member. *ret_more false: the package ended, and it was whole. The name and the
 * place of the member are checked; its bytes are untrusted. Codes of ux_member_stream_read() and
 * ux_sandbox_extract().
 */
enum ux_code ux_sandbox_stream_next(struct ux_sandbox_stream *s, struct ux_stream_member *ret,
				    bool *ret_more, struct ux_error *err) ux_must;

/* Lets the child continue, which stops when it is too far ahead. Called once for each member. */
void ux_sandbox_stream_taken(struct ux_sandbox_stream *s, const struct ux_stream_member *m);

/* Frees the disk space of a member. */
void ux_sandbox_stream_release(const struct ux_sandbox_part *part);

/* Ends the child if it still runs. NULL is allowed. */
void ux_sandbox_stream_end(struct ux_sandbox_stream *s);

#endif

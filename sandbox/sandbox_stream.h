/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a package in a confined child while it arrives. The members that can have symbols are
 * written one behind the other to a file without a name, of which the caller gives back what it has
 * dealt with.
 */
#ifndef UX_SANDBOX_STREAM_H
#define UX_SANDBOX_STREAM_H

#include "path_canonical.h"
#include "sandbox.h"

enum {
	UX_STREAM_ALIGN = 4096,     /* members begin at multiples, so that all their pages can go */
	UX_STREAM_AHEAD_MAX = 64,   /* members that the caller has not dealt with... */
	UX_STREAM_WINDOW = 96 << 20 /* ...and their bytes, unless one alone has more */
};

/* A member. */
struct ux_stream_member {
	enum ux_member_kind kind; /* UX_MEMBER_OBJECT, UX_MEMBER_PACKED or UX_MEMBER_GSYM */
	struct ux_sandbox_part part;
	char name[UX_PATH_BYTES]; /* canonical */
};

struct ux_sandbox_stream;

/*
 * Starts the child. identity: that of ux_stream_source, which is copied. limits->output bounds the
 * bytes of all members, limits->seconds its processor time. limits, and the fork server that they
 * name, must outlive it. Codes: those of ux_sandbox_extract() for a child that cannot be started.
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

/* Is there a member, or the end, without waiting? */
bool ux_sandbox_stream_ready(const struct ux_sandbox_stream *s);

/*
 * Waits for the next member. *ret_more false: the package ended, and it was whole. The name and the
 * place of the member are checked; its bytes are untrusted. Codes: those of
 * ux_member_stream_read() and ux_sandbox_extract().
 */
enum ux_code ux_sandbox_stream_next(struct ux_sandbox_stream *s, struct ux_stream_member *ret,
				    bool *ret_more, struct ux_error *err) ux_must;

/* Lets the child go on, which stops when too much is ahead. Called once for each member. */
void ux_sandbox_stream_taken(struct ux_sandbox_stream *s, const struct ux_stream_member *m);

/* Frees the disk space of a member. */
void ux_sandbox_stream_release(const struct ux_sandbox_part *part);

/* Ends the child if it works still. NULL is allowed. */
void ux_sandbox_stream_end(struct ux_sandbox_stream *s);

#endif

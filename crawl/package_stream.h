/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A package while it arrives: its bytes go from a server or a file to a confined child, which
 * returns the members that can have symbols, and their SHA-256 is computed on the way.
 */
#ifndef UX_PACKAGE_STREAM_H
#define UX_PACKAGE_STREAM_H

#include "error.h"
#include "package.h"
#include "sandbox_stream.h"

struct ux_fork_server;
struct ux_polite;

/* Why a package could not be read. */
enum ux_package_cause {
	UX_CAUSE_NONE,
	UX_CAUSE_NETWORK,  /* no connection, or it broke: worth another attempt */
	UX_CAUSE_GONE,     /* the server has no such file */
	UX_CAUSE_REFUSED,  /* the server answers with another error */
	UX_CAUSE_SIZE,     /* it is shorter or longer than its repository says */
	UX_CAUSE_HASH,     /* it has another SHA-256 than its repository says */
	UX_CAUSE_DAMAGED,  /* the bytes are right, and no archive that can be read */
	UX_CAUSE_TOO_MUCH, /* what comes out of it, or reading it, is over a limit */
	UX_CAUSE_LOCAL,    /* this machine: memory, disk, children */
	UX_CAUSE_COUNT
};

/* "network", "gone", "refused", "size", "hash", "damaged", "limit", "local"; "" for no cause. */
const char *ux_package_cause_name(enum ux_package_cause cause);

/* The texts must outlive the stream. */
struct ux_package_stream_options {
	const char *url;              /* http:// or https://, or the absolute path of a file */
	uint64_t size;                /* bytes of the file, as its repository says; 0: unknown */
	const uint8_t *sha256;        /* 32 bytes, as its repository says; NULL: unknown */
	struct ux_apk_identity apk;   /* what the index names an .apk by; size 0: unknown */
	struct ux_polite *mirrors;    /* what fetches it */
	struct ux_fork_server *forks; /* NULL: a program is executed for the child */
};

struct ux_package_stream;

/*
 * Begins to read. A thread of its own passes the bytes on. Codes: those of
 * ux_sandbox_stream_start(), UX_EINVAL: the URL cannot be used.
 */
enum ux_code ux_package_stream_open(struct ux_package_stream **ret,
				    const struct ux_package_stream_options *options,
				    struct ux_error *err) ux_must;

/* Is there a member, or the end, without waiting? */
bool ux_package_stream_ready(const struct ux_package_stream *s);

/*
 * Waits for the next member. *ret_more false: the package ended, and its size and SHA-256 are as
 * its repository says. Before that nothing of it may be made visible, since only then the bytes are
 * known to be those of the distribution.
 *
 * After a failure of the archive the rest is still received, so that a package that was damaged on
 * its way has the cause UX_CAUSE_HASH, and another one UX_CAUSE_DAMAGED.
 */
enum ux_code ux_package_stream_next(struct ux_package_stream *s, struct ux_stream_member *ret,
				    bool *ret_more, struct ux_error *err) ux_must;

/* Lets the child go on, which stops when too much is ahead. Called once for each member. */
void ux_package_stream_taken(struct ux_package_stream *s, const struct ux_stream_member *m);

/* Of a stream whose reading failed. */
enum ux_package_cause ux_package_stream_cause(const struct ux_package_stream *s);

/* Bytes that were received. Valid when ux_package_stream_next() has returned no more. */
uint64_t ux_package_stream_bytes(const struct ux_package_stream *s);

/* The SHA-256 of all bytes. Valid when ux_package_stream_next() has returned no more. */
const uint8_t *ux_package_stream_sha256(const struct ux_package_stream *s);

/* Ends the child and the download. The members' files go. NULL is allowed. */
void ux_package_stream_close(struct ux_package_stream *s);

#endif

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

/* The reason why a package could not be read. */
enum ux_package_cause {
	UX_CAUSE_NONE,
	UX_CAUSE_NETWORK,  /* no connection, or it broke: worth another attempt */
	UX_CAUSE_GONE,     /* the server has no such file */
	UX_CAUSE_REFUSED,  /* the server answers with another error */
	UX_CAUSE_MIRROR,   /* its URL, or a redirect, leads below none of the worker's mirrors */
	UX_CAUSE_SIZE,     /* its size differs from the metadata of its repository */
	UX_CAUSE_HASH,     /* its SHA-256 differs from the metadata of its repository */
	UX_CAUSE_DAMAGED,  /* the bytes are right, but not a readable archive */
	UX_CAUSE_TOO_MUCH, /* its content, or reading it, exceeds a limit */
	UX_CAUSE_LOCAL,    /* this machine: memory, disk, children */
	UX_CAUSE_LOST,     /* not wanted any longer: another worker gets the package */
	UX_CAUSE_COUNT
};

/* "network", "gone", "refused", "mirror", "size", "hash", "damaged", "limit", "local", "lost"; ""
 * for no cause. */
const char *ux_package_cause_name(enum ux_package_cause cause);

/* The texts must outlive the stream. */
struct ux_package_stream_options {
	const char *url;              /* http:// or https://, or the absolute path of a file */
	uint64_t size;                /* bytes of the file, from its repository; 0: unknown */
	const uint8_t *sha256;        /* 32 bytes, from its repository; NULL: unknown */
	struct ux_apk_identity apk;   /* identity of an .apk in the index; size 0: unknown */
	struct ux_polite *mirrors;    /* fetches the file */
	struct ux_fork_server *forks; /* NULL: a program is executed for the child */
	/* polled for each piece of the download; true ends it. NULL: never */
	bool (*stopped)(void *ctx);
	void *stopped_ctx;
};

struct ux_package_stream;

/*
 * Starts to read. A separate thread passes the bytes on. Codes of ux_sandbox_stream_start(),
 * UX_EINVAL: the URL cannot be used.
 */
enum ux_code ux_package_stream_open(struct ux_package_stream **ret,
				    const struct ux_package_stream_options *options,
				    struct ux_error *err) ux_must;

/* Returns whether a member, or the end, is there without waiting. */
bool ux_package_stream_ready(const struct ux_package_stream *s);

/*
 * Waits for the next member. *ret_more false: the package ended, and its size and SHA-256 match its
 * repository's metadata. Make nothing of it visible before: only then the bytes are known to be the
 * distribution's.
 *
 * After a failure of the archive the rest is still received, so that a package damaged in transfer
 * has the cause UX_CAUSE_HASH, and any other UX_CAUSE_DAMAGED.
 */
enum ux_code ux_package_stream_next(struct ux_package_stream *s, struct ux_stream_member *ret,
				    bool *ret_more, struct ux_error *err) ux_must;

/* Lets the child continue, which stops when it is too far ahead. Called once for each member. */
void ux_package_stream_taken(struct ux_package_stream *s, const struct ux_stream_member *m);

/* Returns why the reading of a stream failed. */
enum ux_package_cause ux_package_stream_cause(const struct ux_package_stream *s);

/* Returns the bytes received. Valid after ux_package_stream_next() has returned no more. */
uint64_t ux_package_stream_bytes(const struct ux_package_stream *s);

/* Returns the SHA-256 of all bytes. Valid after ux_package_stream_next() has returned no more. */
const uint8_t *ux_package_stream_sha256(const struct ux_package_stream *s);

/* Ends the child and the download. Removes the members' files. NULL is allowed. */
void ux_package_stream_close(struct ux_package_stream *s);

#endif

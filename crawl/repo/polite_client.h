/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches files from other people's mirrors without being a burden: a few connections to each host,
 * a pause between requests, conditional requests, and waiting while a host is busy.
 */
#ifndef UX_POLITE_CLIENT_H
#define UX_POLITE_CLIENT_H

#include "error.h"
#include "file.h"
#include "http_client.h"

enum {
	UX_POLITE_PARALLEL = 2, /* connections to one host */
	UX_POLITE_PAUSE_MS =
		50, /* ms from the start of a request to the next one to the same host */
	UX_POLITE_TRIES = 5,
	UX_POLITE_HOSTS_MAX = 64,
	UX_POLITE_PARALLEL_MAX = 16,
};

struct ux_mirrors;

struct ux_polite_options {
	const char *contact; /* address or URL in the User-Agent, for the mirror's people; NULL */
	unsigned parallel;   /* 0: UX_POLITE_PARALLEL */
	unsigned pause_ms;   /* 0: UX_POLITE_PAUSE_MS */
	uint64_t bytes_s;    /* bytes a second for each connection; 0: no limit */
	unsigned tries;      /* 0: UX_POLITE_TRIES */
	const char *cacert;  /* PEM file of trusted roots; NULL: the system's */
	const char *proxy;   /* URL; NULL: the environment's */
	int64_t wait_max_ms; /* ms that a host may make it wait, in total; 0: 10 minutes */
	bool (*cancelled)(void *ctx); /* polled about once a second; NULL: never */
	void *cancelled_ctx;
	/* fetch only below these, and follow redirects only there; NULL: from anywhere */
	const struct ux_mirrors *mirrors;
};

struct ux_polite;

/* Copies the options, but not the object of cancelled_ctx and the mirrors. */
enum ux_code ux_polite_open(struct ux_polite **ret, const struct ux_polite_options *options,
			    struct ux_error *err) ux_must;
void ux_polite_close(struct ux_polite *p);

/* The validators of a file, which make the next request conditional. "": none. */
struct ux_validators {
	char etag[128];
	char modified[64];
};

struct ux_polite_request {
	const char *url;                   /* http, https, or a path (repo_url.h) */
	const struct ux_validators *known; /* validators of the caller's copy; NULL: no copy */
	uint64_t max;                      /* size limit of the file */
	/* Called before the first byte of the file: bytes from before must be dropped. */
	enum ux_code (*begin)(void *ctx, struct ux_error *err);
	ux_http_sink_fn *sink;
	void *ctx;
};

struct ux_polite_answer {
	bool outside;   /* refused: the URL, or the target of a redirect, is below no mirror */
	bool unchanged; /* the file still matches `known`; nothing was passed to the sink */
	struct ux_validators validators;
	uint64_t bytes;
};

/* As ux_mirrors_check(), with the mirrors of the options. */
enum ux_code ux_polite_check(const struct ux_polite *p, const char *url, struct ux_error *err)
	ux_must;

/*
 * Fetches a file. Waits for a free connection and for the pause, and tries again after failures of
 * the connection and after 429, 502, 503 and 504, for which Retry-After is observed. A file that
 * broke off is resumed if its server identified the version (a strong ETag, or else Last-Modified),
 * and begins anew otherwise (RFC 9110, 13.1.5 and 14.2). UX_ENOTFOUND for 404 and 410, UX_EDENIED
 * for 401 and 403 and as ux_polite_check(), UX_EUNAVAILABLE, UX_ELIMIT: over `max`; else codes of
 * the caller's functions. Any thread.
 */
enum ux_code ux_polite_get(struct ux_polite *p, const struct ux_polite_request *request,
			   struct ux_polite_answer *ret, struct ux_error *err) ux_must;

/* The expected properties of a file. */
struct ux_expected {
	uint64_t size;         /* UINT64_MAX: unknown */
	const uint8_t *sha256; /* 32 bytes; NULL: unknown */
	uint64_t max;          /* size limit */
};

struct ux_fetched {
	struct ux_mapping file; /* released by ux_file_unmap() */
	uint8_t sha256[32];
	struct ux_polite_answer answer;
};

/*
 * Fetches a file into one without a name, and maps it. UX_ECORRUPT: it is shorter ("truncated") or
 * longer than expected, or has a different SHA-256 ("wrong hash"). Other codes as above.
 */
enum ux_code ux_polite_fetch(struct ux_polite *p, const char *url, const struct ux_expected *what,
			     const struct ux_validators *known, struct ux_fetched *ret,
			     struct ux_error *err) ux_must;

/* Requests and bytes so far. Any thread. */
struct ux_polite_counts {
	uint64_t requests, bytes, unchanged, retries;
};
struct ux_polite_counts ux_polite_counts(struct ux_polite *p);

#endif

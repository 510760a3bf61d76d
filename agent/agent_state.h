/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the server about files, kept on disk for the next run of the agent. */
#ifndef UX_AGENT_STATE_H
#define UX_AGENT_STATE_H

#include "cache.h"
#include "error.h"
#include "file_table.h"
#include "id.h"

enum {
	UX_AGENT_KEY_SIZE = 16,
	/* maximum number of answers; the least recently used are evicted */
	UX_AGENT_KNOWN_MAX = 1 << 16,
	UX_AGENT_KNOWN_S = 7 * 86400, /* lifetime of an answer in seconds */
	UX_AGENT_RECORD_SIZE = 32,    /* bytes of an answer in the file */
	/* records beyond twice the number of answers, after which the file is rewritten */
	UX_AGENT_STATE_SLACK = 1 << 10,
};

/* An answer about a file. */
enum ux_agent_known {
	UX_AGENT_UNKNOWN,
	UX_AGENT_THERE, /* the server's symbols of it are at least as good as the local ones */
	/* nothing to send: it has no symbols, cannot be read, or the server refuses it */
	UX_AGENT_NOTHING,
	UX_AGENT_PUBLIC, /* the debuginfod servers of its distribution have it */
	UX_AGENT_NUMBER, /* run-time code: a number says up to where it was sent */
	UX_AGENT_KNOWN_COUNT
};

enum {
	UX_AGENT_NUMBER_BITS = 56, /* bits of a number; larger numbers are not kept */
};

/* A hash of a file or an ID, and of the URL of the server that answered. */
struct ux_agent_key {
	uint8_t bytes[UX_AGENT_KEY_SIZE];
};

static inline uint64_t ux_agent_key_hash(struct ux_agent_key key)
{
	return ux_hash_bytes(ux_bytes(key.bytes, sizeof(key.bytes)));
}

static inline bool ux_agent_key_eq(struct ux_agent_key a, struct ux_agent_key b)
{
	return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

/* A set of keys; the values have no meaning. */
UX_MAP(ux_agent_keys, struct ux_agent_key, bool, ux_agent_key_hash, ux_agent_key_eq);

/*
 * The answers, in memory and in a file. Each answer is appended to the file immediately, so that no
 * answer is lost when the process ends. A power failure may lose the last records, which costs only
 * their queries. So a flat file suffices: every record has a checksum, damaged records are skipped,
 * and a file that has grown is rewritten and renamed. One thread at a time.
 */
struct ux_agent_state {
	struct ux_cache known;
	char *path; /* malloc'ed; NULL: answers are kept only in memory */
	char *url;  /* malloc'ed */
	int fd;
	uint64_t records;    /* in the file */
	uint64_t rewrite_at; /* number of records at which the file is rewritten */
	/* answers that could not be written, for example because the disk is full */
	uint64_t not_written;
};

#define UX_AGENT_STATE_INIT ((struct ux_agent_state){.fd = -1})

/*
 * Reads the file at path, or creates it. NULL: answers are kept only in memory. No other process
 * may use the file. UX_EIO, UX_ENOMEM; UX_EUNSUPPORTED: the file has a different format.
 */
enum ux_code ux_agent_state_open(struct ux_agent_state *s, const char *path, const char *url,
				 struct ux_error *err) ux_must;
void ux_agent_state_close(struct ux_agent_state *s);

struct ux_agent_key ux_agent_file_key(const struct ux_agent_state *s,
				      const struct ux_mapped_key *file);
/* The answer about a file that more people can change says nothing about one with the same ID. */
struct ux_agent_key ux_agent_id_key(const struct ux_agent_state *s, const struct ux_id *id,
				    enum ux_trust trust);

/* Returns the key under which the number of a thing is kept, which `numbers` identify; kind is a
 * word that the caller chooses. */
struct ux_agent_key ux_agent_number_key(const struct ux_agent_state *s, const char *kind,
					const uint64_t *numbers, size_t n);

/*
 * Returns the answer; UX_AGENT_UNKNOWN if there is none or it is too old. now_s: seconds since 1970
 * by the wall clock. A time in the future, after the clock was set back, counts as now.
 */
enum ux_agent_known ux_agent_state_find(struct ux_agent_state *s, struct ux_agent_key key,
					int64_t now_s);

/*
 * ux_agent_state_put_number() keeps a number below 2^UX_AGENT_NUMBER_BITS; a larger number only
 * removes the old one. ux_agent_state_find_number() returns it. False: no number is known, or it is
 * too old. *ret_at_s: the time when it was kept.
 */
void ux_agent_state_put_number(struct ux_agent_state *s, struct ux_agent_key key, uint64_t number,
			       int64_t now_s);
bool ux_agent_state_find_number(struct ux_agent_state *s, struct ux_agent_key key, int64_t now_s,
				uint64_t *ret, int64_t *ret_at_s);

/*
 * Keeps an answer. If it cannot be written to the file, it is counted in not_written and stays in
 * memory; the next rewrite of the file contains it.
 */
void ux_agent_state_put(struct ux_agent_state *s, struct ux_agent_key key,
			enum ux_agent_known known, int64_t now_s);

/*
 * Reads the content of a file. Damaged records are skipped and counted in *ret_damaged.
 * UX_EUNSUPPORTED, UX_ENOMEM.
 */
enum ux_code ux_agent_state_parse(struct ux_agent_state *s, struct ux_bytes file,
				  uint64_t *ret_damaged, struct ux_error *err) ux_must;

#endif

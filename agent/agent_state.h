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
	UX_AGENT_KNOWN_MAX = 1 << 16, /* answers; beyond it the least recently used are left out */
	UX_AGENT_KNOWN_S = 7 * 86400, /* how long an answer counts, in seconds */
	UX_AGENT_RECORD_SIZE = 32,    /* bytes of an answer on disk */
	UX_AGENT_STATE_SLACK = 1 << 10, /* records beyond twice the answers until it is rewritten */
};

/* An answer about a file. */
enum ux_agent_known {
	UX_AGENT_UNKNOWN,
	UX_AGENT_THERE,   /* the server has symbols of it that are as good as those here */
	UX_AGENT_NOTHING, /* it has no symbols, or cannot be read, or the server refuses it */
	UX_AGENT_PUBLIC,  /* the servers of its distribution have it */
	UX_AGENT_NUMBER,  /* run-time code: a number tells how far it was sent */
	UX_AGENT_KNOWN_COUNT
};

enum {
	UX_AGENT_NUMBER_BITS = 56, /* of the number of an answer; greater ones are not kept */
};

/* A hash of a file or an ID, and of the URL of the server that has answered. */
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
 * The answers, in memory and in a file. Each answer is appended to the file immediately, so that
 * whatever ends the process costs nothing; the loss of the last records in a power failure costs
 * only the same queries again. That is why a flat file is enough: every record has a checksum,
 * damaged records are left out, and a file that has grown is written anew and renamed.
 * One thread at a time.
 */
struct ux_agent_state {
	struct ux_cache known;
	char *path; /* malloc'ed; NULL: kept in memory alone */
	char *url;  /* malloc'ed */
	int fd;
	uint64_t records;     /* in the file */
	uint64_t rewrite_at;  /* how many records may be in the file until it is rewritten */
	uint64_t not_written; /* answers that could not be written: the disk is full */
};

#define UX_AGENT_STATE_INIT ((struct ux_agent_state){.fd = -1})

/*
 * Reads the file at path, or begins it; NULL: answers are forgotten at the end. No other
 * process may use the file. UX_EIO, UX_ENOMEM; UX_EUNSUPPORTED: the file has a different format.
 */
enum ux_code ux_agent_state_open(struct ux_agent_state *s, const char *path, const char *url,
				 struct ux_error *err) ux_must;
void ux_agent_state_close(struct ux_agent_state *s);

struct ux_agent_key ux_agent_file_key(const struct ux_agent_state *s,
				      const struct ux_mapped_key *file);
struct ux_agent_key ux_agent_id_key(const struct ux_agent_state *s, const struct ux_id *id);

/* The key of numbers about something that these numbers identify; kind is a word of the caller. */
struct ux_agent_key ux_agent_number_key(const struct ux_agent_state *s, const char *kind,
					const uint64_t *numbers, size_t n);

/*
 * The answer; UX_AGENT_UNKNOWN when it is too old. now_s: seconds since 1970 by the wall
 * clock. A time that lies ahead, after the clock was set back, counts as now.
 */
enum ux_agent_known ux_agent_state_find(struct ux_agent_state *s, struct ux_agent_key key,
					int64_t now_s);

/*
 * Keeps a number, below 2^UX_AGENT_NUMBER_BITS, and returns it; a greater one is forgotten. False:
 * none is known, or it was kept too long ago. *ret_at_s: when it was kept.
 */
void ux_agent_state_put_number(struct ux_agent_state *s, struct ux_agent_key key, uint64_t number,
			       int64_t now_s);
bool ux_agent_state_find_number(struct ux_agent_state *s, struct ux_agent_key key, int64_t now_s,
				uint64_t *ret, int64_t *ret_at_s);

/*
 * Keeps an answer. When it cannot be written, it is known until the end of the process, and is
 * counted; the next rewriting has it, too.
 */
void ux_agent_state_put(struct ux_agent_state *s, struct ux_agent_key key,
			enum ux_agent_known known, int64_t now_s);

/*
 * Reads the content of a file. Damaged records are left out, and *ret_damaged counts them.
 * UX_EUNSUPPORTED, UX_ENOMEM.
 */
enum ux_code ux_agent_state_parse(struct ux_agent_state *s, struct ux_bytes file,
				  uint64_t *ret_damaged, struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Input of commands: lines from a descriptor, the addresses in them, and requests that are
 * arguments or lines. */
#ifndef UX_INPUT_H
#define UX_INPUT_H

#include "bytes.h"
#include "error.h"
#include "out.h"

enum {
	UX_LINE_MAX = 65536, /* bytes of a line; the rest of a longer one is dropped */
};

/* This struct is large: allocate it statically or on the heap, not on the stack. */
struct ux_line_reader {
	int fd;
	bool end;
	bool cut;      /* the buffer begins inside a line that was too long */
	uint64_t line; /* number of the last line; the first is 1 */
	size_t pos;    /* start of the bytes in buf that were not used yet */
	size_t size;   /* bytes in buf */
	char buf[UX_LINE_MAX];
};

void ux_line_reader_init(struct ux_line_reader *r, int fd);

/* Returns whether the next call returns without waiting for input. */
bool ux_line_reader_ready(const struct ux_line_reader *r);

/*
 * Returns the next line without its newline. The line is valid until the next call. Returns false
 * at the end of input, and with err set when reading failed.
 */
bool ux_line_reader_next(struct ux_line_reader *r, struct ux_bytes *ret, struct ux_error *err)
	ux_must;

/* Iterates over the complete lines that are in the buffer but were not returned yet. *at is the
 * position of the iteration and starts at 0. Returns false when there are no more. */
bool ux_line_reader_ahead(const struct ux_line_reader *r, size_t *at, struct ux_bytes *ret);

enum {
	UX_ADDRESS_LINE_MAX = 4096, /* bytes of a line; the rest of a longer one is dropped */
};

/* An address, or a line that is not one. */
struct ux_address_line {
	uint64_t address;
	uint64_t line;       /* number, from 1 */
	struct ux_bytes bad; /* the invalid line, valid until the next call; else empty */
};

struct ux_address_reader {
	struct ux_line_reader lines;
	bool hex;
};

void ux_address_reader_init(struct ux_address_reader *r, int fd, bool hex);

/* Returns whether the next call returns without waiting for input. */
bool ux_address_reader_ready(const struct ux_address_reader *r);

/*
 * Parses the next line that is not blank. Returns false at the end of input, and with err set when
 * reading failed. Spaces around the address and a carriage return after it are ignored.
 */
bool ux_address_reader_next(struct ux_address_reader *r, struct ux_address_line *ret,
			    struct ux_error *err) ux_must;

/* Prints a message about a line of standard input that is not an address. */
enum ux_code ux_address_line_warn(const struct ux_address_line *line, struct ux_error *err) ux_must;

/* Requests to a symbolizer. They are the arguments of its command line, or the lines of its
 * input if there are no arguments. Zeroed = no requests. */
struct ux_requests {
	char *const *words; /* owned by the caller */
	size_t n_words;
	size_t next;                  /* index of the next word */
	struct ux_line_reader *lines; /* owned by the caller; NULL: there are only words */
};

/* Initialises q with the words from index `first` on. If there are none, the requests are the
 * lines of fd, which are read through `reader`. */
void ux_requests_init(struct ux_requests *q, char *const *words, size_t n_words, size_t first,
		      struct ux_line_reader *reader, int fd);

/* Appends the answer to a request to the output of the command. A failure ends the loop. */
typedef enum ux_code ux_answer_fn(void *ctx, struct ux_bytes request, struct ux_error *err);

/*
 * Answers one request after the other. The output is flushed before each wait for a line, because
 * an interactive client sends the next request only after it has received the answer. Returns the
 * codes of `answer`, of reading and of writing.
 */
enum ux_code ux_requests_answer(struct ux_requests *q, ux_answer_fn *answer, void *ctx,
				struct ux_out *out, struct ux_error *err) ux_must;

/*
 * Iterates over the requests after the current one that have been read already. *at starts at 0.
 * Returns false when there are no more.
 */
bool ux_requests_ahead(const struct ux_requests *q, size_t *at, struct ux_bytes *ret);

#endif

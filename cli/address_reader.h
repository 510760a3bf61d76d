/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, one a line, from a descriptor that may be driven by hand. */
#ifndef UX_ADDRESS_READER_H
#define UX_ADDRESS_READER_H

#include "bytes.h"
#include "error.h"
#include "line_reader.h"

enum {
	UX_ADDRESS_LINE_MOST = 4096, /* bytes of a line; the rest of a longer one is dropped */
};

/* An asked address, or a line that is none. */
struct ux_symbolize_request {
	uint64_t address;
	uint64_t line;       /* number, from 1 */
	struct ux_bytes bad; /* empty: the address is good; else the line, until the next call */
};

struct ux_address_reader {
	struct ux_line_reader lines;
	bool hex;
};

void ux_address_reader_init(struct ux_address_reader *r, int fd, bool hex);

/* True when the next call has a line, or the end, without waiting for whoever writes. */
bool ux_address_reader_ready(const struct ux_address_reader *r);

/*
 * The next line that is not blank; false at the end, and on a failed read, which err tells. Spaces
 * around the address and a carriage return behind it are ignored.
 */
bool ux_address_reader_next(struct ux_address_reader *r, struct ux_symbolize_request *ret,
			    struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the locations of an OTLP message: the dictionary is read once, the locations get lines,
 * looked up module by module or from a profile, and the message is written with them. Samples are
 * never read. Source: see otlp.h.
 */
#ifndef UX_OTLP_NAMES_H
#define UX_OTLP_NAMES_H

#include "id.h"
#include "otlp_fields.h"
#include "otlp_strings.h"
#include "out.h"
#include "protobuf.h"
#include "vec.h"

enum {
	/* Limits of messages with a quota. */
	UX_OTLP_MODULES_MAX = 100000, /* distinct identities in one message */
	/* locations of one message that lack lines; a message of 64 MiB has about as many */
	UX_OTLP_LOCATIONS_MAX = 4 << 20,
};

/* Locations of one module that have no lines. */
struct ux_otlp_module {
	struct ux_id id;
	struct ux_bytes path; /* path of its first mapping; in the message */
	size_t first, n;      /* range of its addresses in ux_otlp_names.addresses */
};

UX_VEC(ux_otlp_modules, struct ux_otlp_module);

/* A location without lines in a mapping. Offsets count from the start of the message. */
struct ux_otlp_location {
	uint64_t address;
	uint32_t field;   /* where its field begins, */
	uint32_t content; /* where its content begins, */
	uint32_t end;     /* and where both end */
	uint32_t number;  /* in the location table */
	uint32_t lines;   /* where its new lines begin in ux_otlp_names.line_bytes */
	uint32_t n_lines; /* bytes of its new lines; 0: none */
};

UX_VEC(ux_otlp_locations, struct ux_otlp_location);

/* A run of consecutive locations of one mapping; it ends where the next run begins. */
struct ux_otlp_run {
	uint32_t first;   /* index of its first location */
	uint32_t mapping; /* index of the mapping; after reading: index of its module plus 1; 0:
			     none */
};

UX_VEC(ux_otlp_runs, struct ux_otlp_run);
UX_VEC(ux_otlp_numbers, uint32_t);

/*
 * The state of one message. Zeroed except for bytes and quota = closed. One thread at a time.
 * Memory is bounded by the quota, or by a multiple of the message's size without one.
 */
struct ux_otlp_names {
	struct ux_bytes bytes;      /* the message; owned by the caller; below 4 GiB */
	struct ux_out_quota *quota; /* for all buffers; NULL: none */
	struct ux_otlp_modules modules;
	uint64_t *addresses;  /* of all modules, then of unknown ones; malloc'ed */
	uint32_t n_locations; /* in the message */
	uint32_t n_unknown;   /* locations without lines whose module has no known identity */
	/* The fields below are private to the functions of this header. */
	struct ux_otlp_locations locations; /* in the order of the message */
	struct ux_otlp_runs runs;
	uint32_t *owners;         /* location of each address; malloc'ed */
	uint32_t n_functions;     /* including appended ones */
	struct ux_out line_bytes; /* lines of all locations that got some */
	struct ux_out functions;
	struct ux_otlp_strings strings;
};

/*
 * Reads the dictionary: sets the modules and their addresses. A location is skipped if it has
 * lines, or if it has no mapping. Its module is unknown if its mapping has no identity, or begins
 * at UX_OTLP_PROCESS_START or above, where it is an address of a process. UX_ECORRUPT: with the
 * offset in the message. UX_ELIMIT: too large, or too many modules. UX_ENOMEM, and the code of the
 * quota. The state must be released in any case.
 */
enum ux_code ux_otlp_names_read(struct ux_otlp_names *n, struct ux_error *err) ux_must;
void ux_otlp_names_deinit(struct ux_otlp_names *n);

/* Returns the index of a string; copies and appends it if it is new. Failures are latched. */
static inline uint32_t ux_otlp_names_string(struct ux_otlp_names *n, struct ux_bytes text)
{
	return ux_otlp_strings_add(&n->strings, text);
}

/* Appends a function and returns its number. Its strings are numbers of ux_otlp_names_string(). */
uint32_t ux_otlp_names_function(struct ux_otlp_names *n, uint32_t name, uint32_t linkage,
				uint32_t file);

enum {
	UX_OTLP_FUNCTION_MAX = 2 + 3 * (1 + 5), /* bytes: a tag, a size and three numbers */
};

/*
 * The same for many. begin: reserves room for n functions; NULL after a failure, which is latched.
 * put: writes one and returns the position after it. end: takes the position after the last one.
 */
uint8_t *ux_otlp_functions_begin(struct ux_otlp_names *n, size_t n_functions);

/* Writes a field with the index of a string; leaves it out for the empty string, without a branch.
 */
ux_inline uint8_t *ux_otlp_functions_put_number(uint8_t *p, unsigned field, uint32_t number)
{
	*p = (uint8_t)(field << 3 | UX_PROTOBUF_VARINT);
	uint8_t *end = ux_uleb_put(p + 1, number);
	return number == 0 ? p : end;
}

ux_inline uint8_t *ux_otlp_functions_put(uint8_t *p, uint32_t name, uint32_t linkage, uint32_t file)
{
	static_assert(UX_OTLP_FUNCTION_MAX < 0x80, "the size of a function is one byte");
	uint8_t *start = p + 2;
	*p = OTLP_FUNCTION_TABLE << 3 | UX_PROTOBUF_BYTES;
	uint8_t *end = ux_otlp_functions_put_number(start, OTLP_FUNCTION_NAME, name);
	end = ux_otlp_functions_put_number(end, OTLP_FUNCTION_SYSTEM_NAME, linkage);
	end = ux_otlp_functions_put_number(end, OTLP_FUNCTION_FILENAME, file);
	p[1] = (uint8_t)(end - start);
	return end;
}

ux_inline void ux_otlp_functions_end(struct ux_otlp_names *n, size_t n_functions, const uint8_t *p)
{
	n->functions.size = (size_t)(p - n->functions.data);
	n->n_functions += (uint32_t)n_functions;
}

enum {
	UX_OTLP_LINE_MAX = 16, /* bytes of one line: a tag and a number of one byte, two of five */
	UX_OTLP_LINES_BEHIND = 64, /* bytes that can be read after the lines: most locations have
				      fewer, and are copied in one step */
};

/* Reserves room for the lines of more addresses and for as many functions as profiles usually have.
 */
void ux_otlp_names_reserve(struct ux_otlp_names *n, size_t n_addresses);

/*
 * Gives the location of an address (its index in n->addresses) lines, at most once for each
 * address. begin: reserves room for n lines; NULL after a failure, which is latched. Then write
 * line after line, the innermost function first. end: takes the position after the last line; the
 * start if there are no lines.
 */
ux_inline uint8_t *ux_otlp_lines_begin(struct ux_otlp_names *n, size_t n_lines)
{
	const size_t max = n_lines * UX_OTLP_LINE_MAX + UX_OTLP_LINES_BEHIND;
	uint8_t *p = ux_out_room(&n->line_bytes, max);
	if (ux_likely(p != NULL))
		n->line_bytes.size -= max;
	return p;
}

/*
 * The common start of all lines of a function, made once: the field with the function's number, the
 * tag of the next field, and the size of both in bytes.
 */
struct ux_otlp_line_head {
	uint8_t bytes[7];
	uint8_t size;
};

ux_inline struct ux_otlp_line_head ux_otlp_line_head(uint32_t function)
{
	/* The bytes are composed in a register, the first one in its lowest bits. */
	uint64_t bytes = OTLP_LINE_FUNCTION << 3 | UX_PROTOBUF_VARINT;
	struct ux_otlp_line_head head;
	unsigned bits = 8;
	for (; function >= 0x80; function >>= 7, bits += 8)
		bytes |= (uint64_t)((function & 0x7f) | 0x80) << bits;
	bytes |= (uint64_t)function << bits;
	bytes |= (uint64_t)(OTLP_LINE_LINE << 3 | UX_PROTOBUF_VARINT) << (bits + 8);
	bytes |= (uint64_t)(bits / 8 + 2) << 8 * offsetof(struct ux_otlp_line_head, size);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		bytes = __builtin_bswap64(bytes);
	static_assert(sizeof(head) == sizeof(bytes), "a head is one number");
	memcpy(&head, &bytes, sizeof(head));
	return head;
}

/* Writes a line of a function with a prepared head. Returns the position after it. */
ux_inline uint8_t *ux_otlp_lines_put_head(uint8_t *p, const struct ux_otlp_line_head *function,
					  uint32_t line)
{
	p[0] = OTLP_LOCATION_LINES << 3 | UX_PROTOBUF_BYTES;
	memcpy(p + 2, function, sizeof(*function));
	uint8_t *q = p + 2 + function->size;
	q = ux_likely(line != 0) ? ux_uleb_put(q, line) : q - 1;
	p[1] = (uint8_t)(q - p - 2);
	return q;
}

/* Writes a line of a function of the message. Returns the position after it. */
ux_inline uint8_t *ux_otlp_lines_put(uint8_t *p, uint32_t function, uint32_t line)
{
	const struct ux_otlp_line_head head = ux_otlp_line_head(function);
	return ux_otlp_lines_put_head(p, &head, line);
}

ux_inline void ux_otlp_lines_end(struct ux_otlp_names *n, size_t address, const uint8_t *p)
{
	struct ux_otlp_location *l = &n->locations.data[n->owners[address]];
	const size_t at = n->line_bytes.size;
	n->line_bytes.size = (size_t)(p - n->line_bytes.data);
	n->line_bytes.failed |= n->line_bytes.size > UINT32_MAX;
	l->lines = (uint32_t)at;
	l->n_lines = (uint32_t)(n->line_bytes.size - at);
}

struct ux_profile;
struct ux_profile_sources;

/*
 * Looks up the addresses of all modules, and sets their lines. Codes of ux_profile_symbolize(), and
 * of ux_otlp_names_status().
 */
enum ux_code ux_otlp_names_symbolize(struct ux_otlp_names *n,
				     const struct ux_profile_sources *sources, struct ux_error *err)
	ux_must;

/*
 * Gives the locations the lines that the same locations of a profile have, which was read from this
 * message; `first` is the number of the first one. Unlike the function above it also names
 * locations of unknown modules. Codes of ux_otlp_names_status().
 */
enum ux_code ux_otlp_names_take(struct ux_otlp_names *n, const struct ux_profile *p, uint32_t first,
				struct ux_error *err) ux_must;

/* UX_OK, or the first failure of the functions above. */
enum ux_code ux_otlp_names_status(const struct ux_otlp_names *n, struct ux_error *err) ux_must;

/*
 * Appends the message with the lines that were set. Only the dictionary differs: functions and
 * strings follow at the end of their tables; all else is copied byte for byte. UX_ENOMEM, and the
 * code of the quota.
 */
enum ux_code ux_otlp_names_write(const struct ux_otlp_names *n, struct ux_out *out,
				 struct ux_error *err) ux_must;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact form of POST /v1/symbolize: its constants, and writing and reading of requests
 * ("questions") and replies. The format is docs/formats/symbolize-binary.md.
 */
#ifndef UX_WIRE_H
#define UX_WIRE_H

#include "cursor.h"
#include "id.h"
#include "out.h"
#include "unhex/demangle.h"
#include "unhex/question.h"

#define UX_WIRE_TYPE "application/x-unhex-symbolize"

enum {
	UX_WIRE_VERSION = 1,
	UX_WIRE_HEAD = 4, /* size of the head: three bytes of magic, one of version */
	/* room before the strings of a reply: the head, and two numbers */
	UX_WIRE_REPLY_ROOM = UX_WIRE_HEAD + 2 * 10,

	UX_WIRE_RETURN_ADDRESSES = 1, /* a flag of a question */

	/*
	 * In a question each module begins with the type of its ID plus 1; this byte ends the list.
	 */
	UX_WIRE_END = 0,

	/* How addresses are written. */
	UX_WIRE_FIXED = 0,  /* eight bytes each, little-endian */
	UX_WIRE_DELTAS = 1, /* signed LEB128 of the difference to the previous address; the first
			       address is relative to 0 */
};

#define UX_WIRE_QUESTION_MAGIC "UXQ"
#define UX_WIRE_REPLY_MAGIC    "UXR"

/* --- questions -------------------------------------------------------------------------------- */

struct ux_wire_options {
	bool return_addresses;
	enum ux_demangle_mode demangle;
	uint32_t timeout_ms; /* 0: none */
};

/* Writing: the head, the modules, the end. Failures are latched in the buffer. */
void ux_wire_question_begin(struct ux_out *out, const struct ux_wire_options *options);
void ux_wire_question_add(struct ux_out *out, const struct ux_id *id, const uint64_t *pcs,
			  size_t n);
void ux_wire_question_end(struct ux_out *out);

/* A question that is being read. */
struct ux_wire_question {
	struct ux_wire_options options;
	struct ux_cur c;
};

/* One module of a question; its addresses are read by ux_wire_question_pcs(). */
struct ux_wire_question_module {
	struct ux_id id;
	uint8_t form;
	size_t n; /* at most the size of pcs in bytes */
	struct ux_cur pcs;
};

/* UX_ECORRUPT; UX_EUNSUPPORTED: another version, an unknown flag or mode. */
enum ux_code ux_wire_question_open(struct ux_wire_question *q, struct ux_bytes bytes,
				   struct ux_error *err) ux_must;

/*
 * Reads the next module; *ret_more is false after the last one. Codes as above; UX_EINVAL,
 * UX_ELIMIT: its ID is invalid.
 */
enum ux_code ux_wire_question_next(struct ux_wire_question *q, struct ux_wire_question_module *ret,
				   bool *ret_more, struct ux_error *err) ux_must;

/* Reads the m->n addresses of a module. */
enum ux_code ux_wire_question_pcs(const struct ux_wire_question_module *m, uint64_t *ret,
				  struct ux_error *err) ux_must;

/* --- replies: writing ------------------------------------------------------------------------- */

/*
 * The tables of a reply that is being written. Zeroed is an empty reply. In references to an entry
 * of a table, 0 means "none" and the first entry is 1. Failures are latched in the buffers.
 */
struct ux_wire_reply {
	/* the strings, if any, begin after UX_WIRE_REPLY_ROOM bytes */
	struct ux_out strings;
	struct ux_out files, frames, modules, addresses;
	uint32_t n_strings, n_files, n_frames, n_modules;
};

void ux_wire_reply_deinit(struct ux_wire_reply *r);

/* Empties the reply, but keeps its memory. */
void ux_wire_reply_clear(struct ux_wire_reply *r);

/* Appends a string whose number was already counted. */
ux_inline void ux_wire_reply_copy(struct ux_wire_reply *r, struct ux_bytes text)
{
	if (ux_unlikely(r->strings.size == 0))
		(void)ux_out_room(&r->strings, UX_WIRE_REPLY_ROOM);
	uint8_t *p = ux_out_room(&r->strings, text.size + 1);
	if (p) {
		memcpy(p, text.data, text.size);
		p[text.size] = 0;
	}
}

/* Appends a string without a NUL in it and returns its number, 0 for "". */
ux_inline uint32_t ux_wire_reply_string(struct ux_wire_reply *r, struct ux_bytes text)
{
	if (text.size == 0)
		return 0;
	ux_wire_reply_copy(r, text);
	return ++r->n_strings;
}

/* Appends a file and returns its number; dir and base are numbers of strings. */
ux_inline uint32_t ux_wire_reply_file(struct ux_wire_reply *r, uint32_t dir, uint32_t base)
{
	ux_out_uleb(&r->files, dir);
	ux_out_uleb(&r->files, base);
	return ++r->n_files;
}

enum {
	UX_WIRE_FRAME_MAX = 4 * UX_ULEB_MAX, /* bytes of a frame */
};

/* Writes a frame. up: how many frames before it is the one that it is inlined into, or 0. */
ux_inline uint8_t *ux_wire_frame_put(uint8_t *p, uint32_t function, uint32_t file, uint32_t line,
				     uint32_t up)
{
	p = ux_uleb_put(p, function);
	p = ux_uleb_put(p, file);
	p = ux_uleb_put(p, line);
	return ux_uleb_put(p, up);
}

/*
 * Appends a frame and returns its number. up: the number of the frame that it is inlined into, or
 * 0.
 */
ux_inline uint32_t ux_wire_reply_frame(struct ux_wire_reply *r, uint32_t function, uint32_t file,
				       uint32_t line, uint32_t up)
{
	uint8_t *start = ux_out_room(&r->frames, UX_WIRE_FRAME_MAX);
	r->n_frames++;
	if (!start)
		return r->n_frames;
	uint8_t *p = ux_wire_frame_put(start, function, file, line, up ? r->n_frames - up : 0);
	r->frames.size -= UX_WIRE_FRAME_MAX - (size_t)(p - start);
	return r->n_frames;
}

/* Appends the next address: the number of its innermost frame, or 0. */
ux_inline void ux_wire_reply_address(struct ux_wire_reply *r, uint32_t frame)
{
	uint8_t *start = ux_out_room(&r->addresses, UX_ULEB_MAX);
	if (start)
		r->addresses.size -= UX_ULEB_MAX - (size_t)(ux_uleb_put(start, frame) - start);
}

/*
 * Appends the module that the last n addresses belong to. status and quality are enum
 * ux_module_status and enum ux_quality.
 */
void ux_wire_reply_module(struct ux_wire_reply *r, unsigned status, unsigned quality,
			  struct ux_bytes reason, uint32_t retry_after_s, size_t n);

/* Returns the size of the reply so far, in bytes. */
size_t ux_wire_reply_size(const struct ux_wire_reply *r);

/* Appends the whole reply to out. */
void ux_wire_reply_write(const struct ux_wire_reply *r, struct ux_out *out);

/*
 * Completes the reply in the memory of its strings, which may be most of it and so are not copied.
 * Returns the whole reply, from within r->strings; nothing may be added then. A failure is latched
 * in that buffer.
 */
struct ux_bytes ux_wire_reply_finish(struct ux_wire_reply *r);

/* --- replies: reading ------------------------------------------------------------------------- */

struct ux_wire_frame {
	uint32_t function; /* string */
	uint32_t file;
	uint32_t line;
	uint32_t up; /* number of the frame that it is inlined into, or 0; always less than its own
			number */
	uint32_t depth; /* number of frames from this one to the outermost, including it; at most
			   UX_FRAMES_MAX */
};

struct ux_wire_file {
	uint32_t dir, base; /* strings */
};

struct ux_wire_module {
	uint8_t status, quality; /* enum ux_module_status, enum ux_quality */
	uint32_t reason;         /* string */
	uint32_t retry_after_s;
	size_t first, n; /* its addresses: indexes into `addresses` */
};

/*
 * A reply that was read. The caller owns its bytes. All numbers in it were checked. Immutable once
 * open.
 */
struct ux_wire_read {
	struct ux_bytes text;
	uint32_t *strings; /* offset of each string in text; malloc'ed like all tables; [0] is
			      unused */
	struct ux_wire_file *files;
	struct ux_wire_frame *frames;
	struct ux_wire_module *modules;
	uint32_t *addresses; /* numbers of frames, for the addresses of all modules */
	size_t n_strings, n_files, n_frames, n_modules, n_addresses;
};

/*
 * UX_ECORRUPT, UX_EUNSUPPORTED, UX_ENOMEM. The memory it takes is proportional to the size of the
 * reply. The caller calls ux_wire_read_deinit() also after a failure.
 */
enum ux_code ux_wire_read_open(struct ux_wire_read *r, struct ux_bytes bytes, struct ux_error *err)
	ux_must;
void ux_wire_read_deinit(struct ux_wire_read *r);

/* String i <= n_strings; "" for 0. */
const char *ux_wire_read_string(const struct ux_wire_read *r, uint32_t i);

/*
 * Writes the frames of address i < n_addresses, innermost first; when there are more than max, the
 * outermost. Returns their number.
 */
size_t ux_wire_read_frames(const struct ux_wire_read *r, size_t i, struct ux_frame *ret,
			   size_t max);

#endif

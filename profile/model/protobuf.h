/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of protobuf messages: reads them in place, so that unknown ones can be copied byte for
 * byte, and writes them. Source: Protocol Buffers, "Encoding".
 */
#ifndef UX_PROTOBUF_H
#define UX_PROTOBUF_H

#include "cursor.h"
#include "out.h"

enum ux_protobuf_wire {
	UX_PROTOBUF_VARINT = 0,
	UX_PROTOBUF_FIXED64 = 1,
	UX_PROTOBUF_BYTES = 2,
	UX_PROTOBUF_FIXED32 = 5,
};

/* A field of a message that is being read. */
struct ux_protobuf_field {
	uint32_t number;
	uint8_t wire;
	/* value of an integer field as in the varint, without zigzag decoding */
	uint64_t value;
	struct ux_cur bytes;   /* content of a field of type UX_PROTOBUF_BYTES */
	struct ux_bytes whole; /* the field with its tag, to be copied */
};

/*
 * Most fields of large messages are small messages: a tag of one byte, and fewer than 128 bytes.
 * They are read without looking at each of these bytes.
 */
ux_inline bool ux_protobuf_next_small(struct ux_cur *c, struct ux_protobuf_field *ret)
{
	const uint8_t *p = c->pos;
	const size_t left = ux_cur_left(c);
	if (left < 2 || (p[0] & 0x87) != UX_PROTOBUF_BYTES || p[0] < 0x08 || p[1] > 0x7f ||
	    p[1] > left - 2)
		return false;
	ret->number = p[0] >> 3;
	ret->wire = UX_PROTOBUF_BYTES;
	ret->value = p[1];
	ret->whole = ux_bytes(p, 2 + (size_t)p[1]);
	ux_cur_pass(c, 2);
	ret->bytes = ux_cur_sub(c, p[1]);
	return true;
}

/* Reads the next field. False at the end, and when the cursor has failed. */
static inline bool ux_protobuf_next(struct ux_cur *c, struct ux_protobuf_field *ret)
{
	if (ux_likely(ux_protobuf_next_small(c, ret)))
		return true;
	if (!ux_cur_more(c))
		return false;
	const uint8_t *start = c->pos;
	uint64_t tag = ux_cur_uleb(c);
	*ret = (struct ux_protobuf_field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	if (ux_unlikely(tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3))
		ux_cur_bad(c, "field number is not 1 to 536870911");
	switch (ret->wire) {
	case UX_PROTOBUF_VARINT:
		ret->value = ux_cur_uleb(c);
		break;
	case UX_PROTOBUF_FIXED64:
		ret->value = ux_cur_u64(c);
		break;
	case UX_PROTOBUF_BYTES:
		ret->value = ux_cur_uleb(c);
		ret->bytes = ux_cur_sub(c, ret->value);
		break;
	case UX_PROTOBUF_FIXED32:
		ret->value = ux_cur_u32(c);
		break;
	default:
		ux_cur_bad(c, "wire type is not 0, 1, 2 or 5");
		break;
	}
	if (ux_unlikely(c->failed))
		return false;
	ret->whole = ux_bytes(start, (size_t)(c->pos - start));
	return true;
}

/* Returns the content of a field of bytes; empty for other fields. */
static inline struct ux_bytes ux_protobuf_text(const struct ux_protobuf_field *f)
{
	return f->wire == UX_PROTOBUF_BYTES ? ux_bytes(f->bytes.pos, ux_cur_left(&f->bytes))
					    : UX_BYTES_NONE;
}

/* Returns true for a field of bytes, which then is a message in a cursor; else the cursor c fails.
 */
static inline bool ux_protobuf_is_message(struct ux_cur *c, const struct ux_protobuf_field *f)
{
	if (ux_likely(f->wire == UX_PROTOBUF_BYTES))
		return true;
	ux_cur_bad(c, "a message is not length-delimited");
	return false;
}

/*
 * Iterates over the integers of a repeated field, packed or not: while (ux_protobuf_integer(c, f,
 * &v)). It consumes the field. c is the cursor of its message and fails when the packed integers
 * are damaged.
 */
static inline bool ux_protobuf_integer(struct ux_cur *c, struct ux_protobuf_field *f, uint64_t *ret)
{
	if (f->wire != UX_PROTOBUF_BYTES) {
		*ret = f->value;
		bool first = f->number != 0;
		f->number = 0;
		return first;
	}
	if (!ux_cur_more(&f->bytes))
		return false;
	*ret = ux_cur_uleb(&f->bytes);
	if (ux_unlikely(f->bytes.failed)) {
		ux_cur_bad(c, "packed integers are damaged");
		return false;
	}
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static inline void ux_protobuf_put_uint(struct ux_out *out, uint32_t number, uint64_t value)
{
	ux_out_uleb(out, (uint64_t)number << 3 | UX_PROTOBUF_VARINT);
	ux_out_uleb(out, value);
}

/* Zero is the default and is left out. */
static inline void ux_protobuf_put_nonzero(struct ux_out *out, uint32_t number, uint64_t value)
{
	if (value)
		ux_protobuf_put_uint(out, number, value);
}

static inline void ux_protobuf_put_bytes(struct ux_out *out, uint32_t number, struct ux_bytes bytes)
{
	ux_out_uleb(out, (uint64_t)number << 3 | UX_PROTOBUF_BYTES);
	ux_out_uleb(out, bytes.size);
	ux_out_put(out, bytes.data, bytes.size);
}

/* Writes a field with a message from a separate buffer. If that buffer has failed, so does `out`.
 */
static inline void ux_protobuf_put_message(struct ux_out *out, uint32_t number,
					   const struct ux_out *message)
{
	out->failed |= message->failed;
	ux_protobuf_put_bytes(out, number, ux_out_bytes(message));
}

#endif

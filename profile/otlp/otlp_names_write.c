/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of an OTLP message: additions to the dictionary, and the writer. */
#include "otlp_names.h"

#include "otlp_fields.h"
#include "otlp_strings.h"
#include "protobuf.h"

#define SECTION "OTLP profiles"

enum {
	ULEB_MAX = 10,      /* bytes of one number */
	SIZE_BYTES_MAX = 5, /* bytes of a size, which is below 4 GiB */
	/* bytes that one copy takes, if there is room, instead of a few */
	FEW = 16,
	WIDE = UX_OTLP_LINES_BEHIND,
	NAMES = UX_OTLP_BORROWED_BEHIND, /* bytes: the names of most functions together have fewer
					  */
};
static_assert((int)NAMES >= (int)WIDE, "");

/* --- names ------------------------------------------------------------------------------------ */

uint32_t ux_otlp_names_function(struct ux_otlp_names *n, uint32_t name, uint32_t linkage,
				uint32_t file)
{
	uint8_t *p = ux_otlp_functions_begin(n, 1);
	const uint32_t number = n->n_functions;
	if (!p)
		return 0;
	ux_otlp_functions_end(n, 1, ux_otlp_functions_put(p, name, linkage, file));
	return number;
}

uint8_t *ux_otlp_functions_begin(struct ux_otlp_names *n, size_t n_functions)
{
	/* The place of an empty number is written before it is dropped. */
	const size_t max = n_functions * UX_OTLP_FUNCTION_MAX;
	if (n->n_functions == 0) { /* element 0 of each table is the zero value */
		ux_protobuf_put_bytes(&n->functions, OTLP_FUNCTION_TABLE, UX_BYTES_NONE);
		n->n_functions++;
	}
	uint8_t *p = ux_out_room(&n->functions, max);
	if (p)
		n->functions.size -= max;
	return p;
}

void ux_otlp_names_reserve(struct ux_otlp_names *n, size_t n_addresses)
{
	enum {
		LINES = 24,    /* bytes of the lines of an address */
		FUNCTIONS = 8, /* bytes of new functions for each address */
	};
	ux_out_reserve(&n->line_bytes, LINES * n_addresses);
	ux_out_reserve(&n->functions, FUNCTIONS * n_addresses);
}

enum ux_code ux_otlp_names_status(const struct ux_otlp_names *n, struct ux_error *err)
{
	UX_TRY(ux_out_status(&n->line_bytes, err));
	UX_TRY(ux_out_status(&n->functions, err));
	return ux_out_status(&n->strings.fields, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The message that is being written. All of it has room, and NAMES bytes after it. */
struct otlp_copy {
	const struct ux_otlp_names *names;
	size_t next; /* next location */
	uint8_t *to;
	const uint8_t *few_end;  /* FEW bytes of the message can be read before this position */
	const uint8_t *room_end; /* end of the buffer */
};

static size_t otlp_uleb_size(uint64_t v)
{
	size_t n = 1;
	while (v >>= 7)
		n++;
	return n;
}

ux_inline void otlp_copy(struct otlp_copy *c, const void *from, size_t size)
{
	memcpy(c->to, from, size);
	c->to += size;
}

/* The same for a few bytes of the message, usually fewer than FEW. */
ux_inline void otlp_copy_few(struct otlp_copy *c, const uint8_t *from, size_t size)
{
	if (ux_likely(size <= FEW && from <= c->few_end))
		memcpy(c->to, from, FEW);
	else
		memcpy(c->to, from, size);
	c->to += size;
}

/* The same for lines, which have room after them. */
ux_inline void otlp_copy_lines(struct otlp_copy *c, const struct ux_otlp_location *l)
{
	const uint8_t *from = c->names->line_bytes.data + l->lines;
	memcpy(c->to, from, WIDE);
	if (ux_unlikely(l->n_lines > WIDE))
		memcpy(c->to + WIDE, from + WIDE, l->n_lines - WIDE);
	c->to += l->n_lines;
}

/* Strings that are still in the caller's memory. */
static void otlp_copy_borrowed(struct otlp_copy *c)
{
	enum {
		AHEAD = 8,
		LINE = 64,           /* bytes: size of a cache line, one prefetch */
		TO_AHEAD = 8 * LINE, /* the same for the output */
	};
	const struct ux_otlp_borrowed_list *l = &c->names->strings.borrowed;
	for (size_t i = 0; i < l->size; i++) {
		const uint8_t *from = l->data[i].data;
		const size_t size = l->data[i].size;
		if (i + AHEAD < l->size)
			for (size_t k = 0; k < 4; k++)
				__builtin_prefetch(l->data[i + AHEAD].data + k * LINE);
		for (size_t k = 0; k < 2; k++)
			__builtin_prefetch(c->to + TO_AHEAD + k * LINE, /* write= */ 1);
		memcpy(c->to, from, NAMES);
		if (ux_unlikely(size > NAMES))
			memcpy(c->to + NAMES, from + NAMES, size - NAMES);
		c->to += size;
	}
}

/*
 * Writes a dictionary with its locations. last: no dictionary follows; the new functions and
 * strings come here, after all others, since the parts of one message are joined.
 */
static void otlp_copy_dictionary(struct otlp_copy *c, const struct ux_protobuf_field *f, bool last)
{
	const struct ux_otlp_names *n = c->names;
	const uint8_t *from = f->bytes.start;
	const uint32_t end = (uint32_t)(f->bytes.end - n->bytes.data);
	/* The size is not known yet. Reserve as many bytes as the size of all the room would take:
	 * it seldom takes fewer. */
	uint8_t *const start = c->to + 1;
	const size_t size_bytes = otlp_uleb_size((uint64_t)(c->room_end - c->to));
	*c->to = OTLP_DICTIONARY << 3 | UX_PROTOBUF_BYTES;
	c->to = start + size_bytes;
	for (; c->next < n->locations.size && n->locations.data[c->next].field < end; c->next++) {
		const struct ux_otlp_location *l = &n->locations.data[c->next];
		if (l->n_lines == 0)
			continue;
		const uint8_t *field = n->bytes.data + l->field;
		if (from != field)
			otlp_copy(c, from, (size_t)(field - from));
		*c->to++ = OTLP_LOCATION_TABLE << 3 | UX_PROTOBUF_BYTES;
		c->to = ux_uleb_put(c->to, l->end - l->content + (uint64_t)l->n_lines);
		otlp_copy_few(c, n->bytes.data + l->content, l->end - l->content);
		otlp_copy_lines(c, l);
		from = n->bytes.data + l->end;
	}
	otlp_copy(c, from, (size_t)(f->bytes.end - from));
	if (last) {
		otlp_copy(c, n->functions.data, n->functions.size);
		if (n->strings.fields.size > 0)
			otlp_copy(c, n->strings.fields.data, n->strings.fields.size);
		otlp_copy_borrowed(c);
	}
	const size_t size = (size_t)(c->to - start) - size_bytes;
	uint8_t number[ULEB_MAX];
	const size_t n_number = (size_t)(ux_uleb_put(number, size) - number);
	if (n_number < size_bytes)
		memmove(start + n_number, start + size_bytes, size);
	memcpy(start, number, n_number);
	c->to = start + n_number + size;
}

enum ux_code ux_otlp_names_write(const struct ux_otlp_names *n, struct ux_out *out,
				 struct ux_error *err)
{
	UX_TRY(ux_otlp_names_status(n, err));
	if (n->functions.size == 0) { /* nothing was named */
		ux_out_put(out, n->bytes.data, n->bytes.size);
		return ux_out_status(out, err);
	}
	size_t left = 0, max = n->bytes.size + n->line_bytes.size + n->functions.size +
			       n->strings.fields.size + n->strings.borrowed_bytes + NAMES;
	struct ux_cur c = ux_cur_make(n->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		left += f.number == OTLP_DICTIONARY;
	/* A size may need more bytes than before. */
	max += (left + n->locations.size) * SIZE_BYTES_MAX;
	uint8_t *start = ux_out_room(out, max);
	if (!start)
		return ux_out_status(out, err);
	struct otlp_copy copy = {
		.names = n,
		.to = start,
		.room_end = start + max,
		.few_end = n->bytes.data + n->bytes.size - ux_min(n->bytes.size, (size_t)FEW),
	};
	c = ux_cur_make(n->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_DICTIONARY)
			otlp_copy_dictionary(&copy, &f, --left == 0);
		else
			otlp_copy(&copy, f.whole.data, f.whole.size);
	}
	out->size -= max - (size_t)(copy.to - start);
	UX_TRY(ux_cur_status(&c, err));
	return ux_out_status(out, err);
}

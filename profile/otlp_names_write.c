/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of an OTLP message: what is added to the dictionary, and writing it. */
#include "otlp_names.h"

#include "otlp_fields.h"
#include "otlp_strings.h"
#include "protobuf.h"

#define SECTION "OTLP profiles"

enum {
	ULEB_MOST = 10, /* bytes of one number */
	SIZE_MOST = 5,  /* bytes of a size, which is below 4 GiB */
	/* bytes that are copied at once, where there is room, instead of a few */
	WIDE = UX_OTLP_LINE_MOST,
};

/* --- names ------------------------------------------------------------------------------------ */

uint32_t ux_otlp_names_function(struct ux_otlp_names *n, uint32_t name, uint32_t linkage,
				uint32_t file)
{
	enum {
		MOST = 2 + 3 * (1 + ULEB_MOST)
	};
	static_assert(MOST < 0x80, "the size of a function is one byte");
	if (n->n_functions == 0) { /* element 0 of each table is the zero value */
		ux_protobuf_put_bytes(&n->functions, OTLP_FUNCTION_TABLE, UX_BYTES_NONE);
		n->n_functions++;
	}
	const uint32_t strings[] = {0, name, linkage, file};
	uint8_t *start = ux_out_room(&n->functions, MOST), *p = start;
	if (!start)
		return 0;
	*p++ = OTLP_FUNCTION_TABLE << 3 | UX_PROTOBUF_BYTES;
	uint8_t *size = p++;
	for (unsigned field = OTLP_FUNCTION_NAME; field <= OTLP_FUNCTION_FILENAME; field++) {
		if (strings[field] == 0)
			continue;
		*p++ = (uint8_t)(field << 3 | UX_PROTOBUF_VARINT);
		p = ux_uleb_put(p, strings[field]);
	}
	*size = (uint8_t)(p - size - 1);
	n->functions.size -= MOST - (size_t)(p - start);
	return n->n_functions++;
}

enum ux_code ux_otlp_names_status(const struct ux_otlp_names *n, struct ux_error *err)
{
	UX_TRY(ux_out_status(&n->line_bytes, err));
	UX_TRY(ux_out_status(&n->functions, err));
	return ux_out_status(&n->strings.fields, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The message that is being written. All of it has room, and WIDE bytes behind it. */
struct otlp_copy {
	const struct ux_otlp_names *names;
	size_t next; /* location */
	uint8_t *to;
	const uint8_t *wide_end; /* up to here WIDE bytes of the message can be read */
};

static size_t otlp_uleb_size(uint64_t v)
{
	size_t n = 1;
	while (v >>= 7)
		n++;
	return n;
}

/* The bytes by which the locations of a dictionary that ends at `end` grow, from `next` on. */
static size_t otlp_growth(const struct ux_otlp_names *n, size_t next, uint32_t end)
{
	size_t more = 0;
	for (size_t i = next; i < n->locations.size && n->locations.data[i].field < end; i++) {
		const struct ux_otlp_location *l = &n->locations.data[i];
		const size_t content = l->end - l->content + (size_t)l->n_lines;
		if (l->n_lines > 0)
			more += 1 + otlp_uleb_size(content) + content - (l->end - l->field);
	}
	return more;
}

ux_inline void otlp_copy(struct otlp_copy *c, const void *from, size_t size)
{
	memcpy(c->to, from, size);
	c->to += size;
}

/* The same for a few bytes of the message; most of these are fewer than WIDE. */
ux_inline void otlp_copy_few(struct otlp_copy *c, const uint8_t *from, size_t size)
{
	if (ux_likely(size <= WIDE && from <= c->wide_end))
		memcpy(c->to, from, WIDE);
	else
		memcpy(c->to, from, size);
	c->to += size;
}

/* The same for lines, behind which there is room. */
ux_inline void otlp_copy_lines(struct otlp_copy *c, const struct ux_otlp_location *l)
{
	const uint8_t *from = c->names->line_bytes.data + l->lines;
	memcpy(c->to, from, WIDE);
	if (l->n_lines > WIDE)
		memcpy(c->to + WIDE, from + WIDE, l->n_lines - WIDE);
	c->to += l->n_lines;
}

/*
 * Writes a dictionary with the locations that are in it. last: the new functions and strings
 * follow, behind those of all dictionaries before, since parts of one message are joined.
 */
static void otlp_copy_dictionary(struct otlp_copy *c, const struct ux_protobuf_field *f, bool last)
{
	const struct ux_otlp_names *n = c->names;
	const uint8_t *from = f->bytes.start;
	const uint32_t end = (uint32_t)(f->bytes.end - n->bytes.data);
	const size_t size = ux_cur_left(&f->bytes) + otlp_growth(n, c->next, end) +
			    (last ? n->functions.size + n->strings.fields.size : 0);
	*c->to++ = OTLP_DICTIONARY << 3 | UX_PROTOBUF_BYTES;
	c->to = ux_uleb_put(c->to, size);
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
	}
}

enum ux_code ux_otlp_names_write(const struct ux_otlp_names *n, struct ux_out *out,
				 struct ux_error *err)
{
	UX_TRY(ux_otlp_names_status(n, err));
	if (n->functions.size == 0) { /* nothing was named */
		ux_out_put(out, n->bytes.data, n->bytes.size);
		return ux_out_status(out, err);
	}
	size_t left = 0, most = n->bytes.size + n->line_bytes.size + n->functions.size +
				n->strings.fields.size + WIDE;
	struct ux_cur c = ux_cur_make(n->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		left += f.number == OTLP_DICTIONARY;
	/* Sizes may need more bytes than they had. */
	most += (left + n->locations.size) * SIZE_MOST;
	uint8_t *start = ux_out_room(out, most);
	if (!start)
		return ux_out_status(out, err);
	struct otlp_copy copy = {
		.names = n,
		.to = start,
		.wide_end = n->bytes.data + n->bytes.size - ux_min(n->bytes.size, (size_t)WIDE),
	};
	c = ux_cur_make(n->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_DICTIONARY)
			otlp_copy_dictionary(&copy, &f, --left == 0);
		else
			otlp_copy(&copy, f.whole.data, f.whole.size);
	}
	out->size -= most - (size_t)(copy.to - start);
	UX_TRY(ux_cur_status(&c, err));
	return ux_out_status(out, err);
}

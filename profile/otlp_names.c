/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of an OTLP message. */
#include "otlp_names.h"

#include "otlp.h"
#include "otlp_fields.h"
#include "otlp_id.h"
#include "protobuf.h"

#define SECTION "OTLP profiles"

/* What is needed of the dictionary while it is read. Tables have the order of the message. */
struct otlp_scan {
	struct ux_otlp_names *names;
	/* where the length of each string, attribute and mapping is */
	struct ux_out strings, attributes, mappings;
	struct ux_out modules; /* of each mapping: the number of its module plus 1, 0: none */
};

static void otlp_scan_deinit(struct otlp_scan *s)
{
	ux_out_deinit(&s->strings);
	ux_out_deinit(&s->attributes);
	ux_out_deinit(&s->mappings);
	ux_out_deinit(&s->modules);
}

void ux_otlp_names_deinit(struct ux_otlp_names *n)
{
	ux_otlp_modules_deinit(&n->modules);
	free(n->addresses);
	ux_otlp_locations_deinit(&n->locations);
	free(n->owners);
	free(n->lines);
	ux_out_deinit(&n->line_bytes);
	ux_out_deinit(&n->functions);
	ux_out_deinit(&n->strings);
	ux_out_deinit(&n->inner);
	ux_string_numbers_deinit(&n->numbers);
	ux_arena_deinit(&n->texts);
}

/* --- tables ----------------------------------------------------------------------------------- */

static uint32_t otlp_offset(const struct ux_otlp_names *n, const uint8_t *at)
{
	return (uint32_t)(at - n->bytes.data);
}

static size_t otlp_table_size(const struct ux_out *table)
{
	return table->size / sizeof(uint32_t);
}

static uint32_t otlp_table_get(const struct ux_out *table, size_t i)
{
	uint32_t v = 0;
	memcpy(&v, table->data + i * sizeof(v), sizeof(v));
	return v;
}

/* An element of a table; its range was checked when the dictionary was walked. */
static struct ux_cur otlp_element(const struct ux_otlp_names *n, const struct ux_out *table,
				  size_t i)
{
	struct ux_cur c = ux_cur_make(n->bytes, SECTION, false);
	ux_cur_skip(&c, otlp_table_get(table, i));
	uint64_t size = ux_cur_uleb(&c);
	return ux_cur_sub(&c, size);
}

static struct ux_bytes otlp_string_at(const struct otlp_scan *s, uint64_t number)
{
	if (number >= otlp_table_size(&s->strings))
		return UX_BYTES_NONE;
	struct ux_cur c = otlp_element(s->names, &s->strings, (size_t)number);
	return ux_bytes(c.pos, ux_cur_left(&c));
}

/* Adds where the length of a field is: behind its tag, which is one byte for these tables, unless
 * somebody has encoded it in more. */
static void otlp_table_add(const struct ux_otlp_names *n, struct ux_out *table,
			   const struct ux_protobuf_field *f)
{
	const uint8_t *at = f->whole.data;
	while (*at++ & 0x80)
		;
	ux_out_u32(table, otlp_offset(n, at));
}

/* --- locations -------------------------------------------------------------------------------- */

static enum ux_code otlp_dangles(const struct ux_cur *c, const char *what, uint64_t number,
				 size_t n, struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(c), "%s %" PRIu64 " of %zu", what,
			   number, n);
}

static enum ux_code otlp_scan_location(struct ux_otlp_names *n, const struct ux_protobuf_field *f,
				       struct ux_error *err)
{
	uint64_t mapping = 0, address = 0;
	bool named = false;
	struct ux_cur c = f->bytes;
	n->n_locations++;
	for (struct ux_protobuf_field inner; ux_protobuf_next(&c, &inner);) {
		if (inner.number == OTLP_LOCATION_MAPPING)
			mapping = inner.value;
		else if (inner.number == OTLP_LOCATION_ADDRESS)
			address = inner.value;
		else if (inner.number == OTLP_LOCATION_LINES && ux_protobuf_is_message(&c, &inner))
			named = true;
	}
	UX_TRY(ux_cur_status(&c, err));
	if (mapping > UINT32_MAX - 1)
		return otlp_dangles(&c, "mapping", mapping, 0, err);
	if (named || mapping == 0)
		return UX_OK;
	if (n->locations.size == UX_OTLP_LOCATIONS_MOST)
		return ux_error_at(err, UX_ELIMIT, SECTION, ux_cur_off(&c),
				   "over %d locations without lines", UX_OTLP_LOCATIONS_MOST);
	const struct ux_otlp_location l = {
		.address = address,
		.mapping = (uint32_t)mapping,
		.field = otlp_offset(n, f->whole.data),
		.content = otlp_offset(n, f->bytes.start),
		.end = otlp_offset(n, f->bytes.end),
	};
	return ux_otlp_locations_append(&n->locations, l) ? UX_OK : ux_error_nomem(err);
}

/* --- the dictionary --------------------------------------------------------------------------- */

static enum ux_code otlp_scan_dictionary(struct otlp_scan *s, struct ux_cur c, struct ux_error *err)
{
	struct ux_otlp_names *n = s->names;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number > OTLP_STACK_TABLE)
			continue; /* of a later version */
		if (!ux_protobuf_is_message(&c, &f))
			break;
		if (f.number == OTLP_LOCATION_TABLE)
			UX_TRY(otlp_scan_location(n, &f, err));
		else if (f.number == OTLP_STRING_TABLE)
			otlp_table_add(n, &s->strings, &f);
		else if (f.number == OTLP_ATTRIBUTE_TABLE)
			otlp_table_add(n, &s->attributes, &f);
		else if (f.number == OTLP_MAPPING_TABLE)
			otlp_table_add(n, &s->mappings, &f);
		else if (f.number == OTLP_FUNCTION_TABLE)
			n->n_functions++;
	}
	return ux_cur_status(&c, err);
}

static enum ux_code otlp_scan_message(struct otlp_scan *s, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(s->names->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number > OTLP_DICTIONARY)
			continue;
		if (!ux_protobuf_is_message(&c, &f))
			break;
		if (f.number == OTLP_DICTIONARY)
			UX_TRY(otlp_scan_dictionary(s, f.bytes, err));
	}
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_out_status(&s->strings, err));
	UX_TRY(ux_out_status(&s->attributes, err));
	return ux_out_status(&s->mappings, err);
}

/* --- modules ---------------------------------------------------------------------------------- */

ux_inline uint64_t otlp_id_hash(struct ux_id id)
{
	return ux_hash_bytes(ux_bytes(&id, offsetof(struct ux_id, bytes) + id.size));
}

ux_inline bool otlp_id_eq(struct ux_id a, struct ux_id b)
{
	return ux_id_eq(&a, &b);
}

UX_MAP(otlp_id_numbers, struct ux_id, uint32_t, otlp_id_hash, otlp_id_eq);

/* Takes the identity that an attribute has, if it has one. */
static enum ux_code otlp_scan_attribute(const struct otlp_scan *s, size_t number, struct ux_id *id,
					struct ux_error *err)
{
	struct ux_cur c = otlp_element(s->names, &s->attributes, number);
	uint64_t key = 0, text = 0;
	struct ux_bytes value = UX_BYTES_NONE;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_ATTRIBUTE_KEY)
			key = f.value;
		if (f.number != OTLP_ATTRIBUTE_VALUE || !ux_protobuf_is_message(&c, &f))
			continue;
		for (struct ux_protobuf_field inner; ux_protobuf_next(&f.bytes, &inner);) {
			if (inner.number == OTLP_VALUE_STRING)
				value = ux_protobuf_text(&inner);
			else if (inner.number == OTLP_VALUE_STRING_INDEX)
				text = inner.value;
		}
		UX_TRY(ux_cur_status(&f.bytes, err));
	}
	UX_TRY(ux_cur_status(&c, err));
	ux_otlp_id_take(otlp_string_at(s, key), text ? otlp_string_at(s, text) : value, id);
	return UX_OK;
}

static enum ux_code otlp_scan_mapping(const struct otlp_scan *s, size_t number,
				      struct ux_otlp_module *module, struct ux_error *err)
{
	struct ux_id *id = &module->id;
	struct ux_cur c = otlp_element(s->names, &s->mappings, number);
	const size_t n = otlp_table_size(&s->attributes);
	uint64_t start = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_MAPPING_START)
			start = f.value;
		else if (f.number == OTLP_MAPPING_FILENAME)
			module->path = otlp_string_at(s, f.value);
		else if (f.number == OTLP_MAPPING_ATTRIBUTES)
			for (uint64_t a; ux_protobuf_integer(&c, &f, &a);) {
				if (a >= n)
					return otlp_dangles(&c, "attribute", a, n, err);
				UX_TRY(otlp_scan_attribute(s, (size_t)a, id, err));
			}
	}
	UX_TRY(ux_cur_status(&c, err));
	if (start >= UX_OTLP_PROCESS_START)
		*id = (struct ux_id){0};
	return UX_OK;
}

/* Numbers the modules of all mappings; mappings with one identity are of one module. */
static enum ux_code otlp_scan_modules(struct otlp_scan *s, struct ux_error *err)
{
	ux_cleanup(otlp_id_numbers_deinit) struct otlp_id_numbers numbers = {0};
	struct ux_otlp_modules *modules = &s->names->modules;
	for (size_t i = 0; i < otlp_table_size(&s->mappings); i++) {
		struct ux_otlp_module module = {0};
		uint32_t *number = NULL, none = 0;
		bool fresh = false;
		UX_TRY(otlp_scan_mapping(s, i, &module, err));
		number = module.id.size == 0 ? &none
					     : otlp_id_numbers_insert(&numbers, module.id, &fresh);
		if (!number || (fresh && !ux_otlp_modules_append(modules, module)))
			return ux_error_nomem(err);
		if (modules->size > UX_OTLP_MODULES_MOST)
			return ux_error_set(err, UX_ELIMIT, "mappings of more than %d modules",
					    UX_OTLP_MODULES_MOST);
		if (fresh)
			*number = (uint32_t)modules->size;
		ux_out_u32(&s->modules, *number);
	}
	return ux_out_status(&s->modules, err);
}

/* Groups the addresses by module. */
static enum ux_code otlp_scan_group(struct otlp_scan *s, struct ux_error *err)
{
	struct ux_otlp_names *n = s->names;
	const size_t n_mappings = otlp_table_size(&s->modules);
	n->addresses = calloc(n->locations.size + 1, sizeof(*n->addresses));
	n->owners = calloc(n->locations.size + 1, sizeof(*n->owners));
	n->lines = calloc(n->locations.size + 1, sizeof(*n->lines));
	if (!n->addresses || !n->owners || !n->lines)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n->locations.size; i++) {
		struct ux_otlp_location *l = &n->locations.data[i];
		if (l->mapping >= n_mappings)
			return ux_error_at(err, UX_ECORRUPT, SECTION, l->content,
					   "mapping %" PRIu32 " of %zu", l->mapping, n_mappings);
		l->mapping = otlp_table_get(&s->modules, l->mapping);
		if (l->mapping == 0)
			n->n_unknown++;
		else
			n->modules.data[l->mapping - 1].n++;
	}
	size_t first = 0;
	for (size_t m = 0; m < n->modules.size; m++) {
		n->modules.data[m].first = first;
		first += n->modules.data[m].n;
		n->modules.data[m].n = 0;
	}
	for (size_t i = 0; i < n->locations.size; i++) {
		const struct ux_otlp_location *l = &n->locations.data[i];
		if (l->mapping == 0)
			continue;
		struct ux_otlp_module *m = &n->modules.data[l->mapping - 1];
		size_t at = m->first + m->n++;
		n->addresses[at] = l->address;
		n->owners[at] = (uint32_t)i;
	}
	return UX_OK;
}

enum ux_code ux_otlp_names_read(struct ux_otlp_names *n, struct ux_error *err)
{
	ux_cleanup(otlp_scan_deinit) struct otlp_scan s = {
		.names = n,
		.strings.quota = n->quota,
		.attributes.quota = n->quota,
		.mappings.quota = n->quota,
		.modules.quota = n->quota,
	};
	n->line_bytes.quota = n->functions.quota = n->strings.quota = n->inner.quota = n->quota;
	ux_arena_init(&n->texts, UX_PROFILE_BYTES_MOST);
	if (n->bytes.size > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "a message of %zu bytes", n->bytes.size);
	UX_TRY(otlp_scan_message(&s, err));
	n->n_strings = (uint32_t)otlp_table_size(&s.strings);
	UX_TRY(otlp_scan_modules(&s, err));
	return otlp_scan_group(&s, err);
}

/* --- names ------------------------------------------------------------------------------------ */

uint32_t ux_otlp_names_string(struct ux_otlp_names *n, struct ux_bytes text)
{
	if (text.size == 0)
		return 0;
	if (n->n_strings == 0) { /* string 0 is "" in every message */
		ux_protobuf_put_bytes(&n->strings, OTLP_STRING_TABLE, UX_BYTES_NONE);
		n->n_strings++;
	}
	bool fresh = false;
	const uint32_t *known = ux_string_numbers_find(&n->numbers, text);
	if (known)
		return *known;
	const char *copy = ux_arena_strndup(&n->texts, text.data, text.size);
	uint32_t *number =
		copy ? ux_string_numbers_insert(&n->numbers, ux_bytes(copy, text.size), &fresh)
		     : NULL;
	if (!number) {
		n->strings.failed = true;
		return 0;
	}
	*number = n->n_strings++;
	ux_protobuf_put_bytes(&n->strings, OTLP_STRING_TABLE, text);
	return *number;
}

uint32_t ux_otlp_names_function(struct ux_otlp_names *n, uint32_t name, uint32_t linkage,
				uint32_t file)
{
	if (n->n_functions == 0) { /* element 0 of each table is the zero value */
		ux_protobuf_put_bytes(&n->functions, OTLP_FUNCTION_TABLE, UX_BYTES_NONE);
		n->n_functions++;
	}
	ux_out_reset(&n->inner);
	ux_protobuf_put_nonzero(&n->inner, OTLP_FUNCTION_NAME, name);
	ux_protobuf_put_nonzero(&n->inner, OTLP_FUNCTION_SYSTEM_NAME, linkage);
	ux_protobuf_put_nonzero(&n->inner, OTLP_FUNCTION_FILENAME, file);
	ux_protobuf_put_message(&n->functions, OTLP_FUNCTION_TABLE, &n->inner);
	return n->n_functions++;
}

/* The bytes of lines with a number; they begin with their size. */
static struct ux_bytes otlp_lines(const struct ux_otlp_names *n, uint32_t lines)
{
	uint32_t size = 0;
	if (lines == 0)
		return UX_BYTES_NONE;
	memcpy(&size, n->line_bytes.data + lines - 1, sizeof(size));
	return ux_bytes(n->line_bytes.data + lines - 1 + sizeof(size), size);
}

uint32_t ux_otlp_names_line(struct ux_otlp_names *n, uint32_t function, uint32_t line, uint32_t up)
{
	struct ux_out *out = &n->line_bytes;
	const size_t at = out->size, callers = otlp_lines(n, up).size;
	ux_out_reset(&n->inner);
	ux_protobuf_put_uint(&n->inner, OTLP_LINE_FUNCTION, function);
	ux_protobuf_put_nonzero(&n->inner, OTLP_LINE_LINE, line);
	ux_out_u32(out, 0);
	ux_protobuf_put_message(out, OTLP_LOCATION_LINES, &n->inner);
	uint8_t *to = callers > 0 ? ux_out_room(out, callers) : NULL;
	if (to) /* after the buffer may have moved */
		memcpy(to, otlp_lines(n, up).data, callers);
	if (out->size > UINT32_MAX - 1)
		out->failed = true;
	if (out->failed)
		return 0;
	ux_out_patch_u32(out, at, (uint32_t)(out->size - at - sizeof(uint32_t)));
	return (uint32_t)at + 1;
}

enum ux_code ux_otlp_names_status(const struct ux_otlp_names *n, struct ux_error *err)
{
	UX_TRY(ux_out_status(&n->line_bytes, err));
	UX_TRY(ux_out_status(&n->functions, err));
	return ux_out_status(&n->strings, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

static size_t otlp_uleb_size(uint64_t v)
{
	size_t n = 1;
	while (v >>= 7)
		n++;
	return n;
}

/* The size of a location's field with its lines, written without superfluous bytes. */
static size_t otlp_location_size(const struct ux_otlp_names *n, size_t i)
{
	const struct ux_otlp_location *l = &n->locations.data[i];
	size_t content = l->end - l->content + otlp_lines(n, n->lines[i]).size;
	return 1 + otlp_uleb_size(content) + content;
}

/*
 * Writes a dictionary with the locations from *at on that are in it. last: the new functions and
 * strings follow, behind those of all dictionaries before, since parts of one message are joined.
 */
static void otlp_write_part(const struct ux_otlp_names *n, const struct ux_protobuf_field *f,
			    bool last, size_t *at, struct ux_out *out)
{
	const uint8_t *from = f->bytes.start;
	const uint32_t end = otlp_offset(n, f->bytes.end);
	uint64_t size = ux_cur_left(&f->bytes) + (last ? n->functions.size + n->strings.size : 0);
	for (size_t i = *at; i < n->locations.size && n->locations.data[i].field < end; i++)
		if (n->lines[i] != 0)
			size += otlp_location_size(n, i) -
				(n->locations.data[i].end - n->locations.data[i].field);
	ux_out_uleb(out, (uint64_t)OTLP_DICTIONARY << 3 | UX_PROTOBUF_BYTES);
	ux_out_uleb(out, size);
	for (; *at < n->locations.size && n->locations.data[*at].field < end; ++*at) {
		const struct ux_otlp_location *l = &n->locations.data[*at];
		if (n->lines[*at] == 0)
			continue;
		struct ux_bytes lines = otlp_lines(n, n->lines[*at]);
		ux_out_put(out, from, (size_t)(n->bytes.data + l->field - from));
		ux_out_u8(out, OTLP_LOCATION_TABLE << 3 | UX_PROTOBUF_BYTES);
		ux_out_uleb(out, l->end - l->content + lines.size);
		ux_out_put(out, n->bytes.data + l->content, l->end - l->content);
		ux_out_put(out, lines.data, lines.size);
		from = n->bytes.data + l->end;
	}
	ux_out_put(out, from, (size_t)(f->bytes.end - from));
	if (last) {
		ux_out_put(out, n->functions.data, n->functions.size);
		ux_out_put(out, n->strings.data, n->strings.size);
	}
}

enum ux_code ux_otlp_names_write(const struct ux_otlp_names *n, struct ux_out *out,
				 struct ux_error *err)
{
	size_t left = 0, at = 0;
	UX_TRY(ux_otlp_names_status(n, err));
	if (n->functions.size == 0) { /* nothing was named */
		ux_out_put(out, n->bytes.data, n->bytes.size);
		return ux_out_status(out, err);
	}
	struct ux_cur c = ux_cur_make(n->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		left += f.number == OTLP_DICTIONARY;
	c = ux_cur_make(n->bytes, SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_DICTIONARY)
			otlp_write_part(n, &f, --left == 0, &at, out);
		else
			ux_out_put(out, f.whole.data, f.whole.size);
	}
	UX_TRY(ux_cur_status(&c, err));
	return ux_out_status(out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of an OTLP message. */
#include "otlp_names.h"

#include "otlp.h"
#include "otlp_fields.h"
#include "otlp_schema.h"
#include "protobuf.h"

#define SECTION "OTLP profiles"

/* The dictionary's parts that are needed while it is read. Tables have the order of the message. */
struct otlp_scan {
	struct ux_otlp_names *names;
	/* position of the length of each string, attribute and mapping */
	struct ux_out strings, attributes, mappings;
	struct ux_out modules; /* for each mapping: the index of its module plus 1; 0: none */
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
	ux_otlp_runs_deinit(&n->runs);
	free(n->owners);
	ux_out_deinit(&n->line_bytes);
	ux_out_deinit(&n->functions);
	ux_otlp_strings_deinit(&n->strings);
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

/* Returns an element of a table; its range was checked when the dictionary was walked. */
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

/* Adds the position of a field's length, which follows the tag. The tags of these tables fit into
 * one byte, but an encoder may have written more. */
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
	return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(c),
			   "%s %" PRIu64 " is past its table of %zu", what, number, n);
}

/* The fields of a location that are needed. */
struct otlp_scanned {
	uint64_t mapping;
	uint64_t address;
	bool named;
};

/* Moves past the tag of a field if it comes next, before `end`. */
ux_inline bool otlp_scan_tag(struct ux_cur *c, const uint8_t *end, uint8_t tag)
{
	const bool found = c->pos < end && *c->pos == tag;
	c->pos += found;
	return found;
}

/*
 * Reads a location with fields as encoders write them, in the order of their numbers and with
 * tags of one byte, with the cursor of the table, so that it may read past the location. False:
 * there is another kind of field, or a field does not end where the location does; ret is invalid
 * then.
 */
ux_inline bool otlp_scan_plain_location(struct ux_cur *c, uint64_t size, struct otlp_scanned *ret)
{
	if (ux_unlikely(size > ux_cur_left(c)))
		return false;
	const uint8_t *end = c->pos + size;
	*ret = (struct otlp_scanned){0};
	if (otlp_scan_tag(c, end, OTLP_LOCATION_MAPPING << 3 | UX_PROTOBUF_VARINT))
		ret->mapping = ux_cur_uleb(c);
	if (otlp_scan_tag(c, end, OTLP_LOCATION_ADDRESS << 3 | UX_PROTOBUF_VARINT))
		ret->address = ux_cur_uleb_wide(c);
	while (otlp_scan_tag(c, end, OTLP_LOCATION_LINES << 3 | UX_PROTOBUF_BYTES)) {
		ret->named = true;
		ux_cur_skip(c, ux_cur_uleb(c));
	}
	if (otlp_scan_tag(c, end, OTLP_LOCATION_ATTRIBUTES << 3 | UX_PROTOBUF_BYTES))
		ux_cur_skip(c, ux_cur_uleb(c));
	return !c->failed && c->pos == end && ret->mapping < UINT32_MAX;
}

/* The same for any location. */
static ux_cold enum ux_code otlp_scan_any_location(struct ux_cur c, struct otlp_scanned *ret,
						   struct ux_error *err)
{
	*ret = (struct otlp_scanned){0};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_LOCATION_MAPPING)
			ret->mapping = f.value;
		else if (f.number == OTLP_LOCATION_ADDRESS)
			ret->address = f.value;
		else if (f.number == OTLP_LOCATION_LINES && ux_protobuf_is_message(&c, &f))
			ret->named = true;
	}
	UX_TRY(ux_cur_status(&c, err));
	return ret->mapping > UINT32_MAX - 1 ? otlp_dangles(&c, "mapping", ret->mapping, 0, err)
					     : UX_OK;
}

/* Begins a run with the next location, if its mapping differs from the previous one. False: out of
 * memory. */
static bool otlp_begin_run(struct ux_otlp_names *n, size_t next, uint64_t mapping)
{
	const struct ux_otlp_runs *runs = &n->runs;
	const struct ux_otlp_run fresh = {(uint32_t)next, (uint32_t)mapping};
	return (runs->size > 0 && runs->data[runs->size - 1].mapping == mapping) ||
	       ux_otlp_runs_append(&n->runs, fresh);
}

/*
 * Writes a location to its reserved place. Stores each field directly: a struct copy would read the
 * fields together right after they were stored one by one, and stall.
 */
ux_inline void otlp_put_location(const struct ux_otlp_names *n, size_t place, const uint8_t *field,
				 struct ux_bytes content, uint64_t address)
{
	struct ux_otlp_location *l = &n->locations.data[place];
	l->address = address;
	l->field = otlp_offset(n, field);
	l->content = otlp_offset(n, content.data);
	l->end = otlp_offset(n, content.data + content.size);
	l->number = n->n_locations - 1;
	l->lines = 0;
	l->n_lines = 0;
}

/* Adds a location that was read, if it needs a name. */
ux_inline enum ux_code otlp_add_location(struct ux_otlp_names *n, const struct otlp_scanned *s,
					 const uint8_t *field, struct ux_bytes content,
					 struct ux_error *err)
{
	struct ux_otlp_locations *locations = &n->locations;
	n->n_locations++;
	if (s->named || s->mapping == 0)
		return UX_OK;
	if (ux_unlikely(locations->size == UX_OTLP_LOCATIONS_MAX && n->quota))
		return ux_error_at(err, UX_ELIMIT, SECTION, otlp_offset(n, content.data),
				   "more than %d locations without lines", UX_OTLP_LOCATIONS_MAX);
	if ((ux_unlikely(locations->size == locations->cap) &&
	     !ux_otlp_locations_reserve(locations, locations->size + 1)) ||
	    !otlp_begin_run(n, locations->size, s->mapping))
		return ux_error_nomem(err);
	otlp_put_location(n, locations->size++, field, content, s->address);
	return UX_OK;
}

enum {
	RESERVED_MAX = 1 << 14, /* locations to reserve at first */
};

/* Reserves room for the rest of a table, as if all its locations were as small as the next one. */
static bool otlp_reserve_locations(struct ux_otlp_names *n, const struct ux_cur *c)
{
	const size_t left = ux_cur_left(c), size = left > 1 ? 2 + (size_t)c->pos[1] : left;
	return ux_otlp_locations_reserve(
		&n->locations,
		n->locations.size + ux_min(left / ux_max(size, (size_t)1), (size_t)RESERVED_MAX));
}

/* Reads the next locations, as long as their tags are the usual ones of encoders. */
static enum ux_code otlp_scan_locations(struct ux_otlp_names *n, struct ux_cur *ret,
					struct ux_error *err)
{
	struct ux_cur c = *ret;
	if (!ux_cur_more(&c) || *c.pos != (OTLP_LOCATION_TABLE << 3 | UX_PROTOBUF_BYTES))
		return UX_OK;
	if (!otlp_reserve_locations(n, &c))
		return ux_error_nomem(err);
	while (ux_cur_more(&c) && *c.pos == (OTLP_LOCATION_TABLE << 3 | UX_PROTOBUF_BYTES)) {
		struct otlp_scanned s;
		const struct ux_cur before = c;
		ux_cur_pass(&c, 1);
		const uint64_t size = ux_cur_uleb(&c);
		const uint8_t *content = c.pos;
		if (ux_unlikely(!otlp_scan_plain_location(&c, size, &s))) {
			c = before;
			ux_cur_pass(&c, 1);
			struct ux_cur sub = ux_cur_sub(&c, ux_cur_uleb(&c));
			content = sub.pos;
			if (c.failed)
				break;
			UX_TRY(otlp_scan_any_location(sub, &s, err));
		}
		UX_TRY(otlp_add_location(n, &s, before.pos,
					 ux_bytes(content, (size_t)(c.pos - content)), err));
	}
	*ret = c;
	return UX_OK;
}

/* --- the dictionary --------------------------------------------------------------------------- */

static enum ux_code otlp_scan_dictionary(struct otlp_scan *s, struct ux_cur c, struct ux_error *err)
{
	struct ux_otlp_names *n = s->names;
	for (struct ux_protobuf_field f;;) {
		UX_TRY(otlp_scan_locations(n, &c, err));
		if (!ux_protobuf_next(&c, &f))
			break;
		if (f.number > OTLP_STACK_TABLE)
			continue; /* of a later version */
		if (!ux_protobuf_is_message(&c, &f))
			break;
		if (f.number == OTLP_LOCATION_TABLE) { /* its tag is longer than necessary */
			struct otlp_scanned one;
			UX_TRY(otlp_scan_any_location(f.bytes, &one, err));
			UX_TRY(otlp_add_location(n, &one, f.whole.data, ux_protobuf_text(&f), err));
		}
		if (f.number == OTLP_STRING_TABLE)
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

/* Takes the identity of an attribute, if it has one. */
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

/* Numbers the modules of all mappings; mappings with the same identity belong to one module. */
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
		if (modules->size > UX_OTLP_MODULES_MAX && s->names->quota)
			return ux_error_set(err, UX_ELIMIT,
					    "the mappings refer to more than %d modules",
					    UX_OTLP_MODULES_MAX);
		if (fresh)
			*number = (uint32_t)modules->size;
		ux_out_u32(&s->modules, *number);
	}
	return ux_out_status(&s->modules, err);
}

static size_t otlp_run_end(const struct ux_otlp_names *n, size_t run)
{
	return run + 1 < n->runs.size ? n->runs.data[run + 1].first : n->locations.size;
}

/* Numbers the modules of all runs, and counts the locations of each. */
static enum ux_code otlp_scan_count(struct otlp_scan *s, struct ux_error *err)
{
	struct ux_otlp_names *n = s->names;
	const size_t n_mappings = otlp_table_size(&s->modules);
	for (size_t i = 0; i < n->runs.size; i++) {
		struct ux_otlp_run *run = &n->runs.data[i];
		const size_t size = otlp_run_end(n, i) - run->first;
		if (run->mapping >= n_mappings)
			return ux_error_at(err, UX_ECORRUPT, SECTION,
					   n->locations.data[run->first].content,
					   "mapping %" PRIu32 " is past its table of %zu",
					   run->mapping, n_mappings);
		run->mapping = otlp_table_get(&s->modules, run->mapping);
		if (run->mapping == 0)
			n->n_unknown += (uint32_t)size;
		else
			n->modules.data[run->mapping - 1].n += size;
	}
	return UX_OK;
}

/* Groups the addresses by module; unknown modules come last. */
static enum ux_code otlp_scan_group(struct otlp_scan *s, struct ux_error *err)
{
	struct ux_otlp_names *n = s->names;
	UX_TRY(otlp_scan_count(s, err));
	n->addresses = malloc((n->locations.size + 1) * sizeof(*n->addresses));
	n->owners = malloc((n->locations.size + 1) * sizeof(*n->owners));
	if (!n->addresses || !n->owners)
		return ux_error_nomem(err);
	size_t first = 0;
	for (size_t m = 0; m < n->modules.size; m++) {
		n->modules.data[m].first = first;
		first += n->modules.data[m].n;
		n->modules.data[m].n = 0;
	}
	struct ux_otlp_module unknown = {.first = first};
	for (size_t k = 0; k < n->runs.size; k++) {
		const struct ux_otlp_run *run = &n->runs.data[k];
		struct ux_otlp_module *m =
			run->mapping == 0 ? &unknown : &n->modules.data[run->mapping - 1];
		const size_t end = otlp_run_end(n, k);
		size_t at = m->first + m->n;
		for (size_t i = run->first; i < end; i++, at++) {
			n->addresses[at] = n->locations.data[i].address;
			n->owners[at] = (uint32_t)i;
		}
		m->n = at - m->first;
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
	n->line_bytes.quota = n->functions.quota = n->strings.fields.quota = n->quota;
	if (n->bytes.size > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "message is too large: %zu bytes",
				    n->bytes.size);
	UX_TRY(otlp_scan_message(&s, err));
	n->strings.first = (uint32_t)otlp_table_size(&s.strings);
	UX_TRY(otlp_scan_modules(&s, err));
	return otlp_scan_group(&s, err);
}

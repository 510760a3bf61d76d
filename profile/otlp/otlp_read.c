/* SPDX-License-Identifier: Apache-2.0 */
/* Reads profiles of OpenTelemetry: the message and its dictionary. */
#include "otlp.h"

#include "otlp_fields.h"
#include "otlp_reader.h"
#include "otlp_schema.h"
#include "out.h"

static void otlp_reader_deinit(struct otlp_reader *r)
{
	otlp_slices_deinit(&r->strings);
	otlp_numbers_deinit(&r->texts);
	otlp_attributes_deinit(&r->attributes);
	otlp_mappings_deinit(&r->mappings);
	otlp_functions_deinit(&r->functions);
	otlp_numbers_deinit(&r->stacks);
	otlp_numbers_deinit(&r->stack);
	ux_profile_frames_deinit(&r->frames);
	ux_strings_deinit(&r->resource_keys);
	ux_profile_numbers_deinit(&r->resource_of);
}

/* Returns whether the known fields of a dictionary are messages and strings; *ret_strings is set if
 * it has strings. */
static bool otlp_is_dictionary(struct ux_cur c, bool *ret_strings)
{
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number <= OTLP_STACK_TABLE && f.wire != UX_PROTOBUF_BYTES)
			return false;
		*ret_strings |= f.number == OTLP_STRING_TABLE;
	}
	return !c.failed;
}

bool ux_otlp_is(struct ux_bytes bytes)
{
	struct ux_cur c = ux_cur_make(bytes, OTLP_SECTION, false);
	bool strings = false;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		if (f.number <= OTLP_DICTIONARY &&
		    (f.wire != UX_PROTOBUF_BYTES ||
		     (f.number == OTLP_DICTIONARY && !otlp_is_dictionary(f.bytes, &strings))))
			return false;
	/* The reader reports a damaged end. */
	return strings;
}

/* --- strings ---------------------------------------------------------------------------------- */

enum ux_code ux_otlp_dangling(const struct ux_cur *c, const char *what, uint64_t number, size_t n,
			      struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, OTLP_SECTION, ux_cur_off(c),
			   "%s %" PRIu64 " is past its table of %zu", what, number, n);
}

/* Sets the index that a string of the dictionary has in the profile. */
enum ux_code ux_otlp_reader_text(struct otlp_reader *r, uint64_t number, const struct ux_cur *c,
				 uint32_t *ret, struct ux_error *err)
{
	*ret = 0;
	if (number == 0)
		return UX_OK;
	if (number >= r->strings.size)
		return ux_otlp_dangling(c, "string", number, r->strings.size, err);
	if (r->texts.data[number] == 0) {
		UX_TRY(ux_profile_string(r->profile, r->strings.data[number],
					 &r->texts.data[number], err));
		r->texts.data[number]++;
	}
	*ret = r->texts.data[number] - 1;
	return UX_OK;
}

/* --- mappings --------------------------------------------------------------------------------- */

static enum ux_code otlp_read_attribute(struct otlp_reader *r, struct ux_cur c,
					struct ux_error *err)
{
	struct otlp_attribute a = {0};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_ATTRIBUTE_KEY)
			a.key = f.value;
		if (f.number != OTLP_ATTRIBUTE_VALUE || !ux_protobuf_is_message(&c, &f))
			continue;
		struct ux_protobuf_field inner;
		while (ux_protobuf_next(&f.bytes, &inner)) {
			if (inner.number == OTLP_VALUE_STRING)
				a.value = ux_protobuf_text(&inner);
			else if (inner.number == OTLP_VALUE_STRING_INDEX)
				a.text = inner.value;
		}
		UX_TRY(ux_cur_status(&f.bytes, err));
	}
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_profile_charge(r->profile, 2 * sizeof(a), err));
	return otlp_attributes_append(&r->attributes, a) ? UX_OK : ux_error_nomem(err);
}

/* Uses an attribute as the identity of a module if it is better than the module's present one. */
static void otlp_use_id(const struct otlp_reader *r, const struct otlp_attribute *a,
			struct ux_profile_module *module)
{
	if (a->key >= r->strings.size || a->text >= ux_max(r->strings.size, (size_t)1))
		return;
	ux_otlp_id_take(r->strings.data[a->key], a->text ? r->strings.data[a->text] : a->value,
			&module->id);
}

static enum ux_code otlp_read_mapping(struct otlp_reader *r, struct ux_cur c, struct ux_error *err)
{
	struct otlp_mapping mapping = {0};
	struct ux_profile_module module = {0};
	uint64_t path = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_MAPPING_START)
			mapping.start = f.value;
		else if (f.number == OTLP_MAPPING_LIMIT)
			mapping.limit = f.value;
		else if (f.number == OTLP_MAPPING_OFFSET)
			mapping.offset = f.value;
		else if (f.number == OTLP_MAPPING_FILENAME)
			path = f.value;
		else if (f.number == OTLP_MAPPING_ATTRIBUTES)
			for (uint64_t a; ux_protobuf_integer(&c, &f, &a);) {
				if (a >= r->attributes.size)
					return ux_otlp_dangling(&c, "attribute", a,
								r->attributes.size, err);
				otlp_use_id(r, &r->attributes.data[a], &module);
			}
	}
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_otlp_reader_text(r, path, &c, &module.path, err));
	if (r->mappings.size > 0) /* element 0 stands for "none" */
		UX_TRY(ux_profile_add_module(r->profile, module, &mapping.module, err));
	UX_TRY(ux_profile_charge(r->profile, 2 * sizeof(mapping), err));
	return otlp_mappings_append(&r->mappings, mapping) ? UX_OK : ux_error_nomem(err);
}

/* --- functions and locations ------------------------------------------------------------------ */

static enum ux_code otlp_read_function(struct otlp_reader *r, struct ux_cur c, struct ux_error *err)
{
	struct otlp_function function = {0};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_FUNCTION_NAME)
			function.name = f.value;
		else if (f.number == OTLP_FUNCTION_SYSTEM_NAME)
			function.system_name = f.value;
		else if (f.number == OTLP_FUNCTION_FILENAME)
			function.filename = f.value;
		else if (f.number == OTLP_FUNCTION_START_LINE)
			function.start_line = f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_profile_charge(r->profile, 2 * sizeof(function), err));
	return otlp_functions_append(&r->functions, function) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code otlp_read_line(struct otlp_reader *r, struct ux_cur c, struct ux_error *err)
{
	uint64_t function = 0;
	struct ux_profile_frame frame = {0};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_LINE_FUNCTION)
			function = f.value;
		else if (f.number == OTLP_LINE_LINE)
			frame.line = (uint32_t)f.value;
		else if (f.number == OTLP_LINE_COLUMN)
			frame.column = (uint32_t)f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	if (function >= r->functions.size)
		return ux_otlp_dangling(&c, "function", function, r->functions.size, err);
	const struct otlp_function *named = &r->functions.data[function];
	frame.start_line = (uint32_t)named->start_line;
	UX_TRY(ux_otlp_reader_text(r, named->name, &c, &frame.name, err));
	UX_TRY(ux_otlp_reader_text(r, named->system_name, &c, &frame.linkage, err));
	UX_TRY(ux_otlp_reader_text(r, named->filename, &c, &frame.file, err));
	return ux_profile_frames_append(&r->frames, frame) ? UX_OK : ux_error_nomem(err);
}

/* Sets the kind of a location's address. */
static enum ux_code otlp_place(const struct otlp_reader *r, uint64_t mapping,
			       struct ux_profile_location *l, const struct ux_cur *c,
			       struct ux_error *err)
{
	if (mapping == 0)
		return UX_OK;
	if (mapping >= r->mappings.size)
		return ux_otlp_dangling(c, "mapping", mapping, r->mappings.size, err);
	const struct otlp_mapping *m = &r->mappings.data[mapping];
	l->module = m->module;
	l->kind = UX_PROFILE_PC;
	if (m->start >= UX_OTLP_PROCESS_START && l->address >= m->start) {
		l->kind = UX_PROFILE_OFFSET;
		l->address = l->address - m->start + m->offset;
	}
	return UX_OK;
}

static enum ux_code otlp_read_location(struct otlp_reader *r, struct ux_cur c, struct ux_error *err)
{
	struct ux_profile_location location = {0};
	uint64_t mapping = 0;
	uint32_t number = 0;
	r->frames.size = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_LOCATION_MAPPING) {
			mapping = f.value;
		} else if (f.number == OTLP_LOCATION_ADDRESS) {
			location.address = f.value;
		} else if (f.number == OTLP_LOCATION_LINES && ux_protobuf_is_message(&c, &f)) {
			location.named = true;
			UX_TRY(otlp_read_line(r, f.bytes, err));
		}
	}
	UX_TRY(ux_cur_status(&c, err));
	if (!location.named)
		UX_TRY(otlp_place(r, mapping, &location, &c, err));
	for (size_t i = 0; i + 1 < r->frames.size; i++)
		r->frames.data[i].inlined = true;
	r->file->n_locations++;
	UX_TRY(ux_profile_add_location(r->profile, location, &number, err));
	return ux_profile_name(r->profile, number, r->frames.data, r->frames.size, err);
}

static enum ux_code otlp_read_stack(struct otlp_reader *r, struct ux_cur c, struct ux_error *err)
{
	r->stack.size = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number != OTLP_STACK_LOCATIONS)
			continue;
		for (uint64_t l; ux_protobuf_integer(&c, &f, &l);) {
			if (l >= r->file->n_locations)
				return ux_otlp_dangling(&c, "location", l, r->file->n_locations,
							err);
			if (r->stack.size >= UX_PROFILE_DEPTH_MAX)
				return ux_error_at(err, UX_ELIMIT, OTLP_SECTION, ux_cur_off(&c),
						   "stack has more than %d locations",
						   UX_PROFILE_DEPTH_MAX);
			if (!otlp_numbers_append(&r->stack, r->file->first_location + (uint32_t)l))
				return ux_error_nomem(err);
		}
	}
	UX_TRY(ux_cur_status(&c, err));
	uint32_t stack = 0;
	for (size_t i = r->stack.size; i > 0; i--)
		UX_TRY(ux_profile_push(r->profile, stack, r->stack.data[i - 1], &stack, err));
	return otlp_numbers_append(&r->stacks, stack) ? UX_OK : ux_error_nomem(err);
}

/* --- the dictionary --------------------------------------------------------------------------- */

/* Tables refer to each other in any order: strings and attributes are read first, then mappings and
 * functions, then locations, then stacks. */
static enum ux_code otlp_read_entry(struct otlp_reader *r, unsigned pass,
				    const struct ux_protobuf_field *f, struct ux_error *err)
{
	switch (f->number) {
	case OTLP_STRING_TABLE:
		if (pass != 0)
			return UX_OK;
		UX_TRY(ux_profile_charge(r->profile,
					 2 * (sizeof(struct ux_bytes) + sizeof(uint32_t)), err));
		return otlp_slices_append(&r->strings, ux_protobuf_text(f)) &&
				       otlp_numbers_append(&r->texts, 0)
			       ? UX_OK
			       : ux_error_nomem(err);
	case OTLP_ATTRIBUTE_TABLE:
		return pass == 0 ? otlp_read_attribute(r, f->bytes, err) : UX_OK;
	case OTLP_MAPPING_TABLE:
		return pass == 1 ? otlp_read_mapping(r, f->bytes, err) : UX_OK;
	case OTLP_FUNCTION_TABLE:
		return pass == 1 ? otlp_read_function(r, f->bytes, err) : UX_OK;
	case OTLP_LOCATION_TABLE:
		return pass == 2 ? otlp_read_location(r, f->bytes, err) : UX_OK;
	case OTLP_STACK_TABLE:
		return pass == 3 ? otlp_read_stack(r, f->bytes, err) : UX_OK;
	default:
		return UX_OK;
	}
}

static enum ux_code otlp_read_dictionary(struct otlp_reader *r, unsigned pass, struct ux_cur c,
					 struct ux_error *err)
{
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number > OTLP_STACK_TABLE)
			continue; /* of a later version */
		if (!ux_protobuf_is_message(&c, &f))
			break;
		UX_TRY(otlp_read_entry(r, pass, &f, err));
	}
	return ux_cur_status(&c, err);
}

/* --- the message ------------------------------------------------------------------------------ */

static enum ux_code otlp_read_pass(struct otlp_reader *r, unsigned pass, struct ux_error *err)
{
	enum {
		TYPES = 4, /* passes 0 to 3 read the dictionary */
		SAMPLES
	};
	struct ux_cur c = ux_cur_make(r->file->bytes, OTLP_SECTION, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_DICTIONARY && ux_protobuf_is_message(&c, &f)) {
			if (pass < TYPES)
				UX_TRY(otlp_read_dictionary(r, pass, f.bytes, err));
		} else if (f.number == OTLP_RESOURCE_PROFILES && pass >= TYPES &&
			   ux_protobuf_is_message(&c, &f)) {
			UX_TRY(ux_otlp_reader_resource(r, pass == SAMPLES, f.bytes, err));
		}
	}
	return ux_cur_status(&c, err);
}

static enum ux_code otlp_read_all(struct otlp_reader *r, struct ux_error *err)
{
	enum {
		PASSES = 6
	};
	for (unsigned pass = 0; pass < PASSES; pass++)
		UX_TRY(otlp_read_pass(r, pass, err));
	return UX_OK;
}

enum ux_code ux_otlp_read(struct ux_otlp *f, struct ux_bytes bytes, struct ux_profile *p,
			  struct ux_error *err)
{
	*f = (struct ux_otlp){.bytes = bytes, .first_location = (uint32_t)p->locations.size};
	ux_cleanup(otlp_reader_deinit) struct otlp_reader r = {.file = f, .profile = p};
	return otlp_read_all(&r, err);
}

enum ux_code ux_otlp_read_resources(struct ux_otlp *f, struct ux_bytes bytes, struct ux_profile *p,
				    struct ux_otlp_resources *ret, struct ux_error *err)
{
	*f = (struct ux_otlp){.bytes = bytes, .first_location = (uint32_t)p->locations.size};
	ux_cleanup(otlp_reader_deinit) struct otlp_reader r = {
		.file = f, .profile = p, .resources = ret};
	UX_TRY(ux_strings_init(&r.resource_keys, err));
	return otlp_read_all(&r, err);
}

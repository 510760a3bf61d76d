/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a Profile message of pprof. */
#include "pprof.h"

#include "pprof_fields.h"
#include "pprof_location.h"
#include "protobuf.h"

#define SECTION "pprof profile"

/* Properties of a mapping that its locations need. */
struct pprof_mapping {
	uint32_t module;
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
};

UX_VEC(pprof_mappings, struct pprof_mapping);
UX_VEC(pprof_numbers, uint32_t);

/* A function, with its strings as numbers in the file. */
struct pprof_function {
	uint64_t id, name, system_name, filename, start_line;
};

UX_VEC(pprof_functions, struct pprof_function);

enum {
	/* bytes of a function or mapping in the tables below and of its entry in a map, with the
	 * room by which tables and maps grow */
	PPROF_INDEXED = 2 * (sizeof(struct pprof_function) + 24)
};

/* The part of the message from the first to the last field of one number. */
struct pprof_part {
	const uint8_t *start; /* NULL: there is no such field */
	const uint8_t *end;
	uint32_t n; /* fields */
};

/* The state of reading. */
struct pprof_reader {
	struct ux_pprof *file;
	struct ux_profile *profile;
	struct pprof_part parts[PPROF_PERIOD_TYPE + 1]; /* by number of the field */
	struct pprof_numbers strings; /* number in the profile of each string of the file */
	struct pprof_mappings mappings;
	struct ux_profile_numbers mapping_of; /* index by ID */
	/* The mapping of the last location; most locations have the previous one's. NULL: none. */
	const struct pprof_mapping *mapping;
	uint64_t mapping_id;
	struct pprof_functions functions;
	struct ux_profile_numbers function_of; /* index by ID */
	/* Location of the profile, by ID. Empty as long as IDs count from 1 in the order of the
	 * locations, as most writers number them: then no table is needed. */
	struct ux_profile_numbers location_of;
	struct pprof_numbers stack;      /* locations of the current sample, the leaf first */
	struct ux_profile_frames frames; /* frames of the current location */
};

static void pprof_reader_deinit(struct pprof_reader *r)
{
	pprof_numbers_deinit(&r->strings);
	pprof_mappings_deinit(&r->mappings);
	ux_profile_numbers_deinit(&r->mapping_of);
	pprof_functions_deinit(&r->functions);
	ux_profile_numbers_deinit(&r->function_of);
	ux_profile_numbers_deinit(&r->location_of);
	pprof_numbers_deinit(&r->stack);
	ux_profile_frames_deinit(&r->frames);
}

/* Returns whether the message may be a ValueType: it has only numbers, where OTLP has messages. */
static bool pprof_is_value_type(struct ux_cur c)
{
	bool some = false;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f); some = true)
		if (f.wire != UX_PROTOBUF_VARINT || f.number > PPROF_UNIT)
			return false;
	return some && !c.failed;
}

bool ux_pprof_is(struct ux_bytes bytes)
{
	struct ux_cur c = ux_cur_make(bytes, SECTION, false);
	bool strings = false, types = true, samples = false;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number <= PPROF_STRING_TABLE && f.wire != UX_PROTOBUF_BYTES)
			return false;
		strings |= f.number == PPROF_STRING_TABLE;
		samples |= f.number == PPROF_SAMPLE;
		types &= f.number != PPROF_SAMPLE_TYPE || pprof_is_value_type(f.bytes);
	}
	/* The reader reports a damaged end, even if the file ends before its strings. */
	return strings || (samples && types && c.failed);
}

/* Sets the index that a string of the file has in the profile. */
static enum ux_code pprof_string(struct pprof_reader *r, uint64_t number, struct ux_cur *c,
				 uint32_t *ret, struct ux_error *err)
{
	if (number >= r->strings.size)
		return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(c),
				   "string %" PRIu64 " is past its table of %zu", number,
				   r->strings.size);
	*ret = r->strings.data[number];
	return UX_OK;
}

/* --- the tables ------------------------------------------------------------------------------- */

static enum ux_code pprof_read_string(struct pprof_reader *r, const struct ux_protobuf_field *f,
				      struct ux_error *err)
{
	uint32_t number = 0;
	UX_TRY(ux_profile_string(r->profile, ux_protobuf_text(f), &number, err));
	UX_TRY(ux_profile_charge(r->profile, 2 * sizeof(number), err));
	return pprof_numbers_append(&r->strings, number) ? UX_OK : ux_error_nomem(err);
}

/* Keeps the index of an ID. If several are equal, the first is used. */
static enum ux_code pprof_index(struct pprof_reader *r, struct ux_profile_numbers *numbers,
				uint64_t id, size_t index, struct ux_error *err)
{
	bool fresh = false;
	UX_TRY(ux_profile_charge(r->profile, PPROF_INDEXED, err));
	uint32_t *slot = ux_profile_numbers_insert(numbers, id, &fresh);
	if (!slot)
		return ux_error_nomem(err);
	if (fresh)
		*slot = (uint32_t)index;
	return UX_OK;
}

static enum ux_code pprof_read_function(struct pprof_reader *r, struct ux_cur c,
					struct ux_error *err)
{
	struct pprof_function function = {0};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_FUNCTION_ID)
			function.id = f.value;
		else if (f.number == PPROF_FUNCTION_NAME)
			function.name = f.value;
		else if (f.number == PPROF_FUNCTION_SYSTEM_NAME)
			function.system_name = f.value;
		else if (f.number == PPROF_FUNCTION_FILENAME)
			function.filename = f.value;
		else if (f.number == PPROF_FUNCTION_START_LINE)
			function.start_line = f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	r->file->function_max = ux_max(r->file->function_max, function.id);
	UX_TRY(pprof_index(r, &r->function_of, function.id, r->functions.size, err));
	return pprof_functions_append(&r->functions, function) ? UX_OK : ux_error_nomem(err);
}

/* Returns the ID of a mapping: hexadecimal, or a Go build ID. Any other text cannot be looked up.
 */
static struct ux_id pprof_module_id(struct ux_bytes text)
{
	struct ux_id id = {0};
	if (ux_id_parse(text, &id, NULL) == UX_OK ||
	    (text.size > 0 && memchr(text.data, '/', text.size) &&
	     ux_id_make(UX_ID_GO, text, &id, NULL) == UX_OK))
		return id;
	return (struct ux_id){0};
}

/* Returns the kind of module that a path names. */
static enum ux_profile_module_kind pprof_module_kind(struct ux_bytes path)
{
	if (ux_bytes_starts(path, UX_STR("[kernel")))
		return UX_PROFILE_KERNEL;
	if (ux_bytes_eq(path, UX_STR("[vdso]")) || ux_bytes_eq(path, UX_STR("linux-vdso.1.so")))
		return UX_PROFILE_VDSO;
	if (path.size == 0 || ux_bytes_starts(path, UX_STR("//anon")) ||
	    ux_bytes_starts(path, UX_STR("[anon")))
		return UX_PROFILE_JIT;
	return UX_PROFILE_FILE;
}

static enum ux_code pprof_read_mapping(struct pprof_reader *r, struct ux_cur c,
				       struct ux_error *err)
{
	struct pprof_mapping mapping = {0};
	uint64_t id = 0, path = 0, build_id = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_MAPPING_ID)
			id = f.value;
		else if (f.number == PPROF_MAPPING_START)
			mapping.start = f.value;
		else if (f.number == PPROF_MAPPING_LIMIT)
			mapping.limit = f.value;
		else if (f.number == PPROF_MAPPING_OFFSET)
			mapping.offset = f.value;
		else if (f.number == PPROF_MAPPING_FILENAME)
			path = f.value;
		else if (f.number == PPROF_MAPPING_BUILD_ID)
			build_id = f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	struct ux_profile_module module = {0};
	uint32_t text = 0;
	UX_TRY(pprof_string(r, path, &c, &module.path, err));
	UX_TRY(pprof_string(r, build_id, &c, &text, err));
	module.kind = pprof_module_kind(ux_profile_text(r->profile, module.path));
	module.id = pprof_module_id(ux_profile_text(r->profile, text));
	UX_TRY(ux_profile_add_module(r->profile, module, &mapping.module, err));
	UX_TRY(pprof_index(r, &r->mapping_of, id, r->mappings.size, err));
	return pprof_mappings_append(&r->mappings, mapping) ? UX_OK : ux_error_nomem(err);
}

/* --- locations -------------------------------------------------------------------------------- */

static enum ux_code pprof_read_line(struct pprof_reader *r, struct ux_cur c, struct ux_error *err)
{
	uint64_t id = 0, line = 0, column = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_LINE_FUNCTION)
			id = f.value;
		else if (f.number == PPROF_LINE_LINE)
			line = f.value;
		else if (f.number == PPROF_LINE_COLUMN)
			column = f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	if (id == 0)
		return UX_OK; /* a line without a function has no name */
	const uint32_t *index = ux_profile_numbers_find(&r->function_of, id);
	if (!index)
		return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(&c),
				   "unknown function %" PRIu64, id);
	const struct pprof_function *function = &r->functions.data[*index];
	struct ux_profile_frame frame = {
		.line = (uint32_t)line,
		.column = (uint32_t)column,
		.start_line = (uint32_t)function->start_line,
	};
	UX_TRY(pprof_string(r, function->name, &c, &frame.name, err));
	UX_TRY(pprof_string(r, function->system_name, &c, &frame.linkage, err));
	UX_TRY(pprof_string(r, function->filename, &c, &frame.file, err));
	return ux_profile_frames_append(&r->frames, frame) ? UX_OK : ux_error_nomem(err);
}

/* Returns the mapping with that ID, or NULL. */
static const struct pprof_mapping *pprof_mapping_of(struct pprof_reader *r, uint64_t id)
{
	if (r->mapping && r->mapping_id == id)
		return r->mapping;
	const uint32_t *index = ux_profile_numbers_find(&r->mapping_of, id);
	r->mapping = index ? &r->mappings.data[*index] : NULL;
	r->mapping_id = id;
	return r->mapping;
}

/* Sets the kind of a location's address. */
static void pprof_place(struct pprof_reader *r, uint64_t mapping, struct ux_profile_location *l)
{
	const struct pprof_mapping *m = pprof_mapping_of(r, mapping);
	l->kind = UX_PROFILE_ADDRESS;
	if (!m)
		return;
	l->module = m->module;
	enum ux_profile_module_kind kind = r->profile->modules.data[m->module].kind;
	if (kind != UX_PROFILE_FILE && kind != UX_PROFILE_VDSO)
		return;
	if (m->limit == 0) {
		l->kind = UX_PROFILE_PC;
	} else if (l->address >= m->start && l->address < m->limit) {
		l->kind = UX_PROFILE_OFFSET;
		l->address = l->address - m->start + m->offset;
	}
}

/* Keeps the number of a location, which is the last one. */
static enum ux_code pprof_index_location(struct pprof_reader *r, uint64_t id, uint32_t number,
					 struct ux_error *err)
{
	uint32_t n = r->file->n_locations++, first = r->file->first_location;
	bool counted = r->location_of.size == 0;
	if (counted && id == (uint64_t)n + 1)
		return UX_OK;
	for (uint32_t i = 0; counted && i < n; i++)
		UX_TRY(pprof_index(r, &r->location_of, (uint64_t)i + 1, first + i, err));
	return pprof_index(r, &r->location_of, id, number, err);
}

/* Returns the location with that ID, or 0. */
static uint32_t pprof_location(const struct pprof_reader *r, uint64_t id)
{
	if (r->location_of.size == 0)
		return id > 0 && id <= r->file->n_locations
			       ? r->file->first_location + (uint32_t)id - 1
			       : 0;
	const uint32_t *number = ux_profile_numbers_find(&r->location_of, id);
	return number ? *number : 0;
}

/* Reads the fields of any location. */
static enum ux_code pprof_read_fields(struct pprof_reader *r, struct ux_cur c,
				      struct ux_pprof_small *ret, struct ux_error *err)
{
	*ret = (struct ux_pprof_small){0};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_LOCATION_ID)
			ret->id = f.value;
		else if (f.number == PPROF_LOCATION_MAPPING)
			ret->mapping = f.value;
		else if (f.number == PPROF_LOCATION_ADDRESS)
			ret->address = f.value;
		else if (f.number == PPROF_LOCATION_LINE && ux_protobuf_is_message(&c, &f))
			UX_TRY(pprof_read_line(r, f.bytes, err));
	}
	return ux_cur_status(&c, err);
}

static enum ux_code pprof_read_location(struct pprof_reader *r, struct ux_cur c,
					struct ux_error *err)
{
	struct ux_pprof_small fields;
	r->frames.size = 0;
	if (!ux_pprof_small_read(&c, r->file->bytes.data + r->file->bytes.size, &fields))
		UX_TRY(pprof_read_fields(r, c, &fields, err));
	struct ux_profile_location location = {.address = fields.address};
	uint32_t number = 0;
	if (location.address != 0)
		pprof_place(r, fields.mapping, &location);
	/* unhex may know the name of an address that another program could not name. */
	bool may_be_named = location.module != 0 && r->frames.size == 1 &&
			    !ux_profile_frame_is_named(r->profile, &r->frames.data[0]);
	location.named = r->frames.size > 0 && !may_be_named;
	for (size_t i = 0; i + 1 < r->frames.size; i++)
		r->frames.data[i].inlined = true;
	UX_TRY(ux_profile_add_location(r->profile, location, &number, err));
	if (location.named)
		UX_TRY(ux_profile_name(r->profile, number, r->frames.data, r->frames.size, err));
	return pprof_index_location(r, fields.id, number, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static enum ux_code pprof_read_stack(struct pprof_reader *r, struct ux_cur *c,
				     struct ux_protobuf_field *f, struct ux_error *err)
{
	for (uint64_t id; ux_protobuf_integer(c, f, &id);) {
		uint32_t location = pprof_location(r, id);
		if (location == 0)
			return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(c),
					   "unknown location %" PRIu64, id);
		if (r->stack.size >= UX_PROFILE_DEPTH_MAX)
			return ux_error_at(err, UX_ELIMIT, SECTION, ux_cur_off(c),
					   "stack has more than %d locations",
					   UX_PROFILE_DEPTH_MAX);
		if (!pprof_numbers_append(&r->stack, location))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code pprof_read_sample(struct pprof_reader *r, struct ux_cur c, struct ux_error *err)
{
	int64_t values[UX_PROFILE_VALUES_MAX] = {0};
	size_t n = 0;
	r->stack.size = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_SAMPLE_LOCATION)
			UX_TRY(pprof_read_stack(r, &c, &f, err));
		else if (f.number == PPROF_SAMPLE_VALUE)
			for (uint64_t v; ux_protobuf_integer(&c, &f, &v); n++)
				if (n < r->profile->n_types)
					values[n] = (int64_t)v;
	}
	UX_TRY(ux_cur_status(&c, err));
	uint32_t stack = 0;
	for (size_t i = r->stack.size; i > 0; i--)
		UX_TRY(ux_profile_push(r->profile, stack, r->stack.data[i - 1], &stack, err));
	return ux_profile_add_sample(r->profile, 0, stack, 0, values, err);
}

static enum ux_code pprof_read_type(struct pprof_reader *r, struct ux_cur c,
				    struct ux_profile_type *ret, struct ux_error *err)
{
	uint64_t name = 0, unit = 0;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_TYPE)
			name = f.value;
		else if (f.number == PPROF_UNIT)
			unit = f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(pprof_string(r, name, &c, &ret->name, err));
	return pprof_string(r, unit, &c, &ret->unit, err);
}

/* --- the message ------------------------------------------------------------------------------ */

/* Reads a field that refers only to strings, or to nothing. */
static enum ux_code pprof_read_head(struct pprof_reader *r, const struct ux_protobuf_field *f,
				    struct ux_error *err)
{
	struct ux_profile *p = r->profile;
	switch (f->number) {
	case PPROF_SAMPLE_TYPE:
		if (p->n_types == UX_PROFILE_VALUES_MAX)
			return ux_error_set(err, UX_ELIMIT, "sample has more than %d values",
					    UX_PROFILE_VALUES_MAX);
		return pprof_read_type(r, f->bytes, &p->types[p->n_types++], err);
	case PPROF_PERIOD_TYPE:
		return pprof_read_type(r, f->bytes, &p->period_type, err);
	case PPROF_FUNCTION:
		return pprof_read_function(r, f->bytes, err);
	case PPROF_MAPPING:
		return pprof_read_mapping(r, f->bytes, err);
	case PPROF_LOCATION:
		return pprof_read_location(r, f->bytes, err);
	case PPROF_SAMPLE:
		return pprof_read_sample(r, f->bytes, err);
	default:
		return UX_OK;
	}
}

/* Reads the fields that refer to nothing, and notes where the other fields are. The cursor fails at
 * a field that should be a message but is not. */
static enum ux_code pprof_read_first(struct pprof_reader *r, struct ux_cur *c,
				     const struct ux_protobuf_field *f, struct ux_error *err)
{
	struct ux_profile *p = r->profile;
	switch (f->number) {
	case PPROF_TIME_NANOS:
		p->start_ns = f->value;
		return UX_OK;
	case PPROF_DURATION_NANOS:
		p->duration_ns = f->value;
		return UX_OK;
	case PPROF_PERIOD:
		p->period = (int64_t)f->value;
		return UX_OK;
	case PPROF_STRING_TABLE:
		return ux_protobuf_is_message(c, f) ? pprof_read_string(r, f, err) : UX_OK;
	default:
		break;
	}
	if (f->number > PPROF_STRING_TABLE && f->number != PPROF_PERIOD_TYPE)
		return UX_OK;
	struct pprof_part *part = &r->parts[f->number];
	if (!ux_protobuf_is_message(c, f))
		return UX_OK;
	if (!part->start)
		part->start = f->whole.data;
	part->end = f->whole.data + f->whole.size;
	part->n++;
	return UX_OK;
}

/* Reads all fields of one number. */
static enum ux_code pprof_read_part(struct pprof_reader *r, uint32_t number, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(r->file->bytes, SECTION, false);
	const struct pprof_part *part = &r->parts[number];
	if (!part->start)
		return UX_OK;
	ux_cur_pass(&c, (uint64_t)(part->start - c.pos));
	while (c.pos < part->end) {
		struct ux_protobuf_field f;
		if (!ux_protobuf_next(&c, &f))
			break;
		if (f.number == number)
			UX_TRY(pprof_read_head(r, &f, err));
	}
	return ux_cur_status(&c, err);
}

/*
 * Fields come in any order and refer to each other by ID, so a field that others refer to is read
 * first. Only the first pass walks the whole message.
 */
enum ux_code ux_pprof_read(struct ux_pprof *f, struct ux_bytes bytes, struct ux_profile *p,
			   struct ux_error *err)
{
	static const uint32_t order[] = {PPROF_SAMPLE_TYPE, PPROF_PERIOD_TYPE, PPROF_FUNCTION,
					 PPROF_MAPPING,     PPROF_LOCATION,    PPROF_SAMPLE};
	*f = (struct ux_pprof){.bytes = bytes, .first_location = (uint32_t)p->locations.size};
	ux_cleanup(pprof_reader_deinit) struct pprof_reader r = {.file = f, .profile = p};
	struct ux_cur c = ux_cur_make(bytes, SECTION, false);
	for (struct ux_protobuf_field field; ux_protobuf_next(&c, &field);)
		UX_TRY(pprof_read_first(&r, &c, &field, err));
	UX_TRY(ux_cur_status(&c, err));
	f->n_strings = (uint32_t)r.strings.size;
	if (r.strings.size == 0 && !pprof_numbers_append(&r.strings, 0))
		return ux_error_nomem(err);
	for (size_t i = 0; i < ux_countof(order); i++)
		UX_TRY(pprof_read_part(&r, order[i], err));
	f->n_frames = p->frames.size;
	return UX_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of strings and functions of a Profile message. */
#include "function_table.h"

#include "demangle.h"
#include "pprof_fields.h"
#include "protobuf.h"

void ux_function_table_release_lines(struct ux_function_table *t)
{
	free(t->line_of);
	t->line_of = NULL;
	ux_out_deinit(&t->lines);
}

void ux_function_table_deinit(struct ux_function_table *t)
{
	ux_out_deinit(&t->strings);
	ux_out_deinit(&t->functions);
	ux_out_deinit(&t->inner);
	ux_out_deinit(&t->name);
	free(t->string_of);
	free(t->function_of);
	ux_function_table_release_lines(t);
	ux_string_numbers_deinit(&t->demangled);
	ux_function_places_deinit(&t->places);
}

enum ux_code ux_function_table_init(struct ux_function_table *t, const struct ux_profile *p,
				    uint64_t n_strings, uint64_t first_function,
				    struct ux_error *err)
{
	*t = (struct ux_function_table){
		.profile = p,
		.n_strings = n_strings,
		.first_function = first_function,
		.string_of = calloc(p->strings.list.size, sizeof(*t->string_of)),
		.function_of = calloc(p->frames.size + 1, sizeof(*t->function_of)),
	};
	return t->string_of && t->function_of ? UX_OK : ux_error_nomem(err);
}

uint64_t ux_function_table_put(struct ux_function_table *t, struct ux_bytes text)
{
	if (t->n_strings == 0 && text.size > 0) /* string 0 is "" in every message */
		(void)ux_function_table_put(t, UX_STR(""));
	ux_protobuf_put_bytes(&t->strings, PPROF_STRING_TABLE, text);
	return t->n_strings++;
}

uint64_t ux_function_table_string(struct ux_function_table *t, uint32_t string)
{
	if (string == 0)
		return 0;
	if (t->string_of[string] == 0)
		t->string_of[string] =
			(uint32_t)ux_function_table_put(t, ux_profile_text(t->profile, string)) + 1;
	return t->string_of[string] - 1;
}

/* Returns the index in the message of a linkage name's readable form. */
static enum ux_code function_table_demangled(struct ux_function_table *t, uint32_t linkage,
					     uint64_t *ret, struct ux_error *err)
{
	struct ux_bytes text = ux_profile_text(t->profile, linkage);
	bool fresh = false;
	uint32_t *number = ux_string_numbers_insert(&t->demangled, text, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh) {
		ux_out_reset(&t->name);
		ux_demangle(text, UX_DEMANGLE_FULL, &t->name);
		UX_TRY(ux_out_status(&t->name, err));
		struct ux_bytes name = ux_out_bytes(&t->name);
		*number = (uint32_t)(ux_bytes_eq(name, text) ? ux_function_table_string(t, linkage)
							     : ux_function_table_put(t, name));
	}
	*ret = *number;
	return UX_OK;
}

/* Returns the ID of a function; appends the function if it is new. */
static enum ux_code function_table_add(struct ux_function_table *t,
				       const struct ux_profile_frame *frame, uint64_t *ret,
				       struct ux_error *err)
{
	struct ux_function_key key = {frame->name, frame->linkage, frame->file, frame->start_line};
	bool fresh = false;
	uint32_t *place = ux_function_places_insert(&t->places, key, &fresh);
	if (!place)
		return ux_error_nomem(err);
	if (fresh)
		*place = (uint32_t)t->n_functions++;
	*ret = t->first_function + *place;
	if (!fresh)
		return UX_OK;
	uint64_t name = ux_function_table_string(t, frame->name);
	if (frame->name == 0)
		UX_TRY(function_table_demangled(t, frame->linkage, &name, err));
	uint32_t linkage = frame->linkage ? frame->linkage : frame->name;
	ux_out_reset(&t->inner);
	ux_protobuf_put_uint(&t->inner, PPROF_FUNCTION_ID, *ret);
	ux_protobuf_put_nonzero(&t->inner, PPROF_FUNCTION_NAME, name);
	ux_protobuf_put_nonzero(&t->inner, PPROF_FUNCTION_SYSTEM_NAME,
				ux_function_table_string(t, linkage));
	ux_protobuf_put_nonzero(&t->inner, PPROF_FUNCTION_FILENAME,
				ux_function_table_string(t, frame->file));
	ux_protobuf_put_nonzero(&t->inner, PPROF_FUNCTION_START_LINE, frame->start_line);
	ux_protobuf_put_message(&t->functions, PPROF_FUNCTION, &t->inner);
	return UX_OK;
}

/* The same for frame `number` of the profile. */
static enum ux_code function_table_of_frame(struct ux_function_table *t, size_t number,
					    uint64_t *ret, struct ux_error *err)
{
	if (t->function_of[number] == 0) {
		UX_TRY(function_table_add(t, &t->profile->frames.data[number], ret, err));
		t->function_of[number] = (uint32_t)(*ret - t->first_function) + 1;
	}
	*ret = t->first_function + t->function_of[number] - 1;
	return UX_OK;
}

/* Writes a number after the tag of its field; zero is the default and is left out. */
ux_inline uint8_t *function_table_put_number(uint8_t *p, uint32_t field, uint64_t value)
{
	if (value == 0)
		return p;
	p = ux_uleb_put(p, (uint64_t)field << 3 | UX_PROTOBUF_VARINT);
	return ux_uleb_put(p, value);
}

/* Appends a frame's line, with this function. */
static void function_table_line(uint64_t function, const struct ux_profile_frame *frame,
				struct ux_out *out)
{
	enum {
		ULEB_MAX = 10,
		MAX = ULEB_MAX + 1 + 3 * 2 * ULEB_MAX,
	};
	static_assert(MAX < 0x80, "the size of a line is one byte");
	uint8_t *start = ux_out_room(out, MAX);
	if (!start)
		return;
	uint8_t *size = ux_uleb_put(start, PPROF_LOCATION_LINE << 3 | UX_PROTOBUF_BYTES);
	uint8_t *p = ux_uleb_put(size + 1, PPROF_LINE_FUNCTION << 3);
	p = ux_uleb_put(p, function);
	p = function_table_put_number(p, PPROF_LINE_LINE, frame->line);
	p = function_table_put_number(p, PPROF_LINE_COLUMN, frame->column);
	*size = (uint8_t)(p - size - 1);
	out->size -= MAX - (size_t)(p - start);
}

/* Returns whether two frames have the same function. */
ux_inline bool function_table_is_same(const struct ux_profile_frame *a,
				      const struct ux_profile_frame *b)
{
	return a->name == b->name && a->linkage == b->linkage && a->file == b->file &&
	       a->start_line == b->start_line;
}

enum ux_code ux_function_table_prepare(struct ux_function_table *t, size_t first,
				       struct ux_error *err)
{
	enum {
		RECENT = 64
	};
	/* The frames of the latest functions: neighbours often have the same ones. */
	const struct ux_profile_frame *recent[RECENT] = {0};
	uint64_t functions[RECENT] = {0};
	const struct ux_profile_frame *frames = t->profile->frames.data;
	const size_t n = t->profile->frames.size - first;
	t->first_line = first;
	t->line_of = malloc((n + 1) * sizeof(*t->line_of));
	if (!t->line_of)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct ux_profile_frame *frame = &frames[first + i];
		const size_t at = (frame->name ^ frame->linkage ^ frame->file) % RECENT;
		t->line_of[i] = (uint32_t)t->lines.size;
		if (!recent[at] || !function_table_is_same(recent[at], frame))
			UX_TRY(function_table_add(t, frame, &functions[at], err));
		recent[at] = frame;
		function_table_line(functions[at], frame, &t->lines);
	}
	t->line_of[n] = (uint32_t)t->lines.size;
	if (t->lines.size > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "the lines of the locations exceed %u bytes",
				    UINT32_MAX);
	return ux_out_status(&t->lines, err);
}

enum ux_code ux_function_table_lines(struct ux_function_table *t,
				     const struct ux_profile_location *l, struct ux_out *message,
				     struct ux_error *err)
{
	for (uint32_t i = 0; i < l->n; i++) {
		uint64_t function = 0;
		UX_TRY(function_table_of_frame(t, l->first + i, &function, err));
		function_table_line(function, &t->profile->frames.data[l->first + i], message);
	}
	return UX_OK;
}

enum ux_code ux_function_table_write(const struct ux_function_table *t, struct ux_out *out,
				     struct ux_error *err)
{
	UX_TRY(ux_out_status(&t->functions, err));
	UX_TRY(ux_out_status(&t->strings, err));
	ux_out_put(out, t->functions.data, t->functions.size);
	ux_out_put(out, t->strings.data, t->strings.size);
	return ux_out_status(out, err);
}

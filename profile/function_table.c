/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of strings and functions of a profile message. */
#include "function_table.h"

#include "demangle.h"
#include "protobuf.h"

void ux_function_table_deinit(struct ux_function_table *t)
{
	ux_out_deinit(&t->strings);
	ux_out_deinit(&t->functions);
	ux_out_deinit(&t->inner);
	ux_out_deinit(&t->name);
	free(t->string_of);
	free(t->function_of);
	ux_string_numbers_deinit(&t->demangled);
	ux_function_places_deinit(&t->places);
}

enum ux_code ux_function_table_init(struct ux_function_table *t, const struct ux_profile *p,
				    const struct ux_function_fields *fields, uint64_t n_strings,
				    uint64_t first_function, struct ux_error *err)
{
	*t = (struct ux_function_table){
		.profile = p,
		.fields = fields,
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
	ux_protobuf_put_bytes(&t->strings, t->fields->string, text);
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

/* The number in the message of the readable form of a linkage name. */
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

/* The ID, or the number, of a function, which is appended when it is new. */
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
	const struct ux_function_fields *fields = t->fields;
	ux_out_reset(&t->inner);
	if (fields->id)
		ux_protobuf_put_uint(&t->inner, fields->id, *ret);
	ux_protobuf_put_nonzero(&t->inner, fields->name, name);
	ux_protobuf_put_nonzero(&t->inner, fields->system_name,
				ux_function_table_string(t, linkage));
	ux_protobuf_put_nonzero(&t->inner, fields->filename,
				ux_function_table_string(t, frame->file));
	ux_protobuf_put_nonzero(&t->inner, fields->start_line, frame->start_line);
	ux_protobuf_put_message(&t->functions, fields->function, &t->inner);
	return UX_OK;
}

/* The same for the frame with that number of the profile. */
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

enum ux_code ux_function_table_prepare(struct ux_function_table *t, size_t first,
				       struct ux_error *err)
{
	uint64_t function = 0;
	for (size_t i = first; i < t->profile->frames.size; i++)
		UX_TRY(function_table_of_frame(t, i, &function, err));
	return UX_OK;
}

enum ux_code ux_function_table_lines(struct ux_function_table *t,
				     const struct ux_profile_location *l, uint32_t number,
				     struct ux_out *message, struct ux_error *err)
{
	const struct ux_function_fields *fields = t->fields;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct ux_profile_frame *frame = &t->profile->frames.data[l->first + i];
		uint64_t function = 0;
		UX_TRY(function_table_of_frame(t, l->first + i, &function, err));
		ux_out_reset(&t->inner);
		ux_protobuf_put_uint(&t->inner, fields->line_function, function);
		ux_protobuf_put_nonzero(&t->inner, fields->line_line, frame->line);
		ux_protobuf_put_nonzero(&t->inner, fields->line_column, frame->column);
		ux_protobuf_put_message(message, number, &t->inner);
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

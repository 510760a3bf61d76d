/* SPDX-License-Identifier: Apache-2.0 */
/* Adding names to profiles of OpenTelemetry. */
#include "otlp.h"

#include "function_table.h"
#include "otlp_fields.h"
#include "protobuf.h"

static const struct ux_function_fields otlp_function_fields = {
	.string = OTLP_STRING_TABLE,
	.function = OTLP_FUNCTION_TABLE,
	.name = OTLP_FUNCTION_NAME,
	.system_name = OTLP_FUNCTION_SYSTEM_NAME,
	.filename = OTLP_FUNCTION_FILENAME,
	.start_line = OTLP_FUNCTION_START_LINE,
	.line_function = OTLP_LINE_FUNCTION,
	.line_line = OTLP_LINE_LINE,
	.line_column = OTLP_LINE_COLUMN,
};

enum ux_code ux_otlp_function_table(struct ux_function_table *t, const struct ux_otlp *f,
				    const struct ux_profile *p, struct ux_error *err)
{
	UX_TRY(ux_function_table_init(t, p, &otlp_function_fields, f->n_strings, f->n_functions,
				      err));
	if (f->n_functions == 0) /* element 0 of each table is the zero value */
		t->first_function = 1;
	return UX_OK;
}

/* The state of writing. */
struct otlp_writer {
	const struct ux_profile *profile;
	uint32_t location;        /* the next location of the location table */
	struct ux_out dictionary; /* the dictionary that is being written */
	struct ux_out message;
	struct ux_function_table table;
};

static void otlp_writer_deinit(struct otlp_writer *w)
{
	ux_out_deinit(&w->dictionary);
	ux_out_deinit(&w->message);
	ux_function_table_deinit(&w->table);
}

/* Writes a location that had no lines: keeps its fields and adds its lines. */
static enum ux_code otlp_write_location(struct otlp_writer *w, const struct ux_cur *c,
					const struct ux_profile_location *l, struct ux_error *err)
{
	ux_out_reset(&w->message);
	ux_out_put(&w->message, c->pos, ux_cur_left(c));
	UX_TRY(ux_function_table_lines(&w->table, l, OTLP_LOCATION_LINES, &w->message, err));
	ux_protobuf_put_message(&w->dictionary, OTLP_LOCATION_TABLE, &w->message);
	return UX_OK;
}

static enum ux_code otlp_write_dictionary(struct otlp_writer *w, struct ux_cur c,
					  struct ux_error *err)
{
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		const struct ux_profile_location *l = NULL;
		if (f.number == OTLP_LOCATION_TABLE)
			l = &w->profile->locations.data[w->location++];
		if (l && l->n > 0 && !l->named)
			UX_TRY(otlp_write_location(w, &f.bytes, l, err));
		else
			ux_out_put(&w->dictionary, f.whole.data, f.whole.size);
	}
	return ux_cur_status(&c, err);
}

enum ux_code ux_otlp_rewrite(const struct ux_otlp *f, const struct ux_profile *p,
			     struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(otlp_writer_deinit) struct otlp_writer w = {.profile = p,
							       .location = f->first_location};
	UX_TRY(ux_otlp_function_table(&w.table, f, p, err));
	struct ux_cur c = ux_cur_make(f->bytes, NULL, false);
	uint64_t left = 0; /* dictionaries after this one: parts of one message are joined */
	for (struct ux_protobuf_field field; ux_protobuf_next(&c, &field);)
		left += field.number == OTLP_DICTIONARY;
	c = ux_cur_make(f->bytes, NULL, false);
	for (struct ux_protobuf_field field; ux_protobuf_next(&c, &field);) {
		if (field.number != OTLP_DICTIONARY) {
			ux_out_put(out, field.whole.data, field.whole.size);
			continue;
		}
		ux_out_reset(&w.dictionary);
		UX_TRY(otlp_write_dictionary(&w, field.bytes, err));
		if (--left == 0) {
			if (w.table.n_functions > 0 && f->n_functions == 0)
				ux_protobuf_put_bytes(&w.dictionary, OTLP_FUNCTION_TABLE,
						      UX_BYTES_NONE);
			UX_TRY(ux_function_table_write(&w.table, &w.dictionary, err));
		}
		UX_TRY(ux_out_status(&w.dictionary, err));
		if (ux_bytes_eq(ux_out_bytes(&w.dictionary), ux_protobuf_text(&field)))
			ux_out_put(out, field.whole.data, field.whole.size);
		else
			ux_protobuf_put_message(out, OTLP_DICTIONARY, &w.dictionary);
	}
	UX_TRY(ux_cur_status(&c, err));
	return ux_out_status(out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Adding names to profiles of OpenTelemetry in JSON. */
#include "otlp_json.h"

#include "function_table.h"
#include "json_in.h"
#include "json_out.h"
#include "otlp_fields.h"
#include "otlp_schema.h"
#include "protobuf.h"

/* The state of writing. Input before `copied` is already in the output. */
struct otlp_json_writer {
	const struct ux_profile *profile;
	const struct ux_otlp *file;
	struct ux_cur c;
	const uint8_t *copied;
	struct ux_out *out;
	struct ux_function_table table;
	uint32_t location;       /* the next location of the location table */
	struct ux_out message;   /* in protobuf: the lines of a location */
	struct ux_out text;      /* the same lines in JSON */
	struct ux_out functions; /* in JSON: the array of added functions */
	struct ux_out strings;
};

static void otlp_json_writer_deinit(struct otlp_json_writer *w)
{
	ux_function_table_deinit(&w->table);
	ux_out_deinit(&w->message);
	ux_out_deinit(&w->text);
	ux_out_deinit(&w->functions);
	ux_out_deinit(&w->strings);
}

/* --- additions -------------------------------------------------------------------------------- */

/* Appends a message whose fields are integers. */
static void otlp_json_put_message(struct ux_json *j, enum ux_otlp_message message, struct ux_cur c)
{
	ux_json_object_begin(j);
	for (struct ux_protobuf_field field; ux_protobuf_next(&c, &field);) {
		const struct ux_otlp_field *f = ux_otlp_fields(message);
		while (f->number != 0 && f->number != field.number)
			f++;
		if (f->number == 0)
			continue;
		ux_json_key(j, f->name);
		if (f->type == UX_OTLP_INT32)
			ux_json_u64(j, field.value);
		else
			ux_out_fmt(ux_json_value(j), "\"%" PRIu64 "\"", field.value);
	}
	ux_json_object_end(j);
}

/* Appends the messages in a buffer as an array, after an empty one if `zero`. */
static void otlp_json_put_messages(const struct ux_out *messages, enum ux_otlp_message message,
				   bool zero, struct ux_out *out)
{
	struct ux_cur c = ux_cur_make(ux_out_bytes(messages), NULL, false);
	struct ux_json j = ux_json_make(out);
	ux_json_array_begin(&j);
	if (zero) {
		ux_json_object_begin(&j);
		ux_json_object_end(&j);
	}
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		otlp_json_put_message(&j, message, f.bytes);
	ux_json_array_end(&j);
}

static void otlp_json_put_strings(const struct ux_out *strings, struct ux_out *out)
{
	struct ux_cur c = ux_cur_make(ux_out_bytes(strings), NULL, false);
	struct ux_json j = ux_json_make(out);
	ux_json_array_begin(&j);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		ux_json_str(&j, ux_protobuf_text(&f));
	ux_json_array_end(&j);
}

/* Writes the lines of a location in protobuf; empty: the location stays unchanged. */
static enum ux_code otlp_json_lines(struct otlp_json_writer *w, uint32_t location,
				    struct ux_error *err)
{
	const struct ux_profile_location *l =
		&w->profile->locations.data[w->file->first_location + location];
	ux_out_reset(&w->message);
	if (l->n > 0 && !l->named)
		UX_TRY(ux_function_table_lines(&w->table, l, OTLP_LOCATION_LINES, &w->message,
					       err));
	return ux_out_status(&w->message, err);
}

/* Collects the functions and strings that the lines of all locations need: their tables may come
 * before the table of locations. */
static enum ux_code otlp_json_prepare(struct otlp_json_writer *w, struct ux_error *err)
{
	UX_TRY(ux_otlp_function_table(&w->table, w->file, w->profile, err));
	for (uint32_t i = 0; i < w->file->n_locations; i++)
		UX_TRY(otlp_json_lines(w, i, err));
	UX_TRY(ux_out_status(&w->table.functions, err));
	UX_TRY(ux_out_status(&w->table.strings, err));
	otlp_json_put_messages(&w->table.functions, UX_OTLP_FUNCTION, w->file->n_functions == 0,
			       &w->functions);
	otlp_json_put_strings(&w->table.strings, &w->strings);
	UX_TRY(ux_out_status(&w->functions, err));
	return ux_out_status(&w->strings, err);
}

/* --- where it is added ------------------------------------------------------------------------ */

static void otlp_json_copy(struct otlp_json_writer *w, const uint8_t *end)
{
	ux_out_put(w->out, w->copied, (size_t)(end - w->copied));
	w->copied = end;
}

static void otlp_json_put(struct otlp_json_writer *w, struct ux_bytes bytes)
{
	ux_out_put(w->out, bytes.data, bytes.size);
}

/* Replaces the value at the cursor. */
static void otlp_json_replace(struct otlp_json_writer *w, struct ux_bytes value)
{
	(void)ux_json_peek(&w->c);
	otlp_json_copy(w, w->c.pos);
	(void)ux_json_skip(&w->c);
	w->copied = w->c.pos;
	otlp_json_put(w, value);
}

/* Adds the elements of an array to the one at the cursor. */
static void otlp_json_extend(struct otlp_json_writer *w, struct ux_bytes added)
{
	struct ux_cur c = w->c;
	const uint8_t *end = NULL;
	size_t n = 0;
	if (ux_json_peek(&c) == UX_JSON_ARRAY)
		while (ux_json_read_element(&c, &n)) {
			(void)ux_json_skip(&c);
			end = c.pos;
		}
	if (n == 0) {
		otlp_json_replace(w, added);
		return;
	}
	w->c = c;
	if (added.size > 2) { /* more than the brackets */
		otlp_json_copy(w, end);
		ux_out_u8(w->out, ',');
		otlp_json_put(w, ux_bytes(added.data + 1, added.size - 2));
	}
}

/* Adds a member to an object of n members that the cursor has just passed; `end` is where the last
 * member ends. */
static void otlp_json_add(struct otlp_json_writer *w, const uint8_t *end, size_t n, const char *key,
			  struct ux_bytes value)
{
	otlp_json_copy(w, n > 0 ? end : w->c.pos - 1);
	ux_out_fmt(w->out, "%s\"%s\":", n > 0 ? "," : "", key);
	otlp_json_put(w, value);
}

static enum ux_code otlp_json_write_location(struct otlp_json_writer *w, struct ux_error *err)
{
	struct ux_json_text key;
	const uint8_t *end = NULL;
	size_t n = 0;
	bool had = false;
	UX_TRY(otlp_json_lines(w, w->location++, err));
	ux_out_reset(&w->text);
	otlp_json_put_messages(&w->message, UX_OTLP_LINE, false, &w->text);
	UX_TRY(ux_out_status(&w->text, err));
	bool adds = w->message.size > 0;
	while (ux_json_read_member(&w->c, &n, &key)) {
		bool is = adds && ux_json_text_eq(key, "lines");
		if (is)
			otlp_json_replace(w, ux_out_bytes(&w->text));
		else
			(void)ux_json_skip(&w->c);
		had |= is;
		end = w->c.pos;
	}
	if (adds && !had)
		otlp_json_add(w, end, n, "lines", ux_out_bytes(&w->text));
	return UX_OK;
}

static enum ux_code otlp_json_write_locations(struct otlp_json_writer *w, struct ux_error *err)
{
	size_t n = 0;
	if (ux_json_peek(&w->c) != UX_JSON_ARRAY) {
		(void)ux_json_skip(&w->c);
		return UX_OK;
	}
	while (ux_json_read_element(&w->c, &n))
		UX_TRY(otlp_json_write_location(w, err));
	return UX_OK;
}

static enum ux_code otlp_json_write_dictionary(struct otlp_json_writer *w, struct ux_error *err)
{
	struct {
		const char *key;
		struct ux_bytes added;
		bool had;
	} tables[] = {
		{"functionTable", ux_out_bytes(&w->functions), false},
		{"stringTable", ux_out_bytes(&w->strings), false},
	};
	struct ux_json_text key;
	const uint8_t *end = NULL;
	size_t n = 0;
	if (ux_json_peek(&w->c) != UX_JSON_OBJECT) {
		(void)ux_json_skip(&w->c);
		return UX_OK;
	}
	while (ux_json_read_member(&w->c, &n, &key)) {
		size_t i = 0;
		while (i < ux_countof(tables) && !ux_json_text_eq(key, tables[i].key))
			i++;
		if (i < ux_countof(tables)) {
			otlp_json_extend(w, tables[i].added);
			tables[i].had = true;
		} else if (ux_json_text_eq(key, "locationTable")) {
			UX_TRY(otlp_json_write_locations(w, err));
		} else {
			(void)ux_json_skip(&w->c);
		}
		end = w->c.pos;
	}
	for (size_t i = 0; i < ux_countof(tables); i++)
		if (!tables[i].had && tables[i].added.size > 2) {
			otlp_json_add(w, end, n, tables[i].key, tables[i].added);
			n++;
			end = w->copied;
		}
	return UX_OK;
}

static enum ux_code otlp_json_write(struct otlp_json_writer *w, struct ux_error *err)
{
	struct ux_json_text key;
	size_t n = 0;
	UX_TRY(otlp_json_prepare(w, err));
	while (w->table.n_functions > 0 && ux_json_read_member(&w->c, &n, &key)) {
		if (ux_json_text_eq(key, "dictionary"))
			UX_TRY(otlp_json_write_dictionary(w, err));
		else
			(void)ux_json_skip(&w->c);
	}
	UX_TRY(ux_cur_status(&w->c, err));
	otlp_json_copy(w, w->c.end);
	return ux_out_status(w->out, err);
}

enum ux_code ux_otlp_json_rewrite(const struct ux_otlp *f, struct ux_bytes json,
				  const struct ux_profile *p, struct ux_out *out,
				  struct ux_error *err)
{
	struct otlp_json_writer w = {
		.profile = p,
		.file = f,
		.c = ux_cur_make(json, "OTLP JSON", false),
		.copied = json.data,
		.out = out,
	};
	enum ux_code code = otlp_json_write(&w, err);
	otlp_json_writer_deinit(&w);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Adding names to profiles of OpenTelemetry in JSON. */
#include "otlp_json.h"

#include "json_in.h"
#include "json_out.h"
#include "otlp_names.h"
#include "otlp_schema.h"
#include "protobuf.h"

/* The state of writing. Input before `copied` is already in the output. */
struct otlp_json_writer {
	const struct ux_otlp_names *names;
	struct ux_cur c;
	const uint8_t *copied;
	struct ux_out *out;
	uint32_t location;       /* the next location of the location table */
	size_t next;             /* the next location of names */
	struct ux_out text;      /* in JSON: the array of a location's lines */
	struct ux_out functions; /* in JSON: the array of added functions */
	struct ux_out strings;
};

static void otlp_json_writer_deinit(struct otlp_json_writer *w)
{
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

/* Appends messages as an array. */
static void otlp_json_put_messages(struct ux_bytes messages, enum ux_otlp_message message,
				   struct ux_out *out)
{
	struct ux_cur c = ux_cur_make(messages, NULL, false);
	struct ux_json j = ux_json_make(out);
	ux_json_array_begin(&j);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		otlp_json_put_message(&j, message, f.bytes);
	ux_json_array_end(&j);
}

static void otlp_json_put_strings(struct ux_json *j, struct ux_bytes strings)
{
	struct ux_cur c = ux_cur_make(strings, NULL, false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		ux_json_str(j, ux_protobuf_text(&f));
}

/* Writes the functions and strings that are added: their tables may come before the table of
 * locations. */
static enum ux_code otlp_json_prepare(struct otlp_json_writer *w, struct ux_error *err)
{
	const struct ux_otlp_names *n = w->names;
	const struct ux_otlp_borrowed_list *borrowed = &n->strings.borrowed;
	struct ux_json j = ux_json_make(&w->strings);
	otlp_json_put_messages(ux_out_bytes(&n->functions), UX_OTLP_FUNCTION, &w->functions);
	ux_json_array_begin(&j);
	otlp_json_put_strings(&j, ux_out_bytes(&n->strings.fields));
	for (size_t i = 0; i < borrowed->size; i++)
		otlp_json_put_strings(&j, ux_bytes(borrowed->data[i].data, borrowed->data[i].size));
	ux_json_array_end(&j);
	UX_TRY(ux_out_status(&w->functions, err));
	return ux_out_status(&w->strings, err);
}

/* Returns the lines that the next location got, in protobuf; empty: it stays unchanged. */
static struct ux_bytes otlp_json_lines(struct otlp_json_writer *w)
{
	const struct ux_otlp_names *n = w->names;
	const uint32_t number = w->location++;
	if (w->next == n->locations.size || n->locations.data[w->next].number != number)
		return UX_BYTES_NONE;
	const struct ux_otlp_location *l = &n->locations.data[w->next++];
	return l->n_lines == 0 ? UX_BYTES_NONE
			       : ux_bytes(n->line_bytes.data + l->lines, l->n_lines);
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
	const struct ux_bytes lines = otlp_json_lines(w);
	const bool adds = lines.size > 0;
	ux_out_reset(&w->text);
	otlp_json_put_messages(lines, UX_OTLP_LINE, &w->text);
	UX_TRY(ux_out_status(&w->text, err));
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
	UX_TRY(ux_otlp_names_status(w->names, err));
	UX_TRY(otlp_json_prepare(w, err));
	while (w->names->functions.size > 0 && ux_json_read_member(&w->c, &n, &key)) {
		if (ux_json_text_eq(key, "dictionary"))
			UX_TRY(otlp_json_write_dictionary(w, err));
		else
			(void)ux_json_skip(&w->c);
	}
	UX_TRY(ux_cur_status(&w->c, err));
	otlp_json_copy(w, w->c.end);
	return ux_out_status(w->out, err);
}

enum ux_code ux_otlp_json_write(const struct ux_otlp_names *n, struct ux_bytes json,
				struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(otlp_json_writer_deinit) struct otlp_json_writer w = {
		.names = n,
		.c = ux_cur_make(json, "OTLP JSON", false),
		.copied = json.data,
		.out = out,
		.text.quota = out->quota,
		.functions.quota = out->quota,
		.strings.quota = out->quota,
	};
	return otlp_json_write(&w, err);
}

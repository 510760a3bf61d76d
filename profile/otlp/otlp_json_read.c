/* SPDX-License-Identifier: Apache-2.0 */
/* Converts profiles of OpenTelemetry from JSON to protobuf. */
#include "otlp_json.h"

#include "json_in.h"
#include "otlp_schema.h"
#include "protobuf.h"
#include "text.h"

#define SECTION "OTLP JSON"

/* Where a message begins, in protobuf and in JSON. */
struct otlp_json_mark {
	uint64_t protobuf;
	uint64_t json;
};

UX_VEC(otlp_json_marks, struct otlp_json_mark);

/* The state of a conversion. */
struct otlp_json {
	struct ux_cur c;
	struct ux_out *out;
	unsigned depth;
	bool marking;
	bool marks_failed;
	struct otlp_json_marks marks; /* of all messages, if marking */
};

bool ux_otlp_json_is(struct ux_bytes json)
{
	struct ux_cur c = ux_cur_make(json, SECTION, false);
	struct ux_json_text key;
	size_t n = 0;
	while (ux_json_read_member(&c, &n, &key)) {
		enum ux_json_kind kind = ux_json_peek(&c);
		if ((ux_json_text_eq(key, "resourceProfiles") && kind == UX_JSON_ARRAY) ||
		    (ux_json_text_eq(key, "dictionary") && kind == UX_JSON_OBJECT))
			return true;
		(void)ux_json_skip(&c);
	}
	return false;
}

/* --- fields with a length --------------------------------------------------------------------- */

/* Begins a field whose length is not known yet; returns where its content begins. */
static size_t otlp_json_open(struct otlp_json *j, uint32_t number)
{
	ux_out_uleb(j->out, (uint64_t)number << 3 | UX_PROTOBUF_BYTES);
	ux_out_u8(j->out, 0);
	return j->out->size;
}

/* Writes the length before the content, which moves if the length takes more than a byte. */
static void otlp_json_close(struct otlp_json *j, size_t start, size_t first_mark)
{
	struct ux_out *out = j->out;
	uint8_t length[10];
	size_t size = out->size - start, more = 0;
	if (out->failed)
		return;
	for (uint64_t v = size; v >= 0x80; v >>= 7)
		length[more++] = (uint8_t)(v | 0x80);
	length[more] = (uint8_t)(size >> 7 * more);
	if (more > 0 && !ux_out_room(out, more))
		return;
	memmove(out->data + start + more, out->data + start, size);
	memcpy(out->data + start - 1, length, more + 1);
	for (size_t i = first_mark; i < j->marks.size; i++)
		j->marks.data[i].protobuf += more;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Reads an integer: a number, or a string with one. */
static bool otlp_json_integer(struct otlp_json *j, enum ux_otlp_type type, uint64_t *ret)
{
	static const uint64_t max[] = {
		[UX_OTLP_INT32] = INT32_MAX,    [UX_OTLP_UINT32] = UINT32_MAX,
		[UX_OTLP_INT64] = INT64_MAX,    [UX_OTLP_UINT64] = UINT64_MAX,
		[UX_OTLP_FIXED64] = UINT64_MAX,
	};
	bool is_signed = type == UX_OTLP_INT32 || type == UX_OTLP_INT64, negative = false;
	struct ux_cur at = j->c;
	struct ux_bytes digits = UX_BYTES_NONE;
	if (ux_json_peek(&j->c) == UX_JSON_STRING) {
		struct ux_cur inner = j->c;
		digits = ux_json_read_text(&j->c).raw;
		inner.pos = digits.data;
		inner.end = digits.data ? digits.data + digits.size : NULL;
		if (!ux_bytes_eq(ux_json_read_number(&inner), digits))
			digits = UX_BYTES_NONE;
	} else {
		digits = ux_json_read_number(&j->c);
	}
	if (j->c.failed)
		return false;
	bool good = ux_json_integer(digits, ret, &negative) &&
		    (negative ? is_signed && -*ret <= max[type] + 1 : *ret <= max[type]);
	if (!good) {
		(void)ux_json_peek(&at);
		j->c = at;
		ux_json_expected(&j->c, "expected an integer in the range of its type");
	}
	return good;
}

static uint64_t otlp_json_double(struct otlp_json *j)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
	struct ux_bytes digits = UX_BYTES_NONE;
	uint64_t bits = 0;
	double value = 0;
	if (ux_json_peek(&j->c) == UX_JSON_STRING) {
		struct ux_cur at = j->c;
		struct ux_json_text word = ux_json_read_text(&j->c);
		struct ux_cur inner = ux_cur_make(word.raw, SECTION, false);
		for (size_t i = 0; i < ux_countof(words) && digits.size == 0; i++)
			if (ux_json_text_eq(word, words[i]))
				digits = word.raw;
		if (digits.size == 0 && ux_bytes_eq(ux_json_read_number(&inner), word.raw) &&
		    !inner.failed)
			digits = word.raw;
		if (digits.size == 0 && !j->c.failed) {
			j->c = at;
			ux_json_expected(&j->c, "expected a number");
		}
	} else {
		digits = ux_json_read_number(&j->c);
	}
	if (!ux_json_double(digits, &value))
		ux_json_expected(&j->c, "a number has more than 400 digits");
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Appends a string's content. */
static void otlp_json_put_text(struct otlp_json *j)
{
	ux_json_unescape(ux_json_read_text(&j->c), j->out);
}

/* Appends the bytes of a string in base64, or if `hex` in hexadecimal. Trace identities in base64
 * are from producers that did not follow the definition. */
static void otlp_json_put_bytes(struct otlp_json *j, bool hex)
{
	(void)ux_json_peek(&j->c);
	struct ux_cur at = j->c;
	struct ux_bytes text = ux_json_read_text(&j->c).raw;
	size_t start = j->out->size, n = 0;
	uint8_t *room = ux_out_room(j->out, text.size);
	if (!room)
		return;
	if (!(hex && ux_hex_decode(text, room, text.size, &n)) &&
	    !ux_base64_decode(text, room, &n) && !j->c.failed) {
		j->c = at;
		ux_json_expected(&j->c, hex ? "expected hexadecimal digits" : "expected base64");
	}
	j->out->size = start + n;
}

static void otlp_json_message(struct otlp_json *j, enum ux_otlp_message message);

/* Reads one value of a field, and appends it with its tag. */
static void otlp_json_value(struct otlp_json *j, const struct ux_otlp_field *f)
{
	size_t start = 0, mark = j->marks.size;
	bool always = f->repeat == UX_OTLP_ONE_OF;
	uint64_t value = 0;
	switch (f->type) {
	case UX_OTLP_INT32:
	case UX_OTLP_UINT32:
	case UX_OTLP_INT64:
	case UX_OTLP_UINT64:
		if (otlp_json_integer(j, f->type, &value) && (always || value != 0))
			ux_protobuf_put_uint(j->out, f->number, value);
		return;
	case UX_OTLP_BOOL:
		value = ux_json_read_bool(&j->c);
		if (always || value != 0)
			ux_protobuf_put_uint(j->out, f->number, value);
		return;
	case UX_OTLP_DOUBLE:
	case UX_OTLP_FIXED64:
		if (f->type == UX_OTLP_DOUBLE)
			value = otlp_json_double(j);
		else if (!otlp_json_integer(j, f->type, &value))
			return;
		if (always || value != 0) {
			ux_out_uleb(j->out, (uint64_t)f->number << 3 | UX_PROTOBUF_FIXED64);
			ux_out_u64(j->out, value);
		}
		return;
	case UX_OTLP_STRING:
	case UX_OTLP_BYTES:
	case UX_OTLP_TRACE_ID:
	case UX_OTLP_INNER:
		break;
	}
	size_t before = j->out->size;
	if (j->marking) {
		(void)ux_json_peek(&j->c);
		struct otlp_json_mark new = {before, ux_cur_off(&j->c)};
		j->marks_failed |= !otlp_json_marks_append(&j->marks, new);
	}
	start = otlp_json_open(j, f->number);
	if (f->type == UX_OTLP_STRING)
		otlp_json_put_text(j);
	else if (f->type == UX_OTLP_INNER)
		otlp_json_message(j, f->message);
	else
		otlp_json_put_bytes(j, f->type == UX_OTLP_TRACE_ID);
	if (f->repeat == UX_OTLP_ONE && f->type != UX_OTLP_INNER && j->out->size == start)
		j->out->size = before; /* the default value */
	else
		otlp_json_close(j, start, mark + 1);
}

/* Reads an array of integers, which are written as one field. */
static void otlp_json_packed(struct otlp_json *j, const struct ux_otlp_field *f)
{
	size_t n = 0, before = j->out->size, start = otlp_json_open(j, f->number);
	while (ux_json_read_element(&j->c, &n)) {
		uint64_t value = 0;
		if (!otlp_json_integer(j, f->type, &value))
			return;
		if (f->type == UX_OTLP_FIXED64)
			ux_out_u64(j->out, value);
		else
			ux_out_uleb(j->out, value);
	}
	if (n == 0)
		j->out->size = before;
	else
		otlp_json_close(j, start, j->marks.size);
}

/* Reads the value of a known key. */
static void otlp_json_field(struct otlp_json *j, const struct ux_otlp_field *f)
{
	size_t n = 0;
	if (ux_json_peek(&j->c) == UX_JSON_NULL) {
		(void)ux_json_skip(&j->c);
		return;
	}
	if (f->repeat != UX_OTLP_MANY)
		otlp_json_value(j, f);
	else if (f->type < UX_OTLP_DOUBLE)
		otlp_json_packed(j, f);
	else
		while (ux_json_read_element(&j->c, &n))
			otlp_json_value(j, f);
}

/* Reads an object, and appends the content of the message. */
static void otlp_json_message(struct otlp_json *j, enum ux_otlp_message message)
{
	const struct ux_otlp_field *fields = ux_otlp_fields(message);
	struct ux_json_text key;
	size_t n = 0;
	uint32_t had = 0; /* bits: numbers of fields that were seen */
	if (j->depth == UX_OTLP_JSON_NESTED_MAX) {
		ux_json_expected(&j->c, "more than 64 nested messages");
		return;
	}
	j->depth++;
	while (ux_json_read_member(&j->c, &n, &key)) {
		const struct ux_otlp_field *f = fields;
		while (f->number != 0 && !ux_json_text_eq(key, f->name))
			f++;
		if (f->number == 0) {
			(void)ux_json_skip(&j->c);
			continue;
		}
		if (had & 1u << f->number)
			ux_json_expected(&j->c, "an object has a duplicate key");
		had |= 1u << f->number;
		otlp_json_field(j, f);
		if (j->out->failed)
			break;
	}
	j->depth--;
}

/* --- the whole message ------------------------------------------------------------------------ */

enum ux_code ux_otlp_json_convert(struct ux_bytes json, struct ux_out *message,
				  struct ux_error *err)
{
	struct otlp_json j = {.c = ux_cur_make(json, SECTION, false), .out = message};
	otlp_json_message(&j, UX_OTLP_REQUEST);
	UX_TRY(ux_out_status(message, err));
	ux_json_read_end(&j.c);
	return ux_cur_status(&j.c, err);
}

/* Returns the offset in the JSON of the last message that begins before an offset in protobuf. */
static uint64_t otlp_json_offset(struct ux_bytes json, uint64_t offset)
{
	ux_cleanup(ux_out_deinit) struct ux_out scratch = {0};
	struct otlp_json j = {
		.c = ux_cur_make(json, SECTION, false), .out = &scratch, .marking = true};
	uint64_t found = UX_ERROR_NO_OFF;
	otlp_json_message(&j, UX_OTLP_REQUEST);
	for (size_t i = 0; i < j.marks.size && j.marks.data[i].protobuf <= offset; i++)
		found = j.marks.data[i].json;
	bool whole = !scratch.failed && !j.marks_failed;
	otlp_json_marks_deinit(&j.marks);
	return whole ? found : UX_ERROR_NO_OFF;
}

enum ux_code ux_otlp_json_read(struct ux_otlp *f, struct ux_bytes json, struct ux_out *message,
			       struct ux_profile *p, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_otlp_json_convert(json, message, err));
	enum ux_code code = ux_otlp_read(f, ux_out_bytes(message), p, &why);
	if (code == UX_OK)
		return UX_OK;
	if (why.off == UX_ERROR_NO_OFF)
		return ux_error_set(err, code, "%s", why.text);
	return ux_error_at(err, code, SECTION, otlp_json_offset(json, why.off), "%s", why.text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads S3's XML. Skips unknown elements with all their content. */
#include "s3_answer.h"

#include "text.h"
#include "xml.h"

#include <time.h>

/* An answer that is being read. */
struct s3_reading {
	struct ux_xml xml;
	struct ux_s3_answer *to;
	ux_s3_each_fn *fn;
	void *ctx;
	unsigned entry; /* depth of the <Contents> or <Upload> that is open; 0: none */
	struct ux_s3_object object;
	char key[UX_S3_KEY_MAX + 1];
	char upload[UX_S3_KEY_MAX + 1];
};

/* Fields of the answer itself: children of the document's element. */
static char *s3_field(struct s3_reading *r, const char *name, size_t *ret_size)
{
	static const struct {
		const char *name;
		size_t off, size;
	} fields[] = {
		{"Code", offsetof(struct ux_s3_answer, code), sizeof(r->to->code)},
		{"Message", offsetof(struct ux_s3_answer, message), sizeof(r->to->message)},
		{"RequestId", offsetof(struct ux_s3_answer, request), sizeof(r->to->request)},
		{"UploadId", offsetof(struct ux_s3_answer, upload), sizeof(r->to->upload)},
		{"ETag", offsetof(struct ux_s3_answer, etag), sizeof(r->to->etag)},
		{"NextContinuationToken", offsetof(struct ux_s3_answer, next), sizeof(r->to->next)},
		{"NextKeyMarker", offsetof(struct ux_s3_answer, next), sizeof(r->to->next)},
		{"NextUploadIdMarker", offsetof(struct ux_s3_answer, next_upload),
		 sizeof(r->to->next_upload)},
	};
	for (size_t i = 0; i < ux_countof(fields); i++)
		if (strcmp(fields[i].name, name) == 0) {
			*ret_size = fields[i].size;
			return (char *)r->to + fields[i].off;
		}
	return NULL;
}

static void s3_on_start(void *ctx, const char *name, const char **attributes)
{
	struct s3_reading *r = ctx;
	(void)attributes;
	size_t size = 0;
	if (r->xml.depth == 1)
		snprintf(r->to->root, sizeof(r->to->root), "%s", name);
	r->xml.wants_text = (r->entry > 0 && r->xml.depth == r->entry + 1) ||
			    (r->xml.depth == 2 && (strcmp(name, "IsTruncated") == 0 ||
						   s3_field(r, name, &size) != NULL));
	if (r->xml.depth != 2 || (strcmp(name, "Contents") != 0 && strcmp(name, "Upload") != 0))
		return;
	r->entry = r->xml.depth;
	r->key[0] = r->upload[0] = '\0';
	r->object = (struct ux_s3_object){.key = r->key, .upload = r->upload};
}

/* "2026-11-23T06:10:24.000Z". */
static bool s3_time_parse(struct ux_bytes text, int64_t *ret)
{
	char copy[32];
	struct tm tm = {0};
	if (text.size >= sizeof(copy) || memchr(text.data, '\0', text.size))
		return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	const char *end = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || (*end != 'Z' && *end != '.'))
		return false;
	*ret = timegm(&tm);
	return true;
}

/* Stores a text that must fit as a whole, because it names something. */
static void s3_keep(struct s3_reading *r, char *to, size_t size)
{
	struct ux_bytes text = ux_xml_text(&r->xml);
	if (text.size >= size || memchr(text.data, '\0', text.size)) {
		ux_xml_bad(&r->xml, "a key or an ID is too long");
		return;
	}
	memcpy(to, text.data, text.size);
	to[text.size] = '\0';
}

static void s3_take_entry(struct s3_reading *r, const char *name)
{
	struct ux_bytes text = ux_xml_text(&r->xml);
	if (strcmp(name, "Key") == 0)
		s3_keep(r, r->key, sizeof(r->key));
	else if (strcmp(name, "UploadId") == 0)
		s3_keep(r, r->upload, sizeof(r->upload));
	else if (strcmp(name, "Size") == 0 && !ux_decimal_parse(text, &r->object.size))
		ux_xml_bad(&r->xml, "the size of an object is not a number");
	else if ((strcmp(name, "LastModified") == 0 || strcmp(name, "Initiated") == 0) &&
		 !s3_time_parse(text, &r->object.time))
		ux_xml_bad(&r->xml, "the time of an object is malformed");
}

static void s3_end_entry(struct s3_reading *r)
{
	r->entry = 0;
	if (r->key[0] == '\0') {
		ux_xml_bad(&r->xml, "an object has no key");
		return;
	}
	enum ux_code code = r->fn ? r->fn(r->ctx, &r->object, r->xml.err) : UX_OK;
	if (code != UX_OK)
		ux_xml_stop(&r->xml, code);
}

static void s3_take_field(struct s3_reading *r, const char *name)
{
	struct ux_bytes text = ux_xml_text(&r->xml);
	size_t size = 0;
	char *to = s3_field(r, name, &size);
	if (strcmp(name, "IsTruncated") == 0)
		r->to->truncated = ux_bytes_eq(ux_trim(text), ux_bytes_cstr("true"));
	else if (to && to == r->to->message)
		snprintf(to, size, "%.*s", (int)ux_min(text.size, size - 1), r->xml.text);
	else if (to)
		s3_keep(r, to, size);
}

static void s3_on_end(void *ctx, const char *name)
{
	struct s3_reading *r = ctx;
	if (r->entry > 0 && r->xml.depth == r->entry)
		s3_end_entry(r);
	else if (r->xml.wants_text && r->entry > 0)
		s3_take_entry(r, name);
	else if (r->xml.wants_text)
		s3_take_field(r, name);
}

enum ux_code ux_s3_answer_read(struct ux_bytes xml, struct ux_s3_answer *ret, ux_s3_each_fn *fn,
			       void *ctx, struct ux_error *err)
{
	struct s3_reading *r = calloc(1, sizeof(*r));
	if (!r)
		return ux_error_nomem(err);
	*ret = (struct ux_s3_answer){0};
	r->xml.on_start = s3_on_start;
	r->xml.on_end = s3_on_end;
	r->xml.ctx = r;
	r->to = ret;
	r->fn = fn;
	r->ctx = ctx;
	enum ux_code code = ux_xml_parse(&r->xml, xml, err);
	free(r);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads XML by expat, as a stream of elements. This is the only file that uses expat. */
#include "xml.h"

#include <expat.h>

enum {
	PIECE = 64 << 10,  /* bytes given to the parser in one call */
	TAG_MAX = 8 << 20, /* bytes of one tag, which the parser keeps in memory */
};

void ux_xml_stop(struct ux_xml *x, enum ux_code code)
{
	if (x->code == UX_OK) {
		x->code = code;
		(void)XML_StopParser(x->parser, XML_FALSE);
	}
}

/* Returns the byte offset of the parser in the document. */
static uint64_t xml_position(const struct ux_xml *x)
{
/* the other function is deprecated since then */
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
	const int64_t off = XML_GetCurrentByteIndex64(x->parser);
#else
	const XML_Index off = XML_GetCurrentByteIndex(x->parser);
#endif
	return off > 0 ? (uint64_t)off : 0;
}

static enum ux_code xml_corrupt(struct ux_xml *x, const char *what)
{
	return ux_error_at(x->err, UX_ECORRUPT, "XML", xml_position(x), "%s", what);
}

void ux_xml_bad(struct ux_xml *x, const char *what)
{
	ux_xml_stop(x, xml_corrupt(x, what));
}

const char *ux_xml_attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return "";
}

static void xml_on_start(void *ctx, const char *name, const char **attributes)
{
	struct ux_xml *x = ctx;
	x->wants_text = false;
	x->text_size = 0;
	if (++x->depth > UX_XML_DEPTH_MAX)
		ux_xml_bad(x, "elements are nested too deeply");
	else if (x->code == UX_OK)
		x->on_start(x->ctx, name, attributes);
}

static void xml_on_end(void *ctx, const char *name)
{
	struct ux_xml *x = ctx;
	if (x->code == UX_OK) /* the parser ends an empty element even after it was stopped */
		x->on_end(x->ctx, name);
	x->wants_text = false;
	x->depth--;
}

static void xml_on_text(void *ctx, const char *text, int size)
{
	struct ux_xml *x = ctx;
	if (!x->wants_text || size <= 0)
		return;
	if ((size_t)size >= sizeof(x->text) - x->text_size) {
		ux_xml_bad(x, "a text exceeds 2 KiB");
		return;
	}
	memcpy(x->text + x->text_size, text, (size_t)size);
	x->text_size += (size_t)size;
}

static void xml_on_doctype(void *ctx, const char *name, const char *system, const char *public,
			   int internal)
{
	(void)name, (void)system, (void)public, (void)internal;
	ux_xml_bad(ctx, "document type declarations are not allowed");
}

/* A document in memory, as a source. */
struct xml_memory {
	struct ux_bytes left;
};

static enum ux_code xml_read_memory(void *ctx, void *to, size_t n, size_t *ret,
				    struct ux_error *err)
{
	struct xml_memory *m = ctx;
	(void)err;
	*ret = ux_min(n, m->left.size);
	if (*ret > 0)
		memcpy(to, m->left.data, *ret);
	m->left = ux_bytes(m->left.data + *ret, m->left.size - *ret);
	return UX_OK;
}

/* Gives the parser the next piece. *ret_more false: it was the last one, or an error occurred. */
static void xml_parse_piece(struct ux_xml *x, ux_xml_read_fn *read, void *from, bool *ret_more)
{
	size_t n = 0;
	void *piece = XML_GetBuffer(x->parser, PIECE);
	*ret_more = false;
	if (!piece) {
		x->code = ux_error_nomem(x->err);
		return;
	}
	x->code = read(from, piece, PIECE, &n, x->err);
	if (x->code != UX_OK)
		return;
	enum XML_Status status = XML_ParseBuffer(x->parser, (int)n, n == 0);
	x->given += n;
	const uint64_t off = xml_position(x);
	if (status == XML_STATUS_OK && x->code == UX_OK && x->given - off > TAG_MAX)
		x->code = ux_error_at(x->err, UX_ELIMIT, "XML", off, "a tag exceeds %d bytes",
				      TAG_MAX);
	*ret_more = n > 0 && status == XML_STATUS_OK && x->code == UX_OK;
	if (status == XML_STATUS_OK || x->code != UX_OK)
		return;
	enum XML_Error why = XML_GetErrorCode(x->parser);
	x->code = why == XML_ERROR_NO_MEMORY ? ux_error_nomem(x->err)
					     : xml_corrupt(x, XML_ErrorString(why));
}

enum ux_code ux_xml_parse_from(struct ux_xml *x, ux_xml_read_fn *read, void *from,
			       struct ux_error *err)
{
	XML_Parser parser = XML_ParserCreate("UTF-8");
	bool more = true;
	if (!parser)
		return ux_error_nomem(err);
	x->err = err;
	x->parser = parser;
	XML_SetUserData(parser, x);
	XML_SetElementHandler(parser, xml_on_start, xml_on_end);
	XML_SetCharacterDataHandler(parser, xml_on_text);
	XML_SetStartDoctypeDeclHandler(parser, xml_on_doctype);
	while (more)
		xml_parse_piece(x, read, from, &more);
	XML_ParserFree(parser);
	x->parser = NULL;
	return x->code;
}

enum ux_code ux_xml_parse(struct ux_xml *x, struct ux_bytes xml, struct ux_error *err)
{
	struct xml_memory memory = {xml};
	return ux_xml_parse_from(x, xml_read_memory, &memory, err);
}

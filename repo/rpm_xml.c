/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML of rpm's repositories, read by expat as a stream of events. repomd.xml has <data
 * type="primary"> with checksum, size and location; primary.xml has <package> with name, arch,
 * version, checksum, size, location, and the provides and requires of rpm. A document type is
 * refused, and with it every entity of the document's own. This is the only file that uses expat.
 */
#include "arena.h"
#include "index_formats.h"
#include "repo_url.h"
#include "text.h"

#include <expat.h>

enum {
	PIECE = 1 << 20,  /* bytes given to the parser at once */
	DEPTH_MOST = 32,  /* elements inside of each other */
	TEXT_MOST = 2048, /* bytes of the text of an element that is used */
	PACKAGE_MEMORY = 16 << 20,
	IDS_FIRST = 64,
};

/* What both readers share. */
struct rpm_xml {
	XML_Parser parser;
	struct ux_error *err;
	enum ux_code code;
	unsigned depth;
	bool wants_text; /* of the element that is open */
	char text[TEXT_MOST];
	size_t text_size;
};

static void rpm_xml_stop(struct rpm_xml *x, enum ux_code code)
{
	if (x->code == UX_OK) {
		x->code = code;
		(void)XML_StopParser(x->parser, XML_FALSE);
	}
}

static void rpm_xml_bad(struct rpm_xml *x, const char *what)
{
	XML_Index off = XML_GetCurrentByteIndex(x->parser);
	rpm_xml_stop(x, ux_error_at(x->err, UX_ECORRUPT, "XML", off > 0 ? (uint64_t)off : 0, "%s",
				    what));
}

/* The value of an attribute; "" when it is absent. */
static const char *rpm_attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return "";
}

static void rpm_xml_on_text(void *ctx, const char *text, int size)
{
	struct rpm_xml *x = ctx;
	if (!x->wants_text || size <= 0)
		return;
	if ((size_t)size >= sizeof(x->text) - x->text_size) {
		rpm_xml_bad(x, "a text is over 2 KiB");
		return;
	}
	memcpy(x->text + x->text_size, text, (size_t)size);
	x->text_size += (size_t)size;
}

static void rpm_xml_on_doctype(void *ctx, const char *name, const char *system, const char *public,
			       int internal)
{
	(void)name, (void)system, (void)public, (void)internal;
	rpm_xml_bad(ctx, "there is a document type, which metadata do not have");
}

/* An element begins. False: it is too deep, and the parser was stopped. */
static bool rpm_xml_enter(struct rpm_xml *x)
{
	x->wants_text = false;
	x->text_size = 0;
	if (++x->depth <= DEPTH_MOST)
		return true;
	rpm_xml_bad(x, "elements are nested too deeply");
	return false;
}

static struct ux_bytes rpm_xml_text(const struct rpm_xml *x)
{
	return ux_bytes(x->text, x->text_size);
}

/* Parses all bytes with the handlers; ctx begins with a struct rpm_xml. */
static enum ux_code rpm_xml_parse(struct rpm_xml *x, struct ux_bytes xml,
				  XML_StartElementHandler on_start, XML_EndElementHandler on_end,
				  struct ux_error *err)
{
	x->err = err;
	x->parser = XML_ParserCreate("UTF-8");
	if (!x->parser)
		return ux_error_nomem(err);
	XML_SetUserData(x->parser, x);
	XML_SetElementHandler(x->parser, on_start, on_end);
	XML_SetCharacterDataHandler(x->parser, rpm_xml_on_text);
	XML_SetStartDoctypeDeclHandler(x->parser, rpm_xml_on_doctype);
	enum XML_Status status = XML_STATUS_OK;
	for (size_t at = 0; status == XML_STATUS_OK; at += PIECE) {
		size_t n = at < xml.size ? ux_min(xml.size - at, (size_t)PIECE) : 0;
		bool last = at + n >= xml.size;
		status = XML_Parse(x->parser, n > 0 ? (const char *)xml.data + at : "", (int)n,
				   last);
		if (last)
			break;
	}
	if (status != XML_STATUS_OK && x->code == UX_OK) {
		enum XML_Error why = XML_GetErrorCode(x->parser);
		XML_Index off = XML_GetCurrentByteIndex(x->parser);
		x->code = why == XML_ERROR_NO_MEMORY ? ux_error_nomem(err)
						     : ux_error_at(err, UX_ECORRUPT, "XML",
								   off > 0 ? (uint64_t)off : 0,
								   "%s", XML_ErrorString(why));
	}
	XML_ParserFree(x->parser);
	return x->code;
}

/* --- repomd.xml ------------------------------------------------------------------------------- */

struct rpm_repomd {
	struct rpm_xml xml; /* first: handlers get its address */
	struct ux_rpm_primary primary;
	bool inside; /* of <data type="primary"> */
	bool sha256; /* of the <checksum> that is open */
};

static void rpm_repomd_on_start(void *ctx, const char *name, const char **attributes)
{
	struct rpm_repomd *r = ctx;
	if (!rpm_xml_enter(&r->xml))
		return;
	if (strcmp(name, "data") == 0)
		r->inside = strcmp(rpm_attribute(attributes, "type"), "primary") == 0;
	if (!r->inside)
		return;
	if (strcmp(name, "location") == 0) {
		const char *href = rpm_attribute(attributes, "href");
		if (strlen(href) >= sizeof(r->primary.href))
			rpm_xml_bad(&r->xml, "the location of primary is too long");
		else
			snprintf(r->primary.href, sizeof(r->primary.href), "%s", href);
	}
	r->sha256 = strcmp(name, "checksum") == 0 &&
		    strcmp(rpm_attribute(attributes, "type"), "sha256") == 0;
	r->xml.wants_text = r->sha256 || strcmp(name, "size") == 0;
}

static void rpm_repomd_on_end(void *ctx, const char *name)
{
	struct rpm_repomd *r = ctx;
	struct ux_bytes text = rpm_xml_text(&r->xml);
	size_t n = 0;
	r->xml.depth--;
	if (r->xml.wants_text && r->sha256)
		r->primary.has_sha256 =
			text.size == 2 * sizeof(r->primary.sha256) &&
			ux_hex_decode(text, r->primary.sha256, sizeof(r->primary.sha256), &n);
	else if (r->xml.wants_text && !ux_decimal_parse(text, &r->primary.size))
		rpm_xml_bad(&r->xml, "the size of primary is no number");
	if (strcmp(name, "data") == 0)
		r->inside = false;
	r->xml.wants_text = false;
}

enum ux_code ux_rpm_repomd_read(struct ux_bytes xml, struct ux_rpm_primary *ret,
				struct ux_error *err)
{
	struct rpm_repomd r = {.primary = {.size = UINT64_MAX}};
	UX_TRY(rpm_xml_parse(&r.xml, xml, rpm_repomd_on_start, rpm_repomd_on_end, err));
	if (r.primary.href[0] == '\0')
		return ux_error_set(err, UX_ECORRUPT, "repomd.xml names no primary");
	if (!r.primary.has_sha256)
		return ux_error_set(err, UX_ECORRUPT, "repomd.xml has no SHA-256 of primary");
	*ret = r.primary;
	return UX_OK;
}

/* --- primary.xml ------------------------------------------------------------------------------ */

enum rpm_part {
	RPM_NOTHING,
	RPM_NAME,
	RPM_ARCH,
	RPM_CHECKSUM,
	RPM_SOURCE,
};

struct rpm_primary {
	struct rpm_xml xml; /* first: handlers get its address */
	struct ux_index_target *to;
	struct ux_arena arena; /* of one package */
	struct ux_package package;
	enum rpm_part part; /* whose text is read */
	bool inside;        /* of a package */
	bool provides, requires, has_code, has_size;
	struct ux_id *ids;
	size_t ids_cap;
};

static void rpm_primary_begin(struct rpm_primary *r)
{
	const struct ux_repository *repository = r->to->repository;
	ux_arena_rewind(&r->arena, (struct ux_arena_mark){0});
	r->package = (struct ux_package){
		.distribution = repository->distribution,
		.suite = repository->suite,
		.component = repository->component,
		.key = "",
		.arch = "",
		.name = "",
		.version = "",
		.source = "",
		.url = "",
		.partner = "",
		.kind = UX_PACKAGE_RPM,
	};
	r->ids = NULL;
	r->ids_cap = 0;
	r->inside = true;
	r->provides = r->requires = r->has_code = r->has_size = false;
}

static void rpm_keep_text(struct rpm_primary *r, const char *text, const char *what,
			  const char **ret)
{
	enum ux_code code = ux_repo_text(&r->arena, ux_bytes_cstr(text), what, ret, r->xml.err);
	if (code != UX_OK)
		rpm_xml_stop(&r->xml, code);
}

static void rpm_keep_version(struct rpm_primary *r, const char **attributes)
{
	char text[TEXT_MOST];
	const char *epoch = rpm_attribute(attributes, "epoch");
	bool has_epoch = epoch[0] != '\0' && strcmp(epoch, "0") != 0;
	snprintf(text, sizeof(text), "%.100s%s%.900s-%.900s", has_epoch ? epoch : "",
		 has_epoch ? ":" : "", rpm_attribute(attributes, "ver"),
		 rpm_attribute(attributes, "rel"));
	rpm_keep_text(r, text, "version", &r->package.version);
}

static void rpm_keep_size(struct rpm_primary *r, const char **attributes)
{
	r->has_size = ux_decimal_parse(ux_bytes_cstr(rpm_attribute(attributes, "package")),
				       &r->package.size);
	(void)!ux_decimal_parse(ux_bytes_cstr(rpm_attribute(attributes, "installed")),
				&r->package.installed);
}

static void rpm_keep_url(struct rpm_primary *r, const char **attributes)
{
	enum ux_code code = ux_repo_url_join(&r->arena, r->to->root,
					     ux_bytes_cstr(rpm_attribute(attributes, "href")),
					     &r->package.url, r->xml.err);
	if (code != UX_OK)
		rpm_xml_stop(&r->xml, code);
}

/* "debuginfo(build-id) = HEX" of a debug package. */
static void rpm_add_id(struct rpm_primary *r, const char *hex)
{
	uint8_t bytes[UX_ID_GNU_MOST];
	size_t n = 0, count = r->package.n_build_ids;
	if (!ux_hex_decode(ux_bytes_cstr(hex), bytes, sizeof(bytes), &n) || n < 8 ||
	    count == UX_PACKAGE_BUILD_IDS_MOST)
		return;
	if (count == r->ids_cap) {
		size_t cap = ux_max(2 * r->ids_cap, (size_t)IDS_FIRST);
		struct ux_id *ids = ux_arena_array(&r->arena, struct ux_id, cap);
		if (!ids) {
			rpm_xml_stop(&r->xml, ux_arena_fail(&r->arena, r->xml.err));
			return;
		}
		if (count > 0)
			memcpy(ids, r->ids, count * sizeof(*ids));
		r->ids = ids;
		r->ids_cap = cap;
	}
	if (ux_id_make(UX_ID_GNU, ux_bytes(bytes, n), &r->ids[count], NULL) == UX_OK)
		r->package.n_build_ids++;
	r->package.build_ids = r->ids;
}

static bool rpm_is_runtime(const char *name)
{
	return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "rtld(", 5) == 0 ||
	       strncmp(name, "libc.musl", 9) == 0;
}

static void rpm_entry(struct rpm_primary *r, const char **attributes)
{
	const char *name = rpm_attribute(attributes, "name");
	if (r->provides && strcmp(name, "debuginfo(build-id)") == 0)
		rpm_add_id(r, rpm_attribute(attributes, "ver"));
	r->has_code = r->has_code || (r->requires && rpm_is_runtime(name)) ||
		      (r->provides && strncmp(name, "kernel-uname-r", 14) == 0);
}

static enum rpm_part rpm_part_of(const char *name, const char **attributes)
{
	if (strcmp(name, "name") == 0)
		return RPM_NAME;
	if (strcmp(name, "arch") == 0)
		return RPM_ARCH;
	if (strcmp(name, "rpm:sourcerpm") == 0)
		return RPM_SOURCE;
	return strcmp(name, "checksum") == 0 &&
			       strcmp(rpm_attribute(attributes, "type"), "sha256") == 0
		       ? RPM_CHECKSUM
		       : RPM_NOTHING;
}

static void rpm_primary_on_start(void *ctx, const char *name, const char **attributes)
{
	struct rpm_primary *r = ctx;
	if (!rpm_xml_enter(&r->xml))
		return;
	if (strcmp(name, "package") == 0) {
		rpm_primary_begin(r);
		return;
	}
	if (!r->inside)
		return;
	r->part = rpm_part_of(name, attributes);
	r->xml.wants_text = r->part != RPM_NOTHING;
	if (strcmp(name, "version") == 0)
		rpm_keep_version(r, attributes);
	else if (strcmp(name, "size") == 0)
		rpm_keep_size(r, attributes);
	else if (strcmp(name, "location") == 0)
		rpm_keep_url(r, attributes);
	else if (strcmp(name, "rpm:provides") == 0)
		r->provides = true;
	else if (strcmp(name, "rpm:requires") == 0)
	r->requires = true;
	else if (strcmp(name, "rpm:entry") == 0) rpm_entry(r, attributes);
	else if (strcmp(name, "time") == 0)
	{
		uint64_t t = 0;
		if (ux_decimal_parse(ux_bytes_cstr(rpm_attribute(attributes, "build")), &t))
			r->package.time = (int64_t)ux_min(t, (uint64_t)INT64_MAX);
	}
}

/* "name-version-release.src.rpm" without all behind the name. */
static struct ux_bytes rpm_source_name(struct ux_bytes text)
{
	for (int dashes = 0; dashes < 2; dashes++) {
		const uint8_t *dash = ux_bytes_find_last(text, '-');
		if (!dash)
			return text;
		text.size = (size_t)(dash - text.data);
	}
	return text;
}

static void rpm_take_text(struct rpm_primary *r)
{
	struct ux_bytes text = rpm_xml_text(&r->xml);
	enum ux_code code = UX_OK;
	size_t n = 0;
	switch (r->part) {
	case RPM_NAME:
		code = ux_repo_text(&r->arena, text, "name", &r->package.name, r->xml.err);
		break;
	case RPM_ARCH:
		code = ux_repo_text(&r->arena, text, "arch", &r->package.arch, r->xml.err);
		break;
	case RPM_SOURCE:
		code = ux_repo_text(&r->arena, rpm_source_name(text), "sourcerpm",
				    &r->package.source, r->xml.err);
		break;
	case RPM_CHECKSUM:
		r->package.has_sha256 =
			text.size == 2 * sizeof(r->package.sha256) &&
			ux_hex_decode(text, r->package.sha256, sizeof(r->package.sha256), &n);
		break;
	case RPM_NOTHING:
		break;
	}
	if (code != UX_OK)
		rpm_xml_stop(&r->xml, code);
	r->part = RPM_NOTHING;
}

/* By the names that find-debuginfo gives, and "kernel-debuginfo-common-x86_64". */
static enum ux_package_role rpm_role(const char *name)
{
	size_t n = strlen(name);
	static const char debug[] = "-debuginfo", source[] = "-debugsource";
	if (n > strlen(source) && strcmp(name + n - strlen(source), source) == 0)
		return UX_PACKAGE_SOURCE;
	if (n > strlen(debug) && strcmp(name + n - strlen(debug), debug) == 0)
		return UX_PACKAGE_DEBUG;
	return strstr(name, "-debuginfo-") ? UX_PACKAGE_DEBUG : UX_PACKAGE_STRIPPED;
}

static void rpm_primary_pass(struct rpm_primary *r)
{
	struct ux_package *p = &r->package;
	const char *arch = r->to->repository->arch;
	char *key = NULL;
	r->inside = false;
	r->to->packages++;
	if (p->name[0] == '\0' || p->arch[0] == '\0' || p->version[0] == '\0' ||
	    p->url[0] == '\0' || !r->has_size || !p->has_sha256) {
		rpm_xml_bad(&r->xml,
			    "a package lacks name, arch, version, location, size or SHA-256");
		return;
	}
	p->role = rpm_role(p->name);
	if (strcmp(p->arch, "noarch") == 0 || strcmp(p->arch, "src") == 0 ||
	    (arch[0] != '\0' && strcmp(p->arch, arch) != 0) ||
	    (p->role == UX_PACKAGE_STRIPPED && !r->has_code))
		return;
	key = ux_arena_array(&r->arena, char, 2 * sizeof(p->sha256) + 1);
	if (!key) {
		rpm_xml_stop(&r->xml, ux_arena_fail(&r->arena, r->xml.err));
		return;
	}
	ux_hex_encode(ux_bytes(p->sha256, sizeof(p->sha256)), key);
	p->key = key;
	enum ux_code code = r->to->take(r->to->ctx, p, r->xml.err);
	if (code != UX_OK)
		rpm_xml_stop(&r->xml, code);
}

static void rpm_primary_on_end(void *ctx, const char *name)
{
	struct rpm_primary *r = ctx;
	r->xml.depth--;
	if (r->xml.code != UX_OK || !r->inside)
		return;
	if (r->xml.wants_text)
		rpm_take_text(r);
	r->xml.wants_text = false;
	if (strcmp(name, "rpm:provides") == 0)
		r->provides = false;
	else if (strcmp(name, "rpm:requires") == 0)
	r->requires = false;
	else if (strcmp(name, "package") == 0 && r->xml.code == UX_OK) rpm_primary_pass(r);
}

static void rpm_primary_deinit(struct rpm_primary *r)
{
	ux_arena_deinit(&r->arena);
}

enum ux_code ux_rpm_primary_read(struct ux_bytes xml, struct ux_index_target *to,
				 struct ux_error *err)
{
	ux_cleanup(rpm_primary_deinit) struct rpm_primary r = {.to = to,
							       .arena = {.budget = PACKAGE_MEMORY}};
	return rpm_xml_parse(&r.xml, xml, rpm_primary_on_start, rpm_primary_on_end, err);
}

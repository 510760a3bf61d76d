/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML of rpm's repositories, read as a stream of elements. repomd.xml has <data
 * type="primary"> with checksum, size and location; primary.xml has <package> with name, arch,
 * version, checksum, size, location, and the provides and requires of rpm.
 */
#include "arena.h"
#include "index_formats.h"
#include "repo_url.h"
#include "text.h"

enum {
	PACKAGE_MEMORY = 16 << 20,
	IDS_FIRST = 64,
};

/* --- repomd.xml ------------------------------------------------------------------------------- */

struct rpm_repomd {
	struct ux_xml xml;
	struct ux_rpm_primary primary;
	bool inside; /* inside <data type="primary"> */
	bool sha256; /* the open <checksum> is a SHA-256 */
};

static void rpm_repomd_on_start(void *ctx, const char *name, const char **attributes)
{
	struct rpm_repomd *r = ctx;
	if (strcmp(name, "data") == 0)
		r->inside = strcmp(ux_xml_attribute(attributes, "type"), "primary") == 0;
	if (!r->inside)
		return;
	if (strcmp(name, "location") == 0) {
		const char *href = ux_xml_attribute(attributes, "href");
		if (strlen(href) >= sizeof(r->primary.href))
			ux_xml_bad(&r->xml, "the location of primary is too long");
		else
			snprintf(r->primary.href, sizeof(r->primary.href), "%s", href);
	}
	r->sha256 = strcmp(name, "checksum") == 0 &&
		    strcmp(ux_xml_attribute(attributes, "type"), "sha256") == 0;
	r->xml.wants_text = r->sha256 || strcmp(name, "size") == 0;
}

static void rpm_repomd_on_end(void *ctx, const char *name)
{
	struct rpm_repomd *r = ctx;
	struct ux_bytes text = ux_xml_text(&r->xml);
	size_t n = 0;
	if (r->xml.wants_text && r->sha256)
		r->primary.has_sha256 =
			text.size == 2 * sizeof(r->primary.sha256) &&
			ux_hex_decode(text, r->primary.sha256, sizeof(r->primary.sha256), &n);
	else if (r->xml.wants_text && !ux_decimal_parse(text, &r->primary.size))
		ux_xml_bad(&r->xml, "the size of primary is not a number");
	if (strcmp(name, "data") == 0)
		r->inside = false;
}

enum ux_code ux_rpm_repomd_read(struct ux_bytes xml, struct ux_rpm_primary *ret,
				struct ux_error *err)
{
	struct rpm_repomd r = {
		.xml = {.on_start = rpm_repomd_on_start, .on_end = rpm_repomd_on_end},
		.primary = {.size = UINT64_MAX}};
	r.xml.ctx = &r;
	UX_TRY(ux_xml_parse(&r.xml, xml, err));
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
	struct ux_xml xml;
	struct ux_index_target *to;
	struct ux_arena arena; /* memory for one package */
	struct ux_package package;
	enum rpm_part part; /* element whose text is being read */
	bool inside;        /* inside a package */
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
		ux_xml_stop(&r->xml, code);
}

static void rpm_keep_version(struct rpm_primary *r, const char **attributes)
{
	char text[UX_XML_TEXT_MAX];
	const char *epoch = ux_xml_attribute(attributes, "epoch");
	bool has_epoch = epoch[0] != '\0' && strcmp(epoch, "0") != 0;
	snprintf(text, sizeof(text), "%.100s%s%.900s-%.900s", has_epoch ? epoch : "",
		 has_epoch ? ":" : "", ux_xml_attribute(attributes, "ver"),
		 ux_xml_attribute(attributes, "rel"));
	rpm_keep_text(r, text, "version", &r->package.version);
}

static void rpm_keep_size(struct rpm_primary *r, const char **attributes)
{
	r->has_size = ux_decimal_parse(ux_bytes_cstr(ux_xml_attribute(attributes, "package")),
				       &r->package.size);
	(void)!ux_decimal_parse(ux_bytes_cstr(ux_xml_attribute(attributes, "installed")),
				&r->package.installed);
}

static void rpm_keep_url(struct rpm_primary *r, const char **attributes)
{
	enum ux_code code = ux_repo_url_join(&r->arena, r->to->root,
					     ux_bytes_cstr(ux_xml_attribute(attributes, "href")),
					     &r->package.url, r->xml.err);
	if (code != UX_OK)
		ux_xml_stop(&r->xml, code);
}

/* Adds "debuginfo(build-id) = HEX" of a debug package. */
static void rpm_add_id(struct rpm_primary *r, const char *hex)
{
	uint8_t bytes[UX_ID_GNU_MAX];
	size_t n = 0, count = r->package.n_build_ids;
	if (!ux_hex_decode(ux_bytes_cstr(hex), bytes, sizeof(bytes), &n) || n < 8 ||
	    count == UX_PACKAGE_BUILD_IDS_MAX)
		return;
	if (count == r->ids_cap) {
		size_t cap = ux_max(2 * r->ids_cap, (size_t)IDS_FIRST);
		struct ux_id *ids = ux_arena_array(&r->arena, struct ux_id, cap);
		if (!ids) {
			ux_xml_stop(&r->xml, ux_arena_fail(&r->arena, r->xml.err));
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
	const char *name = ux_xml_attribute(attributes, "name");
	if (r->provides && strcmp(name, "debuginfo(build-id)") == 0)
		rpm_add_id(r, ux_xml_attribute(attributes, "ver"));
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
			       strcmp(ux_xml_attribute(attributes, "type"), "sha256") == 0
		       ? RPM_CHECKSUM
		       : RPM_NOTHING;
}

static void rpm_primary_on_start(void *ctx, const char *name, const char **attributes)
{
	struct rpm_primary *r = ctx;
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
		if (ux_decimal_parse(ux_bytes_cstr(ux_xml_attribute(attributes, "build")), &t))
			r->package.time = (int64_t)ux_min(t, (uint64_t)INT64_MAX);
	}
}

/* Returns the name in "name-version-release.src.rpm". */
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
	struct ux_bytes text = ux_xml_text(&r->xml);
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
		ux_xml_stop(&r->xml, code);
	r->part = RPM_NOTHING;
}

/* Returns the role by the names that find-debuginfo gives, and by "kernel-debuginfo-common-x86_64".
 */
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
		ux_xml_bad(&r->xml,
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
		ux_xml_stop(&r->xml, ux_arena_fail(&r->arena, r->xml.err));
		return;
	}
	ux_hex_encode(ux_bytes(p->sha256, sizeof(p->sha256)), key);
	p->key = key;
	enum ux_code code = r->to->take(r->to->ctx, p, r->xml.err);
	if (code != UX_OK)
		ux_xml_stop(&r->xml, code);
}

static void rpm_primary_on_end(void *ctx, const char *name)
{
	struct rpm_primary *r = ctx;
	if (!r->inside)
		return;
	if (r->xml.wants_text)
		rpm_take_text(r);
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

enum ux_code ux_rpm_primary_read(ux_xml_read_fn *read, void *from, struct ux_index_target *to,
				 struct ux_error *err)
{
	ux_cleanup(rpm_primary_deinit) struct rpm_primary r = {
		.xml = {.on_start = rpm_primary_on_start, .on_end = rpm_primary_on_end},
		.to = to,
		.arena = {.budget = PACKAGE_MEMORY}};
	r.xml.ctx = &r;
	return ux_xml_parse_from(&r.xml, read, from, err);
}

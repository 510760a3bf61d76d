/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alpine's indexes: finds the packages with code, and the stripped packages that a debug package
 * belongs to. The text APKINDEX has lines "X:value", a package ends at an empty line. C checksum
 * ("Q1" and the SHA-1 of the control segment in base64), P name, V version, A architecture, S size,
 * I installed size, o source package, t time of the build, D dependencies.
 */
#include "arena.h"
#include "debian_files.h"
#include "index_formats.h"
#include "repo_url.h"
#include "text.h"
#include "vec.h"

#include "partition.h"

enum {
	PACKAGE_MEMORY = 1 << 20,
	CHECKSUM_TEXT = 28,  /* base64 of 20 bytes */
	TOGETHER_MAX = 1024, /* packages of the same source and version that are examined */
};

/*
 * Returns whether a package has code: programs need the C library by its file name; a kernel needs
 * nothing, and is recognized by its source.
 */
static bool apk_has_code(const struct ux_apk_record *r)
{
	return r->needs_libc ||
	       (ux_bytes_starts(r->origin, UX_STR("linux-")) && ux_bytes_eq(r->origin, r->name));
}

static enum ux_code apk_key(const struct ux_apk_identity *id, struct ux_arena *arena,
			    const char **ret, struct ux_error *err)
{
	char key[UX_PACKAGE_APK_KEY];
	ux_package_apk_key(id, key);
	*ret = ux_arena_strndup(arena, key, strlen(key));
	return *ret ? UX_OK : ux_arena_fail(arena, err);
}

/* Sets the URL of NAME-VERSION.apk. */
static enum ux_code apk_url(const struct ux_index_target *to, struct ux_arena *arena,
			    struct ux_bytes name, const char *version, const char **ret,
			    struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	ux_out_put(&path, name.data, name.size);
	ux_out_fmt(&path, "-%s.apk", version);
	UX_TRY(ux_out_status(&path, err));
	return ux_repo_url_join(arena, to->root, ux_out_bytes(&path), ret, err);
}

static enum ux_code apk_texts(const struct ux_apk_record *r, const struct ux_index_target *to,
			      struct ux_arena *arena, struct ux_package *p, struct ux_error *err)
{
	UX_TRY(ux_repo_text(arena, r->name, "P", &p->name, err));
	UX_TRY(ux_repo_text(arena, r->version, "V", &p->version, err));
	UX_TRY(ux_repo_text(arena, r->arch, "A", &p->arch, err));
	UX_TRY(ux_repo_text(arena, r->origin, "o", &p->source, err));
	return apk_url(to, arena, r->name, p->version, &p->url, err);
}

/* --- the packages that a debug package belongs to --------------------------------------------- */

/* A package with code, among packages that were built together. */
struct apk_built {
	struct ux_bytes origin, version, name;
	uint64_t size;
	struct ux_apk_identity identity;
};

UX_VEC(apk_builts, struct apk_built);

static int apk_compare_text(struct ux_bytes a, struct ux_bytes b)
{
	size_t n = ux_min(a.size, b.size);
	int r = n > 0 ? memcmp(a.data, b.data, n) : 0;
	return r != 0 ? r : (a.size > b.size) - (a.size < b.size);
}

static int apk_compare_built(const void *a, const void *b)
{
	const struct apk_built *x = a, *y = b;
	int r = apk_compare_text(x->origin, y->origin);
	r = r != 0 ? r : apk_compare_text(x->version, y->version);
	return r != 0 ? r : apk_compare_text(x->name, y->name);
}

static enum ux_code apk_malformed_identity(const struct ux_apk_records *records, uint64_t off,
					   struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, records->section, off,
			   "a checksum is neither a SHA-1 (Q1 and base64) nor a SHA-256");
}

static enum ux_code apk_add_file(const struct apk_built *b, const struct ux_index_target *to,
				 struct ux_arena *arena, struct ux_package_file *files,
				 struct ux_package *p, struct ux_error *err)
{
	const char *version = NULL;
	struct ux_package_file *f = &files[p->n_files];
	UX_TRY(apk_key(&b->identity, arena, &f->key, err));
	UX_TRY(ux_repo_text(arena, b->version, "V", &version, err));
	UX_TRY(apk_url(to, arena, b->name, version, &f->url, err));
	f->size = b->size;
	p->n_files++;
	return UX_OK;
}

/* Returns the first one that is not before the key. */
static size_t apk_find_built(const struct apk_builts *built, const struct apk_built *key)
{
	return ux_partition_point(i, 0, built->size, apk_compare_built(&built->data[i], key) < 0);
}

/*
 * The debug files of a -dbg package have no build IDs: they belong to the stripped files of the
 * packages that were built together with it, preferably the package of the same name without the
 * ending.
 */
static enum ux_code apk_files(const struct ux_apk_record *r, const struct apk_builts *built,
			      const struct ux_index_target *to, struct ux_arena *arena,
			      struct ux_package *p, struct ux_error *err)
{
	struct apk_built key = {.origin = r->origin, .version = r->version};
	struct apk_built main = key;
	struct ux_package_file *files =
		ux_arena_array(arena, struct ux_package_file, UX_PACKAGE_FILES_MAX);
	if (!files)
		return ux_arena_fail(arena, err);
	main.name = ux_bytes(r->name.data, r->name.size - strlen("-dbg"));
	p->files = files;
	size_t first = apk_find_built(built, &main);
	if (first < built->size && apk_compare_built(&built->data[first], &main) == 0)
		UX_TRY(apk_add_file(&built->data[first], to, arena, files, p, err));
	size_t i = apk_find_built(built, &key);
	size_t end = ux_min(built->size, i + TOGETHER_MAX);
	for (; i < end && p->n_files < UX_PACKAGE_FILES_MAX; i++) {
		const struct apk_built *b = &built->data[i];
		if (!ux_bytes_eq(b->origin, key.origin) || !ux_bytes_eq(b->version, key.version))
			break;
		if (!ux_bytes_eq(b->name, main.name))
			UX_TRY(apk_add_file(b, to, arena, files, p, err));
	}
	return UX_OK;
}

static bool apk_is_debug(const struct ux_apk_record *r)
{
	return ux_bytes_has_suffix(r->name, UX_STR("-dbg"));
}

static bool apk_is_noarch(const struct ux_apk_record *r)
{
	return ux_bytes_eq(r->arch, UX_STR("noarch"));
}

static enum ux_code apk_package(const struct ux_apk_records *records, const struct ux_apk_record *r,
				const struct apk_builts *built, struct ux_index_target *to,
				struct ux_arena *arena, struct ux_error *err)
{
	bool debug = apk_is_debug(r);
	struct ux_package p = {
		.distribution = to->repository->distribution,
		.suite = to->repository->suite,
		.component = to->repository->component,
		.kind = UX_PACKAGE_APK,
		.role = debug ? UX_PACKAGE_DEBUG : UX_PACKAGE_STRIPPED,
		.size = r->size,
		.installed = r->installed,
		.time = r->time < INT64_MAX ? (int64_t)r->time : 0,
		.apk = r->identity,
	};
	to->packages++;
	if (r->name.size == 0 || r->version.size == 0 || !r->has_size)
		return ux_error_at(err, UX_ECORRUPT, records->section, r->off,
				   "a package lacks its name, version or size");
	if (apk_is_noarch(r) || !(debug || apk_has_code(r)))
		return UX_OK;
	if (r->identity.size == 0)
		return apk_malformed_identity(records, r->off, err);
	UX_TRY(apk_key(&r->identity, arena, &p.key, err));
	UX_TRY(apk_texts(r, to, arena, &p, err));
	if (debug)
		UX_TRY(apk_files(r, built, to, arena, &p, err));
	return to->take(to->ctx, &p, err);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Lists the packages with code, sorted by their origin. */
static enum ux_code apk_list_built(const struct ux_apk_records *records, struct apk_builts *ret,
				   struct ux_error *err)
{
	enum ux_code code = UX_OK;
	struct ux_apk_record r;
	records->rewind(records->ctx);
	while (records->next(records->ctx, &r, &code, err)) {
		if (apk_is_debug(&r) || apk_is_noarch(&r) || !apk_has_code(&r) ||
		    r.origin.size == 0)
			continue;
		if (r.identity.size == 0)
			return apk_malformed_identity(records, r.off, err);
		const struct apk_built one = {.origin = r.origin,
					      .version = r.version,
					      .name = r.name,
					      .size = r.size,
					      .identity = r.identity};
		if (!apk_builts_append(ret, one))
			return ux_error_nomem(err);
	}
	if (ret->size > 0)
		qsort(ret->data, ret->size, sizeof(*ret->data), apk_compare_built);
	return code;
}

enum ux_code ux_apk_records_read(const struct ux_apk_records *records, struct ux_index_target *to,
				 struct ux_error *err)
{
	UX_ARENA(arena, PACKAGE_MEMORY);
	ux_cleanup(apk_builts_deinit) struct apk_builts built = {0};
	enum ux_code code = UX_OK;
	struct ux_apk_record r;
	UX_TRY(apk_list_built(records, &built, err));
	records->rewind(records->ctx);
	while (records->next(records->ctx, &r, &code, err)) {
		struct ux_arena_mark mark = ux_arena_mark(&arena);
		UX_TRY(apk_package(records, &r, &built, to, &arena, err));
		ux_arena_rewind(&arena, mark);
	}
	return code;
}

/* --- the text APKINDEX ------------------------------------------------------------------------ */

struct apk_text {
	struct ux_bytes text, left;
};

static void apk_text_rewind(void *ctx)
{
	struct apk_text *t = ctx;
	t->left = t->text;
}

static void apk_text_identity(struct ux_bytes value, struct ux_apk_identity *ret)
{
	size_t n = 0;
	uint8_t bytes[CHECKSUM_TEXT];
	*ret = (struct ux_apk_identity){0};
	if (value.size != 2 + CHECKSUM_TEXT || memcmp(value.data, "Q1", 2) != 0 ||
	    !ux_base64_decode(ux_bytes(value.data + 2, CHECKSUM_TEXT), bytes, &n) ||
	    n != UX_PACKAGE_SHA1_BYTES)
		return;
	memcpy(ret->hash, bytes, n);
	ret->size = (unsigned)n;
}

static void apk_text_field(uint8_t letter, struct ux_bytes value, struct ux_apk_record *r)
{
	switch (letter) {
	case 'C':
		apk_text_identity(value, &r->identity);
		break;
	case 'P':
		r->name = value;
		break;
	case 'V':
		r->version = value;
		break;
	case 'A':
		r->arch = value;
		break;
	case 'o':
		r->origin = value;
		break;
	case 'S':
		r->has_size = ux_decimal_parse(value, &r->size);
		break;
	case 'I':
		if (!ux_decimal_parse(value, &r->installed))
			r->installed = 0;
		break;
	case 't':
		if (!ux_decimal_parse(value, &r->time))
			r->time = 0;
		break;
	case 'D':
		r->needs_libc =
			value.size > 0 && memmem(value.data, value.size, "so:libc.", 8) != NULL;
		break;
	default:
		break;
	}
}

static bool apk_text_next(void *ctx, struct ux_apk_record *r, enum ux_code *ret_code,
			  struct ux_error *err)
{
	struct apk_text *t = ctx;
	struct ux_bytes line;
	bool any = false;
	*r = (struct ux_apk_record){0};
	while (ux_text_take_line(&t->left, &line)) {
		if (line.size == 0 && any)
			return true;
		if (line.size == 0)
			continue;
		const uint64_t off = (uint64_t)(line.data - t->text.data);
		if (line.size < 2 || line.data[1] != ':' || line.data[0] >= 128) {
			*ret_code = ux_error_at(err, UX_ECORRUPT, "APKINDEX", off,
						"a line is not \"X:value\"");
			return false;
		}
		if (!any)
			r->off = off;
		any = true;
		apk_text_field(line.data[0], ux_bytes(line.data + 2, line.size - 2), r);
	}
	return any;
}

enum ux_code ux_apk_index_read(struct ux_bytes text, struct ux_index_target *to,
			       struct ux_error *err)
{
	struct apk_text t = {.text = text};
	const struct ux_apk_records records = {
		.rewind = apk_text_rewind, .next = apk_text_next, .ctx = &t, .section = "APKINDEX"};
	return ux_apk_records_read(&records, to, err);
}

/* Returns whether a name cannot leave the folder of keys. */
static bool apk_key_name_is_good(struct ux_bytes name)
{
	for (size_t i = 0; i < name.size; i++)
		if (!ux_is_letter(name.data[i]) && !ux_is_digit(name.data[i]) &&
		    !(name.data[i] != 0 && strchr("@._+-", name.data[i])))
			return false;
	return name.size > 0 && name.data[0] != '.';
}

enum ux_code ux_apk_signature_read(struct ux_bytes tar, struct ux_apk_signature *ret,
				   struct ux_error *err)
{
	static const struct {
		const char *prefix;
		unsigned bits;
	} kinds[] = {{".SIGN.RSA512.", 512}, {".SIGN.RSA256.", 256}, {".SIGN.RSA.", 160}};
	struct ux_cur c = ux_cur_make(tar, "signature", /* swap= */ false);
	struct ux_tar_file file;
	while (ux_tar_next(&c, &file))
		for (size_t i = 0; i < ux_countof(kinds); i++) {
			struct ux_bytes prefix = ux_bytes_cstr(kinds[i].prefix);
			if (!ux_bytes_starts(file.name, prefix))
				continue;
			struct ux_bytes key = ux_bytes(file.name.data + prefix.size,
						       file.name.size - prefix.size);
			if (!apk_key_name_is_good(key) || key.size >= sizeof(ret->key))
				continue;
			*ret = (struct ux_apk_signature){.hash_bits = kinds[i].bits,
							 .signature = file.content};
			memcpy(ret->key, key.data, key.size);
			return UX_OK;
		}
	UX_TRY(ux_cur_status(&c, err));
	return ux_error_set(err, UX_EDENIED, "bad signature: missing");
}

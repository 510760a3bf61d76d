/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alpine's index: lines "X:value", a package ends at an empty line. C checksum ("Q1" and the SHA-1
 * of the control segment in base64), P name, V version, A architecture, S size, I installed size,
 * o source package, t time of the build, D dependencies.
 */
#include "arena.h"
#include "debian_files.h"
#include "index_formats.h"
#include "repo_url.h"
#include "text.h"

enum {
	PACKAGE_MEMORY = 1 << 20,
	CHECKSUM_TEXT = 28, /* base64 of 20 bytes */
};

/* The lines of one package, by their letter. */
struct apk_record {
	struct ux_bytes value[128];
	uint64_t off; /* of its first line */
	bool any;
};

static bool apk_ends(struct ux_bytes text, const char *ending)
{
	size_t n = strlen(ending);
	return text.size > n && memcmp(text.data + text.size - n, ending, n) == 0;
}

/*
 * A package with programs needs the C library by its file name; a kernel needs nothing, and is
 * known by its source.
 */
static bool apk_has_code(const struct apk_record *r)
{
	struct ux_bytes needs = r->value['D'];
	return (needs.size > 0 && memmem(needs.data, needs.size, "so:libc.", 8) != NULL) ||
	       (ux_bytes_starts(r->value['o'], UX_STR("linux-")) &&
		ux_bytes_eq(r->value['o'], r->value['P']));
}

static enum ux_code apk_checksum(const struct apk_record *r, struct ux_arena *arena,
				 struct ux_package *p, struct ux_error *err)
{
	struct ux_bytes c = r->value['C'];
	size_t n = 0;
	uint8_t bytes[CHECKSUM_TEXT];
	char hex[2 * UX_PACKAGE_SHA1_BYTES + 1], key[sizeof(hex) + 8];
	if (c.size != 2 + CHECKSUM_TEXT || memcmp(c.data, "Q1", 2) != 0 ||
	    !ux_base64_decode(ux_bytes(c.data + 2, CHECKSUM_TEXT), bytes, &n) ||
	    n != UX_PACKAGE_SHA1_BYTES)
		return ux_error_at(err, UX_ECORRUPT, "APKINDEX", r->off,
				   "a checksum is not Q1 and a SHA-1 in base64");
	memcpy(p->control_sha1, bytes, n);
	p->has_control_sha1 = true;
	ux_hex_encode(ux_bytes(bytes, n), hex);
	int size = snprintf(key, sizeof(key), "apk:%s", hex);
	p->key = ux_arena_strndup(arena, key, (size_t)size);
	return p->key ? UX_OK : ux_arena_fail(arena, err);
}

/* The URL of NAME-VERSION.apk. */
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

static enum ux_code apk_texts(const struct apk_record *r, const struct ux_index_target *to,
			      struct ux_arena *arena, struct ux_package *p, struct ux_error *err)
{
	struct ux_bytes name = r->value['P'];
	UX_TRY(ux_repo_text(arena, name, "P", &p->name, err));
	UX_TRY(ux_repo_text(arena, r->value['V'], "V", &p->version, err));
	UX_TRY(ux_repo_text(arena, r->value['A'], "A", &p->arch, err));
	UX_TRY(ux_repo_text(arena, r->value['o'], "o", &p->source, err));
	UX_TRY(apk_url(to, arena, name, p->version, &p->url, err));
	p->partner = "";
	if (p->role != UX_PACKAGE_DEBUG)
		return UX_OK;
	/* Its debug files have no build IDs: they belong to the package without the ending. */
	return apk_url(to, arena, ux_bytes(name.data, name.size - strlen("-dbg")), p->version,
		       &p->partner, err);
}

static enum ux_code apk_package(const struct apk_record *r, struct ux_index_target *to,
				struct ux_arena *arena, struct ux_error *err)
{
	bool debug = apk_ends(r->value['P'], "-dbg");
	uint64_t time = 0;
	struct ux_package p = {
		.distribution = to->repository->distribution,
		.suite = to->repository->suite,
		.component = to->repository->component,
		.kind = UX_PACKAGE_APK,
		.role = debug ? UX_PACKAGE_DEBUG : UX_PACKAGE_STRIPPED,
	};
	to->packages++;
	if (r->value['P'].size == 0 || r->value['V'].size == 0 ||
	    !ux_decimal_parse(r->value['S'], &p.size))
		return ux_error_at(err, UX_ECORRUPT, "APKINDEX", r->off,
				   "a package lacks its name, version or size");
	if (ux_bytes_eq(r->value['A'], UX_STR("noarch")) || !(debug || apk_has_code(r)))
		return UX_OK;
	(void)!ux_decimal_parse(r->value['I'], &p.installed);
	if (ux_decimal_parse(r->value['t'], &time) && time < INT64_MAX)
		p.time = (int64_t)time;
	UX_TRY(apk_checksum(r, arena, &p, err));
	UX_TRY(apk_texts(r, to, arena, &p, err));
	return to->take(to->ctx, &p, err);
}

enum ux_code ux_apk_index_read(struct ux_bytes text, struct ux_index_target *to,
			       struct ux_error *err)
{
	UX_ARENA(arena, PACKAGE_MEMORY);
	const uint8_t *start = text.data;
	struct apk_record r = {0};
	struct ux_bytes line;
	for (bool more = true; more;) {
		more = ux_deb822_line(&text, &line);
		if (more && line.size > 0) {
			if (line.size < 2 || line.data[1] != ':' || line.data[0] >= 128)
				return ux_error_at(err, UX_ECORRUPT, "APKINDEX",
						   (uint64_t)(line.data - start),
						   "a line is not \"X:value\"");
			if (!r.any)
				r.off = (uint64_t)(line.data - start);
			r.any = true;
			r.value[line.data[0]] = ux_bytes(line.data + 2, line.size - 2);
			continue;
		}
		if (r.any) {
			struct ux_arena_mark mark = ux_arena_mark(&arena);
			UX_TRY(apk_package(&r, to, &arena, err));
			ux_arena_rewind(&arena, mark);
		}
		r = (struct apk_record){0};
	}
	return UX_OK;
}

/* A name that cannot leave the folder of keys. */
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
	return ux_error_set(err, UX_EDENIED, "bad signature: there is none");
}

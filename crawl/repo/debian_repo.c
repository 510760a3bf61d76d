/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories of Debian's form: InRelease, or Release with Release.gpg, is signed and has the hash
 * of each index; an index (Packages) has the hash of each package. An index is fetched by its hash
 * if the mirror supports that, since the file of that name may already be the next version. Source:
 * DebianRepository/Format in Debian's wiki; deb-control(5).
 */
#include "arena.h"
#include "clock.h"
#include "debian_files.h"
#include "index_formats.h"
#include "package.h"
#include "packed_file.h"
#include "polite_client.h"
#include "repo_url.h"
#include "repository.h"
#include "signature.h"
#include "text.h"

#include <nettle/sha2.h>
#include <time.h>

enum {
	RELEASE_MAX = UX_SIGNED_BYTES_MAX,
	INDEX_MAX = 512 << 20, /* bytes of an index as it is sent: sid's Packages.xz has 11 MB */
	PACKAGE_MEMORY = 16 << 20, /* texts and build IDs of one package */
	GNU_ID_DIGITS = 2 * UX_ID_GNU_MAX,
};

struct debian {
	const struct ux_repository *r;
	struct ux_polite *client;
	ux_package_fn *take;
	void *ctx;
	struct ux_repository_result *result;
	struct ux_arena arena; /* memory for one package */
	struct ux_error *err;
};

static void debian_deinit(struct debian *d)
{
	ux_arena_deinit(&d->arena);
}

static enum ux_code debian_failed(struct debian *d, const char *cause, enum ux_code code)
{
	if (code != UX_OK && code != UX_ENOMEM && code != UX_EUNAVAILABLE)
		d->result->cause = cause;
	return code;
}

/* --- Release ---------------------------------------------------------------------------------- */

static enum ux_code debian_url(struct ux_arena *arena, const struct ux_repository *r,
			       const char *path, const char **ret, struct ux_error *err)
{
	char whole[600];
	int n = snprintf(whole, sizeof(whole), "dists/%s/%s", r->suite, path);
	if (n < 0 || (size_t)n >= sizeof(whole))
		return ux_error_set(err, UX_EINVAL, "the name of the suite is too long");
	return ux_repo_url_join(arena, r->mirror, ux_bytes(whole, (size_t)n), ret, err);
}

/* Fetches Release and Release.gpg, if there is no InRelease. */
static enum ux_code debian_fetch_release(struct debian *d, struct ux_out *text)
{
	UX_ARENA(arena, 64 << 10);
	ux_cleanup(ux_file_unmap) struct ux_mapping body = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping signature = {0};
	struct ux_fetched f = {0};
	const char *url = NULL;
	const struct ux_expected what = {.size = UINT64_MAX, .max = RELEASE_MAX};
	UX_TRY(debian_url(&arena, d->r, "Release", &url, d->err));
	UX_TRY(ux_polite_fetch(d->client, url, &what, NULL, &f, d->err));
	body = f.file;
	UX_TRY(debian_url(&arena, d->r, "Release.gpg", &url, d->err));
	UX_TRY(ux_polite_fetch(d->client, url, &what, NULL, &f, d->err));
	signature = f.file;
	UX_TRY(debian_failed(
		d, "signature",
		ux_signature_detached(&d->r->keys, body.bytes, signature.bytes, d->err)));
	ux_out_put(text, body.bytes.data, body.bytes.size);
	return ux_out_status(text, d->err);
}

/* Appends the signed text. Sets result->unchanged if the mirror reports no change. */
static enum ux_code debian_fetch_signed(struct debian *d, const struct ux_repository_state *known,
					struct ux_out *text)
{
	UX_ARENA(arena, 64 << 10);
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_fetched f = {0};
	struct ux_error why = UX_ERROR_INIT;
	const char *url = NULL;
	const struct ux_expected what = {.size = UINT64_MAX, .max = RELEASE_MAX};
	UX_TRY(debian_url(&arena, d->r, "InRelease", &url, d->err));
	enum ux_code code = ux_polite_fetch(
		d->client, url, &what, known && known->known ? &known->validators : NULL, &f, &why);
	if (code == UX_ENOTFOUND && debian_fetch_release(d, text) == UX_OK)
		return UX_OK;
	if (code != UX_OK) {
		if (d->err && d->err->code == UX_OK)
			*d->err = why;
		return d->err && code == UX_ENOTFOUND ? d->err->code : code;
	}
	file = f.file;
	d->result->state.validators = f.answer.validators;
	d->result->unchanged = f.answer.unchanged;
	if (f.answer.unchanged)
		return UX_OK;
	return debian_failed(d, "signature",
			     ux_signature_clear(&d->r->keys, file.bytes, text, d->err));
}

/*
 * Refuses a Release that is older than one that was read before: its signature is still good, and
 * many have no Valid-Until.
 */
static enum ux_code debian_check_date(struct debian *d, const struct ux_debian_release *release,
				      int64_t newest)
{
	struct tm tm[2];
	char text[2][32] = {"unknown", "unknown"};
	const time_t dates[2] = {(time_t)release->date, (time_t)newest};
	d->result->state.date = ux_max(release->date, newest);
	if (release->date >= newest || d->r->allow_older)
		return UX_OK;
	for (int i = 0; i < 2; i++)
		if (dates[i] > 0 && gmtime_r(&dates[i], &tm[i]))
			(void)strftime(text[i], sizeof(text[i]), "%Y-%m-%dT%H:%M:%SZ", &tm[i]);
	return debian_failed(
		d, "older",
		ux_error_set(d->err, UX_EDENIED,
			     "Release is older than the one that was read before: its date is %s, "
			     "not %s or later (accept it with --allow-older)",
			     text[0], text[1]));
}

/* Refuses a mirror that serves another suite, or an old state of this one. */
static enum ux_code debian_check_release(struct debian *d, const struct ux_debian_release *release,
					 int64_t newest)
{
	struct ux_bytes suite = ux_bytes_cstr(d->r->suite);
	int64_t over = ux_clock_wall() - release->valid_until;
	if (!ux_bytes_eq(suite, release->suite) && !ux_bytes_eq(suite, release->codename))
		return debian_failed(d, "suite",
				     ux_error_set(d->err, UX_EDENIED,
						  "Release belongs to another suite: %.*s (%.*s)",
						  (int)ux_min(release->suite.size, (size_t)40),
						  (const char *)release->suite.data,
						  (int)ux_min(release->codename.size, (size_t)40),
						  (const char *)release->codename.data));
	if (release->valid_until > 0 && over > 0 && !d->r->allow_expired)
		return debian_failed(
			d, "expired",
			ux_error_set(d->err, UX_EDENIED,
				     "Release expired %" PRId64
				     " days ago; the mirror is outdated (accept it with "
				     "--allow-expired)",
				     over / 86400));
	return debian_check_date(d, release, newest);
}

/* --- Packages --------------------------------------------------------------------------------- */

/* The fields of a stanza that matter. */
struct debian_stanza {
	struct ux_bytes package, version, arch, source, filename, size, installed, sha256, section,
		depends, pre_depends, build_ids, auto_built, built_using;
};

static enum ux_code debian_stanza_read(struct ux_deb822 *reader, struct debian_stanza *s,
				       struct ux_error *err)
{
	const struct ux_deb822_known known[] = {
		{"Package", &s->package},
		{"Version", &s->version},
		{"Architecture", &s->arch},
		{"Source", &s->source},
		{"Filename", &s->filename},
		{"Size", &s->size},
		{"Installed-Size", &s->installed},
		{"SHA256", &s->sha256},
		{"Section", &s->section},
		{"Depends", &s->depends},
		{"Pre-Depends", &s->pre_depends},
		{"Build-Ids", &s->build_ids},
		{"Auto-Built-Package", &s->auto_built},
		{"Built-Using", &s->built_using},
		{"Static-Built-Using", &s->built_using},
	};
	*s = (struct debian_stanza){0};
	return ux_deb822_read(reader, known, ux_countof(known), err);
}

static bool debian_names(struct ux_bytes text, const char *word)
{
	return text.size > 0 && memmem(text.data, text.size, word, strlen(word)) != NULL;
}

/* Treats "libs" and "non-free/libs" alike. */
static bool debian_section_is(struct ux_bytes section, const char *name)
{
	const uint8_t *slash = ux_bytes_find_last(section, '/');
	if (slash)
		section = ux_bytes(slash + 1, section.size - (size_t)(slash + 1 - section.data));
	return ux_bytes_eq(section, ux_bytes_cstr(name));
}

static bool debian_is_debug(const struct debian_stanza *s)
{
	return ux_bytes_eq(s->auto_built, UX_STR("debug-symbols")) || s->build_ids.size > 0 ||
	       debian_section_is(s->section, "debug") ||
	       ux_bytes_has_suffix(s->package, UX_STR("-dbg")) ||
	       ux_bytes_has_suffix(s->package, UX_STR("-dbgsym"));
}

/*
 * Returns whether a package has programs or libraries, which no field tells. A package for one
 * architecture that needs the C library has some; kernels and statically linked packages need none.
 */
static bool debian_has_code(const struct debian_stanza *s)
{
	static const char *const runtimes[] = {"libc6", "libgcc-s1", "libstdc++6", "libc0.1",
					       "musl"};
	for (size_t i = 0; i < ux_countof(runtimes); i++)
		if (debian_names(s->depends, runtimes[i]) ||
		    debian_names(s->pre_depends, runtimes[i]))
			return true;
	return debian_section_is(s->section, "kernel") || s->built_using.size > 0;
}

static enum ux_code debian_build_ids(struct debian *d, struct ux_bytes text, struct ux_package *p)
{
	struct ux_bytes word;
	size_t max = ux_min(text.size / 16 + 1, (size_t)UX_PACKAGE_BUILD_IDS_MAX);
	struct ux_id *ids = text.size > 0 ? ux_arena_array(&d->arena, struct ux_id, max) : NULL;
	if (text.size > 0 && !ids)
		return ux_arena_fail(&d->arena, d->err);
	while (p->n_build_ids < max && ux_deb822_word(&text, &word)) {
		uint8_t bytes[UX_ID_GNU_MAX];
		size_t n = 0;
		if (!ux_hex_decode(word, bytes, sizeof(bytes), &n) || n < 8 ||
		    ux_id_make(UX_ID_GNU, ux_bytes(bytes, n), &ids[p->n_build_ids], NULL) != UX_OK)
			continue; /* a malformed ID finds nothing, and does no harm */
		p->n_build_ids++;
	}
	p->build_ids = ids;
	return UX_OK;
}

/* Returns the name in "Source: name (version)"; if absent, it is the package's own name. */
static struct ux_bytes debian_source_name(const struct debian_stanza *s)
{
	struct ux_bytes left = s->source, word;
	return ux_deb822_word(&left, &word) ? word : s->package;
}

/* Returns the version of the source package, which differs after a rebuild or in a separate index.
 */
static enum ux_code debian_source_version(struct debian *d, const struct debian_stanza *s,
					  struct ux_package *p)
{
	struct ux_bytes left = s->source, word;
	p->source_version = "";
	if (!ux_deb822_word(&left, &word) || !ux_deb822_word(&left, &word) || word.size < 3 ||
	    word.data[0] != '(' || word.data[word.size - 1] != ')')
		return UX_OK;
	return ux_repo_text(&d->arena, ux_bytes(word.data + 1, word.size - 2), "Source",
			    &p->source_version, d->err);
}

static enum ux_code debian_texts(struct debian *d, const struct debian_stanza *s,
				 struct ux_package *p)
{
	char *key = ux_arena_array(&d->arena, char, 2 * sizeof(p->sha256) + 1);
	if (!key)
		return ux_arena_fail(&d->arena, d->err);
	ux_hex_encode(ux_bytes(p->sha256, sizeof(p->sha256)), key);
	p->key = key;
	UX_TRY(ux_repo_text(&d->arena, s->package, "Package", &p->name, d->err));
	UX_TRY(ux_repo_text(&d->arena, s->version, "Version", &p->version, d->err));
	UX_TRY(ux_repo_text(&d->arena, s->arch, "Architecture", &p->arch, d->err));
	UX_TRY(ux_repo_text(&d->arena, debian_source_name(s), "Source", &p->source, d->err));
	UX_TRY(debian_source_version(d, s, p));
	return ux_repo_url_join(&d->arena, d->r->mirror, s->filename, &p->url, d->err);
}

static enum ux_code debian_package(struct debian *d, const struct debian_stanza *s, uint64_t off)
{
	bool debug = debian_is_debug(s);
	struct ux_package p = {
		.distribution = d->r->distribution,
		.suite = d->r->suite,
		.component = d->r->component,
		.kind = UX_PACKAGE_DEB,
		.role = debug ? UX_PACKAGE_DEBUG : UX_PACKAGE_STRIPPED,
		.has_sha256 = true,
	};
	size_t n = 0;
	d->result->packages++;
	if (s->package.size == 0 || s->filename.size == 0 || s->version.size == 0 ||
	    !ux_decimal_parse(s->size, &p.size) || s->sha256.size != 2 * sizeof(p.sha256) ||
	    !ux_hex_decode(s->sha256, p.sha256, sizeof(p.sha256), &n))
		return ux_error_at(d->err, UX_ECORRUPT, "Packages", off,
				   "a stanza lacks Package, Version, Filename, Size or SHA256");
	if (ux_bytes_eq(s->arch, UX_STR("all")) || !(debug || debian_has_code(s)))
		return UX_OK;
	if (ux_decimal_parse(s->installed, &p.installed))
		p.installed = ux_min(p.installed, UINT64_MAX / 1024) * 1024; /* it is in KiB */
	struct ux_arena_mark mark = ux_arena_mark(&d->arena);
	UX_TRY(debian_texts(d, s, &p));
	UX_TRY(debian_build_ids(d, s->build_ids, &p));
	enum ux_code code = d->take(d->ctx, &p, d->err);
	ux_arena_rewind(&d->arena, mark);
	return code;
}

static enum ux_code debian_packages(struct debian *d, struct ux_bytes text)
{
	struct ux_deb822 reader = ux_deb822_make(text, "Packages");
	while (ux_deb822_next_stanza(&reader)) {
		uint64_t off = ux_cur_off(&reader.c);
		struct debian_stanza s;
		UX_TRY(debian_stanza_read(&reader, &s, d->err));
		UX_TRY(debian_package(d, &s, off));
	}
	return ux_deb822_status(&reader, d->err);
}

/* --- the index -------------------------------------------------------------------------------- */

static enum ux_code debian_index_url(struct ux_arena *arena, const struct ux_repository *r,
				     const struct ux_debian_index *index, bool by_hash,
				     const char **ret, struct ux_error *err)
{
	char path[512], hex[2 * sizeof(index->sha256) + 1];
	const uint8_t *slash = ux_bytes_find_last(index->path, '/');
	int folder = slash ? (int)(slash + 1 - index->path.data) : 0;
	ux_hex_encode(ux_bytes(index->sha256, sizeof(index->sha256)), hex);
	if (index->path.size > sizeof(path) / 2)
		return ux_error_set(err, UX_ECORRUPT, "Release: a path is too long: %zu bytes",
				    index->path.size);
	if (by_hash)
		snprintf(path, sizeof(path), "%.*sby-hash/SHA256/%s", folder,
			 (const char *)index->path.data, hex);
	else
		snprintf(path, sizeof(path), "%.*s", (int)index->path.size,
			 (const char *)index->path.data);
	return debian_url(arena, r, path, ret, err);
}

/* Fetches one form of the index, by its hash if allowed, else by its name. */
static enum ux_code debian_fetch_form(const struct debian *d, bool by_hash,
				      const struct ux_debian_index *index, struct ux_fetched *ret,
				      struct ux_error *err)
{
	UX_ARENA(arena, 64 << 10);
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_expected what = {
		.size = index->size, .sha256 = index->sha256, .max = INDEX_MAX};
	const char *url = NULL;
	if (index->size > INDEX_MAX)
		return ux_error_set(err, UX_ELIMIT, "the index is too large: %" PRIu64 " bytes",
				    index->size);
	UX_TRY(debian_index_url(&arena, d->r, index, by_hash, &url, err));
	enum ux_code code = ux_polite_fetch(d->client, url, &what, NULL, ret, &why);
	if (code == UX_ENOTFOUND && by_hash)
		return debian_fetch_form(d, /* by_hash= */ false, index, ret, err);
	if (code != UX_OK)
		*err = why;
	return code;
}

/* path: of the index below the suite, without its ending. */
static enum ux_code debian_fetch_index(struct debian *d, const struct ux_debian_release *release,
				       const char *path, struct ux_mapping *ret)
{
	struct ux_fetched f = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_ENOTFOUND;
	int form = UX_DEBIAN_FORMS;
	while (code == UX_ENOTFOUND) {
		struct ux_debian_index index;
		struct ux_error none = UX_ERROR_INIT;
		code = ux_debian_release_find(release, path, &form, &index, &none);
		if (code != UX_OK) {
			why = why.code == UX_OK ? none : why;
			break;
		}
		why = (struct ux_error)UX_ERROR_INIT;
		code = debian_fetch_form(d, release->by_hash, &index, &f, &why);
	}
	if (code == UX_OK) {
		*ret = f.file;
		return UX_OK;
	}
	*d->err = why;
	if (code == UX_ECORRUPT)
		d->result->cause = ux_repository_file_cause(&why);
	return code;
}

static enum ux_code debian_read_packages(struct debian *d, const struct ux_debian_release *release)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping index = {0};
	char path[300];
	snprintf(path, sizeof(path), "%.120s/binary-%.100s/Packages", d->r->component, d->r->arch);
	UX_TRY(debian_fetch_index(d, release, path, &index));
	UX_TRY(ux_packed_open(&index, d->err));
	return debian_packages(d, index.bytes);
}

/* Archives that have only debug packages have no sources: these are in the distribution's archive.
 */
static enum ux_code debian_read_sources(struct debian *d, const struct ux_debian_release *release)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping index = {0};
	struct ux_index_target to = {
		.repository = d->r, .root = d->r->mirror, .take = d->take, .ctx = d->ctx};
	struct ux_debian_index none;
	int form = UX_DEBIAN_FORMS;
	char path[300];
	snprintf(path, sizeof(path), "%.120s/source/Sources", d->r->component);
	if (ux_debian_release_find(release, path, &form, &none, NULL) == UX_ENOTFOUND)
		return UX_OK;
	UX_TRY(debian_fetch_index(d, release, path, &index));
	UX_TRY(ux_packed_open(&index, d->err));
	enum ux_code code = ux_debian_sources_read(index.bytes, &to, d->err);
	d->result->packages += to.packages;
	return code;
}

enum ux_code ux_debian_read(const struct ux_repository *r, struct ux_polite *client,
			    const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			    struct ux_repository_result *ret, struct ux_error *err)
{
	struct ux_error own = UX_ERROR_INIT;
	ux_cleanup(debian_deinit) struct debian d = {.r = r,
						     .client = client,
						     .take = take,
						     .ctx = ctx,
						     .result = ret,
						     .arena = {.budget = PACKAGE_MEMORY},
						     .err = err ? err : &own};
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_debian_release release;
	UX_TRY(ux_repo_url_check(r->mirror, d.err));
	UX_TRY(debian_fetch_signed(&d, known, &text));
	if (ret->unchanged) {
		ret->state = *known;
		return UX_OK;
	}
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, text.size, text.data);
	sha256_digest(&sha, sizeof(ret->state.sha256), ret->state.sha256);
	ret->state.known = true;
	UX_TRY(ux_debian_release_parse(ux_out_bytes(&text), &release, d.err));
	UX_TRY(debian_check_release(&d, &release, known ? known->date : 0));
	ret->unchanged = known && known->known &&
			 memcmp(known->sha256, ret->state.sha256, sizeof(known->sha256)) == 0;
	if (ret->unchanged)
		return UX_OK;
	UX_TRY(debian_read_packages(&d, &release));
	return r->sources ? debian_read_sources(&d, &release) : UX_OK;
}

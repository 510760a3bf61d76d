/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source package of Debian, which consists of several files: they are received one after the
 * other into one archive, which is unpacked like an uploaded bundle of sources.
 */
#include "fetcher_internal.h"

#include "request_values.h"
#include "tar_header.h"
#include "text.h"

#include <jansson.h>
#include <nettle/sha2.h>

enum {
	ARENA = 256 << 10,
	FILES_MAX = 1 + 16, /* the .dsc, and up to 16 files that it lists */
};

/* A file of a package. */
struct source_file {
	const char *key; /* its SHA-256 in hex */
	const char *url;
	const char *name; /* the last component of the URL, without its escapes */
	uint64_t size;
};

/* The source package that is being received. */
struct source_package {
	const struct ux_upstream_request *with; /* request for the whole package */
	const char *name;                       /* name of the package */
	uint64_t size, have;
	struct sha256_ctx sha;
};

static enum ux_code source_package_on_bytes(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct source_package *p = ctx;
	p->have += bytes.size;
	if (p->have > p->size)
		return ux_error_set(err, UX_ECORRUPT,
				    "a file of %.80s exceeds %" PRIu64 " bytes, the announced size",
				    p->name, p->size);
	sha256_update(&p->sha, bytes.size, bytes.data);
	return p->with->sink(p->with->ctx, bytes, err);
}

static bool source_package_first(void *ctx)
{
	const struct source_package *p = ctx;
	return p->with->first(p->with->ctx);
}

static bool source_package_cancelled(void *ctx)
{
	const struct source_package *p = ctx;
	return p->with->cancelled(p->with->ctx);
}

static void source_package_fail(struct ux_upstream_answer *ret, const char *text)
{
	ret->outcome = UX_FETCH_FAILED;
	snprintf(ret->reason, sizeof(ret->reason), "%s", text);
}

/* Compares a file's SHA-256 with its key. */
static bool source_package_is_key(const struct sha256_ctx *sha, const char *key)
{
	struct sha256_ctx copy = *sha;
	uint8_t hash[SHA256_DIGEST_SIZE];
	char hex[2 * sizeof(hash) + 1];
	sha256_digest(&copy, sizeof(hash), hash);
	ux_hex_encode(ux_bytes(hash, sizeof(hash)), hex);
	return strcasecmp(hex, key) == 0;
}

static enum ux_code source_package_put_header(const struct ux_upstream_request *with,
					      const char *name, uint64_t size, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	UX_TRY(ux_tar_header_write(name, NULL, size, 0, &out, err));
	return with->sink(with->ctx, ux_out_bytes(&out), err);
}

static enum ux_code source_package_put_zeros(const struct ux_upstream_request *with, uint64_t n,
					     struct ux_error *err)
{
	static const uint8_t zeros[2 * UX_TAR_BLOCK];
	return n > 0 ? with->sink(with->ctx, ux_bytes(zeros, (size_t)n), err) : UX_OK;
}

/* Receives and checks one file. False: ret says why. */
static bool source_package_receive(const struct ux_upstream_request *with, const char *name,
				   const struct source_file *file, char *path,
				   struct ux_upstream_answer *ret)
{
	struct source_package p = {.with = with, .name = name, .size = file->size};
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_upstream_paths paths = {.paths = {path}, .n = 1};
	struct ux_upstream_limits limits = *with->limits;
	struct ux_upstream_request one = *with;
	limits.bytes = ux_min(limits.bytes, file->size);
	one.paths = &paths;
	one.limits = &limits;
	one.sink = source_package_on_bytes;
	one.first = source_package_first;
	one.cancelled = source_package_cancelled;
	one.ctx = &p;
	sha256_init(&p.sha);
	if (source_package_put_header(with, file->name, file->size, &why) != UX_OK) {
		source_package_fail(ret, why.text);
		return false;
	}
	ux_upstream_request(&one, ret);
	if (ret->outcome != UX_FETCH_FOUND || ret->cancelled)
		return false;
	if (p.have != file->size || !source_package_is_key(&p.sha, file->key)) {
		source_package_fail(
			ret, "a file of the source package does not match its announced size or "
			     "SHA-256");
		return false;
	}
	if (source_package_put_zeros(with, ux_tar_padding(file->size), &why) == UX_OK)
		return true;
	source_package_fail(ret, why.text);
	return false;
}

/* Reads the announcement of one file of the package. */
static bool source_package_file(const json_t *o, struct ux_arena *arena, struct source_file *ret)
{
	const char *key = json_string_value(json_object_get(o, "key"));
	const char *url = json_string_value(json_object_get(o, "url"));
	json_int_t size = json_integer_value(json_object_get(o, "size"));
	if (!key || !url || size <= 0)
		return false;
	*ret = (struct source_file){.key = ux_arena_strndup(arena, key, strlen(key)),
				    .url = ux_arena_strndup(arena, url, strlen(url)),
				    .name = ux_fetch_file_name(url, arena),
				    .size = (uint64_t)size};
	return ret->key && ret->url && ret->name;
}

/* Lists the .dsc and the files that it names. */
static enum ux_code source_package_files(const struct ux_package_row *row, struct ux_arena *arena,
					 struct source_file files[FILES_MAX], size_t *ret_n,
					 struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *list =
		json_loads(row->files, JSON_REJECT_DUPLICATES, NULL);
	size_t n = json_array_size(list);
	files[0] = (struct source_file){.key = row->key,
					.url = row->url,
					.name = ux_fetch_file_name(row->url, arena),
					.size = row->size};
	if (!files[0].name)
		return ux_arena_fail(arena, err);
	if (n == 0 || n + 1 > FILES_MAX || row->size == 0)
		return ux_error_set(err, UX_EINVAL, "the source package %.80s has %zu archives",
				    row->name, n);
	for (size_t i = 0; i < n; i++)
		if (!source_package_file(json_array_get(list, i), arena, &files[i + 1]))
			return ux_error_set(err, UX_EINVAL,
					    "a file of the source package %.80s has no size",
					    row->name);
	*ret_n = n + 1;
	return UX_OK;
}

bool ux_fetch_is_source_package(const struct ux_package_job *package)
{
	return strcmp(package->package.kind, "dsc") == 0;
}

/* Checks the sum of the sizes first, so that a package that is too large is never requested. */
static enum ux_code source_package_check(const struct source_file *files, size_t n, uint64_t max,
					 struct ux_error *err)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += ux_min(files[i].size, UINT64_MAX / FILES_MAX);
	return sum <= max ? UX_OK
			  : ux_error_set(err, UX_ELIMIT,
					 "the source package exceeds %" PRIu64 " bytes", max);
}

void ux_fetch_source_package(const struct ux_upstream_request *with,
			     const struct ux_package_job *package, struct ux_upstream_answer *ret)
{
	UX_ARENA(arena, ARENA);
	struct source_file files[FILES_MAX];
	struct ux_error why = UX_ERROR_INIT;
	const char *name = package->package.name;
	size_t n = 0;
	*ret = (struct ux_upstream_answer){.reachable = true};
	enum ux_code code = source_package_files(&package->package, &arena, files, &n, &why);
	if (code == UX_OK)
		code = source_package_check(files, n, with->limits->bytes, &why);
	for (size_t i = 0; code == UX_OK && i < n; i++) {
		char *path = ux_fetch_package_path(with->up, files[i].url, &arena, &why, &code);
		if (code == UX_OK && !path)
			code = ux_error_set(
				&why, UX_EINVAL,
				"a file of the source package is outside its repository");
		if (code == UX_OK && !source_package_receive(with, name, &files[i], path, ret))
			return;
	}
	if (code == UX_OK)
		code = source_package_put_zeros(with, 2 * UX_TAR_BLOCK, &why);
	ret->path = 0;
	if (code != UX_OK)
		source_package_fail(ret, why.text);
}

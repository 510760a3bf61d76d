/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/crawl/packages: announces packages of a repository. */
#include "crawl.h"

#include "extractor.h"
#include "request_values.h"
#include "text.h"

/*
 * Reads a text of a package; "" if absent. Rejects control characters, which would only hide in it.
 */
static enum ux_code announced_text(const json_t *o, const char *key, size_t max, const char **ret,
				   struct ux_error *err)
{
	*ret = "";
	UX_TRY(ux_json_in_str(o, key, max, ret, err));
	if (!ux_utf8_is_printable(ux_bytes_cstr(*ret)))
		return ux_error_set(err, UX_EINVAL, "\"%s\" has a byte that is not printable UTF-8",
				    key);
	return UX_OK;
}

static enum ux_code announced_word(const json_t *o, const char *key, const char *const *words,
				   size_t n, const char **ret, struct ux_error *err)
{
	*ret = "";
	UX_TRY(ux_json_in_str(o, key, UX_PACKAGE_TEXT_BYTES, ret, err));
	for (size_t i = 0; i < n; i++)
		if (strcmp(*ret, words[i]) == 0)
			return UX_OK;
	return ux_error_set(err, UX_EINVAL, "\"%s\" is \"%.30s\"; expected a value such as \"%s\"",
			    key, *ret, words[0]);
}

static enum ux_code announced_size(const json_t *o, const char *key, uint64_t *ret,
				   struct ux_error *err)
{
	UX_TRY(ux_json_in_u64(o, key, ret, err));
	if (*ret > INT64_MAX >> 16) /* sums of sizes are stored as well */
		return ux_error_set(err, UX_EINVAL, "\"%s\" is out of range: %" PRIu64, key, *ret);
	return UX_OK;
}

/* Reads the place of a file: a URL without credentials, or an absolute path, which has no host. */
static enum ux_code announced_place(const json_t *o, const char **ret, struct ux_bytes *ret_host,
				    struct ux_error *err)
{
	UX_TRY(announced_text(o, "url", UX_PACKAGE_URL_BYTES, ret, err));
	const char *url = *ret;
	*ret_host = UX_BYTES_NONE;
	if (url[0] == '/')
		return UX_OK;
	bool http = strncmp(url, "http://", 7) == 0, https = strncmp(url, "https://", 8) == 0;
	const char *host = url + (https ? 8 : 7);
	size_t n = http || https ? strcspn(host, "/?#") : 0;
	if (n == 0 || memchr(host, '@', n))
		return ux_error_set(err, UX_EINVAL,
				    "\"url\" is \"%.80s\"; expected http://, https:// or a path",
				    url);
	*ret_host = ux_bytes(host, n);
	return UX_OK;
}

static enum ux_code announced_url(const json_t *o, struct ux_arena *arena, struct ux_package_row *p,
				  struct ux_error *err)
{
	struct ux_bytes host;
	UX_TRY(announced_place(o, &p->url, &host, err));
	p->host = host.size > 0 ? ux_arena_strndup(arena, host.data, host.size) : "";
	return p->host ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code announced_file(const json_t *o, struct ux_json *j, struct ux_error *err)
{
	const char *key = NULL, *url = NULL;
	struct ux_bytes host;
	uint64_t size = 0;
	if (!json_is_object(o))
		return ux_error_set(err, UX_EINVAL, "\"files\" holds %s; expected objects",
				    ux_json_in_type(o));
	UX_TRY(announced_text(o, "key", UX_PACKAGE_KEY_BYTES, &key, err));
	UX_TRY(announced_place(o, &url, &host, err));
	UX_TRY(announced_size(o, "size", &size, err));
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "key", key);
	ux_json_key_cstr(j, "url", url);
	ux_json_key_u64(j, "size", size);
	ux_json_object_end(j);
	return UX_OK;
}

/* Keeps additional files as the JSON that a worker gets. */
static enum ux_code announced_files(const json_t *o, struct ux_arena *arena,
				    struct ux_package_row *p, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_json j = ux_json_make(&out);
	const json_t *list = NULL;
	p->files = "";
	UX_TRY(ux_json_in_array(o, "files", UX_CRAWL_FILES_MAX, &list, err));
	if (json_array_size(list) == 0)
		return UX_OK;
	ux_json_array_begin(&j);
	for (size_t i = 0; i < json_array_size(list); i++)
		UX_TRY(announced_file(json_array_get(list, i), &j, err));
	ux_json_array_end(&j);
	UX_TRY(ux_out_status(&out, err));
	if (out.size > UX_PACKAGE_FILES_BYTES)
		return ux_error_set(err, UX_ELIMIT, "\"files\" exceeds %d bytes",
				    UX_PACKAGE_FILES_BYTES);
	p->files = ux_arena_strndup(arena, out.data, out.size);
	return p->files ? UX_OK : ux_arena_fail(arena, err);
}

/*
 * Reads the key, which names the bytes. A key that is a SHA-256 is also compared with their hash.
 */
static enum ux_code announced_key(const json_t *o, struct ux_package_row *p, struct ux_error *err)
{
	uint8_t hash[32];
	size_t n = 0;
	UX_TRY(announced_text(o, "key", UX_PACKAGE_KEY_BYTES, &p->key, err));
	UX_TRY(announced_text(o, "sha256", UX_PACKAGE_KEY_BYTES, &p->sha256, err));
	if (p->key[0] == '\0')
		return ux_error_set(err, UX_EINVAL, "\"key\" is empty; a package needs one");
	if (p->sha256[0] == '\0' && strlen(p->key) == 2 * sizeof(hash) &&
	    ux_hex_decode(ux_bytes_cstr(p->key), hash, sizeof(hash), &n))
		p->sha256 = p->key;
	if (p->sha256[0] == '\0')
		return UX_OK;
	if (ux_hex_decode(ux_bytes_cstr(p->sha256), hash, sizeof(hash), &n) && n == sizeof(hash))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL, "\"sha256\" is \"%.70s\"; expected 64 hex digits",
			    p->sha256);
}

static enum ux_code announced_ids(const json_t *o, struct ux_arena *arena, struct ux_package_row *p,
				  struct ux_error *err)
{
	const json_t *list = NULL;
	UX_TRY(ux_json_in_array(o, "build_ids", UX_CRAWL_IDS_MAX, &list, err));
	size_t n = json_array_size(list);
	struct ux_bytes *ids =
		ux_arena_alloc_n(arena, n + 1, sizeof(*ids), _Alignof(struct ux_bytes));
	if (!ids)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < n; i++) {
		const char *hex = json_string_value(json_array_get(list, i));
		uint8_t *bytes = ux_arena_alloc(arena, UX_PACKAGE_ID_BYTES, 1);
		size_t size = 0;
		if (!bytes)
			return ux_arena_fail(arena, err);
		if (!hex || !ux_hex_decode(ux_bytes_cstr(hex), bytes, UX_PACKAGE_ID_BYTES, &size) ||
		    size < 2)
			return ux_error_set(err, UX_EINVAL,
					    "\"build_ids\" holds \"%.140s\"; expected 2 to %d "
					    "bytes in hex",
					    hex ? hex : ux_json_in_type(json_array_get(list, i)),
					    UX_PACKAGE_ID_BYTES);
		ids[i] = ux_bytes(bytes, size);
	}
	p->ids = ids;
	p->n_ids = n;
	return UX_OK;
}

static enum ux_code announced_package(const json_t *o, struct ux_arena *arena,
				      struct ux_package_row *p, struct ux_error *err)
{
	static const char *const kinds[] = {"deb", "rpm", "apk", "pacman", "layer", "dsc"};
	static const char *const roles[] = {"debug", "stripped", "source"};
	*p = (struct ux_package_row){.crawl = true};
	const struct {
		const char *key;
		const char **text;
	} texts[] = {
		{"name", &p->name},
		{"version", &p->version},
		{"arch", &p->arch},
		{"source", &p->source},
		{"source_version", &p->source_version},
		{"distribution", &p->distribution},
		{"suite", &p->suite},
		{"component", &p->component},
	};
	if (!json_is_object(o))
		return ux_error_set(err, UX_EINVAL, "\"packages\" holds %s; expected objects",
				    ux_json_in_type(o));
	for (size_t i = 0; i < ux_countof(texts); i++)
		UX_TRY(announced_text(o, texts[i].key, UX_PACKAGE_TEXT_BYTES, texts[i].text, err));
	UX_TRY(announced_key(o, p, err));
	UX_TRY(announced_url(o, arena, p, err));
	UX_TRY(announced_files(o, arena, p, err));
	UX_TRY(announced_word(o, "kind", kinds, ux_countof(kinds), &p->kind, err));
	UX_TRY(announced_word(o, "role", roles, ux_countof(roles), &p->role, err));
	UX_TRY(announced_size(o, "size", &p->size, err));
	UX_TRY(announced_size(o, "installed", &p->installed, err));
	UX_TRY(ux_json_in_bool(o, "crawl", &p->crawl, err));
	return announced_ids(o, arena, p, err);
}

/*
 * Reads the packages. Errors give the position of a bad package, which helps the author of the list
 * more than its text.
 */
static enum ux_code announced_packages(const json_t *list, struct ux_arena *arena,
				       struct ux_package_row **ret, struct ux_error *err)
{
	size_t n = json_array_size(list);
	struct ux_package_row *items =
		ux_arena_alloc_n(arena, n + 1, sizeof(*items), _Alignof(struct ux_package_row));
	if (!items)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < n; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code =
			announced_package(json_array_get(list, i), arena, &items[i], &why);
		if (code != UX_OK)
			return ux_error_set(err, code, "package %zu: %.400s", i, why.text);
	}
	*ret = items;
	return UX_OK;
}

/* Reads the name of a repository, which the announcer chooses: "debian bookworm main amd64". */
static enum ux_code announced_repository(const json_t *doc, const char **ret, struct ux_error *err)
{
	UX_TRY(announced_text(doc, "repository", UX_PACKAGE_TEXT_BYTES, ret, err));
	if ((*ret)[0] != '\0')
		return UX_OK;
	return ux_error_set(err, UX_EINVAL, "\"repository\" is empty; expected its name");
}

/* Stores the announced state without interpreting it: only the announcer reads it again. */
static enum ux_code announced_complete(struct ux_request *req, const json_t *doc,
				       const char *repository)
{
	struct ux_store *s = ux_server_of(req)->store;
	const json_t *state = json_object_get(doc, "state");
	if (state && !json_is_object(state))
		return ux_error_set(&req->err, UX_EINVAL, "\"state\" is %s; expected an object",
				    ux_json_in_type(state));
	ux_cleanup(ux_free_ptr) char *text =
		state ? json_dumps(state, JSON_COMPACT | JSON_SORT_KEYS) : strdup("{}");
	if (!text)
		return ux_error_nomem(&req->err);
	if (strlen(text) > UX_REPOSITORY_STATE_BYTES)
		return ux_error_set(&req->err, UX_ELIMIT, "\"state\" exceeds %d bytes",
				    UX_REPOSITORY_STATE_BYTES);
	return s->index->packages.complete(s->index, ux_caller_of(req)->ns, repository, text,
					   ux_store_now(s), &req->err);
}

enum ux_code ux_handle_crawl_packages(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_store *s = ux_server_of(req)->store;
	const json_t *list = NULL;
	const char *repository = "";
	struct ux_package_row *items = NULL;
	struct ux_packages_announced sum;
	bool complete = false;
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(announced_repository(doc, &repository, &req->err));
	UX_TRY(ux_json_in_bool(doc, "complete", &complete, &req->err));
	UX_TRY(ux_json_in_array(doc, "packages", UX_CRAWL_ANNOUNCED_MAX, &list, &req->err));
	UX_TRY(announced_packages(list, &req->arena, &items, &req->err));
	UX_TRY(s->index->packages.announce(s->index, ux_caller_of(req)->ns, repository, items,
					   json_array_size(list), UX_EXTRACTOR_PARSER,
					   ux_store_now(s), &sum, &req->err));
	if (complete)
		UX_TRY(announced_complete(req, doc, repository));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key_u64(&j, "new", sum.new);
	ux_json_key_u64(&j, "known", sum.known);
	ux_json_key_u64(&j, "again", sum.again);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

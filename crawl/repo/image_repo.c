/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container images as repositories: their layers are the packages, each identified by its digest,
 * so that a layer shared by many images is one package. An image is a folder of the OCI's layout, a
 * tar of one, the output of "docker save", or a reference to a registry. Sources: OCI Image Format
 * Specification 1.1 (image layout, index, manifest); Docker Image Specification 1.2 (combined image
 * JSON).
 */
#include "arena.h"
#include "file.h"
#include "index_formats.h"
#include "packed_file.h"
#include "registry.h"
#include "repository.h"
#include "text.h"

#include "clock.h"

#include <jansson.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

enum {
	LAYERS_MAX = 512,    /* Docker allows 127 */
	IMAGES_MAX = 256,    /* manifests of one index */
	INDEX_DEPTH_MAX = 4, /* nesting of indexes */
	TRIES = 5,
	TIME_MS = 600 * 1000, /* ms for all manifests of an image */
	NAME_BYTES_MAX = 512,
	PATH_BYTES = 4096,
	DIGEST_PREFIX = 7, /* "sha256:" */
	DIGEST_TEXT = DIGEST_PREFIX + 2 * SHA256_DIGEST_SIZE + 1,
};

struct image_reader {
	const struct ux_repository *r;
	ux_package_fn *take;
	void *ctx;
	struct ux_repository_result *result;
	const char *folder; /* NULL: not a folder */
	bool is_tar;
	struct ux_mapping tar;
	struct ux_registry *registry;
	struct ux_image_reference reference;
	unsigned n_images;
	struct ux_error *err;
};

static void image_reader_deinit(struct image_reader *im)
{
	ux_registry_close(im->registry);
	ux_file_unmap(&im->tar);
}

static bool image_is_remote(const struct image_reader *im)
{
	return !im->folder && !im->is_tar;
}

static const char *image_field(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? text : "";
}

/* Finds a file of an image on this machine; in a folder it is mapped. */
static enum ux_code image_find_file(const struct image_reader *im, const char *name,
				    struct ux_mapping *map, struct ux_bytes *ret)
{
	char path[PATH_BYTES];
	if (im->is_tar)
		return ux_tar_find(im->tar.bytes, name, ret, im->err);
	int n = snprintf(path, sizeof(path), "%s/%s", im->folder, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return ux_error_set(im->err, UX_EINVAL, "the image path is too long");
	UX_TRY(ux_file_map(path, map, im->err));
	*ret = map->bytes;
	return UX_OK;
}

/* Fetches a manifest or index by its digest, or the outermost one if digest is NULL. */
static enum ux_code image_fetch(struct image_reader *im, const char *digest, struct ux_out *ret)
{
	char name[128] = "index.json";
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes bytes;
	if (digest && !ux_digest_is(digest))
		return ux_error_set(im->err, UX_EUNSUPPORTED, "digest \"%.20s\"; expected sha256",
				    digest);
	if (image_is_remote(im))
		return ux_registry_manifest(im->registry, digest ? digest : im->reference.tag, ret,
					    im->err);
	if (digest)
		snprintf(name, sizeof(name), "blobs/sha256/%.64s", digest + DIGEST_PREFIX);
	UX_TRY(image_find_file(im, name, &file, &bytes));
	if (bytes.size > UX_MANIFEST_BYTES_MAX)
		return ux_error_set(im->err, UX_ELIMIT, "manifest exceeds %d bytes",
				    UX_MANIFEST_BYTES_MAX);
	if (digest)
		UX_TRY(ux_digest_check(bytes, digest, im->err));
	ux_out_put(ret, bytes.data, bytes.size);
	return ux_out_status(ret, im->err);
}

static enum ux_code image_parse_manifest(struct ux_bytes text, json_t **ret, struct ux_error *err)
{
	json_error_t why;
	*ret = json_loadb((const char *)text.data, text.size, 0, &why);
	return *ret ? UX_OK
		    : ux_error_at(err, UX_ECORRUPT, "manifest", (uint64_t)ux_max(why.position, 0),
				  "not JSON: %.80s", why.text);
}

/* Writes the address of a file in the archive: ux_repo_url_part(). */
static enum ux_code image_part_url(const struct image_reader *im, struct ux_bytes file, char *url)
{
	int n = snprintf(url, PATH_BYTES, "%s#part=%zu+%zu", im->r->mirror,
			 (size_t)(file.data - im->tar.bytes.data), file.size);
	return n > 0 && n < PATH_BYTES
		       ? UX_OK
		       : ux_error_set(im->err, UX_EINVAL, "the image path is too long");
}

/* Writes the address of a layer. */
static enum ux_code image_layer_url(const struct image_reader *im, const char *digest, char *url)
{
	char name[128];
	struct ux_bytes bytes;
	if (image_is_remote(im))
		return ux_registry_blob_url(&im->reference, digest, url, PATH_BYTES, im->err);
	snprintf(name, sizeof(name), "blobs/sha256/%.64s", digest + DIGEST_PREFIX);
	if (im->is_tar) {
		UX_TRY(ux_tar_find(im->tar.bytes, name, &bytes, im->err));
		return image_part_url(im, bytes, url);
	}
	int n = snprintf(url, PATH_BYTES, "%s/%s", im->folder, name);
	return n > 0 && n < PATH_BYTES
		       ? UX_OK
		       : ux_error_set(im->err, UX_EINVAL, "the image path is too long");
}

/* Passes a layer on. */
static enum ux_code image_take_layer(struct image_reader *im, const char *digest, uint64_t size,
				     const char *url)
{
	size_t n = 0;
	struct ux_package p = {
		.key = digest + DIGEST_PREFIX,
		.distribution = im->r->distribution,
		.suite = im->r->suite,
		.component = im->r->component,
		.arch = im->r->arch,
		.name = im->r->component,
		.version = digest,
		.source = "",
		.url = url,
		.size = size,
		.has_sha256 = true,
		.kind = UX_PACKAGE_LAYER,
		.role = UX_PACKAGE_STRIPPED,
	};
	if (!ux_hex_decode(ux_bytes_cstr(p.key), p.sha256, sizeof(p.sha256), &n))
		return ux_error_set(im->err, UX_ECORRUPT, "a digest is not hexadecimal");
	im->result->packages++;
	return im->take(im->ctx, &p, im->err);
}

/* Returns whether a layer may not be redistributed: it is on another server, and skipped. */
static bool image_is_foreign(const char *type)
{
	return strstr(type, "nondistributable") || strstr(type, "foreign");
}

static enum ux_code image_layer(struct image_reader *im, const json_t *layer)
{
	char url[PATH_BYTES];
	const char *digest = image_field(layer, "digest");
	json_int_t size = json_integer_value(json_object_get(layer, "size"));
	if (!ux_digest_is(digest) || size <= 0)
		return ux_error_set(im->err, UX_ECORRUPT,
				    "a layer lacks its SHA-256 digest or its size");
	if (image_is_foreign(image_field(layer, "mediaType")))
		return UX_OK;
	UX_TRY(image_layer_url(im, digest, url));
	return image_take_layer(im, digest, (uint64_t)size, url);
}

/* Returns whether an image is for the architecture, "amd64" or "arm/v7". Attestations have the
 * platform unknown. */
static bool image_is_for(const struct image_reader *im, const json_t *descriptor)
{
	char text[128];
	const json_t *p = json_object_get(descriptor, "platform");
	const char *arch = image_field(p, "architecture"), *variant = image_field(p, "variant");
	if (strcmp(image_field(p, "os"), "unknown") == 0)
		return false;
	if (!p || strcmp(im->r->arch, "all") == 0 || strcmp(arch, im->r->arch) == 0)
		return true;
	snprintf(text, sizeof(text), "%.60s/%.60s", arch, variant);
	return strcmp(text, im->r->arch) == 0;
}

static enum ux_code image_document(struct image_reader *im, const json_t *doc, unsigned depth)
{
	const json_t *list = json_object_get(doc, "manifests");
	const json_t *layers = json_object_get(doc, "layers");
	unsigned selected = 0;
	if (depth > INDEX_DEPTH_MAX || im->n_images > IMAGES_MAX)
		return ux_error_set(im->err, UX_ELIMIT,
				    "more than %d images, or indexes nested more than %d deep",
				    IMAGES_MAX, INDEX_DEPTH_MAX);
	if (!list) {
		im->n_images++;
		if (!json_is_array(layers) || json_array_size(layers) > LAYERS_MAX)
			return ux_error_set(im->err, UX_ECORRUPT,
					    "a manifest has %zu layers; expected 1 to %d",
					    json_array_size(layers), LAYERS_MAX);
		for (size_t i = 0; i < json_array_size(layers); i++)
			UX_TRY(image_layer(im, json_array_get(layers, i)));
		return UX_OK;
	}
	for (size_t i = 0; i < json_array_size(list) && i < IMAGES_MAX; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out text = {0};
		ux_cleanup(json_decrefp) json_t *inner = NULL;
		const json_t *one = json_array_get(list, i);
		if (!image_is_for(im, one))
			continue;
		selected++;
		UX_TRY(image_fetch(im, image_field(one, "digest"), &text));
		UX_TRY(image_parse_manifest(ux_out_bytes(&text), &inner, im->err));
		UX_TRY(image_document(im, inner, depth + 1));
	}
	return selected > 0
		       ? UX_OK
		       : ux_error_set(im->err, UX_ENOTFOUND, "has no image for %.60s", im->r->arch);
}

/* --- the output of "docker save" -------------------------------------------------------------- */

static void image_digest(struct ux_bytes bytes, char ret[DIGEST_TEXT])
{
	struct sha256_ctx sha;
	uint8_t hash[SHA256_DIGEST_SIZE];
	sha256_init(&sha);
	sha256_update(&sha, bytes.size, bytes.data);
	sha256_digest(&sha, sizeof(hash), hash);
	memcpy(ret, "sha256:", DIGEST_PREFIX);
	ux_hex_encode(ux_bytes(hash, sizeof(hash)), ret + DIGEST_PREFIX);
}

/*
 * Passes a layer of "docker save" on: a tar by name, whose digest is in the configuration of the
 * image. A second layer of the same content may be a link to the first one, which was taken
 * already.
 */
static enum ux_code image_saved_layer(struct image_reader *im, const char *name, const char *diff,
				      bool again)
{
	char url[PATH_BYTES], digest[DIGEST_TEXT];
	struct ux_bytes bytes;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_tar_find(im->tar.bytes, name, &bytes, &why);
	if (code == UX_ENOTFOUND && again)
		return UX_OK;
	if (code != UX_OK) {
		*im->err = why;
		return code;
	}
	image_digest(bytes, digest);
	if (!ux_packed_is(bytes) && strcmp(digest, diff) != 0)
		return ux_error_set(im->err, UX_ECORRUPT,
				    "layer %.90s does not match the configuration", name);
	UX_TRY(image_part_url(im, bytes, url));
	return image_take_layer(im, digest, bytes.size, url);
}

static enum ux_code image_saved(struct image_reader *im, const json_t *one, unsigned *ret_selected)
{
	ux_cleanup(json_decrefp) json_t *config = NULL;
	const json_t *names = json_object_get(one, "Layers");
	struct ux_bytes bytes;
	UX_TRY(ux_tar_find(im->tar.bytes, image_field(one, "Config"), &bytes, im->err));
	if (bytes.size > UX_MANIFEST_BYTES_MAX)
		return ux_error_set(im->err, UX_ELIMIT, "configuration exceeds %d bytes",
				    UX_MANIFEST_BYTES_MAX);
	UX_TRY(image_parse_manifest(bytes, &config, im->err));
	const json_t *diffs = json_object_get(json_object_get(config, "rootfs"), "diff_ids");
	size_t n = json_array_size(names);
	if (n > LAYERS_MAX || n != json_array_size(diffs))
		return ux_error_set(
			im->err, UX_ECORRUPT,
			"image has %zu layers and %zu layer digests; expected equal numbers, at "
			"most %d",
			n, json_array_size(diffs), LAYERS_MAX);
	if (strcmp(im->r->arch, "all") != 0 &&
	    strcmp(image_field(config, "architecture"), im->r->arch) != 0)
		return UX_OK;
	++*ret_selected;
	for (size_t i = 0; i < n; i++) {
		const char *name = json_string_value(json_array_get(names, i));
		const char *diff = json_string_value(json_array_get(diffs, i));
		bool again = false;
		for (size_t k = 0; k < i && !again; k++)
			again = json_equal(json_array_get(diffs, k), json_array_get(diffs, i));
		UX_TRY(image_saved_layer(im, name ? name : "", diff ? diff : "", again));
	}
	return UX_OK;
}

static enum ux_code image_all_saved(struct image_reader *im, const json_t *list)
{
	unsigned selected = 0;
	if (!json_is_array(list) || json_array_size(list) > IMAGES_MAX)
		return ux_error_set(im->err, UX_ECORRUPT, "manifest.json is not a list of images");
	for (size_t i = 0; i < json_array_size(list); i++)
		UX_TRY(image_saved(im, json_array_get(list, i), &selected));
	return selected > 0
		       ? UX_OK
		       : ux_error_set(im->err, UX_ENOTFOUND, "has no image for %.60s", im->r->arch);
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum ux_code image_open_tar(struct image_reader *im)
{
	UX_TRY(ux_file_map(im->r->mirror, &im->tar, im->err));
	if (ux_packed_is(im->tar.bytes))
		return ux_error_set(
			im->err, UX_EUNSUPPORTED,
			"the image archive is compressed; decompress it to a tar file first");
	im->is_tar = true;
	return UX_OK;
}

static enum ux_code image_open(struct image_reader *im)
{
	struct stat st;
	const char *name = im->r->mirror;
	bool here = stat(name, &st) == 0;
	if (here && S_ISREG(st.st_mode))
		return image_open_tar(im);
	if (here && S_ISDIR(st.st_mode)) {
		im->folder = name;
		return UX_OK;
	}
	UX_TRY(ux_image_reference_parse(name, &im->reference, im->err));
	return ux_registry_open(&im->registry, &im->reference, NULL, NULL, TRIES,
				ux_clock_ms() + TIME_MS, im->err);
}

/* Fetches the outermost document. *ret_saved: it is from "docker save". */
static enum ux_code image_fetch_root(struct image_reader *im, struct ux_out *ret, bool *ret_saved)
{
	struct ux_bytes bytes;
	*ret_saved = im->is_tar &&
		     ux_tar_find(im->tar.bytes, "index.json", &bytes, NULL) == UX_ENOTFOUND;
	if (!*ret_saved)
		return image_fetch(im, NULL, ret);
	UX_TRY(ux_tar_find(im->tar.bytes, "manifest.json", &bytes, im->err));
	if (bytes.size > UX_MANIFEST_BYTES_MAX)
		return ux_error_set(im->err, UX_ELIMIT, "manifest exceeds %d bytes",
				    UX_MANIFEST_BYTES_MAX);
	ux_out_put(ret, bytes.data, bytes.size);
	return ux_out_status(ret, im->err);
}

enum ux_code ux_image_read(const struct ux_repository *r, struct ux_polite *client,
			   const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			   struct ux_repository_result *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(image_reader_deinit) struct image_reader im = {
		.r = r, .take = take, .ctx = ctx, .result = ret, .err = err ? err : &why};
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	bool saved = false;
	(void)client; /* manifests are small, and a registry gives a key for each image */
	UX_TRY(image_open(&im));
	UX_TRY(image_fetch_root(&im, &text, &saved));
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, text.size, text.data);
	sha256_digest(&sha, sizeof(ret->state.sha256), ret->state.sha256);
	ret->state.known = true;
	ret->unchanged = known && known->known &&
			 memcmp(known->sha256, ret->state.sha256, sizeof(known->sha256)) == 0;
	if (ret->unchanged)
		return UX_OK;
	UX_TRY(image_parse_manifest(ux_out_bytes(&text), &doc, im.err));
	return saved ? image_all_saved(&im, doc) : image_document(&im, doc, 0);
}

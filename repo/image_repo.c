/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of containers as repositories: their layers are the packages, each known by its digest, so
 * that a layer of many images is one. An image is a folder of the OCI's layout, or a reference to a
 * registry. Source: OCI Image Format Specification 1.1 (image layout, index, manifest).
 */
#include "arena.h"
#include "file.h"
#include "registry.h"
#include "repository.h"
#include "text.h"

#include "clock.h"

#include <jansson.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

enum {
	LAYERS_MOST = 512,    /* Docker allows 127 */
	IMAGES_MOST = 256,    /* manifests of one index */
	INDEX_DEPTH_MOST = 4, /* indexes inside of indexes */
	TRIES = 5,
	TIME_MS = 600 * 1000, /* for all manifests of an image */
	NAME_MOST = 512,
	PATH_BYTES = 4096,
	DIGEST_PREFIX = 7, /* "sha256:" */
};

struct image_reader {
	const struct ux_repository *r;
	ux_package_fn *take;
	void *ctx;
	struct ux_repository_result *result;
	const char *folder; /* NULL: of a registry */
	struct ux_registry *registry;
	struct ux_image_reference reference;
	unsigned n_images;
	struct ux_error *err;
};

static void image_reader_deinit(struct image_reader *im)
{
	ux_registry_close(im->registry);
}

static const char *image_field(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? text : "";
}

/* A manifest or index by its digest, or the outermost one when digest is NULL. */
static enum ux_code image_fetch(struct image_reader *im, const char *digest, struct ux_out *ret)
{
	char path[PATH_BYTES];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (digest && !ux_digest_is(digest))
		return ux_error_set(im->err, UX_EUNSUPPORTED, "digest \"%.20s\"; expected sha256",
				    digest);
	if (!im->folder)
		return ux_registry_manifest(im->registry, digest ? digest : im->reference.tag, ret,
					    im->err);
	int n = digest ? snprintf(path, sizeof(path), "%s/blobs/sha256/%s", im->folder,
				  digest + DIGEST_PREFIX)
		       : snprintf(path, sizeof(path), "%s/index.json", im->folder);
	if (n < 0 || (size_t)n >= sizeof(path))
		return ux_error_set(im->err, UX_EINVAL, "the path of the image is too long");
	UX_TRY(ux_file_map(path, &file, im->err));
	if (file.bytes.size > UX_MANIFEST_BYTES_MOST)
		return ux_error_set(im->err, UX_ELIMIT, "a manifest of over %d bytes",
				    UX_MANIFEST_BYTES_MOST);
	if (digest)
		UX_TRY(ux_digest_check(file.bytes, digest, im->err));
	ux_out_put(ret, file.bytes.data, file.bytes.size);
	return ux_out_status(ret, im->err);
}

static enum ux_code image_parse_manifest(const struct ux_out *text, json_t **ret,
					 struct ux_error *err)
{
	json_error_t why;
	*ret = json_loadb((const char *)text->data, text->size, 0, &why);
	return *ret ? UX_OK
		    : ux_error_at(err, UX_ECORRUPT, "manifest", (uint64_t)ux_max(why.position, 0),
				  "is no JSON: %.80s", why.text);
}

/* Where a layer is. */
static enum ux_code image_layer_url(const struct image_reader *im, const char *digest, char *url)
{
	if (!im->folder)
		return ux_registry_blob_url(&im->reference, digest, url, PATH_BYTES, im->err);
	int n = snprintf(url, PATH_BYTES, "%s/blobs/sha256/%s", im->folder, digest + DIGEST_PREFIX);
	return n > 0 && n < PATH_BYTES
		       ? UX_OK
		       : ux_error_set(im->err, UX_EINVAL, "the path of the image is too long");
}

/* Layers that may not be passed on are on other servers, and left out. */
static bool image_is_foreign(const char *type)
{
	return strstr(type, "nondistributable") || strstr(type, "foreign");
}

static enum ux_code image_layer(struct image_reader *im, const json_t *layer)
{
	char url[PATH_BYTES];
	const char *digest = image_field(layer, "digest");
	json_int_t size = json_integer_value(json_object_get(layer, "size"));
	size_t n = 0;
	if (!ux_digest_is(digest) || size <= 0)
		return ux_error_set(im->err, UX_ECORRUPT,
				    "a layer has no digest by SHA-256, or no size");
	if (image_is_foreign(image_field(layer, "mediaType")))
		return UX_OK;
	UX_TRY(image_layer_url(im, digest, url));
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
		.partner = "",
		.size = (uint64_t)size,
		.has_sha256 = true,
		.kind = UX_PACKAGE_LAYER,
		.role = UX_PACKAGE_STRIPPED,
	};
	if (!ux_hex_decode(ux_bytes_cstr(p.key), p.sha256, sizeof(p.sha256), &n))
		return ux_error_set(im->err, UX_ECORRUPT, "a digest is not hexadecimal");
	im->result->packages++;
	return im->take(im->ctx, &p, im->err);
}

/* Is it for the architecture, "amd64" or "arm/v7"? Attestations have the platform unknown. */
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
	if (depth > INDEX_DEPTH_MOST || im->n_images > IMAGES_MOST)
		return ux_error_set(im->err, UX_ELIMIT,
				    "over %d images, or %d indexes inside of "
				    "each other",
				    IMAGES_MOST, INDEX_DEPTH_MOST);
	if (!list) {
		im->n_images++;
		if (!json_is_array(layers) || json_array_size(layers) > LAYERS_MOST)
			return ux_error_set(im->err, UX_ECORRUPT,
					    "a manifest has %zu layers; expected 1 to %d",
					    json_array_size(layers), LAYERS_MOST);
		for (size_t i = 0; i < json_array_size(layers); i++)
			UX_TRY(image_layer(im, json_array_get(layers, i)));
		return UX_OK;
	}
	for (size_t i = 0; i < json_array_size(list) && i < IMAGES_MOST; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out text = {0};
		ux_cleanup(json_decrefp) json_t *inner = NULL;
		const json_t *one = json_array_get(list, i);
		if (!image_is_for(im, one))
			continue;
		selected++;
		UX_TRY(image_fetch(im, image_field(one, "digest"), &text));
		UX_TRY(image_parse_manifest(&text, &inner, im->err));
		UX_TRY(image_document(im, inner, depth + 1));
	}
	return selected > 0
		       ? UX_OK
		       : ux_error_set(im->err, UX_ENOTFOUND, "has no image for %.60s", im->r->arch);
}

enum ux_code ux_image_read(const struct ux_repository *r, struct ux_polite *client,
			   const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			   struct ux_repository_result *ret, struct ux_error *err)
{
	ux_cleanup(image_reader_deinit) struct image_reader im = {
		.r = r, .take = take, .ctx = ctx, .result = ret, .err = err};
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct stat st;
	struct sha256_ctx sha;
	(void)client; /* manifests are small, and a registry gives keys for each image */
	if (stat(r->mirror, &st) == 0 && S_ISDIR(st.st_mode))
		im.folder = r->mirror;
	else
		UX_TRY(ux_image_reference_parse(r->mirror, &im.reference, err));
	if (!im.folder)
		UX_TRY(ux_registry_open(&im.registry, &im.reference, NULL, NULL, TRIES,
					ux_clock_ms() + TIME_MS, err));
	UX_TRY(image_fetch(&im, NULL, &text));
	sha256_init(&sha);
	sha256_update(&sha, text.size, text.data);
	sha256_digest(&sha, sizeof(ret->state.sha256), ret->state.sha256);
	ret->state.known = true;
	ret->unchanged = known && known->known &&
			 memcmp(known->sha256, ret->state.sha256, sizeof(known->sha256)) == 0;
	if (ret->unchanged)
		return UX_OK;
	UX_TRY(image_parse_manifest(&text, &doc, err));
	return image_document(&im, doc, 0);
}

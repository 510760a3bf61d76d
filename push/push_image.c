/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container images: a folder or a tar file in the OCI layout, what "docker save" writes, or a
 * reference to a registry. Source: OCI Image Format Specification 1.1 (image layout, manifest,
 * layers and their whiteouts); Docker Image Specification 1.2 (manifest.json).
 */
#include "push_archive.h"

#include "file.h"
#include "image_files.h"
#include "registry.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
	LAYERS_MAX = 512,      /* Docker allows 127 */
	IMAGES_MAX = 256,      /* images of one index, of all platforms */
	NAMES_MAX = 512 << 20, /* bytes of memory for the names of all layers */
	INDEX_DEPTH_MAX = 4,   /* indexes inside of indexes */
};

/* Where the files of an image are stored. */
struct image {
	struct ux_archive_walk walk;
	const char *name;     /* the name as the user gave it */
	const char *platform; /* "linux/amd64", "all" */
	struct ux_arena arena;
	int folder;                     /* the folder of an OCI layout; -1: none */
	struct ux_packed_source *files; /* the members of a tar file */
	size_t n_files;
	int pack; /* their contents */
	struct ux_registry *registry;
	unsigned n_images;
};

static void image_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void image_deinit(struct image *im)
{
	image_close_fd(&im->folder);
	ux_registry_close(im->registry);
	ux_arena_deinit(&im->arena);
}

static const char *image_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* --- files of an image ------------------------------------------------------------------------ */

/* Finds a member of a tar file. Follows a link once. */
static bool image_find_member(const struct image *im, const char *name, struct ux_sandbox_part *ret)
{
	char target[PATH_MAX];
	for (unsigned links = 0; links < 2; links++) {
		const struct ux_packed_source *link = NULL;
		for (size_t i = 0; i < im->n_files; i++) {
			enum ux_member_kind kind = UX_MEMBER_OTHER;
			const char *inside = NULL;
			const struct ux_packed_source *f = &im->files[i];
			if (!ux_member_of_path(f->path, &kind, &inside) ||
			    strcmp(inside + (name[0] != '/'), name) != 0)
				continue;
			*ret = (struct ux_sandbox_part){im->pack, f->off, f->size};
			if (kind != UX_MEMBER_LINK)
				return f->size > 0;
			link = f;
		}
		if (!link || link->size >= sizeof(target) ||
		    pread(im->pack, target, link->size, (off_t)link->off) != (ssize_t)link->size)
			return false;
		target[link->size] = '\0';
		name = target;
	}
	return false;
}

static enum ux_code image_open_blob(struct image *im, const char *digest,
				    struct ux_sandbox_part *ret, struct ux_error *err)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof(path), "blobs/sha256/%s", digest + strlen("sha256:"));
	if (im->folder < 0)
		return image_find_member(im, path, ret)
			       ? UX_OK
			       : ux_error_set(err, UX_ENOTFOUND, "has no blob %.19s...", digest);
	int fd = -1;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_open_regular(im->folder, path, O_NOFOLLOW, &fd, &why);
	if (code == UX_EINVAL)
		return ux_error_set(err, code, "%s is not a regular file", path);
	if (code != UX_OK)
		return ux_error_os(err, why.os_errno, "cannot open %s", path);
	if (!ux_push_packs_append(&im->walk.p->packs, fd)) {
		close(fd);
		return ux_error_nomem(err);
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return ux_error_set(err, UX_EINVAL, "%s is not a regular file", path);
	*ret = (struct ux_sandbox_part){fd, 0, (uint64_t)st.st_size};
	return UX_OK;
}

static enum ux_code image_fetch_blob(struct image *im, const char *digest, uint64_t size,
				     struct ux_sandbox_part *ret, struct ux_error *err)
{
	int fd = -1;
	UX_TRY(ux_file_temporary(&fd, err));
	if (!ux_push_packs_append(&im->walk.p->packs, fd)) {
		close(fd);
		return ux_error_nomem(err);
	}
	UX_TRY(ux_registry_blob(im->registry, digest, size, fd, err));
	*ret = (struct ux_sandbox_part){fd, 0, size};
	return UX_OK;
}

/* Gets a blob by its digest, which is checked. */
static enum ux_code image_blob(struct image *im, const char *digest, uint64_t size,
			       struct ux_sandbox_part *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes bytes;
	if (!ux_digest_is(digest))
		return ux_error_set(err, UX_EUNSUPPORTED, "digest \"%.20s\"; expected sha256",
				    digest);
	if (im->registry)
		return image_fetch_blob(im, digest, size, ret, err);
	UX_TRY(image_open_blob(im, digest, ret, err));
	UX_TRY(ux_push_map_part("", ret, &file, &bytes, err));
	return ux_digest_check(bytes, digest, err);
}

static enum ux_code image_parse(struct ux_bytes text, json_t **ret, struct ux_error *err)
{
	json_error_t why;
	if (text.size > UX_MANIFEST_BYTES_MAX)
		return ux_error_set(err, UX_ELIMIT, "manifest exceeds %d bytes",
				    UX_MANIFEST_BYTES_MAX);
	*ret = json_loadb((const char *)text.data, text.size, 0, &why);
	return *ret ? UX_OK
		    : ux_error_at(err, UX_ECORRUPT, "manifest", (uint64_t)ux_max(why.position, 0),
				  "not JSON: %.80s", why.text);
}

static enum ux_code image_parse_part(const struct ux_sandbox_part *part, json_t **ret,
				     struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes bytes;
	UX_TRY(ux_push_map_part("", part, &file, &bytes, err));
	return image_parse(bytes, ret, err);
}

static enum ux_code image_manifest(struct image *im, const char *digest, json_t **ret,
				   struct ux_error *err)
{
	struct ux_sandbox_part part;
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	if (!im->registry) {
		UX_TRY(image_blob(im, digest, 0, &part, err));
		return image_parse_part(&part, ret, err);
	}
	UX_TRY(ux_registry_manifest(im->registry, digest, &body, err));
	return image_parse(ux_out_bytes(&body), ret, err);
}

/* --- layers ----------------------------------------------------------------------------------- */

/* Unpacks a layer, unless another image of this push has unpacked it. */
static enum ux_code image_unpack_layer(struct image *im, struct ux_image_layers *seen,
				       const char *digest, uint64_t size, int *ret,
				       struct ux_error *err)
{
	struct ux_sandbox_part part;
	for (size_t i = 0; i < seen->size; i++)
		if (strcmp(seen->data[i].digest, digest) == 0) {
			*ret = seen->data[i].pack;
			return UX_OK;
		}
	if (ux_digest_is(digest))
		UX_TRY(image_blob(im, digest, size, &part, err));
	else if (!image_find_member(im, digest, &part))
		return ux_error_set(err, UX_ENOTFOUND, "has no layer %.80s", digest);
	im->walk.left = ux_archive_budget(part.size);
	UX_TRY(ux_archive_unpack_to(&im->walk, &part, UX_MEMBERS_FILE_SYSTEM, ret, err));
	struct ux_image_layer one = {.pack = *ret};
	if (!ux_digest_is(digest)) /* a file name identifies the layer only in this image */
		return UX_OK;
	memcpy(one.digest, digest, sizeof(one.digest));
	return ux_image_layers_append(seen, one) ? UX_OK : ux_error_nomem(err);
}

/* Adds the visible files of all layers, from the highest to the lowest layer. */
static enum ux_code image_add_layers(struct image *im, const int *packs, size_t n,
				     struct ux_error *err)
{
	ux_cleanup(ux_image_files_deinit) struct ux_image_files visible = {0};
	UX_ARENA(arena, NAMES_MAX);
	for (size_t i = n; i-- > 0;) {
		ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
		struct ux_packed_source *list = NULL;
		size_t size = 0;
		UX_TRY(ux_file_map_fd(packs[i], &file, err));
		UX_TRY(ux_source_pack_read(file.bytes, &arena, &list, &size, err));
		UX_TRY(ux_image_files_add_layer(&visible, file.bytes, list, size, packs[i], &arena,
						err));
	}
	for (size_t i = 0; i < visible.members.size; i++) {
		const struct ux_image_member *m = &visible.members.data[i];
		bool fresh = false;
		struct ux_scan_inode key = {(uint64_t)m->pack, m->file.off};
		if (!ux_scan_inodes_insert(&im->walk.p->members_seen, key, &fresh))
			return ux_error_nomem(err);
		if (fresh)
			UX_TRY(ux_archive_add_member(&im->walk, im->name, m->pack, &m->file, 0,
						     err));
	}
	return UX_OK;
}

/* Adds an image by its manifest, in the format of the OCI or of Docker's registries, which has the
 * same fields. */
static enum ux_code image_add_manifest(struct image *im, json_t *manifest, struct ux_error *err)
{
	json_t *layers = json_object_get(manifest, "layers");
	int packs[LAYERS_MAX];
	size_t n = 0;
	if (!json_is_array(layers) || json_array_size(layers) > LAYERS_MAX)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "manifest has %zu layers; expected 1 to %d",
				    json_array_size(layers), LAYERS_MAX);
	if (im->n_images++ == IMAGES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d images", IMAGES_MAX);
	for (size_t i = 0; i < json_array_size(layers); i++) {
		json_t *one = json_array_get(layers, i);
		json_int_t size = json_integer_value(json_object_get(one, "size"));
		if (size <= 0)
			return ux_error_set(err, UX_ECORRUPT, "layer %zu has no size", i);
		UX_TRY(image_unpack_layer(im, &im->walk.p->layers, image_text(one, "digest"),
					  (uint64_t)size, &packs[n++], err));
	}
	return image_add_layers(im, packs, n, err);
}

/* Returns whether an image is for the selected platform. A signature or attestation has the
 * platform "unknown". */
static bool image_is_selected(const struct image *im, json_t *descriptor)
{
	char text[128];
	json_t *p = json_object_get(descriptor, "platform");
	const char *os = image_text(p, "os"), *arch = image_text(p, "architecture");
	const char *variant = image_text(p, "variant");
	if (strcmp(os, "unknown") == 0)
		return false;
	if (!p || strcmp(im->platform, "all") == 0)
		return true;
	int n = snprintf(text, sizeof(text), "%.40s/%.40s", os, arch);
	if (strcmp(text, im->platform) == 0)
		return true;
	snprintf(text + n, sizeof(text) - (size_t)n, "/%.40s", variant);
	return strcmp(text, im->platform) == 0;
}

/* Adds the image of a manifest, or the images of an index that are for the platform. */
static enum ux_code image_add(struct image *im, json_t *doc, unsigned depth, struct ux_error *err)
{
	json_t *list = json_object_get(doc, "manifests");
	unsigned selected = 0;
	if (!list)
		return image_add_manifest(im, doc, err);
	if (depth == INDEX_DEPTH_MAX)
		return ux_error_set(err, UX_ELIMIT, "indexes are nested more than %d deep",
				    INDEX_DEPTH_MAX);
	for (size_t i = 0; i < json_array_size(list) && i < IMAGES_MAX; i++) {
		ux_cleanup(json_decrefp) json_t *inner = NULL;
		json_t *one = json_array_get(list, i);
		if (!image_is_selected(im, one))
			continue;
		selected++;
		UX_TRY(image_manifest(im, image_text(one, "digest"), &inner, err));
		UX_TRY(image_add(im, inner, depth + 1, err));
	}
	return selected > 0
		       ? UX_OK
		       : ux_error_set(err, UX_ENOTFOUND,
				      "has no image for %.60s; choose with --platform OS/ARCH or "
				      "--platform all",
				      im->platform);
}

/* --- the three forms -------------------------------------------------------------------------- */

static enum ux_code image_add_folder(struct image *im, struct ux_error *err)
{
	ux_cleanup(image_close_fd) int fd = -1;
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(json_decrefp) json_t *index = NULL;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (ux_file_open_regular(im->folder, "index.json", 0, &fd, &why) != UX_OK)
		return ux_error_os(err, why.os_errno, "cannot open index.json of the OCI layout");
	UX_TRY(ux_file_map_fd(fd, &file, err));
	UX_TRY(image_parse(file.bytes, &index, err));
	return image_add(im, index, 0, err);
}

/* manifest.json of "docker save": names of the layers' files, from the lowest to the highest. */
static enum ux_code image_add_saved(struct image *im, json_t *list, struct ux_error *err)
{
	for (size_t i = 0; i < json_array_size(list) && i < IMAGES_MAX; i++) {
		json_t *layers = json_object_get(json_array_get(list, i), "Layers");
		int packs[LAYERS_MAX];
		size_t n = json_array_size(layers);
		struct ux_image_layers none = {0};
		if (n > LAYERS_MAX)
			return ux_error_set(err, UX_ELIMIT, "more than %d layers", LAYERS_MAX);
		for (size_t k = 0; k < n; k++) {
			const char *name = json_string_value(json_array_get(layers, k));
			if (!name || ux_digest_is(name))
				return ux_error_set(err, UX_ECORRUPT, "layer %zu has no name", k);
			UX_TRY(image_unpack_layer(im, &none, name, 0, &packs[k], err));
		}
		UX_TRY(image_add_layers(im, packs, n, err));
	}
	return UX_OK;
}

static enum ux_code image_add_tar(struct image *im, int fd, uint64_t size, struct ux_error *err)
{
	const struct ux_sandbox_part whole = {fd, 0, size};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_sandbox_part part;
	im->walk.left = ux_archive_budget(size);
	UX_TRY(ux_archive_unpack_to(&im->walk, &whole, UX_MEMBERS_CONTENTS, &im->pack, err));
	UX_TRY(ux_file_map_fd(im->pack, &file, err));
	UX_TRY(ux_source_pack_read(file.bytes, &im->arena, &im->files, &im->n_files, err));
	bool saved = image_find_member(im, "manifest.json", &part);
	if (!saved && !image_find_member(im, "index.json", &part))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "not an image: it has neither manifest.json nor index.json");
	UX_TRY(image_parse_part(&part, &doc, err));
	return saved ? image_add_saved(im, doc, err) : image_add(im, doc, 0, err);
}

static enum ux_code image_add_reference(struct image *im, struct ux_error *err)
{
	struct ux_image_reference reference;
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	UX_TRY(ux_image_reference_parse(im->name, &reference, err));
	UX_TRY(ux_registry_open(&im->registry, &reference, im->walk.p->o->cacert,
				im->walk.p->o->proxy, im->walk.p->client.tries,
				im->walk.p->client.deadline_ms, err));
	UX_TRY(ux_registry_manifest(im->registry, reference.tag, &body, err));
	UX_TRY(image_parse(ux_out_bytes(&body), &doc, err));
	return image_add(im, doc, 0, err);
}

static enum ux_code image_add_named(struct image *im, struct ux_error *err)
{
	struct stat st;
	UX_TRY(ux_archive_begin(im->walk.p, err));
	if (stat(im->name, &st) != 0)
		return image_add_reference(im, err);
	if (S_ISDIR(st.st_mode)) {
		im->folder = open(im->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return im->folder < 0 ? ux_error_os(err, errno, "cannot open the folder")
				      : image_add_folder(im, err);
	}
	ux_cleanup(image_close_fd) int fd = -1;
	UX_TRY(S_ISREG(st.st_mode) ? ux_file_open_regular(AT_FDCWD, im->name, 0, &fd, err) : UX_OK);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
		return ux_error_set(err, UX_EINVAL, "is neither a folder nor a file with an image");
	return image_add_tar(im, fd, (uint64_t)st.st_size, err);
}

/* Returns the platform of this machine in Go's words, which the specification uses. */
static const char *image_own_platform(char text[64])
{
	static const char *const words[][2] = {{"x86_64", "amd64"},    {"aarch64", "arm64"},
					       {"i686", "386"},        {"armv7l", "arm"},
					       {"ppc64le", "ppc64le"}, {"s390x", "s390x"}};
	struct utsname machine;
	const char *arch = uname(&machine) == 0 ? machine.machine : "";
	for (size_t i = 0; i < ux_countof(words); i++)
		if (strcmp(arch, words[i][0]) == 0)
			arch = words[i][1];
	snprintf(text, 64, "linux/%.40s", arch);
	return text;
}

enum ux_code ux_push_image_read(struct ux_push_work *p, const char *name,
				struct ux_push_modules *ret, struct ux_error *err)
{
	char own[64];
	ux_cleanup(ux_free_ptr) struct image *im = calloc(1, sizeof(*im));
	struct ux_error why = UX_ERROR_INIT;
	if (!im)
		return ux_error_nomem(err);
	*im = (struct image){
		.walk = {.p = p, .ret = ret, .named = true},
		.name = name,
		.platform = p->o->platform ? p->o->platform : image_own_platform(own),
		.folder = -1,
		.pack = -1,
	};
	ux_arena_init(&im->arena, NAMES_MAX);
	size_t first = ret->size;
	enum ux_code code = image_add_named(im, &why);
	if (code == UX_OK)
		code = ux_archive_give_split(&im->walk, first, &why);
	ux_push_parts_deinit(&im->walk.split);
	image_deinit(im);
	return code == UX_OK ? UX_OK
			     : ux_archive_leave_out(&im->walk, name, /* named= */ true, &why, err);
}

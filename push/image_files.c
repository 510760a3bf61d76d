/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the visible files of a container image, whose layers hide files of lower layers. */
#include "image_files.h"

#include "members.h"
#include "path_base.h"

enum {
	HIDES_PATH = 1 << 0,  /* something is at this path */
	HIDES_BELOW = 1 << 1, /* files of lower layers below this path are hidden */
};

#define WHITEOUT ".wh."
#define OPAQUE   ".wh..wh..opq"

void ux_image_files_deinit(struct ux_image_files *f)
{
	ux_image_paths_deinit(&f->above);
	ux_image_members_deinit(&f->members);
}

static enum ux_code image_path_mark(struct ux_image_paths *paths, struct ux_bytes path,
				    unsigned bits, struct ux_error *err)
{
	bool fresh = false;
	unsigned *value = ux_image_paths_insert(paths, path, &fresh);
	if (!value)
		return ux_error_nomem(err);
	*value |= bits;
	return UX_OK;
}

static bool image_path_is_hidden(const struct ux_image_paths *above, const char *name)
{
	const unsigned *value = ux_image_paths_find(above, ux_bytes_cstr(name));
	if (value && (*value & HIDES_PATH) != 0)
		return true;
	for (size_t n = strlen(name); n-- > 0;) {
		if (name[n] != '/')
			continue;
		value = ux_image_paths_find(above, ux_bytes(name, n));
		if (value && (*value & HIDES_BELOW) != 0)
			return true;
	}
	return false;
}

/* A layer that is being added. */
struct image_layer {
	struct ux_image_files *f;
	struct ux_bytes pack;
	const struct ux_packed_source *list;
	size_t n;
	int fd;
	struct ux_image_paths contents; /* number in list of an entry with content, by its name */
};

static void image_layer_deinit(struct image_layer *l)
{
	ux_image_paths_deinit(&l->contents);
}

static enum ux_code image_layer_add(const struct image_layer *l,
				    const struct ux_packed_source *file, struct ux_error *err)
{
	struct ux_image_member m = {l->fd, *file};
	return ux_image_members_append(&l->f->members, m) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code image_layer_index(struct image_layer *l, struct ux_error *err)
{
	for (size_t i = 0; i < l->n; i++) {
		enum ux_member_kind kind;
		const char *name = NULL;
		bool fresh = false;
		if (!ux_member_of_path(l->list[i].path, &kind, &name) || kind == UX_MEMBER_LINK ||
		    l->list[i].size == 0)
			continue;
		unsigned *value = ux_image_paths_insert(&l->contents, ux_bytes_cstr(name), &fresh);
		if (!value)
			return ux_error_nomem(err);
		*value = (unsigned)i;
	}
	return UX_OK;
}

/* Adds a visible hard link to a hidden file of this layer: the file is added under the link's
 * name. */
static enum ux_code image_layer_add_link(const struct image_layer *l,
					 const struct ux_packed_source *link, const char *name,
					 struct ux_arena *arena, struct ux_error *err)
{
	struct ux_bytes target;
	if (!ux_bytes_sub(l->pack, link->off, link->size, &target) || target.size == 0)
		return UX_OK;
	const unsigned *number = ux_image_paths_find(&l->contents, target);
	if (!number)
		return UX_OK;
	struct ux_packed_source file = l->list[*number];
	const char *inside = NULL;
	enum ux_member_kind kind;
	if (!ux_member_of_path(file.path, &kind, &inside) ||
	    !image_path_is_hidden(&l->f->above, inside))
		return UX_OK;
	size_t folder = (size_t)(inside - file.path), n = strlen(name);
	char *path = ux_arena_array(arena, char, folder + n + 1);
	if (!path)
		return ux_arena_fail(arena, err);
	memcpy(path, file.path, folder);
	memcpy(path + folder, name, n + 1);
	file.path = path;
	return image_layer_add(l, &file, err);
}

static enum ux_code image_layer_add_visible(const struct image_layer *l, struct ux_arena *arena,
					    struct ux_error *err)
{
	for (size_t i = 0; i < l->n; i++) {
		enum ux_member_kind kind;
		const char *name = NULL;
		const struct ux_packed_source *file = &l->list[i];
		if (!ux_member_of_path(file->path, &kind, &name) || file->size == 0 ||
		    strncmp(ux_path_base(name), WHITEOUT, strlen(WHITEOUT)) == 0 ||
		    image_path_is_hidden(&l->f->above, name))
			continue;
		UX_TRY(kind == UX_MEMBER_LINK ? image_layer_add_link(l, file, name, arena, err)
					      : image_layer_add(l, file, err));
	}
	return UX_OK;
}

/* Marks the paths of lower layers that an entry of this layer hides. */
static enum ux_code image_layer_mark(const struct image_layer *l, enum ux_member_kind kind,
				     const char *name, struct ux_arena *arena, struct ux_error *err)
{
	const char *base = ux_path_base(name);
	size_t folder = (size_t)(base - name);
	assert(folder > 0);
	if (strcmp(base, OPAQUE) == 0)
		return image_path_mark(&l->f->above, ux_bytes(name, folder - 1), HIDES_BELOW, err);
	if (strncmp(base, WHITEOUT, strlen(WHITEOUT)) != 0)
		return image_path_mark(
			&l->f->above, ux_bytes_cstr(name),
			kind == UX_MEMBER_FOLDER ? HIDES_PATH : HIDES_PATH | HIDES_BELOW, err);
	size_t n = strlen(base) - strlen(WHITEOUT);
	char *path = ux_arena_array(arena, char, folder + n + 1);
	if (!path)
		return ux_arena_fail(arena, err);
	memcpy(path, name, folder);
	memcpy(path + folder, base + strlen(WHITEOUT), n + 1);
	return image_path_mark(&l->f->above, ux_bytes(path, folder + n), HIDES_PATH | HIDES_BELOW,
			       err);
}

enum ux_code ux_image_files_add_layer(struct ux_image_files *f, struct ux_bytes pack,
				      const struct ux_packed_source *list, size_t n, int fd,
				      struct ux_arena *arena, struct ux_error *err)
{
	ux_cleanup(image_layer_deinit) struct image_layer l = {
		.f = f, .pack = pack, .list = list, .n = n, .fd = fd};
	UX_TRY(image_layer_index(&l, err));
	UX_TRY(image_layer_add_visible(&l, arena, err));
	for (size_t i = 0; i < n; i++) {
		enum ux_member_kind kind;
		const char *name = NULL;
		if (ux_member_of_path(list[i].path, &kind, &name))
			UX_TRY(image_layer_mark(&l, kind, name, arena, err));
	}
	return UX_OK;
}

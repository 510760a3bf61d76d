/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: files of an image with two layers. The input lists their names, one a line after a letter
 * for its kind: "o" an object, "f" a folder, "x" another file; an empty line begins the lower
 * layer. Every visible file belongs to its layer, and a model that implements only the definition
 * agrees.
 */
#include "fuzz.h"

#include "image_files.h"
#include "path_canonical.h"

enum {
	ENTRIES_MAX = 64
};

struct names {
	struct ux_packed_source list[ENTRIES_MAX];
	size_t n;
};

static void add_name(struct names *v, struct ux_bytes line, struct ux_arena *arena)
{
	static const char *const folders[] = {"/object", "/folder", "/other"};
	const char *kind = memchr("ofx", line.data[0], 3), *path = NULL;
	char *whole = ux_arena_array(arena, char, line.size + 16);
	if (!kind || !whole || v->n == ENTRIES_MAX || line.size < 2 ||
	    ux_path_of_source(ux_bytes(line.data + 1, line.size - 1), arena, &path, NULL) !=
		    UX_OK ||
	    strcmp(path, "/") == 0)
		return;
	const char *folder = folders[*kind == 'o' ? 0 : *kind == 'f' ? 1 : 2];
	snprintf(whole, line.size + 16, "%s%s", folder, path);
	v->list[v->n++] = (struct ux_packed_source){whole, v->n, *kind == 'o'};
}

/* Returns whether a path is below a folder: it begins with the n bytes of `folder` and a slash. */
static bool is_below(const char *path, const char *folder, size_t n)
{
	return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* Applies the definition of whiteouts to each entry of the upper layer. */
static bool model_hides(const struct names *upper, const char *name)
{
	for (size_t i = 0; i < upper->n; i++) {
		const char *its = strchr(upper->list[i].path + 1, '/');
		const char *base = strrchr(its, '/') + 1;
		bool folder = strncmp(upper->list[i].path, "/folder", 7) == 0;
		size_t n = strlen(its), dir = (size_t)(base - its);
		char target[4200];
		if (strcmp(base, ".wh..wh..opq") == 0) {
			if (is_below(name, its, dir - 1))
				return true;
			continue;
		}
		if (strncmp(base, ".wh.", 4) == 0) {
			snprintf(target, sizeof(target), "%.*s%s", (int)dir, its, base + 4);
			n = strlen(target);
			its = target;
			folder = false;
		}
		if (strcmp(name, its) == 0 || (!folder && is_below(name, its, n)))
			return true;
	}
	return false;
}

FUZZ_TARGET(image_files)(const uint8_t *data, size_t size)
{
	static struct names layers[2];
	struct ux_image_files f = {0};
	UX_ARENA(arena, 8 << 20);
	unsigned layer = 0;
	layers[0].n = layers[1].n = 0;
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;
		if (n == 0)
			layer = 1;
		else
			add_name(&layers[layer], ux_bytes(data + at, n), &arena);
		at += n + 1;
	}
	for (layer = 0; layer < 2; layer++)
		fuzz_truth(ux_image_files_add_layer(&f, UX_BYTES_NONE, layers[layer].list,
						    layers[layer].n, (int)layer, &arena,
						    NULL) == UX_OK);
	size_t want = 0;
	for (layer = 0; layer < 2; layer++)
		for (size_t i = 0; i < layers[layer].n; i++) {
			const struct ux_packed_source *s = &layers[layer].list[i];
			const char *name = strchr(s->path + 1, '/');
			bool whiteout = strncmp(strrchr(name, '/') + 1, ".wh.", 4) == 0;
			want += s->size > 0 && !whiteout &&
				(layer == 0 || !model_hides(&layers[0], name));
		}
	fuzz_truth(f.members.size == want);
	ux_image_files_deinit(&f);
	return 0;
}

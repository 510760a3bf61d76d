/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of a viewer into memory, so that later changes of the folder change no answer. */
#include "viewer_files.h"

#include "base.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *suffix, *type;
} viewer_types[] = {
	{".js", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".woff2", "font/woff2"},
};

void ux_viewer_close(struct ux_viewer *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++)
		free((void *)(uintptr_t)v->files[i].bytes.data);
	free(v);
}

static void viewer_release(struct ux_viewer **v)
{
	ux_viewer_close(*v);
}

static void viewer_close_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

/* Returns the content type of a file by its name; NULL: no page loads it. */
static const char *viewer_type(const char *name)
{
	size_t size = strlen(name);
	if (size >= UX_VIEWER_NAME_MAX || name[0] == '.' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") !=
		    size)
		return NULL;
	for (size_t i = 0; i < ux_countof(viewer_types); i++) {
		size_t n = strlen(viewer_types[i].suffix);
		if (size > n && strcmp(name + size - n, viewer_types[i].suffix) == 0)
			return viewer_types[i].type;
	}
	return NULL;
}

static void viewer_set_tag(struct ux_viewer_file *f)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	sha256_init(&ctx);
	sha256_update(&ctx, f->bytes.size, f->bytes.data);
	sha256_digest(&ctx, sizeof(digest), digest);
	char *to = f->tag;
	*to++ = '"';
	for (size_t i = 0; i < 12; i++, to += 2)
		(void)snprintf(to, 3, "%02x", digest[i]);
	memcpy(to, "\"", 2);
}

static enum ux_code viewer_read(struct ux_viewer *v, const char *dir, const char *name,
				const char *type, size_t *total, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping m = {0};
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (v->n == UX_VIEWER_FILES_MAX)
		return ux_error_set(err, UX_ELIMIT, "%s has more than %d files", dir,
				    UX_VIEWER_FILES_MAX);
	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	UX_TRY(ux_file_map(path, &m, err));
	*total += m.bytes.size;
	if (*total > UX_VIEWER_BYTES_MAX)
		return ux_error_set(err, UX_ELIMIT, "the files in %s exceed %d bytes", dir,
				    UX_VIEWER_BYTES_MAX);
	struct ux_viewer_file *f = &v->files[v->n];
	void *copy = malloc(m.bytes.size + 1);
	if (!copy)
		return ux_error_nomem(err);
	if (m.bytes.size > 0)
		memcpy(copy, m.bytes.data, m.bytes.size);
	memcpy(f->name, name, strlen(name) + 1);
	f->type = type;
	f->bytes = ux_bytes(copy, m.bytes.size);
	viewer_set_tag(f);
	v->n++;
	return UX_OK;
}

/* Returns the only file "speedscope-HASH" with that suffix; NULL: none, or several. */
static const struct ux_viewer_file *viewer_main(const struct ux_viewer *v, const char *type)
{
	const struct ux_viewer_file *found = NULL;
	for (size_t i = 0; i < v->n; i++) {
		const struct ux_viewer_file *f = &v->files[i];
		if (f->type != type || strncmp(f->name, "speedscope-", 11) != 0)
			continue;
		if (found)
			return NULL;
		found = f;
	}
	return found;
}

enum ux_code ux_viewer_open(const char *dir, struct ux_viewer **ret, struct ux_error *err)
{
	ux_cleanup(viewer_close_dir) DIR *d = opendir(dir);
	ux_cleanup(viewer_release) struct ux_viewer *v = calloc(1, sizeof(*v));
	size_t total = 0;
	if (!v)
		return ux_error_nomem(err);
	if (!d)
		return ux_error_os(err, errno, "cannot open %s", dir);
	for (const struct dirent *e; (errno = 0, e = readdir(d)) != NULL;) {
		const char *type = viewer_type(e->d_name);
		if (type)
			UX_TRY(viewer_read(v, dir, e->d_name, type, &total, err));
	}
	if (errno != 0)
		return ux_error_os(err, errno, "cannot read %s", dir);
	v->script = viewer_main(v, viewer_types[0].type);
	v->style = viewer_main(v, viewer_types[1].type);
	if (!v->script || !v->style)
		return ux_error_set(err, UX_EINVAL,
				    "%s is not speedscope's folder dist/release: expected one "
				    "speedscope-*.js and one speedscope-*.css",
				    dir);
	*ret = ux_take(&v);
	return UX_OK;
}

const struct ux_viewer_file *ux_viewer_find(const struct ux_viewer *v, struct ux_bytes name)
{
	for (size_t i = 0; i < v->n; i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(v->files[i].name)))
			return &v->files[i];
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the local file of a module of a profile. */
#include "profile_file.h"

#include "debug_file.h"
#include "debug_id.h"
#include "file.h"
#include "process.h"
#include "text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* The search for one module. */
struct profile_file_search {
	const struct ux_profile_sources *sources;
	const struct ux_id *id;
	enum ux_symbols_depth depth;
	bool relocatable;     /* it is the file of a kernel module, which has sections alone */
	const char *debug_id; /* known without an ID, or "" */
	char *path;           /* malloc'ed: what was found */
	struct ux_file_symbols *symbols; /* a reference; NULL: nothing was found yet */
	struct ux_error why;             /* what is wrong with the best file so far */
};

/* Whether the file has the identity that is searched. Without one, any file at the path does. */
static bool profile_file_is(struct profile_file_search *s, int fd, const struct ux_file_symbols *f,
			    const char *path)
{
	char expected[UX_ID_TEXT];
	ux_id_format(s->id, expected);
	if (s->id->size == 0 && s->debug_id && *s->debug_id) {
		struct ux_id id;
		char debug_id[UX_DEBUG_ID_TEXT];
		bool has = ux_id_parse(ux_bytes_cstr(f->build_id), &id, NULL) == UX_OK &&
			   ux_debug_id_format(&id, debug_id);
		if (has && strcasecmp(debug_id, s->debug_id) == 0)
			return true;
		s->why = (struct ux_error)UX_ERROR_INIT;
		(void)ux_error_set(&s->why, UX_ENOTFOUND, "%s has the debug ID %s", path,
				   has ? debug_id : "of nothing");
		return false;
	}
	if (s->id->size == 0 || strcmp(expected, f->build_id) == 0 || strcmp(expected, f->id) == 0)
		return true;
	const char *found = f->id;
	char file_id[UX_ID_TEXT];
	if (s->id->type == UX_ID_FILE) {
		ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
		if (ux_file_map_fd(fd, &file, NULL) == UX_OK) {
			struct ux_id id = ux_file_id(file.bytes);
			found = ux_id_format(&id, file_id);
			if (ux_id_eq(&id, s->id))
				return true;
		}
	}
	s->why = (struct ux_error)UX_ERROR_INIT;
	(void)ux_error_set(&s->why, UX_ENOTFOUND, "%s is %s", path,
			   *found ? found : "without an ID");
	return false;
}

/* Uses the file at a path if it is the one; takes over the path. */
static enum ux_code profile_file_try(struct profile_file_search *s, char *path,
				     struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *owned = path;
	if (!path)
		return ux_error_nomem(err);
	struct stat st;
	int fd = s->symbols ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return UX_OK;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return UX_OK;
	}
	struct ux_file_symbols *symbols = NULL;
	enum ux_code code = ux_symbols_cache_file(ux_process_cache_symbols(s->sources->cache), fd,
						  path, UX_SYMBOLS_HEAD, &symbols, err);
	if (code == UX_OK && (s->relocatable ? symbols->n_sections : symbols->n_loads) > 0 &&
	    profile_file_is(s, fd, symbols, path)) {
		ux_file_symbols_drop(symbols);
		symbols = NULL;
		code = ux_symbols_cache_file(ux_process_cache_symbols(s->sources->cache), fd, path,
					     s->depth, &symbols, err);
		s->symbols = symbols;
		s->path = owned;
		owned = NULL;
		symbols = NULL;
	}
	ux_file_symbols_drop(symbols);
	(void)close(fd);
	return code;
}

/* Tries a path that is put together; memory that is short is a failure. */
__attribute__((format(printf, 3, 4))) static enum ux_code profile_file_try_fmt(
	struct profile_file_search *s, struct ux_error *err, const char *fmt, ...)
{
	char *path = NULL;
	va_list args;
	va_start(args, fmt);
	int n = vasprintf(&path, fmt, args);
	va_end(args);
	return profile_file_try(s, n < 0 ? NULL : path, err);
}

/* Tries the files of a build ID below a folder: as gdb and debuginfod lay them out. */
static enum ux_code profile_file_try_tree(struct profile_file_search *s, const char *dir, size_t n,
					  struct ux_error *err)
{
	char hex[2 * UX_ID_GNU_MOST + 1];
	if (s->id->type != UX_ID_GNU || s->id->size < 2)
		return UX_OK;
	ux_hex_encode(ux_bytes(s->id->bytes, s->id->size), hex);
	UX_TRY(profile_file_try_fmt(s, err, "%.*s/.build-id/%.2s/%s", (int)n, dir, hex, hex + 2));
	return profile_file_try_fmt(s, err, "%.*s/.build-id/%.2s/%s.debug", (int)n, dir, hex,
				    hex + 2);
}

/* Tries perf's cache of the binaries that it has recorded ("perf buildid-cache"). */
static enum ux_code profile_file_try_perf(struct profile_file_search *s, struct ux_error *err)
{
	char hex[2 * UX_ID_GNU_MOST + 1];
	const char *home = getenv("HOME");
	if (!home || *home != '/' || s->id->type != UX_ID_GNU || s->id->size < 2)
		return UX_OK;
	ux_hex_encode(ux_bytes(s->id->bytes, s->id->size), hex);
	return profile_file_try_fmt(s, err, "%s/.debug/.build-id/%.2s/%s/elf", home, hex, hex + 2);
}

/* Tries the path and the build ID below each folder of a list, "DIR:DIR". */
static enum ux_code profile_file_try_dirs(struct profile_file_search *s, const char *dirs,
					  const char *path, struct ux_error *err)
{
	for (const char *dir = dirs; dir && *dir;) {
		size_t n = strcspn(dir, ":");
		if (path && *path == '/')
			UX_TRY(profile_file_try_fmt(s, err, "%.*s%s", (int)n, dir, path));
		UX_TRY(profile_file_try_tree(s, dir, n, err));
		dir += n + (dir[n] == ':');
	}
	return UX_OK;
}

/* All places, in order of precedence: those that the caller named, then those of this machine. */
static enum ux_code profile_file_search(struct profile_file_search *s, const char *path,
					struct ux_error *err)
{
	const char *debug_dirs =
		ux_symbols_cache_search(ux_process_cache_symbols(s->sources->cache))->dirs;
	UX_TRY(profile_file_try_dirs(s, s->sources->file_dirs, path, err));
	if (!s->sources->no_local && *path == '/')
		UX_TRY(profile_file_try(s, strdup(path), err));
	if (s->id->size == 0)
		return UX_OK;
	UX_TRY(profile_file_try_dirs(s, debug_dirs ? debug_dirs : UX_DEBUG_DIRS_DEFAULT, NULL,
				     err));
	return s->sources->no_local ? UX_OK : profile_file_try_perf(s, err);
}

static enum ux_code profile_file_open(struct profile_file_search *s, const char *path,
				      char **ret_path, struct ux_file_symbols **ret,
				      struct ux_error *err)
{
	enum ux_code code = profile_file_search(s, path, err);
	if (code == UX_OK && !s->symbols)
		code = s->why.code != UX_OK
			       ? ux_error_set(err, UX_ENOTFOUND, "%s", s->why.text)
			       : ux_error_set(err, UX_ENOTFOUND, "no such file is here");
	if (code != UX_OK) {
		ux_file_symbols_drop(s->symbols);
		free(s->path);
		return code;
	}
	*ret = s->symbols;
	*ret_path = s->path;
	return UX_OK;
}

enum ux_code ux_profile_file_find(const struct ux_profile_sources *sources, const char *path,
				  const struct ux_id *id, enum ux_symbols_depth depth,
				  char **ret_path, struct ux_file_symbols **ret,
				  struct ux_error *err)
{
	struct profile_file_search s = {
		.sources = sources, .id = id, .depth = depth, .why = UX_ERROR_INIT};
	return profile_file_open(&s, path, ret_path, ret, err);
}

enum ux_code ux_profile_module_find(const struct ux_profile_sources *sources,
				    const struct ux_profile *p, const struct ux_profile_module *m,
				    enum ux_symbols_depth depth, char **ret_path,
				    struct ux_file_symbols **ret, struct ux_error *err)
{
	struct profile_file_search s = {
		.sources = sources,
		.id = &m->id,
		.debug_id = (const char *)ux_profile_text(p, m->debug_id).data,
		.depth = depth,
		.relocatable = m->kind == UX_PROFILE_KERNEL,
		.why = UX_ERROR_INIT,
	};
	return profile_file_open(&s, (const char *)ux_profile_text(p, m->path).data, ret_path, ret,
				 err);
}

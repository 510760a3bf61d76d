/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the local file of a module of a profile. */
#include "profile_file.h"

#include "debug_id.h"
#include "debug_paths.h"
#include "file.h"
#include "kernel.h"
#include "module_tree.h"
#include "packed_file.h"
#include "process.h"
#include "search_path.h"
#include "text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PACKED_HEAD = 8, /* bytes that identify a compressed file */
};

/* The search for one module. */
struct profile_file_search {
	const struct ux_profile_sources *sources;
	const struct ux_id *id;
	enum ux_symbols_depth depth;
	bool relocatable;                /* it is a kernel module's file, which has only sections */
	struct ux_bytes release;         /* release of the module's kernel; empty: unknown */
	const char *debug_id;            /* set if it is known without an ID, or "" */
	char *path;                      /* malloc'ed: path of the result */
	struct ux_file_symbols *symbols; /* a reference; NULL: nothing found yet */
	struct ux_error why;             /* reason why the best file so far does not match */
};

/* Returns whether the file has the identity that is searched. Without one, any file at the path
 * does. */
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
				   has ? debug_id : "none");
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

/* Opens a file by its descriptor: a compressed one in memory, any other by the cache. */
static enum ux_code profile_file_symbols(struct profile_file_search *s, int fd, const char *path,
					 enum ux_symbols_depth depth, struct ux_file_symbols **ret,
					 struct ux_error *err)
{
	struct ux_symbols_cache *cache = ux_process_cache_symbols(s->sources->cache);
	uint8_t head[PACKED_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	if (n <= 0 || !ux_packed_is(ux_bytes(head, (size_t)n)))
		return ux_symbols_cache_file(cache, fd, path, depth, ret, err);
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_map_fd(fd, &file, &why);
	if (code == UX_OK)
		code = ux_packed_open(&file, &why);
	struct ux_symbol_input in = {.file = file.bytes, .path = path};
	if (code == UX_OK && depth == UX_SYMBOLS_ALL)
		return ux_symbols_cache_input(cache, &file, &in, ret, err);
	if (code == UX_OK)
		code = ux_file_symbols_create(file.bytes, ret, &why);
	if (code == UX_OK)
		return UX_OK;
	*ret = code != UX_ENOMEM ? ux_file_symbols_create_empty(&why) : NULL;
	return *ret ? UX_OK : ux_error_nomem(err);
}

/* Returns whether a file may be the module's: it has segments, or as a kernel module has sections.
 */
static bool profile_file_has_code(const struct profile_file_search *s,
				  const struct ux_file_symbols *f, const char *path)
{
	bool is_ko = s->relocatable || ux_module_path_plain(ux_bytes_cstr(path)).size > 0;
	return (!s->relocatable && f->n_loads > 0) || (is_ko && f->n_sections > 0);
}

/* Uses the file at a path if it matches; takes over the path. */
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
	enum ux_code code = profile_file_symbols(s, fd, path, UX_SYMBOLS_HEAD, &symbols, err);
	if (code == UX_OK && profile_file_has_code(s, symbols, path) &&
	    profile_file_is(s, fd, symbols, path)) {
		if (s->depth != UX_SYMBOLS_HEAD) {
			ux_file_symbols_drop(symbols);
			symbols = NULL;
			code = profile_file_symbols(s, fd, path, s->depth, &symbols, err);
		}
		s->symbols = symbols;
		s->path = owned;
		owned = NULL;
		symbols = NULL;
	}
	ux_file_symbols_drop(symbols);
	(void)close(fd);
	return code;
}

/* Tries a formatted path; out of memory is a failure. */
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

/* Tries the files of a build ID below a folder, in the layout of gdb and debuginfod. */
static enum ux_code profile_file_try_tree(struct profile_file_search *s, const char *dir, size_t n,
					  struct ux_error *err)
{
	static const char *const tails[] = {"", ".debug"};
	char path[PATH_MAX];
	for (size_t i = 0; s->id->type == UX_ID_GNU && i < ux_countof(tails); i++)
		if (ux_build_id_path(ux_bytes(dir, n), s->id, tails[i], path))
			UX_TRY(profile_file_try(s, strdup(path), err));
	return UX_OK;
}

/* Tries perf's cache of recorded binaries ("perf buildid-cache"). */
static enum ux_code profile_file_try_perf(struct profile_file_search *s, struct ux_error *err)
{
	/* The cache names a file by its kind. */
	static const char *const names[] = {"elf", "vdso"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ux_countof(names); i++)
		if (ux_perf_cache_path(s->id, names[i], path))
			UX_TRY(profile_file_try(s, strdup(path), err));
	return UX_OK;
}

/* Tries the path and the build ID below each folder of a list, "DIR:DIR". */
static enum ux_code profile_file_try_dirs(struct profile_file_search *s, const char *dirs,
					  const char *path, struct ux_error *err)
{
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = dirs; ux_search_path_take(&rest, &dir, &n);) {
		if (path && *path == '/')
			UX_TRY(profile_file_try_fmt(s, err, "%.*s%s", (int)n, dir, path));
		UX_TRY(profile_file_try_tree(s, dir, n, err));
	}
	return UX_OK;
}

/* Tries a kernel module at its path below a folder: a distribution may compress it, and a recording
 * may have the path of another build. */
static enum ux_code profile_file_try_module(struct profile_file_search *s, const char *dir,
					    size_t n, const char *path, struct ux_error *err)
{
	static const char *const endings[] = {"", ".xz", ".zst", ".gz", ".debug"};
	struct ux_bytes plain = ux_module_path_plain(ux_bytes_cstr(path));
	for (size_t i = 0; plain.size > 0 && i < ux_countof(endings); i++)
		UX_TRY(profile_file_try_fmt(s, err, "%.*s%.*s%s", (int)n, dir, (int)plain.size,
					    path, endings[i]));
	return UX_OK;
}

/* Tries the modules of a release below a folder, for a module that is known by its name. */
static enum ux_code profile_file_try_release(struct profile_file_search *s, const char *dir,
					     size_t n, const char *path, struct ux_error *err)
{
	char name[UX_MODULE_NAME_MAX];
	char *found = NULL;
	if (s->symbols || !ux_module_name(ux_bytes_cstr(path), name))
		return UX_OK;
	enum ux_code code = ux_module_tree_find(ux_bytes(dir, n), s->release, name, &found, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	return code == UX_OK ? profile_file_try(s, found, err) : UX_OK;
}

/* Tries the places of a kernel module: below the folders of a list, "DIR:DIR". */
static enum ux_code profile_file_try_modules(struct profile_file_search *s, const char *dirs,
					     const char *path, struct ux_error *err)
{
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = dirs; ux_search_path_take(&rest, &dir, &n);) {
		if (*path == '/')
			UX_TRY(profile_file_try_module(s, dir, n, path, err));
		UX_TRY(profile_file_try_release(s, dir, n, path, err));
	}
	return UX_OK;
}

/* Searches all places of a kernel module, in order of precedence. */
static enum ux_code profile_file_search_module(struct profile_file_search *s, const char *path,
					       const char *debug_dirs, struct ux_error *err)
{
	UX_TRY(profile_file_try_modules(s, s->sources->file_dirs, path, err));
	if (!s->sources->no_local && *path == '/')
		UX_TRY(profile_file_try_module(s, "", 0, path, err));
	if (!s->sources->no_local)
		UX_TRY(profile_file_try_release(s, "", 0, path, err));
	return profile_file_try_modules(s, debug_dirs, path, err);
}

/* Searches all places in order of precedence: the caller's, then this machine's. */
static enum ux_code profile_file_search(struct profile_file_search *s, const char *path,
					struct ux_error *err)
{
	const char *debug_dirs = ux_debug_dirs(
		ux_symbols_cache_search(ux_process_cache_symbols(s->sources->cache))->dirs);
	char name[UX_MODULE_NAME_MAX];
	UX_TRY(profile_file_try_dirs(s, s->sources->file_dirs, path, err));
	if (!s->sources->no_local && *path == '/')
		UX_TRY(profile_file_try(s, strdup(path), err));
	if (ux_module_name(ux_bytes_cstr(path), name))
		UX_TRY(profile_file_search_module(s, path, debug_dirs, err));
	if (s->id->size == 0)
		return UX_OK;
	UX_TRY(profile_file_try_dirs(s, debug_dirs, NULL, err));
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
			       : ux_error_set(err, UX_ENOTFOUND, "no such file was found");
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

enum ux_code ux_profile_ko_find(const struct ux_profile_sources *sources, struct ux_bytes release,
				const char *name, const struct ux_id *id,
				enum ux_symbols_depth depth, char **ret_path,
				struct ux_file_symbols **ret, struct ux_error *err)
{
	char path[UX_MODULE_NAME_MAX + 2];
	struct profile_file_search s = {.sources = sources,
					.id = id,
					.depth = depth,
					.relocatable = true,
					.release = release,
					.why = UX_ERROR_INIT};
	if (snprintf(path, sizeof(path), "[%s]", name) >= (int)sizeof(path))
		return ux_error_set(err, UX_ENOTFOUND, "module name is too long");
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
		.release = ux_profile_text(p, p->release),
		.why = UX_ERROR_INIT,
	};
	return profile_file_open(&s, (const char *)ux_profile_text(p, m->path).data, ret_path, ret,
				 err);
}

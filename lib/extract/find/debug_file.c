/* SPDX-License-Identifier: Apache-2.0 */
/* Finds debug files on this machine: the separate debug file of a stripped binary, and the
 * supplementary file that dwz made. */
#include "debug_file.h"

#include "cursor.h"
#include "elf_ids.h"
#include "path_base.h"
#include "search_path.h"
#include "text.h"

#include <libdeflate.h>
#include <limits.h>
#include <sys/stat.h>

/* --- separate debug files, as gdb searches for them ------------------------------------------- */

const char *ux_debug_how_name(enum ux_debug_how how)
{
	switch (how) {
	case UX_DEBUG_NOT_FOUND:
		break;
	case UX_DEBUG_BY_ID:
		return "build-id";
	case UX_DEBUG_BY_LINK:
		return "debuglink";
	case UX_DEBUG_BY_SERVER:
		return "debuginfod";
	}
	return "none";
}

enum ux_code ux_debuglink_read(const struct ux_elf *elf, struct ux_debuglink *ret,
			       struct ux_error *err)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".gnu_debuglink");
	struct ux_bytes raw = UX_BYTES_NONE;
	*ret = (struct ux_debuglink){0};
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_raw(elf, s, &raw, err));
	struct ux_cur c = ux_cur_make(raw, s->name, elf->swap);
	struct ux_bytes name = ux_cur_str(&c);
	ux_cur_align(&c, 4);
	uint32_t crc = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (name.size == 0 || memchr(name.data, '/', name.size))
		return ux_error_at(err, UX_ECORRUPT, s->name, 0, "not a file name");
	*ret = (struct ux_debuglink){(const char *)name.data, crc};
	return UX_OK;
}

uint32_t ux_debuglink_crc(struct ux_bytes file)
{
	return libdeflate_crc32(0, file.data, file.size);
}

/*
 * Returns the GNU build ID of file, with size 0 when it has none; NULL when it is not an ELF file.
 */
static const struct ux_id *debug_file_gnu_id(struct ux_bytes file, struct ux_id *room)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	if (ux_elf_open(&elf, file, NULL) != UX_OK)
		return NULL;
	const struct ux_id *id =
		ux_elf_ids(&elf, &ids, NULL) == UX_OK ? ux_id_set_find(&ids, UX_ID_GNU) : NULL;
	*room = id ? *id : (struct ux_id){0};
	return room;
}

bool ux_debug_map_id(const char *path, const struct ux_id *id, struct ux_mapping *ret,
		     const char **ret_why)
{
	struct ux_mapping file = {0};
	struct ux_id room;
	*ret_why = "does not exist";
	if (ux_file_map(path, &file, NULL) != UX_OK)
		return false;
	const struct ux_id *its = debug_file_gnu_id(file.bytes, &room);
	if (its && ux_id_eq(its, id)) {
		*ret = file;
		return true;
	}
	*ret_why = its ? "has a different build ID" : "is not an ELF file";
	ux_file_unmap(&file);
	return false;
}

/* The state of one search. */
struct debug_search {
	const struct ux_debug_search *search;
	const char *dirs;
	const char *exe_path; /* absolute and without links, if file names are derived from it; else
				 NULL */
	struct ux_id id;      /* build ID of the executable; size 0: none */
	struct ux_debuglink link;
	struct stat exe; /* the executable's file; st_ino 0: unknown */
	struct ux_debug_file *ret;
	bool no_memory;
};

/* Reports the outcome, and sets *ret when a file was found. */
static bool debug_search_report(struct debug_search *h, const char *path,
				const struct ux_mapping *file, const char *why,
				enum ux_debug_how how)
{
	if (h->search->tried)
		h->search->tried(h->search->ctx, path, why);
	if (why)
		return false;
	h->ret->path = strdup(path);
	h->ret->file = *file;
	h->ret->how = how;
	h->no_memory = !h->ret->path;
	return true;
}

/* Calls try(h, DIR, size of DIR) for each of the folders until one call returns true. */
static bool debug_search_dirs(struct debug_search *h,
			      bool (*try)(struct debug_search *h, const char *dir, size_t size))
{
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = h->dirs; ux_search_path_take(&rest, &dir, &n);) {
		if (try(h, dir, n))
			return true;
	}
	return false;
}

static bool debug_file_is_exe(const struct debug_search *h, const struct ux_mapping *file)
{
	return h->exe.st_ino != 0 && file->dev == h->exe.st_dev && file->ino == h->exe.st_ino;
}

/* Tries a file that must have the executable's build ID. */
static bool debug_search_id(struct debug_search *h, const char *path)
{
	struct ux_mapping file = {0};
	const char *why = NULL;
	if (ux_debug_map_id(path, &h->id, &file, &why))
		why = debug_file_is_exe(h, &file) ? "is the file itself" : NULL;
	if (debug_search_report(h, path, &file, why, UX_DEBUG_BY_ID))
		return true;
	ux_file_unmap(&file);
	return false;
}

/* Tries the trees of build IDs. */
static bool debug_search_trees(struct debug_search *h)
{
	struct ux_debug_paths paths = {h->dirs, &h->id};
	char path[PATH_MAX];
	while (ux_debug_paths_next(&paths, path))
		if (debug_search_id(h, path))
			return true;
	return false;
}

/*
 * Tries the places of a kernel module's debug file, which need no link: DIR/lib/modules/V/.../X.ko
 * (Debian) and X.ko.debug (Fedora), without the ending of a compressed module.
 */
static bool debug_search_module(struct debug_search *h, const char *dir, size_t size)
{
	static const char *const endings[] = {".xz", ".zst", ".gz"};
	char path[PATH_MAX];
	const char *name = strstr(h->exe_path, "/lib/modules/");
	size_t n = name ? strlen(name) : 0;
	for (size_t i = 0; i < ux_countof(endings); i++)
		if (n > strlen(endings[i]) &&
		    strcmp(name + n - strlen(endings[i]), endings[i]) == 0)
			n -= strlen(endings[i]);
	if (n == 0 || size + n + sizeof(".debug") > sizeof(path))
		return false;
	snprintf(path, sizeof(path), "%.*s%.*s", (int)size, dir, (int)n, name);
	if (debug_search_id(h, path))
		return true;
	snprintf(path, sizeof(path), "%.*s%.*s.debug", (int)size, dir, (int)n, name);
	return debug_search_id(h, path);
}

/* Returns the reason why a file cannot be the link's target; NULL: it can. */
static const char *debug_link_check(const struct debug_search *h, const struct ux_mapping *file)
{
	struct ux_id room;
	if (debug_file_is_exe(h, file))
		return "is the file itself";
	const struct ux_id *its = debug_file_gnu_id(file->bytes, &room);
	if (!its)
		return "is not an ELF file";
	if (its->size > 0 && h->id.size > 0 && !ux_id_eq(its, &h->id))
		return "has a different build ID";
	return ux_debuglink_crc(file->bytes) == h->link.crc ? NULL : "has a different CRC";
}

static bool debug_search_link(struct debug_search *h, const char *path)
{
	struct ux_mapping file = {0};
	if (ux_file_map(path, &file, NULL) != UX_OK)
		return debug_search_report(h, path, NULL, "does not exist", UX_DEBUG_BY_LINK);
	const char *why = debug_link_check(h, &file);
	if (debug_search_report(h, path, &file, why, UX_DEBUG_BY_LINK))
		return true;
	ux_file_unmap(&file);
	return false;
}

/*
 * Tries FOLDER/NAME, FOLDER/.debug/NAME, and DIR/FOLDER/NAME in each of the folders of debug files.
 */
static bool debug_search_folder(struct debug_search *h, const char *folder)
{
	char path[PATH_MAX];
	const char *name = h->link.name;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX &&
	    debug_search_link(h, path))
		return true;
	if (snprintf(path, sizeof(path), "%s/.debug/%s", folder, name) < PATH_MAX &&
	    debug_search_link(h, path))
		return true;
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = h->dirs; ux_search_path_take(&rest, &dir, &n);) {
		if (n < PATH_MAX &&
		    snprintf(path, sizeof(path), "%.*s%s/%s", (int)n, dir, folder, name) <
			    PATH_MAX &&
		    debug_search_link(h, path))
			return true;
	}
	return false;
}

/* Tries the folder of the binary with symbolic links resolved, and the folder of exe_path when it
 * is another one. */
static bool debug_search_folders(struct debug_search *h, const char *exe_path)
{
	ux_cleanup(ux_free_ptr) char *real = realpath(exe_path, NULL);
	const char *slash = strrchr(exe_path, '/');
	ux_cleanup(ux_free_ptr) char *near =
		strndup(slash ? exe_path : ".", slash ? (size_t)(slash - exe_path) : 1);
	ux_cleanup(ux_free_ptr) char *given = near ? realpath(*near ? near : "/", NULL) : NULL;
	if (given && debug_search_folder(h, strcmp(given, "/") == 0 ? "" : given))
		return true;
	char *last = real ? strrchr(real, '/') : NULL;
	if (!last)
		return false;
	*last = '\0';
	return (!given || strcmp(given, *real ? real : "/") != 0) && debug_search_folder(h, real);
}

static bool debug_search_by_id(struct debug_search *h, const struct ux_elf *elf,
			       const char *exe_path)
{
	if (h->id.size == 0)
		return false;
	if (debug_search_trees(h))
		return true;
	ux_cleanup(ux_free_ptr) char *real =
		elf->type == ET_REL && exe_path ? realpath(exe_path, NULL) : NULL;
	h->exe_path = real;
	bool found = real && debug_search_dirs(h, debug_search_module);
	h->exe_path = NULL;
	return found;
}

static bool debug_search_flat_link(struct debug_search *h, const char *dir, size_t size)
{
	char path[PATH_MAX];
	return size < PATH_MAX &&
	       snprintf(path, sizeof(path), "%.*s/%s", (int)size, dir, h->link.name) < PATH_MAX &&
	       debug_search_link(h, path);
}

static bool debug_search_flat_id(struct debug_search *h, const char *dir, size_t size)
{
	char path[PATH_MAX];
	return size < PATH_MAX &&
	       snprintf(path, sizeof(path), "%.*s/%s.debug", (int)size, dir,
			ux_path_base(h->exe_path)) < PATH_MAX &&
	       debug_search_id(h, path);
}

/* Tries files that are in the folders of debug files themselves. */
static bool debug_search_flat(struct debug_search *h, const char *exe_path)
{
	if (h->link.name)
		return debug_search_dirs(h, debug_search_flat_link);
	ux_cleanup(ux_free_ptr) char *real =
		h->id.size > 0 && exe_path ? realpath(exe_path, NULL) : NULL;
	h->exe_path = real;
	bool found = real && debug_search_dirs(h, debug_search_flat_id);
	h->exe_path = NULL;
	return found;
}

static bool debug_search_by_link(struct debug_search *h, const struct ux_elf *elf,
				 const char *exe_path)
{
	return exe_path && ux_debuglink_read(elf, &h->link, NULL) == UX_OK && h->link.name &&
	       debug_search_folders(h, exe_path);
}

enum ux_code ux_debug_file_find(struct ux_debug_file *ret, struct ux_bytes exe,
				const char *exe_path, const struct ux_debug_search *search,
				struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct debug_search h = {.search = search, .dirs = ux_debug_dirs(search->dirs), .ret = ret};
	if (*h.dirs == '\0' || ux_elf_open(&elf, exe, NULL) != UX_OK || ux_elf_has_dwarf(&elf))
		return UX_OK;
	(void)debug_file_gnu_id(exe, &h.id);
	if (!exe_path || stat(exe_path, &h.exe) != 0)
		h.exe.st_ino = 0;
	(void)(debug_search_by_id(&h, &elf, exe_path) || debug_search_by_link(&h, &elf, exe_path) ||
	       debug_search_flat(&h, exe_path));
	if (!h.no_memory)
		return UX_OK;
	ux_debug_file_close(ret);
	return ux_error_nomem(err);
}

void ux_debug_file_close(struct ux_debug_file *f)
{
	ux_file_unmap(&f->file);
	free(f->path);
	*f = (struct ux_debug_file){0};
}

/* --- supplementary files of dwz --------------------------------------------------------------- */

enum ux_code ux_supplementary_link(const struct ux_elf *elf, struct ux_supplementary_link *ret,
				   struct ux_error *err)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".gnu_debugaltlink");
	struct ux_bytes raw = UX_BYTES_NONE;
	*ret = (struct ux_supplementary_link){.path = ""};
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_raw(elf, s, &raw, err));
	struct ux_cur c = ux_cur_make(raw, ".gnu_debugaltlink", elf->swap);
	struct ux_bytes path = ux_cur_str(&c);
	struct ux_bytes id = ux_cur_take(&c, ux_cur_left(&c));
	UX_TRY(ux_cur_status(&c, err));
	if (path.size == 0)
		return ux_error_at(err, UX_ECORRUPT, c.section, 0, "path is empty");
	UX_TRY(ux_id_make(UX_ID_GNU, id, &ret->id, err));
	ret->path = (const char *)path.data;
	return UX_OK;
}

/* A search for one supplementary file. */
struct supplementary_search {
	struct ux_supplementary_link link;
	char *path; /* the last one that was tried; PATH_MAX bytes */
	struct ux_mapping *ret;
};

/*
 * Maps the file at path if it has the ID. The path comes from a file: opening a device that it
 * names could have effects.
 */
static bool supplementary_try(void *ctx, const char *path)
{
	const struct supplementary_search *h = ctx;
	const char *why = NULL;
	struct stat st;
	memcpy(h->path, path, strlen(path) + 1);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       ux_debug_map_id(path, &h->link.id, h->ret, &why);
}

enum ux_code ux_supplementary_find_path(struct ux_bytes debug, const char *debug_path,
					const char *dirs, char *ret_path, struct ux_mapping *ret,
					struct ux_error *err)
{
	struct supplementary_search h = {.path = ret_path, .ret = ret};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	ret_path[0] = '\0';
	UX_TRY(ux_elf_open(&elf, debug, err));
	UX_TRY(ux_supplementary_link(&elf, &h.link, err));
	ux_cleanup(ux_free_ptr) char *real = realpath(debug_path, NULL);
	const struct ux_supplementary_paths paths = {.link = h.link.path,
						     .id = &h.link.id,
						     .from = debug_path,
						     .real = real,
						     .dirs = ux_debug_dirs(dirs)};
	if (h.link.path[0] == '\0' || ux_supplementary_paths_try(&paths, supplementary_try, &h))
		return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND,
			    "supplementary file %.96s is missing or has a different build ID",
			    h.link.path);
}

enum ux_code ux_supplementary_find(struct ux_bytes debug, const char *debug_path, const char *dirs,
				   struct ux_mapping *ret, struct ux_error *err)
{
	char path[PATH_MAX];
	return ux_supplementary_find_path(debug, debug_path, dirs, path, ret, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the archives of Debian source packages and applies their patches. */
#include "debian_source.h"

#include "cursor.h"
#include "map.h"
#include "path_base.h"
#include "path_canonical.h"
#include "tar_header.h"
#include "text.h"
#include "unified_diff.h"
#include "unpack_stream.h"
#include "vec.h"

enum {
	PIECE = 256 << 10,
	HEAD = 8192,           /* bytes that tell text from other content */
	ARENA_MAX = 128 << 20, /* paths of all members */
};

/* --- names ------------------------------------------------------------------------------------ */

/* Reads the header of the first file of a tar, after its extended headers; false: the first member
 * is not a file. */
static bool source_first_name(struct ux_bytes file, struct ux_tar_header *ret)
{
	struct ux_cur c = ux_cur_make(file, "tar", false);
	while (ux_cur_left(&c) >= UX_TAR_BLOCK) {
		struct ux_bytes block = ux_cur_take(&c, UX_TAR_BLOCK);
		if (ux_tar_header_read(block.data, ret, NULL) != UX_OK)
			return false;
		if (ret->type != UX_TAR_EXTENDED)
			return ret->type == UX_TAR_FILE;
		ux_cur_skip(&c, ret->size);
		ux_cur_skip(&c, ux_tar_padding(ret->size));
	}
	return false;
}

bool ux_debian_source_is(struct ux_bytes file)
{
	struct ux_tar_header h;
	char root[UX_DEBIAN_SOURCE_NAME];
	return source_first_name(file, &h) && ux_debian_source_root(h.path, root);
}

bool ux_debian_source_root(const char *dsc, char root[UX_DEBIAN_SOURCE_NAME])
{
	const char *name = ux_path_base(dsc);
	const char *mark = strchr(name, '_');
	if (!mark || mark == name ||
	    !ux_bytes_has_suffix(ux_bytes_cstr(mark + 1), UX_STR(".dsc")) || name[0] == '.')
		return false;
	for (const char *p = name; *p != '\0'; p++)
		if (!ux_is_digit(*p) && !ux_is_letter(*p) && !strchr("_.+-~", *p))
			return false;
	int n = snprintf(root, UX_DEBIAN_SOURCE_NAME, "/usr/src/%.*s-%.*s", (int)(mark - name),
			 name, (int)(strlen(mark + 1) - strlen(".dsc")), mark + 1);
	return n > 0 && n < UX_DEBIAN_SOURCE_NAME;
}

/* --- the files of a package ------------------------------------------------------------------- */

enum source_part_kind {
	PART_OTHER,     /* signatures */
	PART_MAIN,      /* upstream's files, or all of them */
	PART_COMPONENT, /* further files of upstream's, in a folder of their own */
	PART_DEBIAN,    /* debian/ */
	PART_DIFF,      /* the .diff.gz of format 1.0 */
};

struct source_part {
	enum source_part_kind kind;
	char folder[UX_DEBIAN_SOURCE_NAME]; /* folder of PART_COMPONENT: "/NAME/" */
	struct ux_bytes bytes;
};

static void part_classify(struct source_part *p, const char *name)
{
	const char *orig = strstr(name, ".orig-"), *tar = strstr(name, ".tar.");
	p->kind = PART_OTHER;
	if (ux_bytes_has_suffix(ux_bytes_cstr(name), UX_STR(".asc")) ||
	    ux_bytes_has_suffix(ux_bytes_cstr(name), UX_STR(".sig")) ||
	    ux_bytes_has_suffix(ux_bytes_cstr(name), UX_STR(".dsc")))
		return;
	if (ux_bytes_has_suffix(ux_bytes_cstr(name), UX_STR(".diff.gz"))) {
		p->kind = PART_DIFF;
	} else if (strstr(name, ".debian.tar.")) {
		p->kind = PART_DEBIAN;
	} else if (orig && tar && orig < tar) {
		size_t n = (size_t)(tar - orig) - strlen(".orig-");
		p->kind = PART_COMPONENT;
		snprintf(p->folder, sizeof(p->folder), "/%.*s/", (int)n, orig + strlen(".orig-"));
	} else if (tar) {
		p->kind = PART_MAIN;
	}
}

/* A patch, in the order of the series. */
struct source_patch {
	const char *path; /* "/debian/patches/..." */
	struct ux_out text;
};

UX_VEC(source_patches, struct source_patch);

/* A file that a patch names. */
struct source_changed {
	const char *path; /* "/src/x.c" */
	struct ux_out text;
	bool exists, bad; /* bad: a patch could not be applied */
};

UX_VEC(source_changes, struct source_changed);
UX_MAP(source_numbers, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

/* A file of the current archive. It gets its name when all files are known. */
struct source_member {
	const char *path;
	uint64_t off, size; /* in the pack */
	struct ux_out text; /* kept in memory instead: a patch may name it */
	bool held;
};

UX_VEC(source_members, struct source_member);

struct debian_source {
	const struct ux_archive_calls *calls;
	struct ux_source_packer *packer;
	uint64_t max;
	struct ux_error *err;
	char root[UX_DEBIAN_SOURCE_NAME];
	struct source_part parts[UX_DEBIAN_SOURCE_FILES_MAX];
	size_t n_parts;
	bool has_debian; /* the package has its own debian/: ignore upstream's */
	struct ux_arena arena;
	struct source_patches patches; /* files of debian/patches, later the files of the series */
	struct source_changes changes;
	struct source_numbers numbers; /* numbers in `changes` by path */
	struct source_members members; /* members of the current archive */
	uint64_t held;                 /* bytes of all texts in memory */
	uint64_t work;
	unsigned count; /* members of all archives */
	uint8_t *piece;
};

static void source_drop_text(struct debian_source *s, struct ux_out *text)
{
	s->held -= ux_min(s->held, (uint64_t)text->size);
	ux_out_deinit(text);
	*text = (struct ux_out){0};
}

static void source_members_clear(struct debian_source *s)
{
	for (size_t i = 0; i < s->members.size; i++)
		source_drop_text(s, &s->members.data[i].text);
	s->members.size = 0;
}

static void debian_source_deinit(struct debian_source *s)
{
	source_members_clear(s);
	for (size_t i = 0; i < s->patches.size; i++)
		ux_out_deinit(&s->patches.data[i].text);
	for (size_t i = 0; i < s->changes.size; i++)
		ux_out_deinit(&s->changes.data[i].text);
	source_members_deinit(&s->members);
	source_patches_deinit(&s->patches);
	source_changes_deinit(&s->changes);
	source_numbers_deinit(&s->numbers);
	ux_arena_deinit(&s->arena);
	free(s->piece);
}

static enum ux_code source_hold(struct debian_source *s, struct ux_out *text, struct ux_bytes more)
{
	s->held += more.size;
	if (s->held > UX_DEBIAN_SOURCE_MEMORY)
		return ux_error_set(s->err, UX_ELIMIT,
				    "patches and the files that they change exceed %d bytes",
				    UX_DEBIAN_SOURCE_MEMORY);
	ux_out_put(text, more.data, more.size);
	return ux_out_status(text, s->err);
}

/* Reads the tar of the package's files. */
static enum ux_code source_read_parts(struct debian_source *s, struct ux_bytes file)
{
	struct ux_cur c = ux_cur_make(file, "tar", false);
	while (ux_cur_left(&c) >= UX_TAR_BLOCK) {
		struct ux_tar_header h;
		struct ux_bytes block = ux_cur_take(&c, UX_TAR_BLOCK);
		UX_TRY(ux_tar_header_read(block.data, &h, s->err));
		if (h.type == UX_TAR_END)
			break;
		struct ux_bytes bytes = ux_cur_take(&c, h.size);
		ux_cur_skip(&c, ux_min(ux_tar_padding(h.size), (uint64_t)ux_cur_left(&c)));
		UX_TRY(ux_cur_status(&c, s->err));
		if (h.type != UX_TAR_FILE)
			continue;
		if (s->n_parts == UX_DEBIAN_SOURCE_FILES_MAX)
			return ux_error_set(s->err, UX_ELIMIT,
					    "source package has more than %d files",
					    UX_DEBIAN_SOURCE_FILES_MAX);
		struct source_part *p = &s->parts[s->n_parts++];
		const char *name = ux_path_base(h.path);
		if (strlen(name) >= UX_DEBIAN_SOURCE_NAME)
			return ux_error_set(s->err, UX_ECORRUPT,
					    "a file name is too long: %zu bytes", strlen(name));
		part_classify(p, name);
		p->bytes = bytes;
		s->has_debian = s->has_debian || p->kind == PART_DEBIAN;
	}
	return UX_OK;
}

/* --- the archives ----------------------------------------------------------------------------- */

/* Returns whether a compiler may read the file: otherwise no line of a program is in it. */
static bool source_is_wanted(const char *path)
{
	static const char *const others[] = {
		".html", ".htm", ".xhtml", ".xml",  ".xsl",  ".css", ".po",   ".pot",  ".gmo",
		".svg",  ".png", ".jpg",   ".gif",  ".pdf",  ".ps",  ".eps",  ".json", ".yaml",
		".yml",  ".md",  ".rst",   ".texi", ".info", ".tex", ".sgml", ".dts",  ".dtsi",
		".mo",   ".ttf", ".wav",   ".gz",   ".xz",   ".bz2", ".zip",  ".jar",  ".csv",
	};
	for (size_t i = 0; i < ux_countof(others); i++)
		if (ux_bytes_has_suffix(ux_bytes_cstr(path), ux_bytes_cstr(others[i])))
			return false;
	return true;
}

/* Returns whether the path is in debian/patches. Such files are kept: the series, which may come
 * last, tells which ones matter. */
static bool source_is_patch(const char *path)
{
	return strncmp(path, "/debian/patches/", strlen("/debian/patches/")) == 0;
}

static const char *source_below_first(const char *path)
{
	return strchr(path + 1, '/');
}

static bool source_is_changed(const struct debian_source *s, const char *path)
{
	return path && source_numbers_find(&s->numbers, ux_bytes_cstr(path)) != NULL;
}

/* Returns whether a patch may name the member. Only at the archive's end it is known whether its
 * first folder counts. */
static bool source_must_hold(struct debian_source *s, const struct source_part *p, const char *path)
{
	char whole[UX_PATH_BYTES];
	if (p->kind == PART_DEBIAN)
		return source_is_patch(path);
	if (p->kind == PART_MAIN)
		return source_is_changed(s, path) || source_is_changed(s, source_below_first(path));
	for (const char *at = path; at; at = at == path ? source_below_first(path) : NULL)
		if (snprintf(whole, sizeof(whole), "%.390s%s", p->folder, at + 1) <
			    (int)sizeof(whole) &&
		    source_is_changed(s, whole))
			return true;
	return false;
}

static enum ux_code source_put(struct debian_source *s, struct source_member *m, size_t n)
{
	struct ux_bytes bytes = ux_bytes(s->piece, n);
	m->size += n;
	if (m->held)
		return source_hold(s, &m->text, bytes);
	if (s->packer->size + n > s->max)
		return ux_error_set(s->err, UX_ELIMIT, "the sources exceed %" PRIu64 " bytes",
				    s->max);
	return ux_source_packer_put(s->packer, bytes, s->err);
}

static enum ux_code source_read_member(struct debian_source *s, struct archive *a,
				       const struct source_part *p, const char *path)
{
	struct source_member m = {.path = path, .off = s->packer->size};
	ssize_t n = ux_archive_read_piece(s->calls, a, s->piece, PIECE);
	bool text = n >= 0 && !memchr(s->piece, 0, ux_min((size_t)n, (size_t)HEAD));
	if (n < 0)
		return ux_archive_failure(s->calls, a, s->err);
	/* a patch may contain the bytes of a test's file */
	if (!(text && source_is_wanted(path)) && !(p->kind == PART_DEBIAN && source_is_patch(path)))
		return UX_OK;
	m.held = source_must_hold(s, p, path);
	enum ux_code code = UX_OK;
	while (n > 0 && code == UX_OK && m.size + (uint64_t)n <= UX_BUNDLE_FILE_MAX) {
		code = source_put(s, &m, (size_t)n);
		n = code == UX_OK ? ux_archive_read_piece(s->calls, a, s->piece, PIECE) : 0;
	}
	if (code == UX_OK && n < 0)
		code = ux_archive_failure(s->calls, a, s->err);
	/* n > 0: the file is too long for a compiler's input, and stays without a name */
	if (code == UX_OK && n == 0 && !source_members_append(&s->members, m))
		code = ux_error_nomem(s->err);
	if (code != UX_OK || n != 0)
		source_drop_text(s, &m.text);
	return code;
}

/* Notes the first folder of the archive, and whether all members are in it. */
static void source_note_folder(const char *path, bool folder, struct ux_bytes *first, bool *one)
{
	const char *below = source_below_first(path);
	struct ux_bytes name = ux_bytes(path, below ? (size_t)(below - path) : strlen(path));
	if (!below && !folder)
		*one = false;
	if (first->size == 0)
		*first = name;
	else if (!ux_bytes_eq(*first, name))
		*one = false;
}

static enum ux_code source_read_members(struct debian_source *s, struct archive *a,
					const struct source_part *p, bool *ret_one)
{
	const struct ux_archive_calls *c = s->calls;
	struct archive_entry *entry = NULL;
	struct ux_bytes first = UX_BYTES_NONE;
	*ret_one = true;
	for (;; s->count++) {
		const char *path = NULL;
		int r = c->archive_read_next_header(a, &entry);
		if (r == ARCHIVE_EOF)
			return UX_OK;
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return ux_archive_failure(c, a, s->err);
		if (s->count == UX_BUNDLE_MEMBERS_MAX)
			return ux_error_set(s->err, UX_ELIMIT,
					    "the package has more than %u members", s->count);
		const char *name = c->archive_entry_pathname(entry);
		name = name ? name : c->archive_entry_pathname_utf8(entry);
		if (!name)
			return ux_error_set(s->err, UX_ECORRUPT,
					    "a member of the archive has no name");
		enum ux_code code = ux_path_of_source(ux_bytes_cstr(name), &s->arena, &path, NULL);
		if (code == UX_EINVAL) /* "./", or a name that no compiler could have opened */
			continue;
		if (code != UX_OK)
			return ux_arena_fail(&s->arena, s->err);
		bool file = c->archive_entry_filetype(entry) == AE_IFREG;
		source_note_folder(path, c->archive_entry_filetype(entry) == AE_IFDIR, &first,
				   ret_one);
		if (file && !c->archive_entry_hardlink(entry))
			UX_TRY(source_read_member(s, a, p, path));
	}
}

static bool source_set_up(const struct debian_source *s, struct archive *a, struct ux_bytes bytes)
{
	const struct ux_archive_calls *c = s->calls;
	return c->archive_read_support_filter_gzip(a) == ARCHIVE_OK &&
	       c->archive_read_support_filter_xz(a) == ARCHIVE_OK &&
	       c->archive_read_support_filter_bzip2(a) == ARCHIVE_OK &&
	       c->archive_read_support_filter_lzma(a) == ARCHIVE_OK &&
	       c->archive_read_support_filter_zstd(a) == ARCHIVE_OK &&
	       c->archive_read_support_format_tar(a) == ARCHIVE_OK &&
	       c->archive_read_open_memory(a, bytes.data, bytes.size) == ARCHIVE_OK;
}

static enum ux_code source_read_archive(struct debian_source *s, const struct source_part *p,
					bool *ret_one)
{
	struct archive *a = s->calls->archive_read_new();
	if (!a)
		return ux_error_nomem(s->err);
	enum ux_code code = source_set_up(s, a, p->bytes) ? source_read_members(s, a, p, ret_one)
							  : ux_archive_failure(s->calls, a, s->err);
	(void)s->calls->archive_read_free(a);
	return code;
}

/* --- names of the files that were read -------------------------------------------------------- */

static enum ux_code source_name(struct debian_source *s, const char *path, uint64_t off,
				uint64_t size)
{
	char whole[UX_PATH_BYTES];
	int n = snprintf(whole, sizeof(whole), "%s%s", s->root, path);
	if (n < 0 || n >= (int)sizeof(whole))
		return UX_OK; /* no compiler could have opened it */
	return ux_source_packer_entry(s->packer, whole, off, size, s->err);
}

static enum ux_code source_write(struct debian_source *s, const char *path, struct ux_bytes text)
{
	uint64_t off = s->packer->size;
	if (off + text.size > s->max)
		return ux_error_set(s->err, UX_ELIMIT, "the sources exceed %" PRIu64 " bytes",
				    s->max);
	UX_TRY(ux_source_packer_put(s->packer, text, s->err));
	return source_name(s, path, off, text.size);
}

/* Returns whether the path is below a folder that another archive of the package provides. */
static bool source_is_replaced(const struct debian_source *s, const struct source_part *p,
			       const char *path)
{
	if (p->kind == PART_DEBIAN)
		return false;
	if (s->has_debian && strncmp(path, "/debian/", strlen("/debian/")) == 0)
		return true;
	for (size_t i = 0; i < s->n_parts && p->kind == PART_MAIN; i++)
		if (s->parts[i].kind == PART_COMPONENT &&
		    strncmp(path, s->parts[i].folder, strlen(s->parts[i].folder)) == 0)
			return true;
	return false;
}

static enum ux_code source_settle_member(struct debian_source *s, const struct source_part *p,
					 struct source_member *m, const char *path)
{
	const uint32_t *number = source_numbers_find(&s->numbers, ux_bytes_cstr(path));
	if (source_is_replaced(s, p, path))
		return UX_OK;
	if (!m->held)
		return source_name(s, path, m->off, m->size);
	if (p->kind == PART_DEBIAN) {
		struct source_patch patch = {.path = path, .text = m->text};
		if (!source_patches_append(&s->patches, patch))
			return ux_error_nomem(s->err);
		m->text = (struct ux_out){0};
		return source_write(s, path, ux_out_bytes(&patch.text));
	}
	if (!number)
		return source_write(s, path, ux_out_bytes(&m->text));
	struct source_changed *to = &s->changes.data[*number];
	source_drop_text(s, &to->text); /* drops the text of an earlier member with the same name */
	to->text = m->text;
	to->exists = true;
	m->text = (struct ux_out){0};
	return UX_OK;
}

/* Returns the path in the tree of a member of an archive; NULL: it has none. */
static const char *source_settled_path(struct debian_source *s, const struct source_part *p,
				       const char *path, bool one, bool *ret_failed)
{
	char whole[UX_PATH_BYTES];
	if (one && p->kind != PART_DEBIAN)
		path = source_below_first(path);
	if (!path || p->kind != PART_COMPONENT)
		return path;
	int n = snprintf(whole, sizeof(whole), "%s%s", p->folder, path + 1);
	if (n < 0 || n >= (int)sizeof(whole))
		return NULL;
	path = ux_arena_strndup(&s->arena, whole, (size_t)n);
	*ret_failed = !path;
	return path;
}

/* If all members of an archive are in one folder, that folder is stripped. */
static enum ux_code source_read_part(struct debian_source *s, const struct source_part *p)
{
	bool one = false, failed = false;
	UX_TRY(source_read_archive(s, p, &one));
	for (size_t i = 0; i < s->members.size; i++) {
		struct source_member *m = &s->members.data[i];
		const char *path = source_settled_path(s, p, m->path, one, &failed);
		if (failed)
			return ux_arena_fail(&s->arena, s->err);
		if (path)
			UX_TRY(source_settle_member(s, p, m, path));
	}
	source_members_clear(s);
	return UX_OK;
}

static enum ux_code source_read_all(struct debian_source *s, enum source_part_kind kind)
{
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].kind == kind)
			UX_TRY(source_read_part(s, &s->parts[i]));
	return UX_OK;
}

/* --- patches ---------------------------------------------------------------------------------- */

/* Sets the path in the tree of a file name in a diff; NULL: the file is not in the tree. */
static enum ux_code source_diff_path(struct debian_source *s, struct ux_bytes name,
				     const char **ret)
{
	struct ux_bytes below = ux_diff_strip(name);
	*ret = NULL;
	if (below.size == 0)
		return UX_OK;
	enum ux_code code = ux_path_of_source(below, &s->arena, ret, NULL);
	return code == UX_ENOMEM || code == UX_ELIMIT ? ux_arena_fail(&s->arena, s->err) : UX_OK;
}

static enum ux_code source_expect(struct debian_source *s, const char *path)
{
	bool fresh = false;
	if (!path)
		return UX_OK;
	uint32_t *number = source_numbers_insert(&s->numbers, ux_bytes_cstr(path), &fresh);
	if (!number)
		return ux_error_nomem(s->err);
	if (!fresh)
		return UX_OK;
	if (s->changes.size == UX_DEBIAN_CHANGED_MAX)
		return ux_error_set(s->err, UX_ELIMIT, "patches change more than %d files",
				    UX_DEBIAN_CHANGED_MAX);
	*number = (uint32_t)s->changes.size;
	return source_changes_append(&s->changes, (struct source_changed){.path = path})
		       ? UX_OK
		       : ux_error_nomem(s->err);
}

/* Notes the files that a patch names, before they are read. */
static enum ux_code source_expect_all(struct debian_source *s, struct ux_bytes text)
{
	struct ux_diff d = {.text = text};
	struct ux_diff_file f;
	while (ux_diff_next(&d, &f)) {
		const char *old = NULL, *new = NULL;
		UX_TRY(source_diff_path(s, f.old_name, &old));
		UX_TRY(source_diff_path(s, f.new_name, &new));
		UX_TRY(source_expect(s, new));
		UX_TRY(source_expect(s, old));
	}
	return UX_OK;
}

static struct source_changed *source_changed_at(struct debian_source *s, const char *path)
{
	const uint32_t *number =
		path ? source_numbers_find(&s->numbers, ux_bytes_cstr(path)) : NULL;
	return number ? &s->changes.data[*number] : NULL;
}

static enum ux_code source_change(struct debian_source *s, const struct ux_diff_file *f,
				  struct source_changed *to)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_diff_apply(f, ux_out_bytes(&to->text), &s->work, &text, &why);
	if (code == UX_ECONFLICT || code == UX_ECORRUPT) {
		/* lines of another version would be wrong; without the file they are not shown */
		to->bad = true;
		return UX_OK;
	}
	if (code != UX_OK) {
		if (s->err && s->err->code == UX_OK)
			*s->err = why;
		return code;
	}
	source_drop_text(s, &to->text);
	to->exists = f->new_name.size > 0 && !(text.size == 0 && f->old_name.size > 0);
	return source_hold(s, &to->text, ux_out_bytes(&text));
}

static enum ux_code source_apply(struct debian_source *s, struct ux_bytes patch)
{
	struct ux_diff d = {.text = patch};
	struct ux_diff_file f;
	while (ux_diff_next(&d, &f)) {
		const char *old_path = NULL, *new_path = NULL;
		UX_TRY(source_diff_path(s, f.old_name, &old_path));
		UX_TRY(source_diff_path(s, f.new_name, &new_path));
		struct source_changed *old = source_changed_at(s, old_path);
		struct source_changed *new = source_changed_at(s, new_path);
		struct source_changed *to =
			new && (new->exists || !old || !old->exists) ? new : old;
		if (to && !to->bad)
			UX_TRY(source_change(s, &f, to));
	}
	return UX_OK;
}

/* Moves the patches of the series to the end of the list, in the series' order. */
static enum ux_code source_order_series(struct debian_source *s, size_t *ret_first)
{
	static const char series[] = "/debian/patches/series";
	size_t n = s->patches.size;
	struct ux_bytes left = UX_BYTES_NONE, line;
	*ret_first = n;
	for (size_t i = 0; i < n; i++)
		if (strcmp(s->patches.data[i].path, series) == 0)
			left = ux_out_bytes(&s->patches.data[i].text);
	while (ux_text_take_line(&left, &line)) {
		size_t size = 0;
		while (line.size > 0 && ux_is_space(line.data[0]))
			line = ux_bytes(line.data + 1, line.size - 1);
		while (size < line.size && !ux_is_space(line.data[size]) && line.data[size] != '#')
			size++;
		for (size_t i = 0; i < n && size > 0; i++) {
			const char *name = s->patches.data[i].path + strlen("/debian/patches/");
			if (!ux_bytes_eq(ux_bytes_cstr(name), ux_bytes(line.data, size)))
				continue;
			/* moved, since a patch is applied once */
			struct source_patch one = s->patches.data[i];
			s->patches.data[i].text = (struct ux_out){0};
			if (s->patches.size - n == UX_DEBIAN_PATCHES_MAX ||
			    !source_patches_append(&s->patches, one)) {
				s->patches.data[i] = one;
				return ux_error_set(s->err, UX_ELIMIT,
						    "series has more than %d patches",
						    UX_DEBIAN_PATCHES_MAX);
			}
			break;
		}
	}
	return UX_OK;
}

/* Reads the diff of format 1.0. */
static enum ux_code source_read_diff(struct debian_source *s, const struct source_part *p)
{
	struct ux_unpack *u = NULL;
	struct ux_bytes from = p->bytes;
	struct source_patch patch = {.path = ""};
	size_t n = 0;
	UX_TRY(ux_unpack_open(&u, UX_UNPACK_GZIP, ux_unpack_from_bytes, &from, s->err));
	enum ux_code code = UX_OK;
	do {
		code = ux_unpack_read(u, s->piece, PIECE, &n, s->err);
		if (code == UX_OK)
			code = source_hold(s, &patch.text, ux_bytes(s->piece, n));
	} while (code == UX_OK && n > 0);
	ux_unpack_close(u);
	if (code == UX_OK && !source_patches_append(&s->patches, patch))
		code = ux_error_nomem(s->err);
	if (code != UX_OK)
		ux_out_deinit(&patch.text);
	return code;
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum ux_code source_write_changed(struct debian_source *s)
{
	for (size_t i = 0; i < s->changes.size; i++) {
		const struct source_changed *c = &s->changes.data[i];
		if (c->exists && !c->bad)
			UX_TRY(source_write(s, c->path, ux_out_bytes(&c->text)));
	}
	return UX_OK;
}

static enum ux_code source_unpack(struct debian_source *s)
{
	size_t first = 0;
	UX_TRY(source_read_all(s, PART_DEBIAN));
	UX_TRY(source_order_series(s, &first));
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].kind == PART_DIFF)
			UX_TRY(source_read_diff(s, &s->parts[i]));
	for (size_t i = first; i < s->patches.size; i++)
		UX_TRY(source_expect_all(s, ux_out_bytes(&s->patches.data[i].text)));
	UX_TRY(source_read_all(s, PART_MAIN));
	UX_TRY(source_read_all(s, PART_COMPONENT));
	for (size_t i = first; i < s->patches.size; i++)
		UX_TRY(source_apply(s, ux_out_bytes(&s->patches.data[i].text)));
	UX_TRY(source_write_changed(s));
	if (s->packer->count == 0)
		return ux_error_set(s->err, UX_ENOTFOUND, "the package has no files");
	return ux_source_packer_end(s->packer, s->err);
}

enum ux_code ux_debian_source_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
				     uint64_t max, struct ux_source_packer *packer,
				     struct ux_error *err)
{
	struct ux_tar_header h;
	ux_cleanup(ux_free_ptr) struct debian_source *made = calloc(1, sizeof(*made));
	if (!made)
		return ux_error_nomem(err);
	struct debian_source *s = made;
	*s = (struct debian_source){.calls = calls, .packer = packer, .max = max, .err = err};
	ux_arena_init(&s->arena, ARENA_MAX);
	if (!source_first_name(file, &h) || !ux_debian_source_root(h.path, s->root))
		return ux_error_set(err, UX_ECORRUPT, "the first file is not a .dsc");
	s->piece = malloc(PIECE);
	enum ux_code code = s->piece ? source_read_parts(s, file) : ux_error_nomem(err);
	if (code == UX_OK)
		code = source_unpack(s);
	debian_source_deinit(s);
	return code;
}

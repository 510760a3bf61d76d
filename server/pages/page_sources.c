/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /modules/{id}/sources: the source files that a module's symbols name, and the uploaded ones,
 * as a tree; GET /modules/{id}/source/{path...}: the text of one file.
 */
#include "page.h"
#include "pages.h"

#include "function_search.h"
#include "path_canonical.h"
#include "request_work.h"
#include "text.h"
#include "upstream_set.h"
#include "vec.h"

enum {
	FILES_MAX = 200000, /* files of one module that are sorted at most */
	BATCH = 1000,       /* uploaded files read in one step */
	SHOWN = 1000,       /* entries of one folder shown at most */
	TEXT_MAX = 4 << 20, /* bytes of the largest file that is shown */
	FILE_COST = 64,     /* work of reading a name */
};

/* A source file below the folder that is shown. */
struct source_path {
	const char *path; /* canonical; in the request's arena */
	uint64_t size;    /* bytes of its text; 0: no text */
	bool has_text;    /* it was uploaded */
};

UX_VEC(source_paths, struct source_path);

/* The state of reading a folder. */
struct source_folder {
	struct ux_request *req;
	struct ux_work work;
	struct ux_bytes dir; /* canonical, with a slash at its end */
	struct source_paths v;
	bool cut; /* there are more files than are read */
};

static enum ux_code page_sources_add(struct source_folder *f, const char *path, bool has_text,
				     uint64_t size)
{
	struct ux_error *err = &f->req->err;
	if (!ux_bytes_starts(ux_bytes_cstr(path), f->dir) || path[f->dir.size] == '\0')
		return UX_OK;
	if (f->v.size == FILES_MAX) {
		f->cut = true;
		return UX_OK;
	}
	return source_paths_append(&f->v, (struct source_path){path, size, has_text})
		       ? UX_OK
		       : ux_error_nomem(err);
}

/* Reads the files that the symbols name. Skips a name that is not a path. */
static enum ux_code page_sources_read_gsym(struct source_folder *f, const struct ux_module *m)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_request *req = f->req;
	struct ux_gsym g;
	if (ux_functions_open(req, m, &file, &g, NULL) != UX_OK)
		return UX_OK;
	for (uint32_t i = 1; i < g.n_files && !f->cut; i++) {
		const char *dir = NULL, *base = NULL, *path = NULL;
		if (!ux_gsym_file(&g, i, &dir, &base))
			continue;
		ux_out_reset(&name);
		ux_out_path(&name, ux_bytes_cstr(dir), ux_bytes_cstr(base));
		UX_TRY(ux_request_work_charge(&f->work, FILE_COST + name.size, &req->err));
		UX_TRY(ux_out_status(&name, &req->err));
		enum ux_code code =
			ux_path_of_source(ux_out_bytes(&name), &req->arena, &path, NULL);
		if (code == UX_EINVAL)
			continue;
		if (code != UX_OK)
			return ux_arena_fail(&req->arena, &req->err);
		UX_TRY(page_sources_add(f, path, /* has_text= */ false, 0));
	}
	return UX_OK;
}

/* Reads the uploaded files: their paths are consecutive in the index. */
static enum ux_code page_sources_read_uploaded(struct source_folder *f, const struct ux_module *m)
{
	struct ux_request *req = f->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *after = ux_arena_strndup(&req->arena, f->dir.data, f->dir.size);
	struct ux_source_list list = {.more = true};
	if (!after)
		return ux_arena_fail(&req->arena, &req->err);
	while (list.more && !f->cut) {
		UX_TRY(ix->sources.list(ix, m->number, after, BATCH, &req->arena, &list,
					&req->err));
		for (size_t i = 0; i < list.n; i++) {
			after = list.sources[i].path;
			if (!ux_bytes_starts(ux_bytes_cstr(after), f->dir))
				return UX_OK;
			UX_TRY(ux_request_work_charge(&f->work, FILE_COST, &req->err));
			UX_TRY(page_sources_add(f, after, /* has_text= */ true,
						list.sources[i].size));
		}
	}
	return UX_OK;
}

/* Sorts a file with text before the same file without, so that the first one is kept. */
static int page_sources_cmp(const void *x, const void *y)
{
	const struct source_path *a = x, *b = y;
	int order = strcmp(a->path, b->path);
	return order != 0 ? order : (int)b->has_text - (int)a->has_text;
}

static void page_sources_sort(struct source_paths *v)
{
	size_t n = 0;
	if (v->size > 1)
		qsort(v->data, v->size, sizeof(*v->data), page_sources_cmp);
	for (size_t i = 0; i < v->size; i++)
		if (n == 0 || strcmp(v->data[n - 1].path, v->data[i].path) != 0)
			v->data[n++] = v->data[i];
	v->size = n;
}

/* --- the tree --------------------------------------------------------------------------------- */

/*
 * Returns the length of the path up to the slash after its component at `from`; 0: the component is
 * the file's name.
 */
static size_t page_sources_end(const char *path, size_t from)
{
	const char *slash = strchr(path + from, '/');
	return slash ? (size_t)(slash - path) + 1 : 0;
}

static void page_sources_put_file(struct ux_out *out, const char *id, const struct source_path *s,
				  size_t from)
{
	if (!s->has_text) {
		UX_HTML(out, "<li><span class=\"name\">$</span></li>\n", s->path + from);
		return;
	}
	UX_HTML(out, "<li><a class=\"name\" href=\"/modules/$/source/$\">$</a> ", ux_html_url(id),
		ux_html_path(ux_bytes_cstr(s->path + 1)), s->path + from);
	UX_HTML(out, "<span class=\"where\">$</span></li>\n", ux_html_size(s->size));
}

/* Writes a folder. Folders that contain only one folder are shown together with it. */
static void page_sources_put_folder(struct ux_out *out, const char *id,
				    const struct source_path *first, size_t n, size_t from)
{
	size_t end = page_sources_end(first->path, from), with_text = 0;
	for (size_t next = end; next != 0;) {
		next = page_sources_end(first->path, end);
		if (next == 0 || strncmp(first->path, first[n - 1].path, next) != 0)
			break;
		end = next;
	}
	for (size_t i = 0; i < n; i++)
		with_text += first[i].has_text;
	UX_HTML(out, "<li><a class=\"name\" href=\"/modules/$/sources?dir=$\">$</a> ",
		ux_html_url(id), ux_html_url_bytes(ux_bytes(first->path, end)),
		ux_bytes(first->path + from, end - from));
	UX_HTML(out, "<span class=\"where\">$ $", ux_html_count(n), n == 1 ? "file" : "files");
	if (with_text > 0)
		UX_HTML(out, ", $ with text", ux_html_count(with_text));
	ux_out_cstr(out, "</span></li>\n");
}

static void page_sources_put_entries(struct source_folder *f, const char *id)
{
	struct ux_out *out = &f->req->out;
	const struct source_path *all = f->v.data;
	size_t from = f->dir.size, shown = 0, i = 0;
	ux_out_cstr(out, "<ul class=\"tree\">\n");
	while (i < f->v.size && shown < SHOWN) {
		size_t end = page_sources_end(all[i].path, from), n = 1;
		while (end > 0 && i + n < f->v.size &&
		       strncmp(all[i].path, all[i + n].path, end) == 0)
			n++;
		if (end > 0)
			page_sources_put_folder(out, id, &all[i], n, from);
		else
			page_sources_put_file(out, id, &all[i], from);
		i += n;
		shown++;
	}
	ux_out_cstr(out, "</ul>\n");
	if (i < f->v.size || f->cut)
		UX_HTML(out, "<p class=\"hint\">Only the first $ entries are shown.</p>\n",
			ux_html_count(shown));
}

/* Writes the folder as links to itself and the folders above it. */
static void page_sources_put_way(struct ux_out *out, const char *id, struct ux_bytes dir)
{
	UX_HTML(out, "<p class=\"path\"><a href=\"/modules/$/sources\">/</a>", ux_html_url(id));
	for (size_t i = 1, from = 1; i < dir.size; i++) {
		if (dir.data[i] != '/')
			continue;
		UX_HTML(out, "<a href=\"/modules/$/sources?dir=$\">$</a>", ux_html_url(id),
			ux_html_url_bytes(ux_bytes(dir.data, i + 1)),
			ux_bytes(dir.data + from, i + 1 - from));
		from = i + 1;
	}
	ux_out_cstr(out, "</p>\n");
}

static enum ux_code page_sources_read_dir(struct ux_request *req, struct ux_bytes *ret)
{
	struct ux_bytes given = ux_page_query(req, "dir");
	const char *path = NULL;
	*ret = UX_STR("/");
	if (given.size == 0)
		return UX_OK;
	UX_TRY(ux_path_canonical(given, &req->arena, &path, &req->err));
	size_t n = strlen(path);
	if (n <= 1)
		return UX_OK;
	char *dir = ux_arena_array(&req->arena, char, n + 2);
	if (!dir)
		return ux_arena_fail(&req->arena, &req->err);
	memcpy(dir, path, n);
	dir[n] = '/';
	*ret = ux_bytes(dir, n + 1);
	return UX_OK;
}

static enum ux_code page_sources_put(struct source_folder *f, const struct ux_module *m)
{
	struct ux_out *out = &f->req->out;
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	UX_TRY(page_sources_read_gsym(f, m));
	UX_TRY(page_sources_read_uploaded(f, m));
	page_sources_sort(&f->v);
	page_sources_put_way(out, id, f->dir);
	if (f->v.size > 0) {
		page_sources_put_entries(f, id);
		return UX_OK;
	}
	ux_out_cstr(out, f->dir.size > 1
				 ? "<p>This folder has no source files of this module.</p>\n"
				 : "<p>The symbols of this module name no source file.</p>\n");
	return UX_OK;
}

enum ux_code ux_web_sources(struct ux_request *req, struct ux_response *res)
{
	struct source_folder f = {.req = req, .work = ux_request_work(req)};
	struct ux_module m;
	UX_TRY(ux_page_module_find(req, &m));
	UX_TRY(page_sources_read_dir(req, &f.dir));
	const struct ux_page page = {.title = "Source files - unhex", .section = UX_PAGE_MODULES};
	ux_page_begin(req, &page);
	ux_page_module_trail(&req->out, &m, "Source files");
	enum ux_code code = page_sources_put(&f, &m);
	source_paths_deinit(&f.v);
	UX_TRY(code);
	return ux_page_end(req, res, &page);
}

/* --- one file --------------------------------------------------------------------------------- */

static void page_sources_put_text(struct ux_out *out, struct ux_bytes text)
{
	struct ux_bytes line;
	unsigned number = 0;
	ux_out_cstr(out, "<ol class=\"source\">\n");
	while (ux_text_take_line(&text, &line))
		UX_HTML(out, "<li id=\"L$\"><code>$</code></li>\n", ++number, line);
	ux_out_cstr(out, "</ol>\n");
}

static enum ux_code page_sources_find_text(struct ux_request *req, const struct ux_module *m,
					   const char **ret_path, struct ux_source *ret)
{
	struct ux_source_request request = {.ns = ux_caller_of(req)->ns,
					    .id = m->n_ids > 0 ? m->ids[0] : ""};
	UX_TRY(ux_path_of_source(req->params[1], &req->arena, ret_path, &req->err));
	request.path = *ret_path;
	UX_TRY(ux_source_lookup(ux_server_of(req)->store, &request, &req->arena, ret, &req->err));
	if (ret->size > TEXT_MAX)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "the file has %" PRIu64 " bytes; a page shows at most %d",
				    ret->size, TEXT_MAX);
	return UX_OK;
}

enum ux_code ux_web_source(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes text = UX_BYTES_NONE;
	const char *path = NULL;
	struct ux_source s;
	struct ux_module m;
	UX_TRY(ux_page_module_find(req, &m));
	UX_TRY(page_sources_find_text(req, &m, &path, &s));
	UX_TRY(ux_blobs_map(ux_server_of(req)->store->blobs, &s.blob, s.blob_size, &file,
			    &req->err));
	if (!ux_bytes_sub(file.bytes, s.off, s.size, &text))
		return ux_error_set(&req->err, UX_EIO, "a source file exceeds its bundle");
	const struct ux_page page = {.title = "Source - unhex", .section = UX_PAGE_MODULES};
	ux_page_begin(req, &page);
	ux_page_module_trail(&req->out, &m, strrchr(path, '/') + 1);
	const char *slash = strrchr(path, '/');
	page_sources_put_way(&req->out, m.n_ids > 0 ? m.ids[0] : "",
			     ux_bytes(path, (size_t)(slash - path) + 1));
	page_sources_put_text(&req->out, text);
	return ux_page_end(req, res, &page);
}

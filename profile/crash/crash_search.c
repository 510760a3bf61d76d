/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the module of a crash report among local files and the builds on a server. */
#include "crash_search.h"

#include "crash_report.h"
#include "profile_file.h"
#include "search_path.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* How the file or the identity of a module was found. */
enum crash_how {
	CRASH_NOT_FOUND,
	CRASH_BY_ID,      /* found by the ID in the text */
	CRASH_BY_PATH,    /* found by the path in the text, which has no ID of it */
	CRASH_BY_NAME,    /* one file in the folders that were searched has the name */
	CRASH_BY_RELEASE, /* it is the module of that name of the kernel of that release */
	CRASH_BY_SERVER,  /* one build on the server has that path or name */
	CRASH_BY_CHOICE,  /* the user has chosen it */
};

static const char *crash_how_name(enum crash_how how)
{
	static const char *const names[] = {
		[CRASH_NOT_FOUND] = "not found",
		[CRASH_BY_ID] = "by the ID in the text",
		[CRASH_BY_PATH] = "by its path: the text has no ID",
		[CRASH_BY_NAME] = "by its name: the text has neither path nor ID",
		[CRASH_BY_RELEASE] = "by its name and the release of the kernel in the text",
		[CRASH_BY_SERVER] = "by its name, which only one build on the server has",
		[CRASH_BY_CHOICE] = "by --module",
	};
	return (unsigned)how < ux_countof(names) ? names[how] : "unknown";
}

/* A search for one module. */
struct crash_search {
	struct ux_crash_file *m;
	const struct ux_crash_sources *sources;
	const struct ux_crash_wanted *wanted;
	struct ux_error *err;
	enum crash_how how;
	struct ux_error why; /* why there is no file; code UX_OK: no reason is known */
	struct ux_out list;  /* instead, if it is long: which builds the name may mean */
	/* Different files of its name: */
	char *paths[UX_CRASH_BUILDS_MAX];
	struct ux_file_symbols *symbols[UX_CRASH_BUILDS_MAX];
	size_t n;
};

static void crash_search_deinit(struct crash_search *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->paths[i]);
		ux_file_symbols_drop(s->symbols[i]);
	}
	ux_out_deinit(&s->list);
}

static enum ux_code crash_search_find(struct crash_search *s, const char *path,
				      const struct ux_id *id, char **ret_path,
				      struct ux_file_symbols **ret, struct ux_error *why)
{
	enum ux_code code = ux_profile_file_find(s->sources->profile, path, id, UX_SYMBOLS_HEAD,
						 ret_path, ret, why);
	return code == UX_ENOMEM ? ux_error_nomem(s->err) : code;
}

/* Uses the file at a path, or with the module's ID. */
static enum ux_code crash_search_path(struct crash_search *s, const char *path, enum crash_how how)
{
	struct ux_crash_file *m = s->m;
	enum ux_code code = crash_search_find(s, path, &m->id, &m->path, &m->symbols, &s->why);
	if (code == UX_OK)
		s->how = how;
	return code == UX_ENOMEM ? code : UX_OK;
}

/* Adds a file to the candidates of a name, unless it has the identity of one of them. */
static enum ux_code crash_search_add(struct crash_search *s, const char *path)
{
	static const struct ux_id none;
	struct stat st;
	char *found = NULL;
	struct ux_file_symbols *symbols = NULL;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || s->n == UX_CRASH_BUILDS_MAX)
		return UX_OK;
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(ux_free_ptr) char *whole = realpath(path, NULL); /* it may be relative */
	if (!whole)
		return errno == ENOMEM ? ux_error_nomem(s->err) : UX_OK;
	/* The path is used unchanged: the folders of the user do not apply. */
	struct ux_profile_sources here = *s->sources->profile;
	here.file_dirs = NULL;
	here.no_local = false;
	enum ux_code code =
		ux_profile_file_find(&here, whole, &none, UX_SYMBOLS_HEAD, &found, &symbols, &why);
	if (code != UX_OK)
		return code == UX_ENOMEM ? ux_error_nomem(s->err) : UX_OK;
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->symbols[i]->id, symbols->id) == 0) {
			free(found);
			ux_file_symbols_drop(symbols);
			return UX_OK;
		}
	s->paths[s->n] = found;
	s->symbols[s->n++] = symbols;
	return UX_OK;
}

__attribute__((format(printf, 2, 3))) static enum ux_code crash_search_add_fmt(
	struct crash_search *s, const char *fmt, ...)
{
	char *path = NULL;
	va_list args;
	va_start(args, fmt);
	int n = vasprintf(&path, fmt, args);
	va_end(args);
	if (n < 0)
		return ux_error_nomem(s->err);
	enum ux_code code = crash_search_add(s, path);
	free(path);
	return code;
}

/* Takes the only candidate; several are a reason to ask. */
static enum ux_code crash_search_settle(struct crash_search *s, const char *name)
{
	struct ux_crash_file *m = s->m;
	if (s->n == 1) {
		m->path = s->paths[0];
		m->symbols = s->symbols[0];
		s->how = CRASH_BY_NAME;
		s->n = 0;
		return UX_OK;
	}
	s->why = (struct ux_error)UX_ERROR_INIT;
	(void)ux_error_set(&s->why, UX_ENOTFOUND, "no file of that name was found");
	if (s->n == 0)
		return UX_OK;
	ux_out_fmt(&s->list, "%zu files have that name: ", s->n);
	for (size_t i = 0; i < s->n; i++)
		ux_out_fmt(&s->list, "%s%s (%s)", i > 0 ? ", " : "", s->paths[i],
			   s->symbols[i]->id);
	ux_out_fmt(&s->list, "; choose one with --module %s=FILE or =ID", name);
	UX_TRY(ux_out_status(&s->list, s->err));
	return UX_OK;
}

/* A ux_crash_search_fn: searches the builds of a name on the server. */
static enum ux_code crash_search_server(void *ctx, const char *name, size_t *ret_n,
					struct ux_error *err)
{
	struct crash_search *s = ctx;
	struct ux_id ids[UX_CRASH_BUILDS_MAX];
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ID_TEXT];
	size_t n = 0;
	enum ux_code code = s->sources->builds(s->sources->server_ctx, name, ids, &n, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		s->why = why;
	*ret_n = code == UX_OK ? n : 0;
	if (*ret_n == 1) {
		s->m->id = ids[0];
		s->how = CRASH_BY_SERVER;
	}
	if (*ret_n <= 1)
		return UX_OK;
	ux_out_fmt(&s->list, "%zu%s builds on the server have that name: ", n,
		   n == UX_CRASH_BUILDS_MAX ? " or more" : "");
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(&s->list, "%s%s", i > 0 ? ", " : "", ux_id_format(&ids[i], text));
	ux_out_fmt(&s->list, "; choose one with --module %s=ID", name);
	return ux_out_status(&s->list, err);
}

/* Searches a name in the folders of libraries and programs of one root. */
static enum ux_code crash_search_root(struct crash_search *s, const char *root, size_t n,
				      const char *name)
{
	static const char *const folders[] = {"/lib",
					      "/usr/lib",
					      "/lib64",
					      "/usr/lib64",
					      "/usr/local/lib",
					      "/usr/bin",
					      "/bin",
					      "/usr/sbin",
					      "/sbin",
					      "/usr/local/bin",
					      "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu"};
	for (size_t i = 0; i < ux_countof(folders); i++)
		UX_TRY(crash_search_add_fmt(s, "%.*s%s/%s", (int)n, root, folders[i], name));
	return UX_OK;
}

static enum ux_code crash_search_name(struct crash_search *s, const char *name)
{
	const struct ux_profile_sources *p = s->sources->profile;
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = p->file_dirs; ux_search_path_take(&rest, &dir, &n);) {
		UX_TRY(crash_search_add_fmt(s, "%.*s/%s", (int)n, dir, name));
		UX_TRY(crash_search_root(s, dir, n, name));
	}
	/* Folders that the user has named have precedence over this machine. */
	if (s->n == 0 && !p->no_local)
		UX_TRY(crash_search_root(s, "", 0, name));
	return crash_search_settle(s, name);
}

static enum ux_code crash_search_kernel(struct crash_search *s)
{
	const struct ux_profile_sources *p = s->sources->profile;
	char path[PATH_MAX];
	for (size_t i = 0; s->n == 0 && ux_crash_kernel_path(i, s->wanted->release, path); i++) {
		const char *dir = NULL;
		size_t n = 0;
		for (const char *rest = p->file_dirs;
		     s->n == 0 && ux_search_path_take(&rest, &dir, &n);)
			UX_TRY(crash_search_add_fmt(s, "%.*s%s", (int)n, dir, path));
		if (!p->no_local && s->n == 0)
			UX_TRY(crash_search_add(s, path));
	}
	return crash_search_settle(s, "vmlinux");
}

/* Finds a module of the kernel: by the ID in the text, or else the only module with its name in
 * that release. */
static enum ux_code crash_search_module(struct crash_search *s)
{
	struct ux_crash_file *m = s->m;
	enum crash_how how = m->id.size > 0 ? CRASH_BY_ID : CRASH_BY_RELEASE;
	enum ux_code code =
		ux_profile_ko_find(s->sources->profile, s->wanted->release, s->wanted->name, &m->id,
				   UX_SYMBOLS_HEAD, &m->path, &m->symbols, &s->why);
	if (code == UX_OK)
		s->how = how;
	return code == UX_ENOMEM ? ux_error_nomem(s->err) : UX_OK;
}

static enum ux_code crash_search_choice_file(struct crash_search *s, const char *choice)
{
	/* Relative paths belong to reports of other machines, which are searched by name. */
	ux_cleanup(ux_free_ptr) char *whole = realpath(choice, NULL);
	UX_TRY(crash_search_add(s, whole ? whole : choice));
	if (s->n > 0)
		return crash_search_settle(s, "");
	(void)ux_error_set(&s->why, UX_ENOTFOUND, "%.100s: not an ELF file with code", choice);
	return UX_OK;
}

static enum ux_code crash_search_choice(struct crash_search *s)
{
	struct ux_id id;
	struct ux_bytes choice = s->wanted->choice;
	ux_cleanup(ux_free_ptr) char *path = strndup((const char *)choice.data, choice.size);
	if (!path)
		return ux_error_nomem(s->err);
	bool is_id = !memchr(choice.data, '/', choice.size) && access(path, F_OK) != 0 &&
		     ux_id_parse(choice, &id, NULL) == UX_OK;
	if (is_id)
		s->m->id = id;
	enum ux_code code = is_id ? crash_search_path(s, "", CRASH_BY_CHOICE)
				  : crash_search_choice_file(s, path);
	s->how = CRASH_BY_CHOICE;
	return code;
}

/* Notes why there is no file. That is not a failure. */
static enum ux_code crash_search_none(struct crash_search *s, const char *why)
{
	(void)ux_error_set(&s->why, UX_ENOTFOUND, "%s", why);
	return UX_OK;
}

/* By the facts in the text. */
static enum ux_code crash_search_here(struct crash_search *s)
{
	const struct ux_crash_wanted *w = s->wanted;
	s->m->id = w->id;
	if (w->is_kernel && strcmp(w->name, "vmlinux") != 0)
		return crash_search_module(s);
	if (w->id.size > 0)
		return crash_search_path(s, w->name, CRASH_BY_ID);
	if (*w->name == 0)
		return crash_search_none(s, "the text does not name the module");
	if (w->is_kernel)
		return crash_search_kernel(s);
	if (*w->name == '/')
		return crash_search_path(s, w->name, CRASH_BY_PATH);
	if (*w->name == '[')
		return crash_search_none(s, "not a file");
	/* the path counts from the working folder */
	if (strchr(w->name, '/') && !s->sources->profile->no_local) {
		ux_cleanup(ux_free_ptr) char *path = realpath(w->name, NULL);
		if (path)
			return crash_search_path(s, path, CRASH_BY_PATH);
	}
	return crash_search_name(s, (const char *)ux_crash_base_name(ux_bytes_cstr(w->name)).data);
}

/* Files of this machine, then the server. */
static enum ux_code crash_search_any(struct crash_search *s)
{
	if (s->wanted->choice.size > 0)
		return crash_search_choice(s);
	UX_TRY(crash_search_here(s));
	if (!s->sources->builds || s->m->id.size > 0 || s->m->symbols || s->list.size > 0)
		return UX_OK;
	return ux_crash_search(s->wanted, crash_search_server, s, s->err);
}

/* Returns whether the found file or ID may not have the ID in the text. */
static bool crash_search_differs(const struct crash_search *s)
{
	char id[UX_ID_TEXT];
	const struct ux_file_symbols *f = s->m->symbols;
	ux_id_format(&s->wanted->id, id);
	return !ux_id_eq(&s->m->id, &s->wanted->id) &&
	       !(f && (strcmp(f->build_id, id) == 0 || strcmp(f->id, id) == 0));
}

/* Copies a text, so that it lives as long as the answer. */
static enum ux_code crash_search_text(const struct crash_search *s, const char *text,
				      const char **ret)
{
	*ret = ux_arena_strndup(s->wanted->arena, text, strlen(text));
	return *ret ? UX_OK : ux_arena_fail(s->wanted->arena, s->err);
}

/* Sets the answer. A module that is not here may be on the server, if its ID is known. */
static enum ux_code crash_search_answer(struct crash_search *s, struct ux_crash_found *ret)
{
	struct ux_crash_file *m = s->m;
	char id[UX_ID_TEXT];
	if (m->symbols && m->id.size == 0 &&
	    ux_id_parse(ux_bytes_cstr(m->symbols->id), &m->id, NULL) != UX_OK)
		m->id = (struct ux_id){0};
	ret->open = m->symbols || (s->sources->profile->server && m->id.size > 0);
	ret->differs = crash_search_differs(s);
	ret->how = crash_how_name(s->how);
	UX_TRY(crash_search_text(s, ux_id_format(&m->id, id), &ret->id));
	if (ret->open)
		return UX_OK;
	ux_out_u8(&s->list, 0);
	UX_TRY(ux_out_status(&s->list, s->err));
	if (s->list.size > 1)
		return crash_search_text(s, (const char *)s->list.data, &ret->why);
	return s->why.code != UX_OK ? crash_search_text(s, s->why.text, &ret->why) : UX_OK;
}

enum ux_code ux_crash_file_search(const struct ux_crash_sources *sources,
				  const struct ux_crash_wanted *wanted, struct ux_crash_file *m,
				  struct ux_crash_found *ret, struct ux_error *err)
{
	ux_cleanup(crash_search_deinit) struct crash_search s = {
		.m = m, .sources = sources, .wanted = wanted, .err = err, .why = UX_ERROR_INIT};
	UX_TRY(crash_search_any(&s));
	return crash_search_answer(&s, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a crash report: which file each is, and the pcs of frames in it. */
#include "crash_module.h"

#include "dsym.h"
#include "elf_symbols.h"
#include "profile_file.h"
#include "text.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE = 4096,       /* modules begin at a page */
	LOW_MAX = 0x10000, /* files that begin below it are position-independent */
	/* Bytes between functions, which the kernel counts as the first one's: what its alignment
	 * takes, and what is in front of functions for patches and checks. */
	SIZE_ALIGNMENT = 16,
	SIZE_PADDING = 64,
	CANDIDATES_MAX = 8, /* different files of one name */
	FOLDERS_MAX = 64,   /* folders that are searched for a name */
};

const char *ux_crash_how_name(enum ux_crash_how how)
{
	static const char *const names[] = {
		[UX_CRASH_HOW_NONE] = "not found",
		[UX_CRASH_BY_ID] = "by the ID in the text",
		[UX_CRASH_BY_PATH] = "by its path: the text has no ID",
		[UX_CRASH_BY_NAME] = "by its name: the text has neither path nor ID",
		[UX_CRASH_BY_RELEASE] = "by its name and the release of the kernel in the text",
		[UX_CRASH_BY_SERVER] = "by its name, which only one build on the server has",
		[UX_CRASH_BY_CHOICE] = "by --module",
	};
	return (unsigned)how < ux_countof(names) ? names[how] : "unknown";
}

void ux_crash_file_close(struct ux_crash_file *m)
{
	ux_gsym_names_deinit(&m->gsym_names);
	ux_elf_close(&m->elf);
	ux_file_unmap(&m->mapping);
	ux_file_symbols_drop(m->symbols);
	ux_file_symbols_drop(m->whole);
	ux_out_deinit(&m->list);
	free(m->path);
	free((void *)(uintptr_t)m->name.data);
	*m = (struct ux_crash_file){0};
}

/* --- the file --------------------------------------------------------------------------------- */

/* A search for one module. */
struct crash_search {
	struct ux_crash_file *m;
	const struct ux_crash_sources *sources;
	struct ux_error *err;
	/* Different files of its name: */
	char *paths[CANDIDATES_MAX];
	struct ux_file_symbols *symbols[CANDIDATES_MAX];
	size_t n;
};

static void crash_search_deinit(struct crash_search *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->paths[i]);
		ux_file_symbols_drop(s->symbols[i]);
	}
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
static enum ux_code crash_search_path(struct crash_search *s, const char *path,
				      enum ux_crash_how how)
{
	struct ux_crash_file *m = s->m;
	enum ux_code code = crash_search_find(s, path, &m->id, &m->path, &m->symbols, &m->why);
	if (code == UX_OK)
		m->how = how;
	return code == UX_ENOMEM ? code : UX_OK;
}

/* Adds a file to the candidates of a name, unless it has the identity of one of them. */
static enum ux_code crash_search_add(struct crash_search *s, const char *path)
{
	static const struct ux_id none;
	struct stat st;
	char *found = NULL;
	struct ux_file_symbols *symbols = NULL;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || s->n == CANDIDATES_MAX)
		return UX_OK;
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(ux_free_ptr) char *whole = realpath(path, NULL); /* it may be relative */
	if (!whole)
		return errno == ENOMEM ? ux_error_nomem(s->err) : UX_OK;
	/* The path is used as it stands, whatever folders the user has named. */
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
		m->how = UX_CRASH_BY_NAME;
		s->n = 0;
		return UX_OK;
	}
	m->why = (struct ux_error)UX_ERROR_INIT;
	(void)ux_error_set(&m->why, UX_ENOTFOUND, "no file of that name was found");
	if (s->n == 0)
		return UX_OK;
	ux_out_fmt(&m->list, "%zu files have that name: ", s->n);
	for (size_t i = 0; i < s->n; i++)
		ux_out_fmt(&m->list, "%s%s (%s)", i > 0 ? ", " : "", s->paths[i],
			   s->symbols[i]->id);
	ux_out_fmt(&m->list, "; choose one with --module %s=FILE or =ID", name);
	UX_TRY(ux_out_status(&m->list, s->err));
	return UX_OK;
}

/* Searches the builds of a name on the server. */
static enum ux_code crash_search_server(struct crash_search *s, const char *name)
{
	struct ux_crash_file *m = s->m;
	struct ux_id ids[UX_CRASH_IDS_MAX];
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ID_TEXT];
	size_t n = 0;
	if (!s->sources->search || m->symbols || m->list.size > 0 || *name == 0)
		return UX_OK;
	enum ux_code code = s->sources->search(s->sources->search_ctx, name, ids, &n, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(s->err);
	if (code != UX_OK)
		m->why = why;
	if (code != UX_OK || n == 0)
		return UX_OK;
	if (n == 1) {
		m->id = ids[0];
		m->how = UX_CRASH_BY_SERVER;
		return UX_OK;
	}
	ux_out_fmt(&m->list, "%zu%s builds on the server have that name: ", n,
		   n == UX_CRASH_IDS_MAX ? " or more" : "");
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(&m->list, "%s%s", i > 0 ? ", " : "", ux_id_format(&ids[i], text));
	ux_out_fmt(&m->list, "; choose one with --module %s=ID", name);
	return ux_out_status(&m->list, s->err);
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
	for (const char *dir = p->file_dirs; dir && *dir;) {
		size_t n = strcspn(dir, ":");
		UX_TRY(crash_search_add_fmt(s, "%.*s/%s", (int)n, dir, name));
		UX_TRY(crash_search_root(s, dir, n, name));
		dir += n + (dir[n] == ':');
	}
	/* What the user has named has precedence over what happens to be on this machine. */
	if (s->n == 0 && !p->no_local)
		UX_TRY(crash_search_root(s, "", 0, name));
	return crash_search_settle(s, name);
}

/* The kernel of a release has no other place than these. */
static enum ux_code crash_search_kernel(struct crash_search *s, struct ux_bytes release)
{
	static const char *const places[] = {"/usr/lib/debug/boot/vmlinux-%.*s",
					     "/usr/lib/debug/lib/modules/%.*s/vmlinux",
					     "/usr/lib/debug/usr/lib/modules/%.*s/vmlinux",
					     "/lib/modules/%.*s/vmlinux",
					     "/lib/modules/%.*s/build/vmlinux",
					     "/boot/vmlinux-%.*s"};
	const struct ux_profile_sources *p = s->sources->profile;
	char path[512];
	int size = (int)ux_min(release.size, (size_t)255);
	bool plain = release.size > 0 && !memchr(release.data, '/', release.size);
	for (size_t i = 0; plain && s->n == 0 && i < ux_countof(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(path, sizeof(path), places[i], size, (const char *)release.data);
#pragma GCC diagnostic pop
		for (const char *dir = p->file_dirs; dir && *dir && s->n == 0;) {
			size_t n = strcspn(dir, ":");
			UX_TRY(crash_search_add_fmt(s, "%.*s%s", (int)n, dir, path));
			dir += n + (dir[n] == ':');
		}
		if (!p->no_local && s->n == 0)
			UX_TRY(crash_search_add(s, path));
	}
	return crash_search_settle(s, "vmlinux");
}

/* A module of the kernel of a release: by the ID in the text, or else the only one of its name. */
static enum ux_code crash_search_module(struct crash_search *s, struct ux_bytes release)
{
	struct ux_crash_file *m = s->m;
	enum ux_crash_how how = m->id.size > 0 ? UX_CRASH_BY_ID : UX_CRASH_BY_RELEASE;
	enum ux_code code =
		ux_profile_ko_find(s->sources->profile, release, (const char *)m->name.data, &m->id,
				   UX_SYMBOLS_HEAD, &m->path, &m->symbols, &m->why);
	if (code == UX_OK)
		m->how = how;
	return code == UX_ENOMEM ? ux_error_nomem(s->err) : UX_OK;
}

/* What the user has said about a module: the text behind "NAME=", or "". */
static struct ux_bytes crash_choice(const struct ux_crash_sources *sources, struct ux_bytes name)
{
	struct ux_bytes base = ux_crash_base_name(name);
	for (size_t i = 0; i < sources->n_modules; i++) {
		struct ux_bytes entry = ux_bytes_cstr(sources->modules[i]);
		const uint8_t *mark = memchr(entry.data, '=', entry.size);
		size_t n = mark ? (size_t)(mark - entry.data) : 0;
		struct ux_bytes key = ux_bytes(entry.data, n);
		if (mark ? n > 0 && (ux_bytes_eq(key, name) || ux_bytes_eq(key, base))
			 : name.size == 0)
			return mark ? ux_bytes(mark + 1, entry.size - n - 1) : entry;
	}
	return UX_BYTES_NONE;
}

static enum ux_code crash_search_choice(struct crash_search *s, struct ux_bytes choice)
{
	struct ux_crash_file *m = s->m;
	struct ux_id id;
	char *path = strndup((const char *)choice.data, choice.size);
	if (!path)
		return ux_error_nomem(s->err);
	enum ux_code code = UX_OK;
	bool is_id = !memchr(choice.data, '/', choice.size) && access(path, F_OK) != 0 &&
		     ux_id_parse(choice, &id, NULL) == UX_OK;
	m->how = UX_CRASH_BY_CHOICE;
	if (is_id) {
		m->id = id;
		code = crash_search_path(s, "", UX_CRASH_BY_CHOICE);
	} else {
		/* Relative paths are those of reports elsewhere, which are searched by name. */
		char *whole = realpath(path, NULL);
		code = crash_search_add(s, whole ? whole : path);
		free(whole);
		if (code == UX_OK && s->n == 0)
			(void)ux_error_set(&m->why, UX_ENOTFOUND, "%.100s: no ELF file with code",
					   path);
		else if (code == UX_OK)
			code = crash_search_settle(s, "");
		m->how = UX_CRASH_BY_CHOICE;
	}
	free(path);
	return code;
}

/* There is no file, which is no failure. */
static enum ux_code crash_search_none(struct ux_crash_file *m, const char *why)
{
	(void)ux_error_set(&m->why, UX_ENOTFOUND, "%s", why);
	return UX_OK;
}

static enum ux_code crash_search_here(struct crash_search *s, const struct ux_crash_frame *f,
				      struct ux_bytes release)
{
	struct ux_crash_file *m = s->m;
	const char *name = (const char *)m->name.data;
	struct ux_bytes choice = crash_choice(s->sources, m->name);
	if (choice.size > 0)
		return crash_search_choice(s, choice);
	bool is_kernel = f->form == UX_CRASH_KERNEL && m->name.size > 0;
	bool is_module = is_kernel && !ux_bytes_eq(m->name, UX_STR("vmlinux"));
	bool has_id = f->id.size > 0 && ux_id_parse(f->id, &m->id, NULL) == UX_OK;
	if (is_module)
		return crash_search_module(s, release);
	if (has_id)
		return crash_search_path(s, name, UX_CRASH_BY_ID);
	if (m->name.size == 0)
		return crash_search_none(m, "the text does not name the module");
	if (is_kernel)
		return crash_search_kernel(s, release);
	if (*name == '/')
		return crash_search_path(s, name, UX_CRASH_BY_PATH);
	if (*name == '[')
		return crash_search_none(m, "not a file");
	if (strchr(name, '/') && !s->sources->profile->no_local) { /* from the working folder */
		ux_cleanup(ux_free_ptr) char *path = realpath(name, NULL);
		if (path)
			return crash_search_path(s, path, UX_CRASH_BY_PATH);
	}
	return crash_search_name(s, (const char *)ux_crash_base_name(m->name).data);
}

/* What is not here may be on the server: a path, or else its name. */
static enum ux_code crash_search_any(struct crash_search *s, const struct ux_crash_frame *f,
				     struct ux_bytes release)
{
	struct ux_crash_file *m = s->m;
	const char *name = (const char *)m->name.data;
	UX_TRY(crash_search_here(s, f, release));
	if (m->id.size > 0 || m->symbols || m->how == UX_CRASH_BY_CHOICE || *name == '[')
		return UX_OK;
	if (*name == '/')
		UX_TRY(crash_search_server(s, name));
	if (m->id.size == 0)
		return crash_search_server(s, (const char *)ux_crash_base_name(m->name).data);
	return UX_OK;
}

struct ux_bytes ux_crash_file_why(const struct ux_crash_file *m)
{
	if (m->list.size > 0)
		return ux_out_bytes(&m->list);
	return m->why.code != UX_OK ? ux_bytes_cstr(m->why.text) : UX_STR("");
}

enum ux_code ux_crash_file_open(struct ux_crash_file *m, const struct ux_crash_frame *f,
				struct ux_bytes release, const struct ux_crash_sources *sources,
				struct ux_error *err)
{
	ux_cleanup(crash_search_deinit) struct crash_search s = {
		.m = m, .sources = sources, .err = err};
	*m = (struct ux_crash_file){.why = UX_ERROR_INIT};
	char *name =
		strndup(f->module.size > 0 ? (const char *)f->module.data : "", f->module.size);
	if (!name)
		return ux_error_nomem(err);
	m->name = ux_bytes(name, strlen(name));
	UX_TRY(crash_search_any(&s, f, release));
	if (m->symbols && m->id.size == 0 &&
	    ux_id_parse(ux_bytes_cstr(m->symbols->id), &m->id, NULL) != UX_OK)
		m->id = (struct ux_id){0};
	if (m->symbols)
		m->why = (struct ux_error)UX_ERROR_INIT;
	return UX_OK;
}

/* --- pcs -------------------------------------------------------------------------------------- */

/* The lowest virtual address of the file, at the start of its page. */
static uint64_t crash_file_low(const struct ux_crash_file *m)
{
	uint64_t low = UINT64_MAX;
	for (size_t i = 0; m->symbols && i < m->symbols->n_loads; i++)
		low = ux_min(low, m->symbols->loads[i].pc);
	return low == UINT64_MAX ? 0 : low & ~(uint64_t)(PAGE - 1);
}

/* Opens the ELF file, if it can be. */
static const struct ux_elf *crash_file_elf(struct ux_crash_file *m)
{
	if (!m->elf_read) {
		m->elf_read = true;
		if (m->path && ux_dsym_map(m->path, UX_BYTES_NONE, &m->mapping, NULL) == UX_OK &&
		    ux_elf_open(&m->elf, m->mapping.bytes, NULL) != UX_OK)
			ux_file_unmap(&m->mapping);
	}
	return m->mapping.bytes.data ? &m->elf : NULL;
}

static void crash_starts_add(struct ux_crash_starts *s, uint64_t pc)
{
	size_t at = 0;
	while (at < s->n && s->pcs[at] < pc)
		at++;
	if (at < s->n && s->pcs[at] == pc)
		return;
	if (s->n == UX_CRASH_STARTS_MAX) {
		s->more = true;
		return;
	}
	memmove(&s->pcs[at + 1], &s->pcs[at], (s->n - at) * sizeof(*s->pcs));
	s->pcs[at] = pc;
	s->n++;
}

/* A symbol's name without its version. */
static bool crash_symbol_is(const char *symbol, struct ux_bytes name)
{
	return strncmp(symbol, (const char *)name.data, name.size) == 0 &&
	       (symbol[name.size] == 0 || symbol[name.size] == '@');
}

/* Whether a size that the kernel prints, which goes up to the next symbol, may be of this one. */
static bool crash_size_fits(uint64_t printed, uint64_t size, uint64_t padding)
{
	return printed == 0 || size == 0 || (size <= printed && printed - size < padding);
}

/* Adds the symbols of a table with that name. */
static void crash_starts_read(struct ux_crash_starts *s, const struct ux_elf *elf,
			      const char *section, const struct ux_crash_frame *f, uint64_t padding)
{
	const struct ux_elf_section *table = ux_elf_section_find(elf, section);
	struct ux_elf_symbols it;
	if (!table || ux_elf_symbols_open(elf, table, &it, NULL) != UX_OK)
		return;
	for (const struct ux_elf_symbol *e; (e = ux_elf_symbols_next(&it));)
		if (crash_symbol_is(e->name, f->symbol) && ux_elf_symbol_is_code(elf, e) &&
		    crash_size_fits(f->symbol_size, e->size, padding))
			crash_starts_add(s, ux_elf_symbol_pc(elf, e) - elf->bias);
}

/* Reads the names of all functions, those of its debug file, too. */
static enum ux_code crash_file_read_names(struct ux_crash_file *m,
					  const struct ux_crash_sources *sources,
					  struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_error why = UX_ERROR_INIT;
	struct ux_profile_sources here = *sources->profile;
	here.no_local = false;
	enum ux_code code = ux_profile_file_find(&here, m->path, &m->id, UX_SYMBOLS_ALL, &path,
						 &m->whole, &why);
	if (code == UX_OK && ux_file_symbols_is_empty(m->whole)) {
		ux_file_symbols_drop(m->whole);
		m->whole = NULL;
	}
	if (code == UX_OK && m->whole)
		code = ux_gsym_names_build(&m->gsym_names, &m->whole->gsym, NULL, &why);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

/* *ret_why is the reason when there are none. */
static enum ux_code crash_file_starts(struct ux_crash_file *m, const struct ux_crash_frame *f,
				      const struct ux_crash_sources *sources,
				      struct ux_crash_starts *ret, struct ux_error *ret_why,
				      struct ux_error *err)
{
	const struct ux_elf *elf = crash_file_elf(m);
	*ret = (struct ux_crash_starts){0};
	if (elf) {
		crash_starts_read(ret, elf, ".symtab", f, SIZE_ALIGNMENT);
		if (ret->n == 0)
			crash_starts_read(ret, elf, ".symtab", f, SIZE_PADDING);
		if (ret->n == 0)
			crash_starts_read(ret, elf, ".dynsym", f, SIZE_PADDING);
	}
	if (ret->n > 0 || !m->path)
		return UX_OK;
	if (!m->names_read) {
		m->names_read = true;
		UX_TRY(crash_file_read_names(m, sources, err));
	}
	if (!m->whole)
		return UX_OK;
	struct ux_gsym_starts starts;
	enum ux_code code = ux_gsym_names_search(&m->gsym_names, &m->whole->gsym, f->symbol,
						 f->symbol_size, &starts, ret_why);
	for (size_t i = 0; code == UX_OK && i < starts.n; i++)
		crash_starts_add(ret, starts.list[i]);
	ret->more |= starts.more;
	return UX_OK;
}

/* Keeps the starts that an address of the process allows: modules are moved by whole pages. */
static void crash_starts_filter(struct ux_crash_starts *s, const struct ux_crash_frame *f)
{
	size_t n = 0;
	for (size_t i = 0; f->has_address && i < s->n; i++)
		if ((s->pcs[i] + f->symbol_offset) % PAGE == f->address % PAGE)
			s->pcs[n++] = s->pcs[i];
	if (n > 0)
		s->n = n;
}

static enum ux_code crash_file_symbol_pc(struct ux_crash_file *m, const struct ux_crash_frame *f,
					 const struct ux_crash_sources *sources, uint64_t *ret,
					 struct ux_error *err)
{
	struct ux_crash_starts s;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(crash_file_starts(m, f, sources, &s, &why, err));
	if (s.n > 1)
		crash_starts_filter(&s, f);
	if (s.n == 0 && why.code == UX_ECONFLICT)
		return ux_error_set(err, UX_ENOTFOUND, "%.60s: %.90s", m->path, why.text);
	if (s.n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "%.60s has no function %.80s",
				    m->path ? m->path : "it",
				    (const char *)f->symbol.data ? "of that name" : "");
	if (s.n > 1 || s.more)
		return ux_error_set(
			err, UX_ENOTFOUND,
			"%zu%s functions have that name, at 0x%" PRIx64 ", 0x%" PRIx64 "%s", s.n,
			s.more ? " or more" : "", s.pcs[0], s.pcs[1], s.n > 2 ? ", ..." : "");
	*ret = s.pcs[0] + f->symbol_offset;
	return UX_OK;
}

/* Converts a position in a file that is not here by the segments that the server has. */
static bool crash_file_server_pc(struct ux_crash_file *m, uint64_t position,
				 const struct ux_crash_sources *sources, uint64_t *ret)
{
	const struct ux_profile_sources *from = sources->profile;
	if (!m->segments_read && from->server_segments && m->id.size > 0 &&
	    from->server_segments(from->server_ctx, &m->id, &m->segments, NULL) != UX_OK)
		m->segments.n = 0;
	m->segments_read = true;
	return ux_gsym_segments_pc(&m->segments, position, ret);
}

enum ux_code ux_crash_file_pc(struct ux_crash_file *m, const struct ux_crash_frame *f,
			      const struct ux_crash_sources *sources, uint64_t *ret,
			      struct ux_error *err)
{
	uint64_t low = crash_file_low(m);
	if (f->origin == UX_CRASH_PC || f->origin == UX_CRASH_UNSAID) {
		*ret = f->offset;
		return UX_OK;
	}
	if (f->has_position && m->symbols && ux_file_symbols_pc(m->symbols, f->position, ret))
		return UX_OK;
	if (f->has_position && !m->symbols && crash_file_server_pc(m, f->position, sources, ret))
		return UX_OK;
	if (f->has_address && low >= LOW_MAX && ux_file_symbols_has_code(m->symbols, f->address)) {
		*ret = f->address; /* the program is not moved */
		return UX_OK;
	}
	if (f->origin == UX_CRASH_START) {
		*ret = low + f->offset;
		return UX_OK;
	}
	if (f->has_symbol_offset && f->symbol.size > 0 && m->symbols)
		return crash_file_symbol_pc(m, f, sources, ret, err);
	if (m->why.code != UX_OK)
		return ux_error_set(err, UX_ENOTFOUND, "%s", m->why.text);
	if (!m->symbols)
		return ux_error_set(err, UX_ENOTFOUND, "its file was not found");
	return ux_error_set(err, UX_ENOTFOUND,
			    "the text lacks the load address of %.80s; add /proc/PID/maps",
			    m->path);
}

bool ux_crash_file_is_signal_return(struct ux_crash_file *m, uint64_t pc)
{
	/* Source: glibc, sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c; Linux,
	 * arch/arm64/kernel/vdso/sigreturn.S. Unwinders recognize the same bytes. */
	static const uint8_t x86_64[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t aarch64[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	const struct ux_elf *elf = crash_file_elf(m);
	if (!elf)
		return false;
	struct ux_bytes code = ux_elf_bytes_at(elf, pc);
	return (elf->machine == EM_X86_64 &&
		ux_bytes_starts(code, ux_bytes(x86_64, sizeof(x86_64)))) ||
	       (elf->machine == EM_AARCH64 &&
		ux_bytes_starts(code, ux_bytes(aarch64, sizeof(aarch64))));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A pasted crash report: its frames, the builds of its modules, and their names. */
#include "paste.h"

#include "text.h"

enum {
	/* files of the same name that are checked for belonging to one module */
	SAME_NAME_MAX = 64,
	PAGE_BYTES = 4096,      /* modules begin at a page */
	LOW_MAX = 0x10000,      /* files that begin below it are position-independent */
	NAMES_BUDGET = 4 << 20, /* functions whose names are read for one text */
	/* Bytes between functions, which the kernel counts as the first one's: what its alignment
	 * takes, and what is in front of functions for patches and checks. */
	SIZE_ALIGNMENT = 16,
	SIZE_PADDING = 64,
};

const char *ux_paste_how_name(enum ux_paste_how how)
{
	static const char *const names[] = {
		[UX_PASTE_NOT_CHOSEN] = "not chosen",
		[UX_PASTE_BY_ID] = "by the ID in the text",
		[UX_PASTE_BY_PATH] = "by its path, which only one build has",
		[UX_PASTE_BY_NAME] = "by its name, which only one build has",
		[UX_PASTE_BY_USER] = "selected",
		[UX_PASTE_BY_FORM] = "by the form",
	};
	return (unsigned)how < ux_countof(names) ? names[how] : "unknown";
}

void ux_paste_deinit(struct ux_paste *p)
{
	for (size_t i = 0; i < p->modules.size; i++) {
		ux_open_module_unref(p->modules.data[i]->module);
		ux_requested_pcs_deinit(&p->modules.data[i]->pcs);
	}
	ux_paste_modules_deinit(&p->modules);
	ux_paste_lines_deinit(&p->lines);
	ux_crash_report_deinit(&p->report);
}

/* --- builds ----------------------------------------------------------------------------------- */

static int paste_build_newer(const void *x, const void *y)
{
	const struct ux_paste_build *a = x, *b = y;
	if (a->created != b->created)
		return a->created < b->created ? 1 : -1;
	return (b->number > a->number) - (b->number < a->number);
}

/* Reads the builds of hits, each once. */
static enum ux_code paste_read_builds(struct ux_paste *p, struct ux_paste_module *k,
				      const struct ux_hits *hits)
{
	struct ux_request *req = p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_paste_build *all =
		ux_arena_array(&req->arena, struct ux_paste_build, hits->n + 1);
	int64_t *seen = ux_arena_array(&req->arena, int64_t, hits->n + 1);
	size_t n = 0;
	if (!all || !seen)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0; i < hits->n; i++) {
		struct ux_module m;
		size_t j = 0;
		while (j < n && seen[j] != hits->hits[i].module)
			j++;
		if (j < n)
			continue;
		enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, hits->hits[i].id,
						     &req->arena, &m, NULL);
		if (code == UX_ENOMEM)
			return ux_error_nomem(&req->err);
		if (code != UX_OK || m.n_ids == 0)
			continue;
		seen[n] = hits->hits[i].module;
		all[n++] = (struct ux_paste_build){hits->hits[i].module, m.ids[0],
						   hits->hits[i].file_name, m.created};
	}
	if (n > 1)
		qsort(all, n, sizeof(*all), paste_build_newer);
	k->n_builds = ux_min(n, (size_t)UX_PASTE_BUILDS_MAX);
	k->more_builds = hits->more || n > k->n_builds;
	memcpy(k->builds, all, k->n_builds * sizeof(*all));
	return UX_OK;
}

/* Searches builds by the name of a file. If there is exactly one, it is chosen. */
static enum ux_code paste_search(struct ux_paste *p, struct ux_paste_module *k, const char *name,
				 enum ux_search_by by, enum ux_paste_how how)
{
	struct ux_request *req = p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_hits hits;
	UX_TRY(ux_request_work_charge(&p->work, UX_WORK_SEARCH, &req->err));
	const struct ux_search what = {.by = by, .text = name, .limit = SAME_NAME_MAX};
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, &req->err));
	UX_TRY(paste_read_builds(p, k, &hits));
	if (k->n_builds == 1 && !k->more_builds) {
		k->id = k->builds[0].id;
		k->how = how;
	} else if (k->n_builds > 0) {
		k->why_not = "several builds have that name";
	}
	return UX_OK;
}

/* Formats a name in the arena; NULL when memory is short. */
__attribute__((format(printf, 2, 3))) static const char *paste_name(struct ux_paste *p,
								    const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	n = ux_min(ux_max(n, 0), (int)sizeof(text) - 1);
	return ux_arena_strndup(&p->req->arena, text, (size_t)n);
}

/* The kernel and its modules have their release in their paths. */
static enum ux_code paste_search_kernel(struct ux_paste *p, struct ux_paste_module *k)
{
	bool is_kernel = ux_bytes_eq(k->name, UX_STR("vmlinux"));
	int size = (int)ux_min(p->report.release.size, (size_t)200);
	const char *release = (const char *)p->report.release.data;
	const char *names[3] = {NULL};
	size_t n = 0;
	enum ux_search_by by[3] = {UX_SEARCH_FILE, UX_SEARCH_FILE, UX_SEARCH_FILE};
	if (is_kernel && size > 0) {
		names[n++] = paste_name(p, "vmlinux-%.*s", size, release);
		by[n] = UX_SEARCH_GLOB;
		names[n++] = paste_name(p, "*/%.*s/vmlinux", size, release);
	}
	if (is_kernel)
		names[n++] = "vmlinux";
	for (size_t i = 0; !is_kernel && i < 2; i++) {
		char *name = ux_arena_strndup(&p->req->arena, k->name.data, k->name.size);
		for (char *c = name; c && *c; c++)
			if (*c == '_' || *c == '-')
				*c = i == 0 ? '_' : '-';
		if (!name)
			return ux_arena_fail(&p->req->arena, &p->req->err);
		names[n++] = paste_name(p, "%s.ko", name);
		if (!strpbrk(name, "_-"))
			break;
	}
	for (size_t i = 0; i < n && k->n_builds == 0; i++) {
		if (!names[i])
			return ux_arena_fail(&p->req->arena, &p->req->err);
		UX_TRY(paste_search(p, k, names[i], by[i], UX_PASTE_BY_NAME));
	}
	return UX_OK;
}

static enum ux_code paste_search_file(struct ux_paste *p, struct ux_paste_module *k)
{
	struct ux_bytes base = ux_crash_base_name(k->name);
	const char *path = ux_arena_strndup(&p->req->arena, k->name.data, k->name.size);
	const char *name = ux_arena_strndup(&p->req->arena, base.data, base.size);
	if (!path || !name)
		return ux_arena_fail(&p->req->arena, &p->req->err);
	if (path[0] == '/')
		UX_TRY(paste_search(p, k, path, UX_SEARCH_FILE, UX_PASTE_BY_PATH));
	if (k->n_builds == 0 && base.size > 0)
		UX_TRY(paste_search(p, k, name, UX_SEARCH_FILE, UX_PASTE_BY_NAME));
	return UX_OK;
}

/* The build that was selected for a name; "" when there is none. */
static struct ux_bytes paste_choice(const struct ux_paste *p, struct ux_bytes name)
{
	for (size_t i = 0; i < p->n_choices; i++) {
		struct ux_bytes c = p->choices[i];
		const uint8_t *blank = ux_bytes_find_last(c, ' ');
		size_t n = blank ? (size_t)(blank - c.data) : 0;
		if (blank && ux_bytes_eq(ux_bytes(c.data, n), name))
			return ux_bytes(blank + 1, c.size - n - 1);
	}
	return UX_BYTES_NONE;
}

static enum ux_code paste_choose(struct ux_paste *p, struct ux_paste_module *k, bool is_kernel)
{
	struct ux_request *req = p->req;
	struct ux_bytes choice = k->name.size > 0 ? paste_choice(p, k->name) : UX_BYTES_NONE;
	if (k->as_id.size > 0) {
		k->how = UX_PASTE_BY_ID;
		return ux_module_id_parse(k->as_id, &req->arena, &k->id, &req->err);
	}
	if (choice.size > 0) {
		k->how = UX_PASTE_BY_USER;
		return ux_module_id_parse(choice, &req->arena, &k->id, &req->err);
	}
	if (k->name.size > 0 && k->name.data[0] != '[')
		UX_TRY(is_kernel ? paste_search_kernel(p, k) : paste_search_file(p, k));
	if (!k->id && k->n_builds == 0 && p->form_id.size > 0) {
		k->how = UX_PASTE_BY_FORM;
		return ux_module_id_parse(p->form_id, &req->arena, &k->id, &req->err);
	}
	if (!k->id && !k->why_not)
		k->why_not = k->name.size == 0 ? "the text does not name the module"
					       : "no module has a file of that name";
	return UX_OK;
}

static const char *paste_why_closed(enum ux_code code)
{
	if (code == UX_EUNAVAILABLE)
		return "its symbols are being extracted: retry in a few seconds";
	return code == UX_ENOTFOUND ? "this server has no symbols of it"
				    : "its uploaded file cannot be read";
}

static enum ux_code paste_open(struct ux_paste *p, struct ux_paste_module *k)
{
	struct ux_request *req = p->req;
	struct ux_error why = UX_ERROR_INIT;
	if (!k->id)
		return UX_OK;
	UX_TRY(ux_request_work_charge(&p->work, UX_WORK_MODULE, &req->err));
	uint32_t retry_s = 0;
	enum ux_code code = ux_server_module_open(ux_server_of(req), ux_caller_of(req)->ns, k->id,
						  /* wait_ms= */ 0, &k->module, &retry_s, &why);
	if (code == UX_ENOMEM) {
		req->err = why;
		return code;
	}
	if (code != UX_OK)
		k->why_not = paste_why_closed(code);
	return UX_OK;
}

/* Finds or adds the module of a frame; *ret is NULL when there are too many. */
static enum ux_code paste_module(struct ux_paste *p, const struct ux_crash_frame *f,
				 struct ux_paste_module **ret)
{
	struct ux_request *req = p->req;
	*ret = NULL;
	for (size_t i = 0; i < p->modules.size && !*ret; i++) {
		struct ux_paste_module *k = p->modules.data[i];
		if (ux_bytes_eq(k->name, f->module) && ux_bytes_eq(k->as_id, f->id))
			*ret = k;
	}
	if (*ret || p->modules.size == UX_PASTE_MODULES_MAX)
		return UX_OK;
	struct ux_paste_module *k = ux_arena_new(&req->arena, struct ux_paste_module);
	if (!k)
		return ux_arena_fail(&req->arena, &req->err);
	*k = (struct ux_paste_module){.name = f->module, .as_id = f->id};
	if (!ux_paste_modules_append(&p->modules, k))
		return ux_error_nomem(&req->err);
	*ret = k;
	UX_TRY(paste_choose(p, k, f->form == UX_CRASH_KERNEL));
	return paste_open(p, k);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Sets the first address of the module's file, at the start of its page. False: it is not known. */
static bool paste_low(const struct ux_paste_module *k, uint64_t *ret)
{
	bool known = ux_open_module_image_start(k->module, ret, NULL) == UX_OK;
	*ret &= ~(uint64_t)(PAGE_BYTES - 1);
	return known;
}

/* The size that the kernel prints goes up to the next symbol; that of the last function up to the
 * end of its page. */
static bool paste_size_fits(const struct ux_paste_module *k, const struct ux_crash_frame *f,
			    uint64_t start, uint64_t padding)
{
	uint64_t begin = 0, size = 0;
	if (f->symbol_size == 0 ||
	    ux_open_module_extent(k->module, start, &begin, &size, NULL) != UX_OK || size == 0)
		return true;
	if (begin != start) /* of a symbol inside of a function only the end is known */
		return f->symbol_size < begin + size - start + padding;
	return size <= f->symbol_size && f->symbol_size - size < padding;
}

/* Whether a start may be the frame's: modules are moved by whole pages. */
static bool paste_start_fits(const struct ux_paste_module *k, const struct ux_crash_frame *f,
			     uint64_t start, uint64_t padding)
{
	return !(f->has_address &&
		 (start + f->symbol_offset) % PAGE_BYTES != f->address % PAGE_BYTES) &&
	       paste_size_fits(k, f, start, padding);
}

static enum ux_code paste_symbol_pc(struct ux_paste *p, struct ux_paste_frame *f)
{
	uint64_t starts[UX_PASTE_STARTS_MAX], fitting = 0;
	size_t n = 0, n_fit = 0;
	bool more = false;
	enum ux_code code = ux_open_module_complete(f->module->module, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(&p->req->err);
	if (code != UX_OK) {
		f->why_not = paste_why_closed(code);
		return UX_OK;
	}
	code = ux_open_module_find_all(f->module->module, f->text.symbol, &p->name_budget, &p->work,
				       starts, UX_PASTE_STARTS_MAX, &n, &more, &p->req->err);
	if (code == UX_EUNAVAILABLE)
		return ux_request_work_code(&p->work, &p->req->err);
	if (code == UX_ENOTFOUND) {
		f->why_not = "its symbols have no function of that name";
		return UX_OK;
	}
	UX_TRY(code);
	for (uint64_t padding = SIZE_ALIGNMENT; n_fit == 0 && padding <= SIZE_PADDING;
	     padding += SIZE_PADDING - SIZE_ALIGNMENT)
		for (size_t i = 0; i < n; i++)
			if (paste_start_fits(f->module, &f->text, starts[i], padding)) {
				fitting = starts[i];
				n_fit++;
			}
	if (n == 1 && !more && paste_size_fits(f->module, &f->text, starts[0], PAGE_BYTES)) {
		fitting = starts[0];
	} else if (n == 1 && !more) {
		f->why_not = "the function of that name has another size: it is another build";
		return UX_OK;
	} else if (n_fit != 1 || more) {
		f->why_not = paste_name(
			p, "%zu%s functions have that name, at 0x%" PRIx64 " and 0x%" PRIx64 "%s",
			n, more ? " or more" : "", starts[0], starts[1],
			n > 2 || more ? " and elsewhere" : "");
		return f->why_not ? UX_OK : ux_arena_fail(&p->req->arena, &p->req->err);
	}
	f->pc = fitting + f->text.symbol_offset;
	f->has_pc = true;
	return UX_OK;
}

/* Sets the pc of a frame whose module is open, or the reason why there is none. */
static enum ux_code paste_pc(struct ux_paste *p, struct ux_paste_frame *f)
{
	const struct ux_crash_frame *t = &f->text;
	if (!f->module) {
		f->why_not = "the text has too many modules";
		return UX_OK;
	}
	f->has_pc = t->origin == UX_CRASH_PC || t->origin == UX_CRASH_UNSAID;
	f->pc = t->offset;
	if (f->has_pc || !f->module->module)
		return UX_OK;
	uint64_t low = 0;
	bool known = paste_low(f->module, &low);
	f->has_pc = true;
	if (t->has_position) {
		enum ux_code code = ux_open_module_file_pc(f->module->module, t->position, &f->pc,
							   &p->req->err);
		if (code != UX_ENOTFOUND)
			return code;
	}
	f->pc = t->address;
	if (t->has_address && known && low >= LOW_MAX && t->address >= low &&
	    (t->origin != UX_CRASH_START || t->form == UX_CRASH_VALGRIND))
		return UX_OK; /* the program is not moved */
	if (t->origin == UX_CRASH_START && known) {
		f->pc = low + t->offset;
		return UX_OK;
	}
	f->has_pc = false;
	if (t->has_symbol_offset && t->symbol.size > 0)
		return paste_symbol_pc(p, f);
	if (t->origin == UX_CRASH_START && !known) {
		f->why_not = "its symbols do not record where the file's image begins";
		return UX_OK;
	}
	f->why_not =
		t->has_position
			? "file offset, but its symbols have no segments: push it again, or run "
			  "unhex symbolize where the file is"
			: "the text lacks the module's load address: paste /proc/PID/maps below it";
	return UX_OK;
}

static enum ux_code paste_add_frame(struct ux_paste *p, struct ux_crash_frame *t,
				    struct ux_paste_frame *f)
{
	ux_crash_report_settle(&p->report, t);
	*f = (struct ux_paste_frame){.text = *t, .returns = t->returns};
	if (t->form == UX_CRASH_PLAIN)
		f->returns = p->returns;
	if (++p->n_frames > UX_PASTE_FRAMES_MAX)
		return ux_error_set(&p->req->err, UX_ELIMIT, "the text has more than %d frames",
				    UX_PASTE_FRAMES_MAX);
	UX_TRY(paste_module(p, t, &f->module));
	UX_TRY(paste_pc(p, f));
	if (f->module)
		f->module->n_frames++;
	/* Both addresses: which one is looked up depends on the name of the frame before. */
	if (f->has_pc && f->module->module &&
	    (!ux_requested_pcs_append(&f->module->pcs, ux_paste_lookup_pc(f)) ||
	     !ux_requested_pcs_append(&f->module->pcs, f->pc)))
		return ux_error_nomem(&p->req->err);
	return UX_OK;
}

static enum ux_code paste_add_line(struct ux_paste *p, struct ux_bytes whole,
				   struct ux_crash_line *line, struct ux_bytes current)
{
	struct ux_request *req = p->req;
	while (whole.size > 0 &&
	       (whole.data[whole.size - 1] == '\n' || whole.data[whole.size - 1] == '\r'))
		whole.size--;
	struct ux_paste_line made = {.text = whole, .n = line->n, .more = line->more};
	if (p->lines.size == UX_PASTE_LINES_MAX)
		return ux_error_set(&req->err, UX_ELIMIT, "the text has more than %d lines",
				    UX_PASTE_LINES_MAX);
	UX_TRY(ux_request_work_charge(&p->work, whole.size + 1, &req->err));
	if (line->n > 0) {
		made.frames = ux_arena_array(&req->arena, struct ux_paste_frame, line->n);
		if (!made.frames)
			return ux_arena_fail(&req->arena, &req->err);
	}
	for (size_t i = 0; i < line->n; i++) {
		struct ux_crash_frame *t = &line->frames[i];
		if (t->form == UX_CRASH_PLAIN && t->module.size == 0 && t->id.size == 0)
			t->id = current;
		UX_TRY(paste_add_frame(p, t, &made.frames[i]));
	}
	return ux_paste_lines_append(&p->lines, made) ? UX_OK : ux_error_nomem(&req->err);
}

/*
 * Brings what all addresses of a module need, and resolves them in one batch, which puts them into
 * its frame cache. Without what they need it counts as closed.
 */
static enum ux_code paste_resolve(struct ux_paste *p, struct ux_paste_module *k)
{
	enum ux_code code =
		ux_open_module_bring(k->module, k->pcs.data, k->pcs.size, /* back= */ 0, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(&p->req->err);
	if (code != UX_OK) {
		ux_open_module_unref(ux_take(&k->module));
		k->why_not = paste_why_closed(code);
		return UX_OK;
	}
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = k->module, .mode = UX_DEMANGLE_FULL, .work = &p->work, .brought = true};
	uint32_t *frames = ux_arena_array(&p->req->arena, uint32_t, k->pcs.size + 1);
	if (!frames)
		return ux_arena_fail(&p->req->arena, &p->req->err);
	for (size_t i = 0, done = 0; i < k->pcs.size; i += done)
		UX_TRY(ux_resolve(&r, k->pcs.data + i, k->pcs.size - i, frames, &done,
				  &p->req->err));
	return UX_OK;
}

/* Whether the code at the address of a frame itself is what signal handlers return to. */
static enum ux_code paste_is_signal(struct ux_paste *p, const struct ux_paste_frame *f, bool *ret)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = f->module ? f->module->module : NULL,
		.mode = UX_DEMANGLE_FULL,
		.work = &p->work};
	uint32_t frame = 0;
	size_t done = 0;
	*ret = ux_crash_is_signal_return(f->text.symbol);
	if (*ret || !f->has_pc || !r.module)
		return UX_OK;
	UX_TRY(ux_resolve(&r, &f->pc, 1, &frame, &done, &p->req->err));
	for (uint32_t up = frame; up != 0; up = ux_cached_frame(r.cache, up)->up)
		frame = up;
	*ret = frame != 0 &&
	       ux_crash_is_signal_return(ux_frame_cache_text(r.cache, frame).function);
	return UX_OK;
}

/* A frame behind the return of a signal handler was interrupted, not called. */
static enum ux_code paste_correct_signals(struct ux_paste *p)
{
	bool behind = false;
	for (size_t i = 0; i < p->lines.size; i++) {
		struct ux_paste_line *l = &p->lines.data[i];
		behind = behind && l->n > 0;
		for (size_t j = 0; j < l->n; j++) {
			bool is_signal = false;
			if (behind)
				l->frames[j].returns = false;
			UX_TRY(paste_is_signal(p, &l->frames[j], &is_signal));
			if (is_signal)
				l->frames[j].returns = false;
			behind = is_signal;
		}
	}
	return UX_OK;
}

enum ux_code ux_paste_read(struct ux_paste *p, struct ux_bytes text)
{
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes whole, current = UX_BYTES_NONE;
	p->name_budget = NAMES_BUDGET;
	UX_TRY(ux_crash_report_read(&p->report, text, &p->req->err));
	while (ux_crash_next(&r, &text, &whole, &line)) {
		if (line.fact == UX_CRASH_CURRENT)
			current = line.id;
		UX_TRY(paste_add_line(p, whole, &line, current));
	}
	for (size_t i = 0; i < p->modules.size; i++)
		if (p->modules.data[i]->module && p->modules.data[i]->pcs.size > 0)
			UX_TRY(paste_resolve(p, p->modules.data[i]));
	return paste_correct_signals(p);
}

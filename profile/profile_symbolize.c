/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of a profile. */
#include "profile_symbolize.h"

#include "address_filter.h"
#include "file.h"
#include "jit.h"
#include "jit_files.h"
#include "kernel_copy.h"
#include "order.h"
#include "out.h"
#include "packed_file.h"
#include "process.h"
#include "profile_file.h"
#include "profile_kernel.h"

/* A directory and the name of a file in it, as frames have them: pointers into a GSYM. */
struct symbolize_text_key {
	const char *dir;
	const char *base;
};

ux_inline uint64_t symbolize_text_hash(struct symbolize_text_key k)
{
	return ux_hash_mix(ux_hash_u64((uintptr_t)k.dir), (uintptr_t)k.base | 1);
}

ux_inline bool symbolize_text_eq(struct symbolize_text_key a, struct symbolize_text_key b)
{
	return a.dir == b.dir && a.base == b.base;
}

UX_MAP(symbolize_texts, struct symbolize_text_key, uint32_t, symbolize_text_hash,
       symbolize_text_eq);

/* Locations of one module that have no frames, and their addresses. */
struct symbolize_batch {
	struct ux_profile *profile;
	const uint32_t *locations; /* numbers */
	uint64_t *pcs;             /* of each; only of the first n_pcs that have one */
	uint32_t *owners;          /* location of each pc */
	size_t n;
	size_t n_pcs;
	/* Numbers in the profile of texts, by pointer. Cleared with each module, whose texts are
	 * freed with its symbols. */
	struct symbolize_texts texts;
	bool passing; /* texts are gone after the call in which they are received */
	/* The frames that were received last, of the same texts, and a location that has them. */
	struct ux_frame last[UX_FRAMES_MOST];
	struct ux_profile_frame made[UX_FRAMES_MOST]; /* what was made of each */
	size_t n_last;
	uint32_t last_location;
	struct ux_out path;
	bool has_starts;   /* frames of files have the distance from the start of their function */
	enum ux_code code; /* the first failure while frames were added */
	struct ux_error *err;
};

/* The number of a function's name, or of a file's path, in the profile. */
static enum ux_code symbolize_text(struct symbolize_batch *b, const char *dir, const char *base,
				   uint32_t *ret)
{
	bool fresh = true;
	uint32_t *number = ret;
	if (!b->passing)
		number = symbolize_texts_insert(&b->texts, (struct symbolize_text_key){dir, base},
						&fresh);
	if (!number)
		return ux_error_nomem(b->err);
	if (fresh) {
		ux_out_reset(&b->path);
		if (dir && *dir) {
			ux_out_cstr(&b->path, dir);
			if (dir[strlen(dir) - 1] != '/')
				ux_out_u8(&b->path, '/');
		}
		ux_out_cstr(&b->path, base);
		UX_TRY(ux_out_status(&b->path, b->err));
		UX_TRY(ux_profile_string(b->profile, ux_out_bytes(&b->path), number, b->err));
	}
	*ret = *number;
	return UX_OK;
}

/* Forgets texts, which are freed. */
static void symbolize_forget_texts(struct symbolize_batch *b)
{
	symbolize_texts_deinit(&b->texts);
	b->n_last = 0;
}

/* Whether frames are those that were received last. Addresses come in ascending order, so that
 * half of them, or more, are of the same line. */
static bool symbolize_is_last(const struct symbolize_batch *b, const struct ux_frame *frames,
			      size_t n)
{
	if (n == 0 || n != b->n_last)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct ux_frame *x = &frames[i], *y = &b->last[i];
		if (x->line != y->line || x->function != y->function || x->base != y->base ||
		    x->dir != y->dir || x->inlined != y->inlined)
			return false;
	}
	return true;
}

/* Gives a location frames that a reader of symbols has found. */
static enum ux_code symbolize_name(struct symbolize_batch *b, uint32_t location,
				   const struct ux_frame *frames, size_t n)
{
	struct ux_profile_frame to[UX_FRAMES_MOST];
	n = ux_min(n, (size_t)UX_FRAMES_MOST);
	if (symbolize_is_last(b, frames, n)) {
		ux_profile_name_as(b->profile, location, b->last_location);
		return UX_OK;
	}
	const size_t n_last = b->passing ? 0 : b->n_last;
	for (size_t i = 0; i < n; i++) {
		/* Mostly the function in which the others are inlined is that of the last frames.
		 */
		const bool known = n - i <= n_last;
		const size_t same = known ? n_last - (n - i) : 0;
		to[i] = (struct ux_profile_frame){.line = frames[i].line,
						  .inlined = frames[i].inlined};
		if (known && frames[i].function == b->last[same].function)
			to[i].linkage = b->made[same].linkage;
		else
			UX_TRY(symbolize_text(b, NULL, frames[i].function, &to[i].linkage));
		if (known && frames[i].base == b->last[same].base &&
		    frames[i].dir == b->last[same].dir)
			to[i].file = b->made[same].file;
		else if (*frames[i].base)
			UX_TRY(symbolize_text(b, frames[i].dir, frames[i].base, &to[i].file));
	}
	memcpy(b->last, frames, n * sizeof(*frames));
	memcpy(b->made, to, n * sizeof(*to));
	b->n_last = b->passing ? 0 : n;
	b->last_location = location;
	return ux_profile_name(b->profile, location, to, n, b->err);
}

/* Receives the frames of pc number `index`. Bounds of a function without a name are no name. */
static bool symbolize_take(void *ctx, size_t index, const struct ux_frame *frames, size_t n)
{
	enum {
		AHEAD = 16 /* answers; addresses are sorted, and their locations are anywhere */
	};
	struct symbolize_batch *b = ctx;
	if (b->n_pcs - index > AHEAD)
		__builtin_prefetch(&b->profile->locations.data[b->owners[index + AHEAD]],
				   /* rw= */ 1);
	if (n == 0 || strcmp(frames[n - 1].function, UX_NO_NAME) == 0)
		return true;
	b->code = symbolize_name(b, b->owners[index], frames, n);
	if (b->code == UX_OK && b->has_starts)
		b->code = ux_profile_keep_start(b->profile, b->owners[index],
						b->pcs[index] - frames[n - 1].offset, b->err);
	return b->code == UX_OK;
}

static enum ux_code symbolize_reason(struct symbolize_batch *b, uint32_t module,
				     const struct ux_error *why)
{
	char text[UX_ERROR_TEXT + 256];
	ux_error_format(why, text, sizeof(text));
	return ux_profile_string(b->profile, ux_bytes_cstr(text),
				 &b->profile->modules.data[module].why, b->err);
}

static void symbolize_add_pc(struct symbolize_batch *b, uint32_t location, uint64_t pc)
{
	const struct ux_profile_location *l = &b->profile->locations.data[location];
	b->pcs[b->n_pcs] = pc - (l->returns && pc > 0);
	b->owners[b->n_pcs++] = location;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Turns other addresses into pcs, also for later readers of the profile, and returns how many
 * positions in the file could not be turned. */
static size_t symbolize_offsets(struct symbolize_batch *b, uint32_t module,
				const struct ux_file_symbols *s)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	size_t lost = 0;
	uint64_t base = s->n_loads > 0 ? UINT64_MAX : 0;
	for (size_t i = 0; i < s->n_loads; i++)
		base = ux_min(base, s->loads[i].pc);
	m->base = base;
	m->has_base = s->n_loads > 0;
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		uint64_t pc = 0;
		if (l->kind == UX_PROFILE_RELATIVE) {
			l->kind = UX_PROFILE_PC;
			l->address += base;
		} else if (l->kind == UX_PROFILE_OFFSET && ux_file_symbols_pc(s, l->address, &pc)) {
			l->kind = UX_PROFILE_PC;
			l->address = pc;
		}
		if (l->kind == UX_PROFILE_PC)
			symbolize_add_pc(b, b->locations[i], l->address);
		lost += l->kind == UX_PROFILE_OFFSET;
	}
	return lost;
}

/*
 * Sorts the pcs. They would be sorted for each use otherwise, and the locations to which the
 * answers belong could not be prefetched. Pcs that are too far apart are left as they are.
 */
static enum ux_code symbolize_sort(struct symbolize_batch *b)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	uint64_t low = UINT64_MAX, high = 0;
	if (b->n_pcs == 0)
		return UX_OK;
	for (size_t i = 0; i < b->n_pcs; i++) {
		low = ux_min(low, b->pcs[i]);
		high = ux_max(high, b->pcs[i]);
	}
	if (!ux_order_init(&order, b->n_pcs))
		return ux_error_nomem(b->err);
	if (high - low > ux_order_limit(&order))
		return UX_OK;
	for (size_t i = 0; i < b->n_pcs; i++)
		ux_order_add(&order, b->pcs[i] - low, i);
	if (!ux_order_sort(&order))
		return ux_error_nomem(b->err);
	uint32_t *owners = malloc(b->n_pcs * sizeof(*owners));
	if (!owners)
		return ux_error_nomem(b->err);
	memcpy(owners, b->owners, b->n_pcs * sizeof(*owners));
	for (size_t i = 0; i < b->n_pcs; i++) {
		b->pcs[i] = ux_order_address(&order, i) + low;
		b->owners[i] = owners[ux_order_place(&order, i)];
	}
	free(owners);
	return UX_OK;
}

/*
 * Extracts the symbols of the batch's addresses alone, which is quicker than all and takes less
 * memory: a recording has few addresses of a file. gsym_cache: all symbols are in the cache when
 * earlier commands have extracted parts of the file often enough.
 */
static enum ux_code symbolize_extract(struct symbolize_batch *b, const char *path,
				      const struct ux_profile_sources *sources, bool gsym_cache,
				      struct ux_file_symbols **ret, struct ux_error *err)
{
	const struct ux_symbol_search *search =
		ux_symbols_cache_search(ux_process_cache_symbols(sources->cache));
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_address_filter_deinit) struct ux_address_filter filter = {0};
	struct ux_symbol_input in = {.path = path, .only = &filter, .no_dwarf = sources->no_dwarf};
	UX_TRY(ux_file_map(path, &file, err));
	in.mapped = !ux_packed_is(file.bytes); /* what was unpacked is no file's */
	UX_TRY(ux_packed_open(&file, err));
	in.file = file.bytes;
	in.cacheable = gsym_cache ? &file : NULL;
	if (!ux_address_filter_init(&filter, b->pcs, b->n_pcs))
		return ux_error_nomem(err);
	UX_TRY(ux_file_symbols_create(file.bytes, ret, err));
	return ux_file_symbols_extract(*ret, &in, search, err);
}

/* Names the batch's addresses with the symbols of a file. UX_ECORRUPT: they were damaged symbols of
 * the cache, which are removed; the file itself has to be read. */
static enum ux_code symbolize_with(struct symbolize_batch *b, uint32_t module,
				   struct ux_file_symbols *s, const char *path)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	struct ux_error why = UX_ERROR_INIT;
	if (ux_file_symbols_is_empty(s) && s->why.code != UX_OK)
		return symbolize_reason(b, module, &s->why);
	UX_TRY(ux_profile_string(b->profile, ux_bytes_cstr(path), &m->source, b->err));
	struct ux_gsym_batch batch = {.pcs = b->pcs, .n = b->n_pcs, .fn = symbolize_take, .ctx = b};
	b->has_starts = b->profile->keep_starts;
	enum ux_code code =
		ux_file_symbols_is_empty(s) ? UX_OK : ux_gsym_batch(&s->gsym, &batch, &why);
	b->has_starts = false;
	if (b->code != UX_OK)
		return b->code;
	if (code == UX_ECORRUPT && ux_file_symbols_drop_cached(s)) {
		symbolize_forget_texts(b);
		return code;
	}
	if (code == UX_ECORRUPT)
		return symbolize_reason(b, module, &why);
	if (code != UX_OK)
		return ux_error_set(b->err, code, "%s", why.text);
	return s->lost.code != UX_OK ? symbolize_reason(b, module, &s->lost) : UX_OK;
}

/* Names the batch's addresses with what is extracted of a file, or was by an earlier command. */
static enum ux_code symbolize_by_path(struct symbolize_batch *b, uint32_t module, const char *path,
				      const struct ux_profile_sources *sources, bool gsym_cache)
{
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = symbolize_extract(b, path, sources, gsym_cache, &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	return code == UX_OK ? symbolize_with(b, module, s, path)
			     : symbolize_reason(b, module, &why);
}

static enum ux_code symbolize_file(struct symbolize_batch *b, uint32_t module,
				   const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *head = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ux_profile_module_find(sources, b->profile, m, UX_SYMBOLS_HEAD, &path, &head, &why);
	if (code == UX_ENOTFOUND)
		return symbolize_reason(b, module, &why);
	if (code != UX_OK)
		return ux_error_set(b->err, code, "%s", why.text);
	struct ux_id id;
	if (m->id.size == 0 && ux_id_parse(ux_bytes_cstr(head->id), &id, NULL) == UX_OK)
		m->id = id;
	if (symbolize_offsets(b, module, head) > 0 && !ux_file_symbols_has_content(head)) {
		(void)ux_error_set(&why, UX_ENOTFOUND,
				   "a position in the file needs the executable itself, not %s",
				   path);
		UX_TRY(symbolize_reason(b, module, &why));
	}
	UX_TRY(symbolize_sort(b));
	code = symbolize_by_path(b, module, path, sources, sources->gsym_cache);
	if (code == UX_ECORRUPT)
		code = symbolize_by_path(b, module, path, sources, /* gsym_cache= */ false);
	return code;
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* Names code of the vDSO by that of this machine, else by a file with its ID. */
static enum ux_code symbolize_vdso(struct symbolize_batch *b, uint32_t module,
				   const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	if (sources->no_local || !ux_profile_is_vdso(b->profile, m))
		return symbolize_file(b, module, sources);
	enum ux_code code = ux_profile_own_vdso(b->profile, module, sources, &s, &why);
	if (code == UX_OK) {
		(void)symbolize_offsets(b, module, s);
		return symbolize_with(b, module, s, "the vDSO of this machine");
	}
	if (code != UX_ENOTFOUND)
		return ux_error_set(b->err, code, "%s", why.text);
	UX_TRY(symbolize_file(b, module, sources));
	return m->source == 0 ? symbolize_reason(b, module, &why) : UX_OK;
}

/* --- a server --------------------------------------------------------------------------------- */

/* Adds to what is known of why locations of a module have no names. */
static enum ux_code symbolize_reason_add(struct symbolize_batch *b, uint32_t module,
					 const char *text)
{
	uint32_t *why = &b->profile->modules.data[module].why;
	ux_out_reset(&b->path);
	if (*why != 0) {
		struct ux_bytes known = ux_profile_text(b->profile, *why);
		ux_out_put(&b->path, known.data, known.size);
		ux_out_cstr(&b->path, "; ");
	}
	ux_out_cstr(&b->path, text);
	UX_TRY(ux_out_status(&b->path, b->err));
	return ux_profile_string(b->profile, ux_out_bytes(&b->path), why, b->err);
}

/* How many locations without names have an address of that kind. */
static size_t symbolize_left(const struct symbolize_batch *b, enum ux_profile_address_kind kind)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		n += l->n == 0 && l->kind == kind;
	}
	return n;
}

/* Turns positions in the file into pcs by the segments that its symbols have. */
static void symbolize_segments(struct symbolize_batch *b, const struct ux_gsym_segments *segments)
{
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		uint64_t pc = 0;
		if (l->n > 0 || l->kind != UX_PROFILE_OFFSET ||
		    !ux_gsym_segments_pc(segments, l->address, &pc))
			continue;
		l->kind = UX_PROFILE_PC;
		l->address = pc;
	}
}

/*
 * Turns positions in a file that is not here into pcs: by the segments that the server's symbols
 * have, else by those of the executable, if the server has that.
 */
static enum ux_code symbolize_server_positions(struct symbolize_batch *b, uint32_t module,
					       const struct ux_profile_sources *sources)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_out_deinit) struct ux_out head = {0};
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT, no_segments = UX_ERROR_INIT;
	struct ux_gsym_segments segments;
	char text[UX_ERROR_TEXT + 256];
	/* Also when a debug file is here, which names addresses and has no positions. */
	if (m->kind == UX_PROFILE_KERNEL || symbolize_left(b, UX_PROFILE_OFFSET) == 0)
		return UX_OK;
	enum ux_code code = UX_ENOTFOUND;
	if (sources->server_segments)
		code = sources->server_segments(sources->server_ctx, &m->id, &segments,
						&no_segments);
	if (code == UX_OK) {
		symbolize_segments(b, &segments);
		return UX_OK;
	}
	if (code != UX_ENOMEM && sources->server_head)
		code = sources->server_head(sources->server_ctx, &m->id, &head, &why);
	if (code == UX_OK)
		code = ux_file_symbols_create_head(ux_out_bytes(&head), &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code == UX_OK) {
		(void)symbolize_offsets(b, module, s);
		return UX_OK;
	}
	if (!sources->server_segments && !sources->server_head)
		return UX_OK;
	(void)snprintf(text, sizeof(text), "its segments at the server: %s; its executable: %s",
		       *no_segments.text ? no_segments.text : "there are none",
		       *why.text ? why.text : "there is none");
	return symbolize_reason_add(b, module, text);
}

/* Turns relative addresses into pcs by what the server has of the module, whose file is not here.
 * What it lacks is the reason why they have no names. */
static enum ux_code symbolize_server_base(struct symbolize_batch *b, uint32_t module,
					  const struct ux_profile_sources *sources)
{
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + 256];
	uint64_t base = 0;
	enum ux_code code = UX_ENOTFOUND;
	if (symbolize_left(b, UX_PROFILE_RELATIVE) == 0)
		return UX_OK;
	if (sources->server_base)
		code = sources->server_base(sources->server_ctx,
					    &b->profile->modules.data[module].id, &base, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code != UX_OK) {
		(void)snprintf(
			text, sizeof(text),
			"addresses relative to the file's start need its executable, or that "
			"start from the server: %s",
			*why.text ? why.text : "it has none");
		return symbolize_reason_add(b, module, text);
	}
	b->profile->modules.data[module].base = base;
	b->profile->modules.data[module].has_base = true;
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n == 0 && l->kind == UX_PROFILE_RELATIVE) {
			l->kind = UX_PROFILE_PC;
			l->address += base;
		}
	}
	return UX_OK;
}

/*
 * Turns addresses in the kernel, or in a module of it, into such as its file has, which the server
 * knows: the kernel moves as a whole, and a module's GSYM counts from its .text, where it begins.
 */
static void symbolize_kernel_addresses(struct symbolize_batch *b, uint32_t module)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	uint64_t base = 0;
	if (m->kind != UX_PROFILE_KERNEL || m->start == 0)
		return;
	bool known = !ux_profile_is_kernel(b->profile, m) || ux_kernel_link_base(m->start, &base);
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n > 0 || l->kind != UX_PROFILE_ADDRESS || l->address < m->start)
			continue;
		l->kind = known ? UX_PROFILE_PC : UX_PROFILE_RELATIVE;
		l->address = l->address - m->start + (known ? base : 0);
	}
}

/* Says why locations are not in a request to the server. */
static enum ux_code symbolize_unsent(struct symbolize_batch *b, uint32_t module)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	if (m->source != 0 || m->kind == UX_PROFILE_KERNEL)
		return UX_OK;
	if (m->id.size == 0)
		return symbolize_reason_add(
			b, module, "the server is queried by build ID, which the recording lacks");
	if (symbolize_left(b, UX_PROFILE_OFFSET) > 0)
		return symbolize_reason_add(
			b, module,
			"positions in a file need its executable, so the server is not queried");
	return UX_OK;
}

/* Queries the server for the locations that have no names yet. */
static enum ux_code symbolize_from_server(struct symbolize_batch *b, uint32_t module,
					  const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	struct ux_error why = UX_ERROR_INIT;
	if (!sources->server)
		return UX_OK;
	if (m->id.size > 0)
		UX_TRY(symbolize_server_positions(b, module, sources));
	UX_TRY(symbolize_unsent(b, module));
	if (m->id.size == 0)
		return UX_OK;
	symbolize_kernel_addresses(b, module);
	UX_TRY(symbolize_server_base(b, module, sources));
	symbolize_forget_texts(b);
	b->passing = true;
	b->n_pcs = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n == 0 && l->kind == UX_PROFILE_PC)
			symbolize_add_pc(b, b->locations[i], l->address);
	}
	if (b->n_pcs == 0)
		return UX_OK;
	enum ux_code code = sources->server(sources->server_ctx, &m->id, b->pcs, b->n_pcs,
					    symbolize_take, b, &why);
	if (b->code != UX_OK || code == UX_ENOMEM)
		return b->code != UX_OK ? b->code : ux_error_nomem(b->err);
	if (code != UX_OK)
		return symbolize_reason(b, module, &why);
	return m->source != 0 ? UX_OK
			      : ux_profile_string(b->profile, UX_STR("server"), &m->source, b->err);
}

/* --- the kernel and run-time code ------------------------------------------------------------- */

static void symbolize_process_guard(struct ux_process **p)
{
	ux_process_close(*p);
}

static void symbolize_answers_guard(struct ux_process_answers **a)
{
	ux_process_answers_free(*a);
}

/* Names addresses by the running kernel, of which the module is that code. */
static enum ux_code symbolize_running_kernel(struct symbolize_batch *b, uint32_t module,
					     const struct ux_profile_sources *sources,
					     const struct ux_profile_kernel *running)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(symbolize_process_guard) struct ux_process *kernel = NULL;
	ux_cleanup(symbolize_answers_guard) struct ux_process_answers *answers = NULL;
	const struct ux_process_opts opts = {.size = sizeof(opts), .cache = sources->cache};
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->kind == UX_PROFILE_ADDRESS)
			symbolize_add_pc(b, b->locations[i], l->address + running->moved);
	}
	UX_TRY(ux_process_open_kernel(&opts, &kernel, b->err));
	UX_TRY(ux_process_lookup(kernel, b->pcs, b->n_pcs, UX_PROCESS_NOW, 0, &answers, b->err));
	for (size_t i = 0; i < b->n_pcs; i++) {
		const struct ux_process_answer *a = ux_process_answer_at(answers, i);
		const char *reason = a->reason;
		if (a->n > 0 && (!running->label || strcmp(a->module, running->label) == 0)) {
			UX_TRY(symbolize_name(b, b->owners[i], a->frames, a->n));
			continue;
		}
		if (a->n > 0)
			reason = "the module has no code there by now";
		if (m->why == 0)
			UX_TRY(ux_profile_string(b->profile, ux_bytes_cstr(reason), &m->why,
						 b->err));
	}
	return ux_profile_string(b->profile, UX_STR("the running kernel"), &m->source, b->err);
}

/* The function of the kernel at a location. */
static bool symbolize_copy_find(const struct symbolize_batch *b, uint32_t module, uint32_t location,
				const struct ux_kernel_copy *copy, struct ux_frame *ret)
{
	const struct ux_profile_location *l = &b->profile->locations.data[location];
	const uint64_t pc = l->address - (l->returns && l->address > 0);
	struct ux_kernel_symbol s;
	if (l->kind != UX_PROFILE_ADDRESS ||
	    !ux_kernel_copy_find(copy, b->profile->modules.data[module].start, pc, &s))
		return false;
	*ret = (struct ux_frame){.function = s.name, .dir = "", .base = "", .offset = pc - s.start};
	return true;
}

/* Names addresses of the kernel itself by perf's copy of its symbols. UX_ENOTFOUND: there is none,
 * or with `whole`, it does not have all of them. */
static enum ux_code symbolize_kernel_copy(struct symbolize_batch *b, uint32_t module, bool whole)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_kernel_copy_deinit) struct ux_kernel_copy copy = {0};
	struct ux_frame frame;
	size_t found = 0;
	enum ux_code code = ux_kernel_copy_read(&m->id, &copy, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	for (size_t i = 0; code == UX_OK && i < b->n; i++)
		found += symbolize_copy_find(b, module, b->locations[i], &copy, &frame);
	if (found == 0 || (whole && found < b->n))
		return UX_ENOTFOUND;
	for (size_t i = 0; i < b->n; i++)
		if (symbolize_copy_find(b, module, b->locations[i], &copy, &frame))
			UX_TRY(symbolize_name(b, b->locations[i], &frame, 1));
	symbolize_forget_texts(b); /* which are the copy's */
	return ux_profile_string(b->profile, ux_bytes_cstr(copy.path), &m->source, b->err);
}

/*
 * Turns addresses in .text of a kernel module, which begins with it, into pcs of its file. Where
 * its other sections were loaded depends on the kernel, which has other names by now.
 */
static void symbolize_module_text(struct symbolize_batch *b, uint64_t start,
				  const struct ux_file_symbols *s)
{
	const struct ux_code_section *text = s->sections;
	while (strcmp(text->name, ".text") != 0)
		text++;
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		uint64_t inside = l->address - (l->returns && l->address > 0);
		if (l->kind != UX_PROFILE_ADDRESS || inside < start || inside - start >= text->size)
			continue;
		l->kind = UX_PROFILE_PC;
		l->address = l->address - start + text->pc;
		symbolize_add_pc(b, b->locations[i], l->address);
	}
}

/* Names addresses of a kernel module by its file. UX_ENOTFOUND: that is not here. */
static enum ux_code symbolize_module_file(struct symbolize_batch *b, uint32_t module,
					  const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *head = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_profile_module_find(sources, b->profile, m, UX_SYMBOLS_HEAD, &path, &head, &why));
	if (!ux_file_symbols_begins_with_text(head))
		return UX_ENOTFOUND;
	symbolize_module_text(b, m->start, head);
	if (b->n_pcs == 0)
		return UX_ENOTFOUND;
	UX_TRY(symbolize_extract(b, path, sources, /* gsym_cache= */ false, &s, &why));
	return symbolize_with(b, module, s, path);
}

/*
 * Names addresses of the kernel or of a module of it: by the running one if it is the recorded one,
 * else by perf's copy of the kernel's symbols, or the module's file. For functions alone the copy
 * is as good, and much quicker: the kernel takes longer to print its symbols than a recording of
 * 100,000 samples takes to be read.
 */
static enum ux_code symbolize_kernel(struct symbolize_batch *b, uint32_t module,
				     const struct ux_profile_sources *sources)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_profile_kernel_deinit) struct ux_profile_kernel running = {0};
	struct ux_error why = UX_ERROR_INIT;
	const bool is_kernel = ux_profile_is_kernel(b->profile, m);
	if (sources->no_kernel)
		return UX_OK;
	enum ux_code code = UX_ENOTFOUND;
	if (is_kernel && sources->no_dwarf)
		code = symbolize_kernel_copy(b, module, /* whole= */ true);
	if (code != UX_ENOTFOUND)
		return code;
	code = ux_profile_kernel_find(b->profile, module, sources, &running, &why);
	if (code == UX_OK)
		return symbolize_running_kernel(b, module, sources, &running);
	if (code != UX_ENOTFOUND)
		return ux_error_set(b->err, code, "%s", why.text);
	if (is_kernel) {
		code = symbolize_kernel_copy(b, module, /* whole= */ false);
		if (code != UX_ENOTFOUND)
			return code;
	} else if (m->start != 0) {
		code = symbolize_module_file(b, module, sources);
		if (code == UX_OK || code == UX_ENOMEM)
			return code == UX_OK ? UX_OK : ux_error_nomem(b->err);
	}
	return symbolize_reason(b, module, &why);
}

/* Names addresses of run-time code by one of the server's snapshots of it. */
static enum ux_code symbolize_snapshot(struct symbolize_batch *b, uint32_t module,
				       const struct ux_profile_sources *sources,
				       const struct ux_id *id)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	struct ux_error why = UX_ERROR_INIT;
	b->n_pcs = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n == 0)
			symbolize_add_pc(b, b->locations[i], l->address);
	}
	if (b->n_pcs == 0)
		return UX_OK;
	enum ux_code code =
		sources->server(sources->server_ctx, id, b->pcs, b->n_pcs, symbolize_take, b, &why);
	if (b->code != UX_OK || code == UX_ENOMEM)
		return b->code != UX_OK ? b->code : ux_error_nomem(b->err);
	if (code == UX_ENOTFOUND) /* it was deleted meanwhile */
		return UX_OK;
	if (code != UX_OK)
		return symbolize_reason(b, module, &why);
	return m->source != 0 ? UX_OK
			      : ux_profile_string(b->profile, UX_STR("server"), &m->source, b->err);
}

/*
 * Names addresses of run-time code by the snapshots that an agent has sent to the server: the one
 * of the time, then earlier ones of the same process. The time is that of the module's identity,
 * or the end of the recording.
 */
static enum ux_code symbolize_jit_by_server(struct symbolize_batch *b, uint32_t module,
					    const struct ux_profile_sources *sources)
{
	const struct ux_profile *p = b->profile;
	const struct ux_profile_module *m = &p->modules.data[module];
	ux_cleanup(ux_runtime_list_deinit) struct ux_runtime_list list = {0};
	struct ux_error why = UX_ERROR_INIT;
	size_t at = 0;
	if (!sources->server || !sources->server_runtime || p->host == 0 || m->pid == 0)
		return UX_OK;
	const char *host = (const char *)ux_profile_text(p, p->host).data;
	enum ux_code code = sources->server_runtime(sources->server_ctx, host, m->pid, &list, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code != UX_OK)
		return symbolize_reason(b, module, &why);
	if (m->id.size > 0)
		while (at < list.size && !ux_id_eq(&list.data[at].id, &m->id))
			at++;
	else
		at = ux_runtime_list_find(&list, p->start_ns > 0
							 ? (int64_t)(p->start_ns + p->duration_ns)
							 : INT64_MAX);
	symbolize_forget_texts(b);
	b->passing = true;
	for (size_t i = at; i < list.size; i++)
		if (list.data[i].span.started_ns == list.data[at].span.started_ns)
			UX_TRY(symbolize_snapshot(b, module, sources, &list.data[i].id));
	return UX_OK;
}

/* Names addresses of run-time code by perf-PID.map. */
static enum ux_code symbolize_perf_map(struct symbolize_batch *b, uint32_t module,
				       const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_perf_map_deinit) struct ux_perf_map map;
	struct ux_error why = UX_ERROR_INIT;
	size_t used = 0;
	ux_perf_map_init(&map);
	enum ux_code code = ux_perf_map_open(sources, m->pid, &file, &path, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code != UX_OK)
		return symbolize_reason(b, module, &why);
	code = ux_perf_map_feed(&map, file.bytes, &used, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		struct ux_frame frame;
		uint64_t size = 0;
		if (ux_perf_map_lookup(&map, l->address - (l->returns && l->address > 0), &frame,
				       &size))
			UX_TRY(symbolize_name(b, b->locations[i], &frame, 1));
	}
	ux_out_reset(&b->path);
	ux_out_fmt(&b->path, "%s as it ended: it has no times", path);
	UX_TRY(ux_out_status(&b->path, b->err));
	return ux_profile_string(b->profile, ux_out_bytes(&b->path), &m->source, b->err);
}

/* --- the whole profile ------------------------------------------------------------------------ */

static enum ux_code symbolize_module(struct symbolize_batch *b, uint32_t module,
				     const struct ux_profile_sources *sources)
{
	b->n_pcs = 0;
	b->passing = false;
	symbolize_forget_texts(b);
	switch (b->profile->modules.data[module].kind) {
	case UX_PROFILE_FILE:
		UX_TRY(symbolize_file(b, module, sources));
		return symbolize_from_server(b, module, sources);
	case UX_PROFILE_VDSO:
		UX_TRY(symbolize_vdso(b, module, sources));
		return symbolize_from_server(b, module, sources);
	case UX_PROFILE_KERNEL:
		UX_TRY(symbolize_kernel(b, module, sources));
		return symbolize_from_server(b, module, sources);
	case UX_PROFILE_JIT:
		UX_TRY(symbolize_perf_map(b, module, sources));
		return symbolize_jit_by_server(b, module, sources);
	}
	return UX_OK;
}

/* The locations without frames, grouped by module. */
struct symbolize_groups {
	uint32_t *locations; /* malloc'ed */
	size_t *starts;      /* malloc'ed: where the locations of each module begin */
	size_t n;
};

static void symbolize_groups_deinit(struct symbolize_groups *g)
{
	free(g->locations);
	free(g->starts);
}

static enum ux_code symbolize_group(struct symbolize_groups *g, const struct ux_profile *p,
				    struct ux_error *err)
{
	size_t n_modules = p->modules.size;
	g->starts = calloc(n_modules + 2, sizeof(*g->starts));
	g->locations = calloc(p->locations.size, sizeof(*g->locations));
	if (!g->starts || !g->locations)
		return ux_error_nomem(err);
	const struct ux_profile_location *l = p->locations.data;
	for (size_t i = 1; i < p->locations.size; i++)
		if (l[i].n == 0 && l[i].kind != UX_PROFILE_NO_ADDRESS)
			g->starts[l[i].module + 2]++;
	for (size_t m = 2; m < n_modules + 2; m++)
		g->starts[m] += g->starts[m - 1];
	/* While they are filled, starts[m + 1] is where the next location of m goes. */
	for (size_t i = 1; i < p->locations.size; i++)
		if (l[i].n == 0 && l[i].kind != UX_PROFILE_NO_ADDRESS)
			g->locations[g->starts[l[i].module + 1]++] = (uint32_t)i;
	g->n = g->starts[n_modules];
	return UX_OK;
}

static void symbolize_batch_deinit(struct symbolize_batch *b)
{
	free(b->pcs);
	free(b->owners);
	symbolize_texts_deinit(&b->texts);
	ux_out_deinit(&b->path);
}

enum ux_code ux_profile_symbolize(struct ux_profile *p, const struct ux_profile_sources *sources,
				  struct ux_error *err)
{
	ux_cleanup(symbolize_groups_deinit) struct symbolize_groups groups = {0};
	UX_TRY(symbolize_group(&groups, p, err));
	ux_cleanup(symbolize_batch_deinit) struct symbolize_batch b = {
		.profile = p,
		.err = err,
		.pcs = calloc(groups.n + 1, sizeof(*b.pcs)),
		.owners = calloc(groups.n + 1, sizeof(*b.owners)),
	};
	if (!b.pcs || !b.owners)
		return ux_error_nomem(err);
	for (uint32_t m = 1; m < p->modules.size; m++) {
		b.locations = groups.locations + groups.starts[m];
		b.n = groups.starts[m + 1] - groups.starts[m];
		if (b.n == 0)
			continue;
		UX_TRY(symbolize_module(&b, m, sources));
		if (sources->progress)
			sources->progress(sources->progress_ctx, groups.starts[m + 1], groups.n);
	}
	return UX_OK;
}

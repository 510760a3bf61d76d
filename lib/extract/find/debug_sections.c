/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the DWARF sections of an object file. */
#include "debug_sections.h"

#include "dwarf_abbrev.h"
#include "dwarf_split.h"
#include "pool.h"

#include <stdatomic.h>

/*
 * Limit of one inflated section: four times the largest .debug_info known to us (an 11 GB server).
 */
#define INFLATED_MAX (UINT64_C(48) << 30)

enum {
	/* A smaller .debug_info is not streamed: nothing is gained by reading it while it is
	 * inflated. */
	STREAM_MIN = 16 << 20,

	/* bytes inflated in steps before it is known whether units are independent; they are wasted
	 * when the units are not */
	AHEAD_MAX = 16 << 20,
	AHEAD_STEP = 1 << 20,
};

/* Limit of all inflated sections of a file. In real files they are up to ten times as large as the
 * file. A hostile megabyte that inflates to zeros would otherwise fill the memory. */
enum {
	INFLATED_RATIO = 32,
	INFLATED_FREE = 64 << 20,
	INFLATED_FREE_SPLIT = 1 << 16, /* smaller for .dwo files, because there are many */
};

/* Finds .debug_NAME, or .zdebug_NAME of older tools; with .dwo at the end if `split` is set. */
static bool dwarf_find(const struct ux_object *object, enum ux_dwarf_section which, bool split,
		       struct ux_section *ret)
{
	char old[32];
	const char *name =
		split ? ux_dwarf_split_section_name(which) : ux_dwarf_section_name(which);
	if (!name)
		return false;
	if (!ux_object_section_find(object, name, ret)) {
		snprintf(old, sizeof(old), ".z%s", name + 1);
		if (!ux_object_section_find(object, old, ret))
			return false;
		/* the lifetime of `old` ends here */
		ret->name = ret->name == old ? name : ret->name;
	}
	return ret->stored;
}

bool ux_debug_sections_exist(const struct ux_object *object)
{
	struct ux_section info;
	return dwarf_find(object, UX_DWARF_INFO, /* split= */ false, &info) && info.size > 0;
}

enum ux_quality ux_debug_sections_promise(const struct ux_object *object)
{
	struct ux_dwarf_sections dwarf = {.swap = object->swap};
	ux_cleanup(ux_content_free) struct ux_content abbrev = {0};
	struct ux_section s;
	if (!dwarf_find(object, UX_DWARF_LINE, /* split= */ false, &s) || s.size == 0)
		return UX_QUALITY_SYMTAB;
	if (!dwarf_find(object, UX_DWARF_ABBREV, /* split= */ false, &s) ||
	    ux_section_load(object, &s, INFLATED_FREE, /* spill= */ NULL, &abbrev, NULL, NULL) !=
		    UX_OK)
		return UX_QUALITY_INLINES;
	dwarf.data[UX_DWARF_ABBREV] = abbrev.bytes;
	return ux_dwarf_units_may_inline(&dwarf) ? UX_QUALITY_INLINES : UX_QUALITY_LINES;
}

/* The largest sections are first, so that threads finish at about the same time. */
static const enum ux_dwarf_section dwarf_order[UX_DWARF_SECTION_COUNT] = {
	UX_DWARF_INFO,     UX_DWARF_STR,         UX_DWARF_LINE, UX_DWARF_RANGES, UX_DWARF_RNGLISTS,
	UX_DWARF_LINE_STR, UX_DWARF_STR_OFFSETS, UX_DWARF_ADDR, UX_DWARF_ABBREV,
};

enum ux_code ux_debug_loader_load(struct ux_debug_loader *l, size_t job, struct ux_error *err)
{
	assert(job < UX_DWARF_SECTION_COUNT);
	enum ux_dwarf_section which = dwarf_order[job];
	struct ux_section s;
	if (l->out->content[which].bytes.data || (which == UX_DWARF_INFO && l->out->stream) ||
	    !dwarf_find(l->object, which, l->split, &s))
		return UX_OK; /* the section is missing, or is a stream */
	UX_TRY(ux_section_load(l->object, &s, INFLATED_MAX, l->spill, &l->out->content[which],
			       &l->loss[which], err));
	l->out->dwarf.data[which] = l->out->content[which].bytes;
	if (which == UX_DWARF_INFO)
		l->out->info = s.index;
	return UX_OK;
}

/* Returns the bytes of sections that have to be inflated or copied. */
static uint64_t dwarf_made_bytes(const struct ux_object *object, bool split)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		struct ux_section s;
		uint64_t size = 0;
		if (dwarf_find(object, i, split, &s) && (s.packed || s.relocated))
			size = ux_section_size(object, &s);
		sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
	}
	return sum;
}

static enum ux_code dwarf_check_inflation(const struct ux_object *object, bool split,
					  struct ux_error *err)
{
	uint64_t sum = dwarf_made_bytes(object, split);
	uint64_t max = (split ? INFLATED_FREE_SPLIT : INFLATED_FREE) +
		       INFLATED_RATIO * (uint64_t)object->file.size;
	if (sum > max)
		return ux_error_set(err, UX_ELIMIT,
				    "debug sections inflate to %" PRIu64
				    " bytes; the file has %zu, and the limit is %d times that",
				    sum, object->file.size, (int)INFLATED_RATIO);
	return UX_OK;
}

/* Opens .debug_info as a stream when it is compressed and large enough. */
static enum ux_code sections_open_stream(struct ux_debug_loader *l, struct ux_error *err)
{
	struct ux_section s;
	struct ux_section_bytes stored;
	struct ux_error why = UX_ERROR_INIT;
	if (!dwarf_find(l->object, UX_DWARF_INFO, /* split= */ false, &s) || !s.packed ||
	    s.relocated || ux_section_size(l->object, &s) < STREAM_MIN)
		return UX_OK;
	enum ux_code code = ux_section_bytes(l->object, &s, &stored, &why);
	if (code == UX_OK)
		code = ux_section_window_open(&stored, INFLATED_MAX, l->spill, &l->out->stream,
					      &l->out->dwarf.data[UX_DWARF_INFO], &why);
	if (code == UX_OK || code == UX_EUNSUPPORTED)
		return UX_OK;
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}

static void sections_close_stream(struct ux_debug_sections *sections)
{
	ux_section_window_close(sections->stream);
	if (sections->stream)
		sections->dwarf.data[UX_DWARF_INFO] = UX_BYTES_NONE;
	sections->stream = NULL;
}

static enum ux_code loader_begin(struct ux_debug_loader *loader, const struct ux_object *object,
				 bool split, struct ux_spill *spill, struct ux_debug_sections *ret,
				 struct ux_error *err)
{
	*loader = (struct ux_debug_loader){
		.object = object, .spill = spill, .split = split, .out = ret};
	*ret = (struct ux_debug_sections){.dwarf.swap = object->swap, .loss.first = UX_ERROR_INIT};
	return dwarf_check_inflation(object, split, err);
}

/* The headers of units need its size, and a stream its content. */
static enum ux_code loader_load_abbrev(struct ux_debug_loader *loader, struct ux_error *err)
{
	static_assert(UX_DWARF_SECTION_COUNT == 9, "the last of dwarf_order[] is .debug_abbrev");
	return ux_debug_loader_load(loader, UX_DWARF_SECTION_COUNT - 1, err);
}

enum ux_code ux_debug_loader_open(struct ux_debug_loader *loader, const struct ux_object *object,
				  struct ux_spill *spill, struct ux_debug_sections *ret,
				  struct ux_error *err)
{
	UX_TRY(loader_begin(loader, object, /* split= */ false, spill, ret, err));
	return loader_load_abbrev(loader, err);
}

/* Whether units are independent, found by one thread while another one inflates. */
struct stream_check {
	struct ux_debug_loader *loader;
	bool independent;
	atomic_bool ended; /* relaxed: inflating one more step only costs time */
};

enum {
	JOB_CHECK,
	JOB_AHEAD,
	STREAM_JOBS,
};

/* Inflates until the check has ended. Damage is found again, and reported, by the reader. */
static void stream_fill_ahead(const struct stream_check *check)
{
	struct ux_section_window *stream = check->loader->out->stream;
	for (uint64_t end = AHEAD_STEP; end <= AHEAD_MAX; end += AHEAD_STEP) {
		if (atomic_load_explicit(&check->ended, memory_order_relaxed))
			return;
		if (ux_section_window_fill(stream, end, NULL) != UX_OK) {
			ux_section_window_rewind(stream);
			return;
		}
	}
}

static enum ux_code stream_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct stream_check *check = ctx;
	(void)worker;
	if (job == JOB_AHEAD) {
		stream_fill_ahead(check);
		return UX_OK;
	}
	enum ux_code code = loader_load_abbrev(check->loader, err);
	check->independent =
		code == UX_OK && ux_dwarf_units_are_independent(&check->loader->out->dwarf);
	atomic_store_explicit(&check->ended, true, memory_order_relaxed);
	return code;
}

enum ux_code ux_debug_loader_open_stream(struct ux_debug_loader *loader,
					 const struct ux_object *object, unsigned threads,
					 struct ux_spill *spill, struct ux_debug_sections *ret,
					 struct ux_error *err)
{
	UX_TRY(loader_begin(loader, object, /* split= */ false, spill, ret, err));
	UX_TRY(sections_open_stream(loader, err));
	if (!ret->stream)
		return loader_load_abbrev(loader, err);
	/* With one thread the check comes first, and nothing is inflated ahead. */
	struct stream_check check = {.loader = loader};
	UX_TRY(ux_pool_run(threads, STREAM_JOBS, stream_job, &check, err));
	if (!check.independent)
		sections_close_stream(ret);
	return UX_OK;
}

void ux_debug_loader_close(const struct ux_debug_loader *loader)
{
	struct ux_reloc_loss *sum = &loader->out->loss;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		if (sum->count == 0 && loader->loss[i].count > 0)
			sum->first = loader->loss[i].first;
		sum->count += loader->loss[i].count;
	}
}

static enum ux_code dwarf_load_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	(void)worker;
	return ux_debug_loader_load(ctx, job, err);
}

enum ux_code ux_debug_sections_load(const struct ux_object *object, unsigned threads,
				    struct ux_spill *spill, struct ux_debug_sections *ret,
				    struct ux_error *err)
{
	struct ux_debug_loader l;
	UX_TRY(ux_debug_loader_open(&l, object, spill, ret, err));
	UX_TRY(ux_pool_run(threads, UX_DWARF_SECTION_COUNT, dwarf_load_job, &l, err));
	ux_debug_loader_close(&l);
	return UX_OK;
}

enum ux_code ux_debug_sections_load_lines(const struct ux_object *object,
					  struct ux_debug_sections *ret, struct ux_error *err)
{
	static const unsigned wanted =
		1u << UX_DWARF_LINE | 1u << UX_DWARF_LINE_STR | 1u << UX_DWARF_STR;
	struct ux_debug_loader l;
	UX_TRY(loader_begin(&l, object, /* split= */ false, /* spill= */ NULL, ret, err));
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		if ((wanted >> dwarf_order[i] & 1) != 0)
			UX_TRY(ux_debug_loader_load(&l, i, err));
	return UX_OK;
}

enum ux_code ux_debug_sections_load_split(const struct ux_object *object, struct ux_spill *spill,
					  struct ux_debug_sections *ret, struct ux_error *err)
{
	struct ux_debug_loader l;
	UX_TRY(loader_begin(&l, object, /* split= */ true, spill, ret, err));
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		UX_TRY(ux_debug_loader_load(&l, i, err));
	return UX_OK;
}

enum ux_code ux_debug_sections_next_split_info(const struct ux_object *object,
					       struct ux_spill *spill, uint32_t *at,
					       struct ux_debug_sections *sections,
					       struct ux_error *err)
{
	const char *name = ux_dwarf_split_section_name(UX_DWARF_INFO);
	struct ux_content *content = &sections->content[UX_DWARF_INFO];
	struct ux_section s;
	do {
		if (!object->format->section_find(object, name, *at + 1, &s))
			return UX_ENOTFOUND;
		*at = s.index;
	} while (s.index == sections->info);
	s.relocated = false; /* the entries of a .dwo file have no relocations */
	ux_content_free(content);
	sections->dwarf.data[UX_DWARF_INFO] = UX_BYTES_NONE;
	UX_TRY(ux_section_load(object, &s, INFLATED_MAX, spill, content, NULL, err));
	sections->dwarf.data[UX_DWARF_INFO] = content->bytes;
	return UX_OK;
}

uint64_t ux_debug_sections_inflated(const struct ux_debug_sections *sections)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		sum += sections->content[i].owned ? sections->content[i].bytes.size : 0;
	return sum;
}

uint64_t ux_debug_sections_memory(const struct ux_object *object)
{
	return dwarf_made_bytes(object, /* split= */ false);
}

struct ux_bytes ux_debug_sections_info_head(const struct ux_object *object,
					    const struct ux_debug_sections *sections,
					    uint8_t room[UX_DEBUG_INFO_HEAD])
{
	struct ux_section s;
	struct ux_section_bytes stored;
	struct ux_section_stream *stream = NULL;
	uint64_t size = 0;
	if (!sections->stream || !ux_object_section_find(object, ".debug_info", &s))
		return sections->dwarf.data[UX_DWARF_INFO];
	if (ux_section_bytes(object, &s, &stored, NULL) != UX_OK ||
	    ux_section_stream_open(&stored, UINT64_MAX, &stream, &size, NULL) != UX_OK)
		return UX_BYTES_NONE;
	bool there = size >= UX_DEBUG_INFO_HEAD &&
		     ux_section_stream_read(stream, room, UX_DEBUG_INFO_HEAD, NULL) == UX_OK;
	ux_section_stream_close(stream);
	return ux_bytes(room, there ? UX_DEBUG_INFO_HEAD : 0);
}

uint64_t ux_debug_sections_need(const struct ux_object *object)
{
	struct ux_section info;
	bool there = ux_object_section_find(object, ".debug_info", &info);
	uint64_t made = ux_debug_sections_memory(object);
	uint64_t units = there ? ux_section_size(object, &info) / 2 : 0;
	return units > UINT64_MAX - made ? UINT64_MAX : made + units;
}

void ux_debug_sections_mapped(const struct ux_debug_sections *sections,
			      struct ux_bytes ret[UX_DWARF_SECTION_COUNT])
{
	const unsigned strings = 1u << UX_DWARF_STR | 1u << UX_DWARF_LINE_STR;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		bool mapped = !sections->content[i].owned && (strings >> i & 1) == 0;
		ret[i] = mapped ? sections->content[i].bytes : ux_bytes(NULL, 0);
	}
}

unsigned ux_debug_sections_of_text(const struct ux_debug_sections *sections, const char *text)
{
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		const struct ux_content *c = &sections->content[i];
		if (c->owned && (uintptr_t)text - (uintptr_t)c->owned < c->bytes.size)
			return 1u << i;
	}
	return 0;
}

void ux_debug_sections_drop(struct ux_debug_sections *sections, unsigned keep)
{
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		if (!sections->content[i].owned || (keep >> i & 1) != 0)
			continue;
		ux_content_free(&sections->content[i]);
		sections->dwarf.data[i] = UX_BYTES_NONE;
	}
	sections_close_stream(sections);
}

void ux_debug_sections_free(struct ux_debug_sections *sections)
{
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_content_free(&sections->content[i]);
	ux_section_window_close(sections->stream);
	*sections = (struct ux_debug_sections){0};
}

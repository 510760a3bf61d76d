/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF sections of an ELF file. */
#include "debug_sections.h"

#include "dwarf_abbrev.h"
#include "dwarf_split.h"
#include "elf_stream.h"
#include "pool.h"

/* Of one inflated section: four times the largest .debug_info known to us (an 11 GB server). */
#define INFLATED_MOST (UINT64_C(48) << 30)

/* Below this much of .debug_info nothing is gained by reading it while it is inflated. */
enum {
	STREAM_LEAST = 16 << 20
};

/*
 * What all sections of a file may inflate to: honest ones to ten times the file. A megabyte of
 * zeros' compression would otherwise fill the memory.
 */
enum {
	INFLATED_RATIO = 32,
	INFLATED_FREE = 64 << 20,
	INFLATED_FREE_SPLIT = 1 << 16, /* of a .dwo file: there are many */
};

struct loader {
	const struct ux_elf *elf;
	const char *spill;
	bool split;
	struct ux_debug_sections *out;
	struct ux_elf_reloc_loss loss[UX_DWARF_SECTION_COUNT]; /* each section's, on any thread */
};

/*
 * The section of that name. An ET_REL keeps each type unit in a section of its own, all of them
 * named .debug_info, in a group; the one with the code is in none.
 */
static const struct ux_elf_section *dwarf_find_named(const struct ux_elf *elf, const char *name)
{
	const struct ux_elf_section *first = ux_elf_section_find(elf, name);
	if (elf->type != ET_REL || !first || (first->flags & SHF_GROUP) == 0)
		return first;
	for (size_t i = first->index; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if ((s->flags & SHF_GROUP) == 0 && strcmp(s->name, name) == 0)
			return s;
	}
	return first;
}

/* .debug_NAME, or .zdebug_NAME of older tools; the same with .dwo behind it. */
static const struct ux_elf_section *dwarf_find_any(const struct ux_elf *elf,
						   enum ux_dwarf_section which, bool split)
{
	char old[32];
	const char *name =
		split ? ux_dwarf_split_section_name(which) : ux_dwarf_section_name(which);
	const struct ux_elf_section *s = name ? dwarf_find_named(elf, name) : NULL;
	if (!name)
		return NULL;
	if (!s) {
		snprintf(old, sizeof(old), ".z%s", name + 1);
		s = dwarf_find_named(elf, old);
	}
	return s && s->type != SHT_NOBITS ? s : NULL;
}

static const struct ux_elf_section *dwarf_find(const struct ux_elf *elf,
					       enum ux_dwarf_section which)
{
	return dwarf_find_any(elf, which, /* split= */ false);
}

bool ux_debug_sections_exist(const struct ux_elf *elf)
{
	const struct ux_elf_section *info = dwarf_find(elf, UX_DWARF_INFO);
	return info && info->size > 0;
}

/* The largest first, so that two threads end together. */
static const enum ux_dwarf_section order[UX_DWARF_SECTION_COUNT] = {
	UX_DWARF_INFO,     UX_DWARF_STR,         UX_DWARF_LINE, UX_DWARF_RANGES, UX_DWARF_RNGLISTS,
	UX_DWARF_LINE_STR, UX_DWARF_STR_OFFSETS, UX_DWARF_ADDR, UX_DWARF_ABBREV,
};

static enum ux_code dwarf_load(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct loader *l = ctx;
	enum ux_dwarf_section which = order[job];
	const struct ux_elf_section *s = dwarf_find_any(l->elf, which, l->split);
	(void)worker;
	if (!s || l->out->content[which].bytes.data || (which == UX_DWARF_INFO && l->out->stream))
		return UX_OK; /* what stream_info() did */
	UX_TRY(ux_elf_section_load_relocated(l->elf, s, INFLATED_MOST, l->spill,
					     &l->out->content[which], &l->loss[which], err));
	l->out->dwarf.data[which] = l->out->content[which].bytes;
	return UX_OK;
}

/* Bytes of what has to be inflated or copied. */
static uint64_t dwarf_made_bytes(const struct ux_elf *elf, bool split)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		const struct ux_elf_section *s = dwarf_find_any(elf, i, split);
		uint64_t size = 0;
		if (s && (ux_elf_section_compressed(elf, s) || ux_elf_section_has_relocs(elf, s)))
			size = ux_elf_section_loaded_size(elf, s);
		sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
	}
	return sum;
}

static enum ux_code dwarf_check_inflation(const struct ux_elf *elf, bool split,
					  struct ux_error *err)
{
	uint64_t sum = dwarf_made_bytes(elf, split);
	uint64_t most = (split ? INFLATED_FREE_SPLIT : INFLATED_FREE) +
			INFLATED_RATIO * (uint64_t)elf->file.size;
	if (sum > most)
		return ux_error_set(err, UX_ELIMIT,
				    "debug sections inflate to %" PRIu64
				    " bytes, of a file of %zu: over %d times as much",
				    sum, elf->file.size, (int)INFLATED_RATIO);
	return UX_OK;
}

/*
 * Opens .debug_info as a stream where that can be and is worth it. It takes the abbreviations to
 * know, which are loaded for it.
 */
static enum ux_code dwarf_stream_info(struct loader *l, struct ux_error *err)
{
	const struct ux_elf *elf = l->elf;
	const struct ux_elf_section *s = dwarf_find(elf, UX_DWARF_INFO);
	if (l->spill || !s || !ux_elf_section_compressed(elf, s) ||
	    ux_elf_section_has_relocs(elf, s) || ux_elf_section_loaded_size(elf, s) < STREAM_LEAST)
		return UX_OK;
	static_assert(UX_DWARF_SECTION_COUNT == 9, "the last of order[] is .debug_abbrev");
	UX_TRY(dwarf_load(l, UX_DWARF_SECTION_COUNT - 1, 0, err));
	if (!ux_dwarf_units_are_independent(&l->out->dwarf))
		return UX_OK;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_info_stream_open(elf, s, INFLATED_MOST, &l->out->stream,
						&l->out->dwarf.data[UX_DWARF_INFO], &why);
	if (code == UX_OK || code == UX_EUNSUPPORTED)
		return UX_OK;
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}

enum ux_code ux_debug_sections_load(const struct ux_elf *elf, unsigned threads, const char *spill,
				    struct ux_debug_sections *ret, struct ux_error *err)
{
	struct loader l = {.elf = elf, .spill = spill, .out = ret};
	*ret = (struct ux_debug_sections){.dwarf.swap = elf->swap, .loss.first = UX_ERROR_INIT};
	UX_TRY(dwarf_check_inflation(elf, /* split= */ false, err));
	UX_TRY(dwarf_stream_info(&l, err));
	UX_TRY(ux_pool_run(threads, UX_DWARF_SECTION_COUNT, dwarf_load, &l, err));
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		if (ret->loss.count == 0 && l.loss[i].count > 0)
			ret->loss.first = l.loss[i].first;
		ret->loss.count += l.loss[i].count;
	}
	return UX_OK;
}

enum ux_code ux_debug_sections_load_split(const struct ux_elf *elf, const char *spill,
					  struct ux_debug_sections *ret, struct ux_error *err)
{
	struct loader l = {.elf = elf, .spill = spill, .split = true, .out = ret};
	*ret = (struct ux_debug_sections){.dwarf.swap = elf->swap, .loss.first = UX_ERROR_INIT};
	UX_TRY(dwarf_check_inflation(elf, l.split, err));
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		UX_TRY(dwarf_load(&l, i, 0, err));
	return UX_OK;
}

enum ux_code ux_debug_sections_next_split_info(const struct ux_elf *elf, const char *spill,
					       uint32_t *at, struct ux_debug_sections *sections,
					       struct ux_error *err)
{
	const char *name = ux_dwarf_split_section_name(UX_DWARF_INFO);
	struct ux_elf_content *content = &sections->content[UX_DWARF_INFO];
	while (++*at < elf->n_sections && strcmp(elf->sections[*at].name, name) != 0)
		continue;
	if (*at >= elf->n_sections)
		return UX_ENOTFOUND;
	ux_elf_content_free(content);
	sections->dwarf.data[UX_DWARF_INFO] = UX_BYTES_NONE;
	UX_TRY(ux_elf_section_load(elf, &elf->sections[*at], INFLATED_MOST, spill, content, err));
	sections->dwarf.data[UX_DWARF_INFO] = content->bytes;
	return UX_OK;
}

uint64_t ux_debug_sections_memory(const struct ux_elf *elf)
{
	return dwarf_made_bytes(elf, /* split= */ false);
}

struct ux_bytes ux_debug_sections_info_head(const struct ux_elf *elf,
					    const struct ux_debug_sections *sections,
					    uint8_t room[UX_DEBUG_INFO_HEAD])
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".debug_info");
	struct ux_elf_stream *stream = NULL;
	uint64_t size = 0;
	if (!sections->stream || !s)
		return sections->dwarf.data[UX_DWARF_INFO];
	if (ux_elf_stream_open(elf, s, UINT64_MAX, &stream, &size, NULL) != UX_OK)
		return UX_BYTES_NONE;
	bool there = size >= UX_DEBUG_INFO_HEAD &&
		     ux_elf_stream_read(stream, room, UX_DEBUG_INFO_HEAD, NULL) == UX_OK;
	ux_elf_stream_close(stream);
	return ux_bytes(room, there ? UX_DEBUG_INFO_HEAD : 0);
}

const char *ux_debug_sections_spill(const struct ux_elf *elf, uint64_t memory, const char *folder)
{
	const struct ux_elf_section *info = ux_elf_section_find(elf, ".debug_info");
	uint64_t units = info ? ux_elf_section_loaded_size(elf, info) : 0;
	uint64_t need = ux_debug_sections_memory(elf) + units / 2;
	if (memory == 0 || need <= memory)
		return NULL;
	return folder ? folder : "/var/tmp";
}

void ux_debug_sections_free(struct ux_debug_sections *sections)
{
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_elf_content_free(&sections->content[i]);
	ux_info_stream_close(sections->stream);
	*sections = (struct ux_debug_sections){0};
}

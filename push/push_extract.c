/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts the symbols of a module to push. */
#include "push_work.h"

#include "debug_file.h"
#include "dsym.h"
#include "gsym_inspect.h"

#include <unistd.h>

void ux_push_reading(const struct ux_push_options *o, const char *path)
{
	if (o->reading)
		o->reading(o->ctx, path);
}

void ux_push_gsym_deinit(struct ux_push_gsym *gsym)
{
	ux_file_unmap(&gsym->file);
}

static void push_gsym_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* The sink of an extraction. */
static enum ux_code push_gsym_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const int *fd = ctx;
	return ux_file_write(*fd, bytes, err);
}

static enum ux_code push_gsym_write_at(void *ctx, uint64_t off, struct ux_bytes bytes,
				       struct ux_error *err)
{
	const int *fd = ctx;
	return ux_file_write_at(*fd, off, bytes, err);
}

static enum ux_code push_extract_pair(const struct ux_push_options *o,
				      const struct ux_push_module *m, const char *debug,
				      struct ux_push_gsym *gsym, struct ux_extract_stats *stats,
				      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping exe_file = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping debug_file = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping sup = {0};
	ux_cleanup(push_gsym_close) int fd = -1;
	char gpu[16];
	struct ux_spill spill = {.folder = ux_spill_folder()};
	struct ux_extract_options how = {
		.allow_mismatch = o->allow_mismatch,
		.no_dwarf = o->no_dwarf,
		.threads = o->threads,
		.memory = o->memory,
		.spill = &spill,
		.place = push_gsym_write_at,
		.path = m->path,
		.debug_path = debug,
		.arch = m->arch[0] != '\0' ? m->arch : NULL,
		.gpu = m->gpu != 0 ? gpu : NULL,
	};
	snprintf(gpu, sizeof(gpu), "%u", m->gpu);
	ux_push_reading(o, m->path);
	UX_TRY(ux_push_map(m->path, &exe_file, err));
	if (debug)
		UX_TRY(ux_dsym_map(debug, exe_file.bytes, &debug_file, err));
	/*
	 * Without the supplementary file some names are unknown; the other symbols are still worth
	 * pushing.
	 */
	if (ux_supplementary_find(debug ? debug_file.bytes : exe_file.bytes,
				  debug ? debug : m->path, o->debug_dirs, &sup, NULL) == UX_OK)
		how.supplementary = sup.bytes;
	ux_push_gsym_deinit(gsym);
	UX_TRY(ux_spill_open(spill.folder, 0, &fd, err));
	UX_TRY(ux_extract(exe_file.bytes, debug_file.bytes, &how, push_gsym_write, &fd, stats,
			  err));
	return ux_file_map_fd(fd, &gsym->file, err);
}

/* Reads symbols that were extracted before. They were verified when the file was found. */
static enum ux_code push_read_gsym(const struct ux_push_module *m, struct ux_push_gsym *gsym,
				   struct ux_extract_stats *stats, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes bytes;
	struct ux_gsym g;
	ux_cleanup(push_gsym_close) int fd = -1;
	UX_TRY(ux_push_map_part(m->path, &m->part, &file, &bytes, err));
	ux_push_gsym_deinit(gsym);
	UX_TRY(ux_spill_open(ux_spill_folder(), 0, &fd, err));
	UX_TRY(ux_file_write(fd, bytes, err)); /* a copy, since others may write to the file */
	UX_TRY(ux_file_map_fd(fd, &gsym->file, err));
	UX_TRY(ux_gsym_open(&g, gsym->file.bytes, err));
	UX_TRY(ux_gsym_measure(&g, &stats->counts, err));
	stats->quality = m->claim;
	return UX_OK;
}

/* Notes inlined calls that are lost because parts of a split build are not here. */
static void push_note_split(struct ux_push_module *m, const struct ux_extract_stats *stats)
{
	uint64_t lost = stats->split_missing + stats->split_mismatched;
	if (lost > 0 && m->lost[0] == '\0')
		snprintf(m->lost, sizeof(m->lost),
			 "%" PRIu64 " of %" PRIu64
			 " .dwo files are missing or from another build; inlined calls in them "
			 "stay unknown",
			 lost, stats->split_units);
}

static enum ux_code push_extract_now(const struct ux_push_work *p, struct ux_push_module *m,
				     struct ux_push_gsym *gsym, struct ux_extract_stats *stats,
				     struct ux_error *err)
{
	const struct ux_push_options *o = p->o;
	struct ux_error why = UX_ERROR_INIT;
	if (m->gsym)
		return push_read_gsym(m, gsym, stats, err);
	if (m->part.size > 0 || m->debug_part.size > 0) {
		UX_TRY(ux_push_archive_extract(p, m, gsym, stats, err));
		push_note_split(m, stats);
		return UX_OK;
	}
	enum ux_code code = push_extract_pair(o, m, m->debug, gsym, stats, &why);
	if (code != UX_OK && m->debug && m->debug_found) {
		why = (struct ux_error)UX_ERROR_INIT;
		free(m->debug);
		m->debug = NULL;
		code = push_extract_pair(o, m, NULL, gsym, stats, &why);
	}
	if (code != UX_OK)
		*err = why;
	else
		push_note_split(m, stats);
	return code;
}

enum ux_code ux_push_extract(const struct ux_push_work *p, struct ux_push_module *m,
			     struct ux_push_gsym *gsym, struct ux_extract_stats *stats,
			     struct ux_error *err)
{
	if (p->extracts)
		p->extracts(p->extracts_ctx, /* begins= */ true);
	enum ux_code code = push_extract_now(p, m, gsym, stats, err);
	if (p->extracts)
		p->extracts(p->extracts_ctx, /* begins= */ false);
	return code;
}

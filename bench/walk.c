/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor of reading uncompressed DWARF: "walk FILE [touch|entries|lines|write SIZE]". Each step
 * contains those before it:
 *   touch    one byte of each cache line of the sections that an extraction reads is read
 *   entries  the entries of all units are passed, at best without a look at their attributes
 *   lines    the opcodes of all line programs are run, whose rows are counted and not kept
 *   write    SIZE bytes are written to a new file, as many as the symbols take
 * No names are found, no ranges are read, nothing is sorted, merged or encoded. It prints its
 * counts.
 */
#include "dwarf_stride.h"
#include "elf_file.h"
#include "file.h"
#include "leb.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum step {
	STEP_TOUCH,
	STEP_ENTRIES,
	STEP_LINES,
	STEP_WRITE,
	N_STEPS
};

enum {
	CACHE_LINE = 64,
	WRITE_BYTES = 1 << 16,
};

struct walk_sum {
	uint64_t lines; /* of the cache, that were touched */
	uint64_t entries;
	uint64_t rows;
	uint64_t check; /* result of the reads, so that nothing is optimized away */
};

static void walk_touch(struct ux_bytes content, struct walk_sum *sum)
{
	for (size_t i = 0; i < content.size; i += CACHE_LINE) {
		sum->check += content.data[i];
		sum->lines++;
	}
}

static void walk_entries(const struct ux_dwarf_context *ctx, struct walk_sum *sum)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, ctx->first_child);
	struct ux_dwarf_strider strider = ux_dwarf_strider_of(ctx, &c);
	struct ux_dwarf_die die;
	while (ux_cur_more(&c)) {
		uint32_t depth = 1;
		c.pos = ux_dwarf_stride(&strider, c.pos, UX_STEP_LOOSE, UX_STEP_USELESS, 0, &depth,
					&sum->entries);
		if (ux_cur_more(&c)) {
			(void)ux_dwarf_die_read(ctx, &c, &die);
			sum->entries++;
		}
	}
}

static void walk_skip_leb(struct ux_cur *c)
{
	while (ux_cur_more(c) && (ux_cur_u8(c) & 0x80) != 0)
		continue;
}

/* Runs the opcodes of one program; rows are counted, and their registers summed. */
static void walk_program(struct ux_cur *c, const uint8_t *lengths, unsigned base, int line_base,
			 unsigned range, struct walk_sum *sum)
{
	uint64_t pc = 0, line = 1;
	while (ux_cur_more(c)) {
		unsigned op = ux_cur_u8(c);
		if (op >= base) {
			pc += (op - base) / range;
			line += (uint64_t)(line_base + (int)((op - base) % range));
			sum->check += pc ^ line;
			sum->rows++;
		} else if (op == 0) {
			ux_cur_skip(c, ux_cur_uleb(c));
		} else if (op == 1) {
			sum->check += pc ^ line;
			sum->rows++;
		} else if (op == 2) {
			pc += ux_cur_uleb(c);
		} else if (op == 3) {
			line += (uint64_t)ux_cur_sleb(c);
		} else if (op == 8) {
			pc += (255 - base) / range;
		} else if (op == 9) {
			pc += ux_cur_u16(c);
		} else {
			for (unsigned n = lengths[op - 1]; n > 0; n--)
				walk_skip_leb(c);
		}
	}
}

/* Reads as much of a line table's header as its program needs (DWARF 5, 6.2.4). */
static void walk_lines(const struct ux_dwarf_context *ctx, struct walk_sum *sum)
{
	struct ux_cur c = ux_dwarf_cur_at(ctx->sections, UX_DWARF_LINE, ctx->lines_off);
	bool is64 = false;
	uint64_t length = ux_dwarf_initial_length(&c, &is64);
	c = ux_cur_sub(&c, length);
	unsigned version = ux_cur_u16(&c);
	ux_cur_skip(&c, version >= 5 ? 2 : 0);
	uint64_t rest = is64 ? ux_cur_u64(&c) : ux_cur_u32(&c);
	struct ux_cur header = ux_cur_sub(&c, rest);
	ux_cur_skip(&header, version >= 4 ? 3 : 2);
	int line_base = (int8_t)ux_cur_u8(&header);
	unsigned range = ux_cur_u8(&header), base = ux_cur_u8(&header);
	struct ux_bytes lengths = ux_cur_take(&header, base > 0 ? base - 1 : 0);
	if (!c.failed && !header.failed && range > 0 && base > 9)
		walk_program(&c, lengths.data, base, line_base, range, sum);
}

static enum ux_code walk_units(const struct ux_dwarf_sections *sections, enum step last,
			       struct walk_sum *sum, struct ux_error *err)
{
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units units = {0};
	ux_cleanup(ux_dwarf_abbrev_buffers_deinit) struct ux_dwarf_abbrev_buffers room = {0};
	UX_TRY(ux_dwarf_units_parse(sections, &units, err));
	for (size_t i = 0; i < units.count; i++) {
		const struct ux_dwarf_unit *unit = &units.list[i];
		struct ux_dwarf_context ctx;
		/* Read in order first, as the touch of the other sections is, then jumped through.
		 */
		walk_touch(ux_bytes(sections->data[UX_DWARF_INFO].data + unit->off,
				    (size_t)(unit->end - unit->off)),
			   sum);
		UX_TRY(ux_dwarf_context_open(sections, unit, &room, &ctx, err));
		walk_entries(&ctx, sum);
		if (last >= STEP_LINES && ctx.has_lines)
			walk_lines(&ctx, sum);
	}
	return UX_OK;
}

static enum ux_code walk_write(uint64_t size, struct ux_error *err)
{
	static uint8_t part[WRITE_BYTES];
	int fd = -1;
	UX_TRY(ux_file_temporary(&fd, err));
	enum ux_code code = UX_OK;
	for (uint64_t at = 0; at < size && code == UX_OK; at += sizeof(part))
		code = ux_file_write(
			fd, ux_bytes(part, (size_t)ux_min(size - at, (uint64_t)sizeof(part))), err);
	close(fd);
	return code;
}

static enum ux_code walk_file(const char *path, enum step last, uint64_t size, struct walk_sum *sum,
			      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_dwarf_sections sections = {0};
	UX_TRY(ux_file_map(path, &file, err));
	UX_TRY(ux_elf_open(&elf, file.bytes, err));
	sections.swap = elf.swap;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		const struct ux_elf_section *s =
			ux_elf_section_find(&elf, ux_dwarf_section_name(i));
		if (!s)
			continue;
		if (ux_elf_section_compressed(&elf, s))
			return ux_error_set(err, UX_EUNSUPPORTED, "is compressed");
		UX_TRY(ux_elf_section_raw(&elf, s, &sections.data[i], err));
		bool units_touch = last >= STEP_ENTRIES && i == UX_DWARF_INFO;
		bool texts = i == UX_DWARF_STR || i == UX_DWARF_LINE_STR;
		if (!units_touch && !texts)
			walk_touch(sections.data[i], sum);
	}
	if (last >= STEP_ENTRIES)
		UX_TRY(walk_units(&sections, last, sum, err));
	return last >= STEP_WRITE ? walk_write(size, err) : UX_OK;
}

int main(int argc, char **argv)
{
	static const char *const names[N_STEPS] = {"touch", "entries", "lines", "write"};
	struct ux_error err = UX_ERROR_INIT;
	struct walk_sum sum = {0};
	unsigned last = 0;
	while (argc > 2 && last < N_STEPS && strcmp(argv[2], names[last]) != 0)
		last++;
	if (argc < 3 || last == N_STEPS || argc != (last == STEP_WRITE ? 4 : 3)) {
		fprintf(stderr, "usage: walk FILE touch|entries|lines|write [SIZE]\n");
		return 2;
	}
	uint64_t size = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	if (walk_file(argv[1], last, size, &sum, &err) != UX_OK) {
		fprintf(stderr, "walk: %s: %s\n", argv[1], err.text);
		return 1;
	}
	printf("%" PRIu64 " cache lines, %" PRIu64 " entries, %" PRIu64 " rows, check %" PRIx64
	       "\n",
	       sum.lines, sum.entries, sum.rows, sum.check);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in the log of Linux: "func+0x37e/0xac0 [module]", and where programs ended. */
#include "crash_internal.h"

static bool kernel_is_symbol_byte(uint8_t c)
{
	return ux_is_letter(c) || ux_is_digit(c) || c == '_' || c == '.' || c == '$';
}

/* A symbol with its offset and size. */
struct kernel_symbol {
	size_t start, end; /* in the line */
	struct ux_bytes name;
	uint64_t offset, size;
};

/* Finds "NAME+0xOFFSET/0xSIZE" from `from` on. */
static bool kernel_find(struct ux_bytes line, size_t from, struct kernel_symbol *ret)
{
	struct ux_bytes mark = UX_STR("+0x");
	while (from < line.size) {
		struct ux_bytes left = ux_crash_after(line, from);
		size_t at = ux_crash_find(left, mark);
		if (at == left.size)
			return false;
		size_t start = from + at, plus = from + at;
		from = plus + mark.size;
		while (start > 0 && kernel_is_symbol_byte(line.data[start - 1]))
			start--;
		size_t n = ux_crash_hex(ux_crash_after(line, plus + 1), &ret->offset);
		size_t slash = plus + 1 + n;
		if (n == 0 || start == plus || slash + 1 >= line.size || line.data[slash] != '/')
			continue;
		size_t m = ux_crash_hex(ux_crash_after(line, slash + 1), &ret->size);
		size_t end = slash + 1 + m;
		if (m == 0 || (end < line.size && kernel_is_symbol_byte(line.data[end])))
			continue;
		ret->start = start;
		ret->end = end;
		ret->name = ux_bytes(line.data + start, plus - start);
		return true;
	}
	return false;
}

/* "[ext4]" or, with build IDs, "[ext4 93ac...]" or "93ac..." after a symbol. */
static void kernel_module(struct ux_crash_frame *f, struct ux_bytes after)
{
	after = ux_trim(after);
	f->module = UX_STR("vmlinux");
	if (!ux_crash_skip(&after, UX_STR("[")))
		return;
	struct ux_bytes inside = ux_crash_before(after, UX_STR("]"));
	if (inside.size == after.size)
		return;
	struct ux_bytes name = ux_crash_word(inside);
	struct ux_bytes id = ux_trim(ux_crash_after(inside, name.size));
	if (ux_crash_is_bare_id(name)) {
		f->id = name;
		return;
	}
	if (name.size > 0)
		f->module = name;
	if (ux_crash_is_bare_id(id))
		f->id = id;
}

/* Returns whether the text before a symbol says that the processor was executing there: "RIP:
 * 0010:", "pc : ", "epc : ", "NIP [c000...]". A caller's register ("lr : ", "LR") holds a return
 * address. */
static bool kernel_is_exact(struct ux_bytes before)
{
	static const char *const marks[] = {
		"RIP: ", "EIP: ", "pc : ", "epc : ", "PC is at ", "NIP ", "IP: ", "PSW : "};
	for (size_t i = 0; i < ux_countof(marks); i++)
		if (ux_crash_find(before, ux_bytes_cstr(marks[i])) < before.size)
			return true;
	return false;
}

/* "[<ffffffff81234567>]" before a symbol, as older kernels print the address. */
static void kernel_address(struct ux_crash_frame *f, struct ux_bytes before)
{
	struct ux_bytes mark = UX_STR("[<");
	size_t at = ux_crash_find(before, mark);
	uint64_t address = 0;
	if (at == before.size)
		return;
	struct ux_bytes s = ux_crash_after(before, at + mark.size);
	size_t n = ux_digits_parse(s, 16, &address);
	if (n >= 8 && n < s.size && s.data[n] == '>' && address != 0) {
		f->address = address;
		f->has_address = true;
	}
}

bool ux_crash_read_kernel(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			  struct ux_crash_line *ret)
{
	struct kernel_symbol s;
	(void)after;
	for (size_t from = 0; kernel_find(line, from, &s); from = s.end) {
		struct ux_bytes before = ux_bytes(line.data, s.start);
		struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_KERNEL);
		if (!f)
			return true;
		f->symbol = s.name;
		f->has_symbol_offset = true;
		f->symbol_offset = s.offset;
		f->symbol_size = s.size;
		f->returns = !kernel_is_exact(before);
		f->doubtful = s.start >= 2 && line.data[s.start - 1] == ' ' &&
			      line.data[s.start - 2] == '?';
		kernel_module(f, ux_crash_after(line, s.end));
		kernel_address(f, before);
	}
	return ret->n > 0;
}

/*
 * "NAME[POSITION,START+SIZE]", the mapping in which a program ended; older kernels have no
 * POSITION, where the instruction is in the file. Source: print_vma_addr() in mm/memory.c.
 */
static bool kernel_mapping(struct ux_bytes s, struct ux_crash_frame *f)
{
	uint64_t first = 0, start = 0, size = 0;
	const uint8_t *open = s.size > 0 ? memchr(s.data, '[', s.size) : NULL;
	if (!open || open == s.data)
		return false;
	struct ux_bytes name = ux_bytes(s.data, (size_t)(open - s.data));
	s = ux_crash_after(s, name.size + 1);
	size_t n = ux_digits_parse(s, 16, &first);
	s = ux_crash_after(s, n);
	bool has_position = n > 0 && ux_crash_skip(&s, UX_STR(","));
	if (has_position) {
		n = ux_digits_parse(s, 16, &start);
		s = ux_crash_after(s, n);
	}
	if (n == 0 || !ux_crash_skip(&s, UX_STR("+")))
		return false;
	n = ux_digits_parse(s, 16, &size);
	if (n == 0 || !ux_bytes_starts(ux_crash_after(s, n), UX_STR("]")))
		return false;
	f->module = name;
	f->origin = has_position ? UX_CRASH_FILE : UX_CRASH_NOWHERE;
	f->offset = has_position ? first : 0;
	return true;
}

bool ux_crash_read_fault(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			 struct ux_crash_line *ret)
{
	static const char *const marks[] = {" ip ", " ip:"};
	(void)after;
	for (size_t i = 0; i < ux_countof(marks); i++) {
		struct ux_bytes mark = ux_bytes_cstr(marks[i]), in = UX_STR(" in ");
		struct ux_crash_frame found = {0};
		size_t at = ux_crash_find(line, mark);
		struct ux_bytes left = ux_crash_after(line, at + mark.size);
		if (at == line.size || ux_digits_parse(left, 16, &found.address) == 0)
			continue;
		left = ux_crash_after(left, ux_crash_find(left, in) + in.size);
		if (!kernel_mapping(left, &found))
			continue;
		struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_FAULT);
		if (!f)
			return true;
		f->module = found.module;
		f->origin = found.origin;
		f->offset = found.offset;
		f->address = found.address;
		f->has_address = true;
		f->returns = false;
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of crash reports besides frames: mappings, identities of modules, the kernel's release. */
#include "crash_internal.h"

/* "7fc2ee0d2000-7fc2ee228000 r-xp 00026000 fe:00 332835   /usr/lib/libc.so.6" */
static bool fact_proc_map(struct ux_bytes line, struct ux_crash_line *ret)
{
	struct ux_bytes s = ux_trim(line);
	uint64_t ignored = 0;
	size_t n = ux_digits_parse(s, 16, &ret->start);
	if (n < 4 || n == s.size || s.data[n] != '-')
		return false;
	s = ux_crash_after(s, n + 1);
	n = ux_digits_parse(s, 16, &ret->end);
	if (n < 4 || ret->end <= ret->start || s.size < n + 6 || s.data[n] != ' ' ||
	    !memchr("r-", s.data[n + 1], 2) || !memchr("w-", s.data[n + 2], 2) ||
	    !memchr("x-s", s.data[n + 3], 3) || s.data[n + 5] != ' ')
		return false;
	s = ux_crash_after(s, n + 6);
	n = ux_digits_parse(s, 16, &ret->off);
	if (n == 0)
		return false;
	s = ux_trim(ux_crash_after(s, n));
	s = ux_trim(ux_crash_after(s, ux_crash_word(s).size)); /* the device */
	n = ux_crash_decimal(s, &ignored);
	ret->module = ux_trim(ux_crash_after(s, n));
	return true;
}

/* "0x555555554000 0x555555555000 0x1000 0x0 r-xp /tmp/prog" of gdb's "info proc mappings" */
static bool fact_gdb_map(struct ux_bytes line, struct ux_crash_line *ret)
{
	uint64_t numbers[4] = {0};
	struct ux_bytes s = ux_trim(line);
	for (size_t i = 0; i < ux_countof(numbers); i++) {
		size_t n = ux_crash_hex(s, &numbers[i]);
		if (n == 0 || n == s.size || !ux_is_blank(s.data[n]))
			return false;
		s = ux_trim(ux_crash_after(s, n));
	}
	if (numbers[1] <= numbers[0] || numbers[2] != numbers[1] - numbers[0])
		return false;
	struct ux_bytes perms = ux_crash_word(s);
	if (perms.size == 4 && memchr("r-", perms.data[0], 2))
		s = ux_trim(ux_crash_after(s, perms.size));
	ret->start = numbers[0];
	ret->end = numbers[1];
	ret->off = numbers[3];
	ret->module = s;
	return true;
}

/* "Module libfoo.so (libfoo.so) with build-id 93ac..." of systemd-coredump */
static bool fact_coredump_module(struct ux_bytes line, struct ux_crash_line *ret)
{
	struct ux_bytes head = UX_STR("Module "), label = UX_STR("with build-id ");
	size_t at = ux_crash_find(line, head), mark = ux_crash_find(line, label);
	if (at == line.size || mark == line.size || mark < at + head.size)
		return false;
	struct ux_bytes id = ux_crash_word(ux_crash_after(line, mark + label.size));
	while (id.size > 0 && (id.data[id.size - 1] == '.' || id.data[id.size - 1] == ','))
		id.size--;
	if (!ux_crash_is_bare_id(id))
		return false;
	ret->module = ux_crash_word(ux_crash_after(line, at + head.size));
	ret->id = id;
	return ret->module.size > 0;
}

/* "CPU: 3 PID: 1 Comm: x Not tainted 6.1.0-18-amd64 #1 Debian ..." or "Linux version 6.1.0 (" */
static bool fact_release(struct ux_bytes line, struct ux_crash_line *ret)
{
	struct ux_bytes version = UX_STR("Linux version ");
	size_t at = ux_crash_find(line, version);
	if (at < line.size) {
		ret->module = ux_crash_word(ux_crash_after(line, at + version.size));
		return ret->module.size > 0;
	}
	size_t hash = ux_crash_find(line, UX_STR(" #"));
	if (ux_crash_find(line, UX_STR("ainted")) >= hash || hash == line.size)
		return false;
	struct ux_bytes before = ux_trim(ux_bytes(line.data, hash));
	const uint8_t *blank = ux_bytes_find_last(before, ' ');
	if (!blank)
		return false;
	ret->module = ux_crash_after(before, (size_t)(blank + 1 - before.data));
	return ret->module.size > 0 && ux_is_digit(ret->module.data[0]);
}

/* "0x100000000 - 0x100003fff prog (1.0) <93AC61EC-...> /tmp/prog" of macOS */
static bool fact_apple_image(struct ux_bytes line, struct ux_crash_line *ret)
{
	uint64_t end = 0;
	struct ux_bytes s = ux_trim(line);
	size_t n = ux_crash_hex(s, &ret->start);
	if (n == 0)
		return false;
	s = ux_trim(ux_crash_after(s, n));
	if (!ux_crash_skip(&s, UX_STR("- ")))
		return false;
	s = ux_trim(s);
	n = ux_crash_hex(s, &end);
	if (n == 0 || end < ret->start)
		return false;
	s = ux_trim(ux_crash_after(s, n));
	(void)ux_crash_skip(&s, UX_STR("+"));
	ret->module = ux_crash_word(s);
	ret->end = end + 1;
	size_t open = ux_crash_find(s, UX_STR("<"));
	if (open < s.size)
		ret->id = ux_crash_before(ux_crash_after(s, open + 1), UX_STR(">"));
	return ret->module.size > 0;
}

bool ux_crash_read_fact(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			struct ux_crash_line *ret)
{
	(void)after;
	(void)r;
	ret->id = ret->module = UX_BYTES_NONE;
	ret->fact = UX_CRASH_NO_FACT;
	if (fact_proc_map(line, ret) || fact_gdb_map(line, ret))
		ret->fact = UX_CRASH_MAPPING;
	else if (fact_coredump_module(line, ret))
		ret->fact = UX_CRASH_MODULE;
	else if (fact_release(line, ret))
		ret->fact = UX_CRASH_RELEASE;
	else if (fact_apple_image(line, ret))
		ret->fact = UX_CRASH_IMAGE;
	return ret->fact != UX_CRASH_NO_FACT;
}

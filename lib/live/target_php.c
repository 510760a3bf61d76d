/* SPDX-License-Identifier: Apache-2.0 */
/* Finding PHP's state in one file of a live process. */
#include "target_php.h"

#include "php_stack.h"

/* A number up to 255 and the byte behind it; false when that is not `behind` (0: anything). */
static bool take_number(const uint8_t **at, const uint8_t *end, char behind, uint32_t *ret)
{
	uint32_t v = 0;
	const uint8_t *p = *at;
	while (p < end && *p >= '0' && *p <= '9' && v <= 0xff)
		v = v * 10 + (uint32_t)(*p++ - '0');
	if (p == *at || p == end || v > 0xff || (behind && *p != (uint8_t)behind))
		return false;
	*at = p + 1;
	*ret = v;
	return true;
}

static uint32_t find_version(const struct ux_target_elf *e)
{
	static const char text[] = "X-Powered-By: PHP/";
	const uint8_t *end = e->file.bytes.data + e->file.bytes.size;
	const uint8_t *at = memmem(e->file.bytes.data, e->file.bytes.size, text, sizeof(text) - 1);
	uint32_t major = 0, minor = 0, patch = 0;
	if (!at)
		return 0;
	at += sizeof(text) - 1;
	if (!take_number(&at, end, '.', &major) || !take_number(&at, end, '.', &minor) ||
	    !take_number(&at, end, '\0', &patch))
		return 0;
	return major << 16 | minor << 8 | patch;
}

enum ux_code ux_target_php(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			   struct ux_interp_root *root, struct ux_error *err)
{
	struct ux_php php;
	uint64_t pc = 0;
	if (root->addr == 0 && ux_target_elf_symbol(e, "executor_globals_offset", &pc))
		return ux_error_set(err, UX_EUNSUPPORTED, "a PHP with threads");
	if (root->addr == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no executor_globals in %.100s", e->path);
	root->version = find_version(e);
	return ux_php_init(&php, memory, root, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An image of memory with a PHP in it. */
#include "make_php.h"

#include "base.h"

void make_php_put(struct make_php *m, uint64_t addr, uint64_t value)
{
	memcpy(m->image + (addr - MAKE_INTERP_BASE), &value, sizeof(value));
}

static void put_u32(struct make_php *m, uint64_t addr, uint32_t value)
{
	memcpy(m->image + (addr - MAKE_INTERP_BASE), &value, sizeof(value));
}

static uint64_t room(struct make_php *m, size_t size)
{
	uint64_t addr = MAKE_INTERP_BASE + m->size;
	m->size += (size + 7) & ~(size_t)7;
	assert(m->size <= sizeof(m->image));
	return addr;
}

/* A zend_string. */
static uint64_t make_string(struct make_php *m, const char *text, size_t n)
{
	uint64_t s = room(m, 24 + n + 1), hash = 5381;
	for (size_t i = 0; i < n; i++)
		hash = hash * 33 + (uint8_t)text[i];
	make_php_put(m, s, 6ull << 32 | 1); /* references to it, IS_STRING */
	make_php_put(m, s + 8, hash | 1ull << 63);
	make_php_put(m, s + 16, n);
	memcpy(m->image + (s + 24 - MAKE_INTERP_BASE), text, n);
	return s;
}

/* A zend_function with this many instructions, each on the next line. */
static uint64_t make_function(struct make_php *m, bool user, uint64_t name, uint64_t scope,
			      uint64_t file, uint32_t first)
{
	bool newer = m->root.version >= 0x080400;
	uint64_t f = room(m, user ? 192 : 24), ops = user ? room(m, 4 * 32) : 0;
	m->image[f - MAKE_INTERP_BASE] = user ? 2 : 1;
	make_php_put(m, f + 8, name);
	make_php_put(m, f + 16, scope);
	if (!user)
		return f;
	make_php_put(m, f + (newer ? 104 : 88), ops);
	put_u32(m, f + (newer ? 96 : 80), 4);
	make_php_put(m, f + (newer ? 168 : 152), file);
	put_u32(m, f + (newer ? 176 : 160), first);
	for (uint32_t i = 0; i < 4; i++)
		put_u32(m, ops + 32 * (uint64_t)i + 24, first + i);
	return f;
}

static uint64_t make_frame(struct make_php *m, uint64_t function, uint64_t op, uint64_t previous)
{
	uint64_t frame = room(m, 80);
	make_php_put(m, frame, op);
	make_php_put(m, frame + 24, function);
	make_php_put(m, frame + 48, previous);
	return frame;
}

static uint64_t ops_of(const struct make_php *m, uint64_t function)
{
	uint64_t ops = 0;
	uint64_t at = function + (m->root.version >= 0x080400 ? 104 : 88);
	memcpy(&ops, m->image + (at - MAKE_INTERP_BASE), sizeof(ops));
	return ops;
}

void make_php(struct make_php *m, uint32_t version)
{
	*m = (struct make_php){.size = 0};
	uint64_t globals = room(m, 496);
	m->root = (struct ux_interp_root){UX_INTERP_PHP, globals, version};
	m->current = globals + 488;
	uint64_t class = room(m, 16);
	make_php_put(m, class + 8, make_string(m, "Cls\0/a.php", 10));
	uint64_t file = make_string(m, "a.php", 5);
	m->functions[0] = make_function(m, false, make_string(m, "fgets", 5), 0, 0, 0);
	m->functions[1] = make_function(m, true, make_string(m, "run", 3), class, file, 10);
	m->functions[2] = make_function(m, true, 0, 0, file, 1);
	m->frames[3] = make_frame(m, m->functions[2], ops_of(m, m->functions[2]) + 64, 0);
	m->frames[2] = make_frame(m, 0, 0, m->frames[3]);
	m->frames[1] =
		make_frame(m, m->functions[1], ops_of(m, m->functions[1]) + 32, m->frames[2]);
	m->frames[0] = make_frame(m, m->functions[0], 0, m->frames[1]);
	make_php_put(m, m->current, m->frames[0]);
}

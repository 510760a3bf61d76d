/* SPDX-License-Identifier: Apache-2.0 */
/* An image of memory with a Ruby 3.1 or 3.3 in it. */
#include "make_ruby.h"

#include "base.h"

enum {
	LINES = 75, /* of "run" */
};

/* The differences between versions. */
static const struct make_ruby_shape {
	uint32_t version;
	unsigned ractor_node, ractor_threads, ractor_size;
	unsigned context, handle, native; /* of a thread; native 0: the handle is its own */
	unsigned frame, lines;
	bool length_near;
} shapes[] = {
	[MAKE_RUBY_31] = {0x030102, 568, 304, 592, 40, 80, 0, 64, 120, false},
	[MAKE_RUBY_33] = {0x030308, 432, 256, 456, 48, 16, 40, 56, 112, true},
};

void make_ruby_put(struct make_ruby *m, uint64_t addr, uint64_t value)
{
	memcpy(m->image + (addr - MAKE_INTERP_BASE), &value, sizeof(value));
}

static void put_u32(struct make_ruby *m, uint64_t addr, uint32_t value)
{
	memcpy(m->image + (addr - MAKE_INTERP_BASE), &value, sizeof(value));
}

static uint64_t room(struct make_ruby *m, size_t size)
{
	uint64_t addr = MAKE_INTERP_BASE + m->size;
	m->size += (size + 7) & ~(size_t)7;
	assert(m->size <= sizeof(m->image));
	return addr;
}

/* An RString, with its text inside of it or elsewhere. */
static uint64_t make_string(struct make_ruby *m, const char *text, bool far)
{
	size_t n = strlen(text);
	bool near = m->shape->length_near;
	uint64_t s = room(m, 40), at = far ? room(m, n + 1) : s + (near ? 24 : 16);
	make_ruby_put(m, s, far ? 5 | 1 << 13 : near ? 5 : 5 | n << 14);
	if (far || near)
		make_ruby_put(m, s + 16, n);
	if (far)
		make_ruby_put(m, s + 24, at);
	memcpy(m->image + (at - MAKE_INTERP_BASE), text, n);
	return s;
}

/* The entries of a table of lines, and the index from positions to them. */
static void make_lines(struct make_ruby *m, uint64_t body, uint32_t lines, uint32_t first)
{
	uint64_t entries = room(m, 12 * (size_t)lines), index = room(m, 48 + 2 * 80);
	for (uint32_t i = 0; i < lines; i++)
		put_u32(m, entries + 12 * (uint64_t)i, first + i);
	uint64_t words[26] = {0};
	unsigned rank = 0;
	for (unsigned position = 0; position < 8 * lines; position++) {
		rank += position % 8 == 0;
		unsigned bit = (position - 54) % 512, block = 6 + 10 * ((position - 54) / 512);
		if (position < 54) {
			words[position / 9] |= (uint64_t)rank << 7 * (position % 9);
			continue;
		}
		if (bit == 0)
			words[block] = rank - (position % 8 == 0);
		if (bit % 64 == 0 && bit > 0)
			words[block + 1] |= (uint64_t)(rank - (position % 8 == 0) - words[block])
					    << 9 * (bit / 64 - 1);
		words[block + 2 + bit / 64] |= (uint64_t)(position % 8 == 0) << bit % 64;
	}
	memcpy(m->image + (index - MAKE_INTERP_BASE), words, sizeof(words));
	make_ruby_put(m, body + m->shape->lines, entries);
	put_u32(m, body + m->shape->lines + 16, lines);
	make_ruby_put(m, body + m->shape->lines + 24, index);
}

static void make_iseq(struct make_ruby *m, int i, uint64_t label, uint64_t path, uint32_t lines,
		      uint32_t first)
{
	uint64_t iseq = room(m, 40), body = room(m, 160);
	m->iseqs[i] = iseq;
	m->words[i] = 0x500000 + 0x10000 * (uint64_t)i;
	make_ruby_put(m, iseq, 0x1a | 7 << 12);
	make_ruby_put(m, iseq + 16, body);
	put_u32(m, body + 4, 8 * lines);
	make_ruby_put(m, body + 8, m->words[i]);
	make_ruby_put(m, body + 64, path);
	make_ruby_put(m, body + 80, label);
	make_ruby_put(m, body + 88, first << 1 | 1);
	make_lines(m, body, lines, first);
}

static void put_frame(struct make_ruby *m, unsigned i, uint64_t pc, uint64_t iseq)
{
	make_ruby_put(m, m->frames + m->frame * (uint64_t)i, pc);
	make_ruby_put(m, m->frames + m->frame * (uint64_t)i + 16, iseq);
}

/* A machine, its ractor and its thread, in circles of one. */
static void make_thread(struct make_ruby *m)
{
	const struct make_ruby_shape *l = m->shape;
	uint64_t vm_ptr = room(m, 8), vm = room(m, 48), ractor = room(m, l->ractor_size);
	uint64_t thread = room(m, 88), node = ractor + l->ractor_node;
	m->root = (struct ux_interp_root){UX_INTERP_RUBY, vm_ptr, l->version};
	make_ruby_put(m, vm_ptr, vm);
	make_ruby_put(m, vm + 8, node);
	make_ruby_put(m, vm + 16, node);
	make_ruby_put(m, vm + 24, 1);
	make_ruby_put(m, vm + 32, ractor);
	make_ruby_put(m, vm + 40, thread);
	make_ruby_put(m, node, vm + 8);
	make_ruby_put(m, node + 8, vm + 8);
	make_ruby_put(m, ractor + l->ractor_threads, thread);
	make_ruby_put(m, thread, ractor + l->ractor_threads);
	make_ruby_put(m, thread + 24, ractor);
	m->context = room(m, 24);
	make_ruby_put(m, thread + l->context, m->context);
	if (l->native) {
		m->native = room(m, 32);
		make_ruby_put(m, thread + l->native, m->native);
	}
	make_ruby_put(m, (l->native ? m->native : thread) + l->handle, 0x7f01);
}

void make_ruby(struct make_ruby *m, enum make_ruby_version version)
{
	*m = (struct make_ruby){.shape = &shapes[version], .frame = shapes[version].frame};
	make_thread(m);
	m->frames = room(m, 4 * (size_t)m->frame);
	make_ruby_put(m, m->context, m->frames);
	make_ruby_put(m, m->context + 8, m->frame * 4 / 8);
	make_ruby_put(m, m->context + 16, m->frames);
	uint64_t path = make_string(m, "a.rb", /* far= */ true), both = room(m, 40);
	make_ruby_put(m, both, 7 | 1 << 13);
	make_ruby_put(m, both + 16, path);
	make_iseq(m, 0, make_string(m, "run", /* far= */ false), both, LINES, 10);
	make_iseq(m, 1, make_string(m, "<main>", /* far= */ false), path, 1, 1);
	put_frame(m, 0, m->words[0] + 8 * 17, m->iseqs[0]);
	put_frame(m, 1, 0, 0);
	put_frame(m, 2, m->words[1] + 8 * 3, m->iseqs[1]);
	put_frame(m, 3, m->words[1], m->iseqs[1]);
}

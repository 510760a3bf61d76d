/* SPDX-License-Identifier: Apache-2.0 */
/* An image of memory with a CPython in it. */
#include "make_python.h"

#include "out.h"
#include "python_object.h"

enum {
	THREAD_IDENT = 0x7f01,
	THREAD_NATIVE = 4711,
};

static void put(struct make_python *m, uint64_t addr, const void *data, size_t size)
{
	memcpy(m->image + (addr - MAKE_INTERP_BASE), data, size);
}

void make_python_put(struct make_python *m, uint64_t addr, uint64_t value)
{
	put(m, addr, &value, sizeof(value));
}

static void put_u32(struct make_python *m, uint64_t addr, uint32_t value)
{
	put(m, addr, &value, sizeof(value));
}

static uint64_t room(struct make_python *m, size_t size)
{
	uint64_t addr = MAKE_INTERP_BASE + m->size;
	m->size += (size + 7) & ~(size_t)7;
	assert(m->size <= sizeof(m->image));
	return addr;
}

/* Types of the image, in the order in which they are made. */
struct types {
	uint64_t code, str, bytes, frame, function;
};

static uint64_t make_type(struct make_python *m, const struct ux_python_layout *l, const char *name)
{
	uint64_t text = room(m, strlen(name) + 1);
	put(m, text, name, strlen(name));
	uint64_t type = room(m, l->type_name + 8);
	make_python_put(m, type + l->type_name, text);
	return type;
}

/* Characters of a width of 1, 2 or 4 bytes. */
static uint64_t make_str(struct make_python *m, const struct ux_python_layout *l, uint64_t type,
			 const void *chars, uint32_t n, unsigned width, bool ascii)
{
	uint32_t data = ascii ? l->str_ascii : l->str_wide;
	uint64_t str = room(m, data + (size_t)(n + 1) * width);
	make_python_put(m, str + l->object_type, type);
	make_python_put(m, str + l->str_length, n);
	put_u32(m, str + l->str_state, 0xabcd0000u | width << 2 | 1u << 5 | (uint32_t)ascii << 6);
	put(m, str + data, chars, (size_t)n * width);
	return str;
}

static uint64_t make_ascii(struct make_python *m, const struct ux_python_layout *l, uint64_t type,
			   const char *text)
{
	return make_str(m, l, type, text, (uint32_t)strlen(text), 1, /* ascii= */ true);
}

static uint64_t make_bytes(struct make_python *m, const struct ux_python_layout *l, uint64_t type,
			   struct ux_bytes content)
{
	uint64_t bytes = room(m, l->bytes_data + content.size + 1);
	make_python_put(m, bytes + l->object_type, type);
	make_python_put(m, bytes + l->var_size, content.size);
	if (content.size > 0)
		put(m, bytes + l->bytes_data, content.data, content.size);
	return bytes;
}

/* Two instructions on the first line, two on the one after next. */
static struct ux_bytes line_table(enum ux_python_lines kind)
{
	static const uint8_t lnotab[] = {4, 2};
	static const uint8_t linetable[] = {4, 0, 4, 2};
	static const uint8_t locations[] = {0x80 | 13 << 3 | 1, 0, 0x80 | 13 << 3 | 1, 2 << 1};
	switch (kind) {
	case UX_PYTHON_LNOTAB:
		return ux_bytes(lnotab, sizeof(lnotab));
	case UX_PYTHON_LINETABLE:
		return ux_bytes(linetable, sizeof(linetable));
	case UX_PYTHON_LOCATIONS:
		break;
	}
	return ux_bytes(locations, sizeof(locations));
}

static uint64_t make_code(struct make_python *m, const struct ux_python_layout *l,
			  const struct types *t, uint64_t name, uint64_t file, uint32_t first)
{
	static const uint8_t instrs[8] = {0};
	uint64_t lines = make_bytes(m, l, t->bytes, line_table(l->lines));
	uint64_t content = make_bytes(m, l, t->bytes, ux_bytes(instrs, sizeof(instrs)));
	uint64_t code = room(m, l->code_bytes + sizeof(instrs));
	make_python_put(m, code + l->object_type, t->code);
	if (l->frame_unit == 0)
		make_python_put(m, code + l->var_size, sizeof(instrs) / 2);
	else
		make_python_put(m, code + l->code_instrs, content);
	put_u32(m, code + l->code_first_line, first);
	make_python_put(m, code + l->code_name, name);
	if (l->code_qualname != UX_PYTHON_NONE)
		make_python_put(m, code + l->code_qualname, name);
	make_python_put(m, code + l->code_file, file);
	make_python_put(m, code + l->code_lines, lines);
	return code;
}

/* A frame that stands at its third instruction. */
static uint64_t make_frame(struct make_python *m, const struct ux_python_layout *l,
			   const struct types *t, uint64_t code, uint64_t previous)
{
	bool object = l->frame_unit != 0;
	uint64_t frame = room(m, object ? l->frame_locals + 16 : l->frame_bytes);
	if (object) {
		make_python_put(m, frame + l->object_type, t->frame);
		make_python_put(m, frame + l->frame_stack, frame + l->frame_locals);
		put_u32(m, frame + l->frame_instr, (uint32_t)m->instr / l->frame_unit);
		m->image[frame + l->frame_running - MAKE_INTERP_BASE] = l->frame_unit == 1;
	} else {
		make_python_put(m, frame + l->frame_instr, code + l->code_instrs + m->instr);
	}
	make_python_put(m, frame + l->frame_code, code);
	if (l->frame_entry != UX_PYTHON_NONE)
		m->image[frame + l->frame_entry - MAKE_INTERP_BASE] = previous == 0;
	make_python_put(m, frame + l->frame_previous, previous);
	return frame;
}

/* A function of the innermost frame's code, on the stack of its caller. */
static void make_called(struct make_python *m, const struct ux_python_layout *l,
			const struct types *t)
{
	uint64_t name = make_ascii(m, l, t->str, "C.inner");
	uint64_t function = room(m, 112);
	make_python_put(m, function + l->object_type, t->function);
	make_python_put(m, function + l->func_code, m->codes[0]);
	make_python_put(m, function + l->func_qualname, name);
	put_u32(m, m->codes[1] + l->code_stack, 2);
	make_python_put(m, m->frames[1] + l->frame_locals + 8, function);
}

static void make_stack(struct make_python *m, const struct ux_python_layout *l,
		       const struct types *t)
{
	static const uint16_t wide[] = {0x444};
	static const uint8_t latin[] = {0xe9, '.', 'p', 'y'};
	bool qualified = l->code_qualname != UX_PYTHON_NONE;
	uint64_t inner = make_ascii(m, l, t->str, qualified ? "C.inner" : "inner");
	uint64_t middle = make_str(m, l, t->str, wide, 1, 2, /* ascii= */ false);
	uint64_t module = make_ascii(m, l, t->str, "<module>");
	uint64_t a = make_ascii(m, l, t->str, "a.py");
	uint64_t e = make_str(m, l, t->str, latin, sizeof(latin), 1, /* ascii= */ false);
	m->codes[0] = make_code(m, l, t, inner, a, 10);
	m->codes[1] = make_code(m, l, t, middle, e, 20);
	m->codes[2] = make_code(m, l, t, module, a, 30);
	uint64_t previous = 0;
	if (l->frame_owner != UX_PYTHON_NONE && l->frame_entry == UX_PYTHON_NONE) {
		previous = make_frame(m, l, t, 0, 0);
		m->image[previous + l->frame_owner - MAKE_INTERP_BASE] = 3;
	}
	for (int i = 2; i >= 0; i--)
		previous = m->frames[i] = make_frame(m, l, t, m->codes[i], previous);
	if (!qualified)
		make_called(m, l, t);
}

static uint64_t make_thread(struct make_python *m, const struct ux_python_layout *l,
			    uint64_t interp, uint64_t next, uint64_t frame)
{
	uint64_t thread = room(m, l->thread_bytes);
	make_python_put(m, thread + l->thread_next, next);
	make_python_put(m, thread + l->thread_interp, interp);
	make_python_put(m, thread + l->thread_handle, THREAD_IDENT);
	if (l->thread_tid != UX_PYTHON_NONE)
		make_python_put(m, thread + l->thread_tid, THREAD_NATIVE);
	m->innermost = thread + l->thread_frame;
	if (l->cframe_frame != UX_PYTHON_NONE) {
		uint64_t cframe = room(m, 24);
		make_python_put(m, thread + l->thread_frame, cframe);
		m->innermost = cframe + l->cframe_frame;
	}
	make_python_put(m, m->innermost, frame);
	return thread;
}

/* The first part of the offsets of 3.13 and 3.14, with smaller structs than theirs. */
static void make_offsets(struct make_python *m, uint32_t version)
{
	static const uint64_t v13[] =
		{
			900, 0,   800, /* runtime_state */
			64,  0,   8,   16,  0,   0,  0,  0,  0,  0,
			0,   0,   0,                                  /* interpreter_state */
			80,  0,   8,   16,  24,  32, 40, 48, 56,      /* thread_state */
			80,  8,   0,   56,  72,  70,                  /* interpreter_frame */
			208, 112, 120, 128, 136, 68, 52, 0,  0,  200, /* code_object */
			16,  8,                                       /* pyobject */
			64,  24,  40,  48,                            /* type_object */
			32,  24,  16,  40,  24,  16, 40, 32, 24, 24,
			16,  32, /* tuple, list, dict, float, long */
			16,  24,  40,  16,  32,  64, 32, 16, 40, /* bytes, unicode */
		};
	static const uint64_t v14[] = {
		900, 0,  800, 64, 0,   8,   16,  0,   0,   0,  0,  0,   0,  0,   0,  0,
		0,   0,  0,   80, 0,   8,   16,  24,  32,  40, 48, 56,  88, 8,   0,  56,
		80,  74, 64,  0,  208, 112, 120, 128, 136, 68, 52, 0,   0,  200, 0,  16,
		8,   64, 24,  40, 48,  32,  24,  16,  40,  24, 16, 200, 24, 32,  40, 40,
		32,  24, 24,  16, 32,  16,  24,  40,  16,  32, 64, 32,  16, 40,
	};
	uint64_t at = m->root.addr;
	put(m, at, "xdebugpy", 8);
	make_python_put(m, at + 8, (uint64_t)version << 16 | 0x05f0);
	const uint64_t *words = version == 0x030d ? v13 : v14;
	size_t n = version == 0x030d ? ux_countof(v13) : ux_countof(v14);
	for (size_t i = 0; i < n; i++)
		make_python_put(m, at + 24 + 8 * i, words[i]);
}

void make_python(struct make_python *m, uint32_t version)
{
	struct ux_python_layout l = {0};
	const struct ux_python_layout *known = ux_python_layout_find(version);
	uint32_t hex = 0;
	*m = (struct make_python){.instr = 4};
	m->root = (struct ux_interp_root){UX_INTERP_PYTHON, room(m, 1024), version << 8 | 5};
	if (known) {
		l = *known;
	} else {
		make_offsets(m, version);
		enum ux_code code =
			ux_python_layout_parse(ux_bytes(m->image, m->size), &l, &hex, NULL);
		assert(code == UX_OK);
		(void)code;
	}
	struct types t = {
		.code = make_type(m, &l, "code"),
		.str = make_type(m, &l, "str"),
		.bytes = make_type(m, &l, "bytes"),
		.frame = make_type(m, &l, "frame"),
		.function = make_type(m, &l, "function"),
	};
	make_stack(m, &l, &t);
	uint64_t interp = room(m, l.interp_threads + 8);
	uint64_t idle = make_thread(m, &l, interp, 0, 0);
	m->thread = make_thread(m, &l, interp, idle, m->frames[0]);
	make_python_put(m, interp + l.interp_threads, m->thread);
	make_python_put(m, m->root.addr + l.runtime_head, interp);
	make_python_put(m, m->root.addr + l.runtime_head + 8, interp);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a PHP interpreter. */
#include "php_stack.h"

enum {
	/* zend_executor_globals, zend_execute_data (Zend/zend_compile.h), the same in 8.2 and 8.4.
	 */
	GLOBALS_CURRENT = 488,
	FRAME_OP = 0,
	FRAME_FUNCTION = 24,
	FRAME_INFO = 40, /* type and flags of the call */
	FRAME_PREVIOUS = 48,
	FRAME_BYTES = 56,
	INFO_GENERATOR = 1 << 24,
	/* zend_op */
	OP_BYTES = 32,
	OP_LINE = 24,
	/* zend_function: the fields that all kinds begin with. */
	FUNCTION_TYPE = 0,
	FUNCTION_NAME = 8,
	FUNCTION_SCOPE = 16,
	FUNCTION_HEAD = 24, /* bytes that internal functions have, too */
	FUNCTION_MAX = 192,
	TYPE_INTERNAL = 1,
	TYPE_USER = 2,
	TYPE_EVAL = 4,
	/* zend_class_entry, zend_string */
	CLASS_NAME = 8,
	/* offset of a value's type word, whose lower four bits are IS_STRING */
	STRING_TYPE = 4,
	STRING_HASH = 8,
	STRING_LENGTH = 16,
	STRING_TEXT = 24,
	STRING_MAX = 1 << 16,
	TEXT_BYTES = 2 * STRING_MAX + 2, /* a class, "::" and a method */
	STRING_IS = 6,
	OPS_MAX = 1 << 26,
};

static const struct ux_php_layout layouts[] = {
	{.version = 0x0802, .ops = 88, .last = 80, .file = 152, .first_line = 160, .bytes = 168},
	{.version = 0x0804, .ops = 104, .last = 96, .file = 168, .first_line = 176, .bytes = 184},
};

enum ux_code ux_php_init(struct ux_php *p, const struct ux_memory_reader *reader,
			 const struct ux_interp_root *root, struct ux_error *err)
{
	uint64_t current = 0;
	*p = (struct ux_php){.memory = {.reader = *reader, .left = UX_MEMORY_WORK},
			     .globals = root->addr};
	for (size_t i = 0; i < ux_countof(layouts); i++)
		if (layouts[i].version == root->version >> 8)
			p->layout = &layouts[i];
	if (!p->layout)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "PHP %u.%u is not supported; expected 8.2 or 8.4",
				    root->version >> 16, root->version >> 8 & 0xff);
	if (!ux_memory_read(&p->memory, p->globals + GLOBALS_CURRENT, &current, sizeof(current)))
		return ux_error_set(err, UX_ECORRUPT, "no executor_globals at 0x%" PRIx64,
				    p->globals);
	return UX_OK;
}

/* A copy of a function, and its name. */
struct php_function {
	uint8_t copy[FUNCTION_MAX];
	bool user;   /* a user function, which has instructions and a file */
	bool engine; /* a function of the engine itself, such as the one in which a fiber begins: it
			is not reported */
	const char *name;
	const char *file;
};

/* Copies a function. Returns false when there is none, or it is of a kind that cannot run. */
static bool php_function_read(struct ux_php *p, uint64_t addr, struct php_function *ret)
{
	*ret = (struct php_function){.name = "", .file = ""};
	if (!ux_memory_plausible(addr) ||
	    !ux_memory_read(&p->memory, addr, ret->copy, FUNCTION_HEAD))
		return false;
	uint8_t type = ret->copy[FUNCTION_TYPE];
	ret->user = type == TYPE_USER || type == TYPE_EVAL;
	ret->engine = !ret->user && ux_field_u64(ret->copy, FUNCTION_NAME) == 0;
	return ret->user ? ux_memory_read(&p->memory, addr, ret->copy, p->layout->bytes)
			 : type == TYPE_INTERNAL;
}

/*
 * Returns whether a text has the hash that is stored with it (zend_inline_hash_func() of
 * Zend/zend_string.h, DJBX33A). Names were looked up, so their hash is stored; 0: it is not.
 */
static bool php_string_has_hash(const char *text, size_t size, uint64_t hash)
{
	uint64_t h = 5381;
	for (size_t i = 0; i < size; i++)
		h = h * 33 + (uint64_t)(int64_t)(signed char)text[i];
	return hash == 0 || hash == (h | 1ull << 63);
}

/*
 * Appends a zend_string. Returns false when no string is there: the memory of a freed function may
 * hold other data now. The text after a NUL is dropped; in the name of an anonymous class this is
 * its file and line.
 */
static bool php_string_append(struct ux_php *p, uint64_t addr, char *to, size_t *size)
{
	uint8_t head[STRING_TEXT];
	if (!ux_memory_plausible(addr) || !ux_memory_read(&p->memory, addr, head, sizeof(head)) ||
	    (head[STRING_TYPE] & 0xf) != STRING_IS)
		return false;
	uint64_t length = ux_field_u64(head, STRING_LENGTH);
	char *text = to + *size;
	if (length > STRING_MAX || !ux_memory_read(&p->memory, addr + STRING_TEXT, text, length) ||
	    !php_string_has_hash(text, length, ux_field_u64(head, STRING_HASH)))
		return false;
	*size += strnlen(text, length);
	return true;
}

/* Appends "Class::method", "function", or "{main}" for the top-level code of a file. */
static bool php_name_append(struct ux_php *p, const struct php_function *f, char *to, size_t *size)
{
	uint64_t scope = ux_field_u64(f->copy, FUNCTION_SCOPE), class = 0;
	uint64_t name = ux_field_u64(f->copy, FUNCTION_NAME);
	if (name == 0) {
		memcpy(to, "{main}", 6);
		*size = 6;
		return true;
	}
	if (scope != 0) {
		if (!ux_memory_plausible(scope) ||
		    !ux_memory_pointer(&p->memory, scope + CLASS_NAME, &class) ||
		    !php_string_append(p, class, to, size))
			return false;
		memcpy(to + *size, "::", 2);
		*size += 2;
	}
	return php_string_append(p, name, to, size);
}

/* text has TEXT_BYTES. */
static enum ux_code php_function_read_names(struct ux_php *p, struct php_function *f, char *text,
					    struct ux_arena *a, struct ux_error *err)
{
	size_t name = 0, file = 0;
	if (php_name_append(p, f, text, &name)) {
		f->name = ux_arena_strndup(a, text, name);
		if (!f->name)
			return ux_arena_fail(a, err);
	}
	if (f->user && php_string_append(p, ux_field_u64(f->copy, p->layout->file), text, &file)) {
		f->file = ux_arena_strndup(a, text, file);
		if (!f->file)
			return ux_arena_fail(a, err);
	}
	return UX_OK;
}

/* Returns the line of an instruction of the function; 0 when the offset is not in the function. */
static uint32_t php_function_line(struct ux_php *p, const struct php_function *f, uint64_t offset)
{
	uint64_t ops = ux_field_u64(f->copy, p->layout->ops);
	uint32_t last = ux_field_u32(f->copy, p->layout->last), line = 0;
	if (!f->user || last > OPS_MAX || offset % OP_BYTES != 0 || offset / OP_BYTES >= last ||
	    !ux_memory_read(&p->memory, ops + offset + OP_LINE, &line, sizeof(line)))
		return 0;
	return line;
}

/* The state of a walk. */
struct php_walk {
	struct ux_php *p;
	char *text; /* TEXT_BYTES, of the name that is read */
	struct ux_stack_walker *walker;
};

static bool php_frame_innermost(void *ctx, uint64_t *ret)
{
	struct ux_php *p = ((struct php_walk *)ctx)->p;
	return ux_memory_read(&p->memory, p->globals + GLOBALS_CURRENT, ret, sizeof(*ret));
}

/* Returns whether a frame can be the outermost one. The frame of a generator becomes current before
 * it is linked to its caller, and so does the placeholder frame for the generators that it yields
 * from. For an instant such a frame looks like the outermost one. */
static bool php_frame_may_be_last(const uint8_t *copy, uint64_t function)
{
	uint32_t info = ux_field_u32(copy, FRAME_INFO);
	return function == 0 ? info == 0 : (info & INFO_GENERATOR) == 0;
}

/* Parses a frame. Frames without a function belong to the engine itself. */
static bool php_frame_parse(void *ctx, const uint8_t *copy, struct ux_raw_frame *ret)
{
	struct php_walk *w = ctx;
	struct php_function f;
	ret->next = ux_field_u64(copy, FRAME_PREVIOUS);
	ret->code = ux_field_u64(copy, FRAME_FUNCTION);
	ret->instr = ux_field_u64(copy, FRAME_OP);
	ret->last = php_frame_may_be_last(copy, ret->code);
	return ret->code == 0 || php_function_read(w->p, ret->code, &f);
}

static enum ux_code php_function_lookup(struct php_walk *w, uint64_t addr,
					struct php_function **ret, struct ux_error *err)
{
	bool fresh = false;
	void *known = NULL;
	UX_TRY(ux_stack_walker_code(w->walker, addr, sizeof(**ret), &known, &fresh, err));
	*ret = known;
	return fresh && php_function_read(w->p, addr, *ret)
		       ? php_function_read_names(w->p, *ret, w->text, &w->walker->arena, err)
		       : UX_OK;
}

static enum ux_code php_frame_name(void *ctx, size_t i, struct ux_error *err)
{
	struct php_walk *w = ctx;
	const struct ux_raw_frame *frame = &w->walker->chain.frames.data[i];
	struct php_function *f = NULL;
	if (frame->code == 0)
		return UX_OK;
	UX_TRY(php_function_lookup(w, frame->code, &f, err));
	if (f->engine)
		return UX_OK;
	uint64_t offset = f->user ? frame->instr - ux_field_u64(f->copy, w->p->layout->ops) : 0;
	struct ux_interp_frame named = {
		.function = f->name,
		.file = f->file,
		.line = php_function_line(w->p, f, offset),
		.first_line = f->user ? ux_field_u32(f->copy, w->p->layout->first_line) : 0,
		.code = frame->code,
		.offset = offset,
	};
	return ux_interp_frames_append(&w->walker->frames, named) ? UX_OK : ux_error_nomem(err);
}

static bool php_text_is(const char *known, const char *text, size_t size)
{
	return strlen(known) == size && memcmp(known, text, size) == 0;
}

/* Returns whether the names of a function are unchanged since they were read. text has
 * TEXT_BYTES. */
static bool php_function_has_names(struct ux_php *p, const struct php_function *f, char *text)
{
	size_t name = 0, file = 0;
	if (!php_name_append(p, f, text, &name))
		name = 0;
	if (!php_text_is(f->name, text, name))
		return false;
	if (!f->user || !php_string_append(p, ux_field_u64(f->copy, p->layout->file), text, &file))
		file = 0;
	return php_text_is(f->file, text, file);
}

/*
 * Returns whether the functions are unchanged since they were read. A loop that compiles the same
 * text again and again gets the same addresses each time, so a text is only known to be the
 * function's if two reads find it.
 */
static bool php_names_unchanged(void *ctx)
{
	struct php_walk *w = ctx;
	const struct ux_addr_map *known = &w->walker->known;
	for (size_t i = 0; i < known->cap; i++) {
		const struct php_function *f = known->entries[i].value;
		struct php_function now;
		if (known->entries[i].hash == 0)
			continue;
		if (!php_function_read(w->p, known->entries[i].key, &now) || now.user != f->user ||
		    memcmp(now.copy + FUNCTION_NAME, f->copy + FUNCTION_NAME,
			   FUNCTION_HEAD - FUNCTION_NAME) != 0 ||
		    ux_field_u64(now.copy, w->p->layout->file) !=
			    ux_field_u64(f->copy, w->p->layout->file) ||
		    !php_function_has_names(w->p, f, w->text))
			return false;
	}
	return true;
}

static enum ux_code php_stack_read(struct php_walk *w, struct ux_error *err)
{
	static const struct ux_stack_kind kind = {
		{FRAME_BYTES, php_frame_innermost, php_frame_parse},
		php_frame_name,
		php_names_unchanged};
	return ux_stack_walker_read(w->walker, &w->p->memory, &kind, w, err);
}

enum ux_code ux_php_walk(struct ux_php *p, struct ux_stack_walker *t, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *text = malloc(TEXT_BYTES);
	struct php_walk w = {p, text, t};
	uint64_t current = 0;
	if (!text)
		return ux_error_nomem(err);
	p->memory.left = UX_MEMORY_WORK;
	p->memory.exhausted = false;
	if (!php_frame_innermost(&w, &current))
		return ux_error_set(err, UX_ENOTFOUND, "the interpreter has ended");
	UX_TRY(php_stack_read(&w, err));
	if (p->memory.exhausted)
		return ux_error_set(err, UX_ELIMIT, "stacks exceed %d bytes", (int)UX_MEMORY_WORK);
	(void)!ux_stack_walker_report(t, 0, 0); /* PHP without threads has only one thread */
	return UX_OK;
}

enum ux_code ux_php_resolve(struct ux_php *p, uint64_t function, uint64_t offset,
			    struct ux_arena *a, struct ux_interp_frame *ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *text = malloc(TEXT_BYTES);
	struct php_function f;
	if (!text)
		return ux_error_nomem(err);
	p->memory.left = UX_MEMORY_WORK;
	p->memory.exhausted = false;
	if (!php_function_read(p, function, &f) || f.engine)
		return ux_error_set(err, UX_ENOTFOUND, "no function at 0x%" PRIx64, function);
	UX_TRY(php_function_read_names(p, &f, text, a, err));
	*ret = (struct ux_interp_frame){
		.function = f.name,
		.file = f.file,
		.line = php_function_line(p, &f, offset),
		.first_line = f.user ? ux_field_u32(f.copy, p->layout->first_line) : 0,
		.code = function,
		.offset = offset,
	};
	return UX_OK;
}

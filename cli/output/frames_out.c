/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as lines of text or JSON; each name is rendered once. */
#include "frames_out.h"

#include "json_out.h"
#include "output.h"
#include "text.h"

#include <unistd.h>

enum {
	TEXTS_BUDGET =
		256 << 20, /* bytes of rendered names; the cache is cleared when it is full */
	/* bytes of a name or of a part of a path; a file may give each of 257 frames its longest
	 * text */
	TEXT_MAX = 64 << 10,
};

void ux_frames_out_init(struct ux_frames_out *w, struct ux_out *out)
{
	*w = (struct ux_frames_out){
		.out = out, .demangle = UX_DEMANGLE_FULL, .colors = ux_colors_of(STDOUT_FILENO)};
	ux_arena_init(&w->arena, TEXTS_BUDGET);
}

void ux_frames_out_deinit(struct ux_frames_out *w)
{
	ux_texts_deinit(&w->texts);
	ux_arena_deinit(&w->arena);
	ux_out_deinit(&w->scratch);
}

void ux_frames_out_reset(struct ux_frames_out *w)
{
	ux_texts_deinit(&w->texts);
	ux_arena_deinit(&w->arena);
	ux_arena_init(&w->arena, TEXTS_BUDGET);
}

/* Returns the text as it is printed: a text that is too long is cut, in `cut`. */
static struct ux_bytes frames_text(struct ux_out *cut, struct ux_bytes text)
{
	if (!ux_text_cut(&text, TEXT_MAX))
		return text;
	ux_out_reset(cut);
	ux_out_put(cut, text.data, text.size);
	ux_out_cstr(cut, UX_TEXT_CUT);
	return ux_out_bytes(cut);
}

/* Renders the text of a key, quoted or escaped for the output, to w->scratch. */
static void frames_render(struct ux_frames_out *w, struct ux_text_key key)
{
	ux_cleanup(ux_out_deinit) struct ux_out plain = {0}, cut_a = {0}, cut_b = {0};
	ux_out_reset(&w->scratch);
	struct ux_json json = ux_json_make(&w->scratch);
	struct ux_bytes a = ux_bytes(key.a, strnlen(key.a, TEXT_MAX + 1)), b = UX_BYTES_NONE;
	if (key.b) {
		a = frames_text(&cut_a, a);
		b = frames_text(&cut_b, ux_bytes(key.b, strnlen(key.b, TEXT_MAX + 1)));
	}
	if (key.b && w->json) {
		ux_json_path(&json, a, b);
		return;
	}
	if (key.b) {
		ux_text(&w->scratch, a);
		if (a.size > 0 && a.data[a.size - 1] != '/')
			ux_out_u8(&w->scratch, '/');
		ux_text(&w->scratch, b);
		return;
	}
	ux_demangle(a, w->demangle, &plain);
	w->scratch.failed = w->scratch.failed || plain.failed;
	struct ux_bytes name = frames_text(&cut_a, ux_out_bytes(&plain));
	w->scratch.failed = w->scratch.failed || cut_a.failed;
	if (w->json)
		ux_json_str(&json, name);
	else
		ux_text(&w->scratch, name);
}

/* Adds w->scratch to the cache; false when it is full. */
static bool frames_cache_text(struct ux_frames_out *w, struct ux_text_key key)
{
	size_t n = w->scratch.size;
	char *text = ux_arena_strndup(&w->arena, w->scratch.data, n);
	bool fresh = false;
	struct ux_bytes *slot = text ? ux_texts_insert(&w->texts, key, &fresh) : NULL;
	if (slot)
		*slot = ux_bytes(text, n);
	return slot != NULL;
}

static void frames_put_text(struct ux_frames_out *w, struct ux_text_key key)
{
	const struct ux_bytes *known = ux_texts_find(&w->texts, key);
	if (known) {
		ux_out_put(w->out, known->data, known->size);
		return;
	}
	frames_render(w, key);
	w->out->failed = w->out->failed || w->scratch.failed;
	ux_out_put(w->out, w->scratch.data, w->scratch.size);
	if (!frames_cache_text(w, key))
		ux_frames_out_reset(w);
}

static void frames_put_number(struct ux_out *out, uint64_t v, unsigned base)
{
	char digits[20];
	size_t n = sizeof(digits);
	do {
		digits[--n] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v > 0);
	ux_out_put(out, digits + n, sizeof(digits) - n);
}

static void frames_put(struct ux_out *out, struct ux_bytes text)
{
	ux_out_put(out, text.data, text.size);
}

static void frames_member_json(struct ux_out *out, const char *key, const char *value)
{
	struct ux_json json = ux_json_make(out);
	if (!*value)
		return;
	ux_out_fmt(out, ",\"%s\":", key);
	ux_json_str(&json, ux_bytes_cstr(value));
}

static void frames_origin_json(struct ux_out *out, const struct ux_origin *o)
{
	frames_member_json(out, "kind", o->kind);
	frames_member_json(out, "module", o->module);
	frames_member_json(out, "build_id", o->build_id);
	if (o->has_pc)
		ux_out_fmt(out, ",\"pc\":\"0x%" PRIx64 "\"", o->pc);
	frames_member_json(out, "reason", o->reason);
	frames_member_json(out, "lost", o->lost);
}

static void frames_address_json(struct ux_out *out, uint64_t address, const struct ux_answer *a)
{
	struct ux_json json = ux_json_make(out);
	frames_put(out, UX_STR("{\"address\":"));
	if (a->symbol.size > 0) {
		ux_json_str(&json, a->symbol);
	} else {
		frames_put(out, UX_STR("\"0x"));
		frames_put_number(out, address, 16);
		frames_put(out, UX_STR("\""));
	}
	frames_put(out, UX_STR(",\"frames\":["));
}

static void frames_write_json(struct ux_frames_out *w, uint64_t address, const struct ux_answer *a)
{
	struct ux_out *out = w->out;
	frames_address_json(out, address, a);
	for (size_t i = 0; i < a->n; i++) {
		const struct ux_frame *f = &a->frames[i];
		frames_put(out, i > 0 ? UX_STR(",{\"function\":") : UX_STR("{\"function\":"));
		frames_put_text(w, (struct ux_text_key){f->function, NULL});
		if (*f->base) {
			frames_put(out, UX_STR(",\"file\":"));
			frames_put_text(w, (struct ux_text_key){f->dir, f->base});
			frames_put(out, UX_STR(",\"line\":"));
			frames_put_number(out, f->line, 10);
			if (f->column > 0) {
				frames_put(out, UX_STR(",\"column\":"));
				frames_put_number(out, f->column, 10);
			}
		}
		if (f->function[0] == '<' && strcmp(f->function, UX_NO_NAME) == 0 &&
		    a->symbol.size == 0) {
			frames_put(out, UX_STR(",\"start\":\"0x")); /* identifies the function */
			frames_put_number(out, address - f->offset, 16);
			frames_put(out, UX_STR("\""));
		}
		frames_put(out, f->inlined ? UX_STR(",\"inlined\":true}") : UX_STR("}"));
	}
	frames_put(out, UX_STR("]"));
	for (size_t i = 0; i < a->n_others; i++) {
		frames_put(out, i > 0 ? UX_STR(",") : UX_STR(",\"alternatives\":["));
		frames_put_text(w, (struct ux_text_key){a->others[i], NULL});
	}
	if (a->n_others > 0)
		frames_put(out, UX_STR("]"));
	if (a->origin)
		frames_origin_json(out, a->origin);
	frames_put(out, UX_STR("}\n"));
}

static void frames_origin_text(struct ux_out *out, const struct ux_origin *o)
{
	if (o && *o->module) {
		bool pseudo = *o->module == '['; /* a name like [kernel] already has brackets */
		frames_put(out, pseudo ? UX_STR(" ") : UX_STR(" ["));
		ux_text(out, ux_bytes_cstr(o->module));
		if (o->has_pc) {
			frames_put(out, UX_STR("+0x"));
			frames_put_number(out, o->pc, 16);
		}
		frames_put(out, pseudo ? UX_STR("") : UX_STR("]"));
	}
	if (o && *o->reason) {
		frames_put(out, UX_STR(" ("));
		ux_text(out, ux_bytes_cstr(o->reason));
		frames_put(out, UX_STR(")"));
	}
}

static void frames_write_text(struct ux_frames_out *w, uint64_t address, const struct ux_answer *a)
{
	struct ux_out *out = w->out;
	if (a->symbol.size > 0) {
		ux_text(out, a->symbol);
	} else {
		frames_put(out, UX_STR("0x"));
		frames_put_number(out, address, 16);
	}
	if (a->n == 0) {
		frames_put(out, UX_STR(" ??"));
		frames_origin_text(out, a->origin);
		frames_put(out, UX_STR("\n"));
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct ux_frame *f = &a->frames[i];
		frames_put(out, i > 0 ? UX_STR("    (inlined by) ") : UX_STR(" "));
		ux_out_cstr(out, w->colors.name);
		if (*f->function)
			frames_put_text(w, (struct ux_text_key){f->function, NULL});
		else
			frames_put(out, UX_STR("??"));
		ux_out_cstr(out, w->colors.none);
		if (*f->base) {
			frames_put(out, UX_STR(" at "));
			ux_out_cstr(out, w->colors.source);
			frames_put_text(w, (struct ux_text_key){f->dir, f->base});
			frames_put(out, UX_STR(":"));
			frames_put_number(out, f->line, 10);
			if (f->column > 0) {
				frames_put(out, UX_STR(":"));
				frames_put_number(out, f->column, 10);
			}
			ux_out_cstr(out, w->colors.none);
		} else if (f->offset > 0) {
			frames_put(out, UX_STR("+0x"));
			frames_put_number(out, f->offset, 16);
		}
		if (i == 0)
			frames_origin_text(out, a->origin);
		frames_put(out, UX_STR("\n"));
	}
	for (size_t i = 0; i < a->n_others; i++) {
		frames_put(out, UX_STR("    (also) "));
		frames_put_text(w, (struct ux_text_key){a->others[i], NULL});
		frames_put(out, UX_STR("\n"));
	}
}

void ux_frames_out_write(struct ux_frames_out *w, uint64_t address, struct ux_answer answer)
{
	if (w->innermost)
		answer.n = ux_min(answer.n, (size_t)1);
	if (w->json)
		frames_write_json(w, address, &answer);
	else
		frames_write_text(w, address, &answer);
}

void ux_frames_out_bad(struct ux_frames_out *w, struct ux_bytes text, const char *why)
{
	if (!w->json) {
		ux_text(w->out, text);
		ux_out_cstr(w->out, " ??\n");
		return;
	}
	struct ux_json json = ux_json_make(w->out);
	ux_json_object_begin(&json);
	ux_json_key_str(&json, "address", text);
	ux_json_key(&json, "frames");
	ux_json_array_begin(&json);
	ux_json_array_end(&json);
	ux_json_key_cstr(&json, "error", why);
	ux_json_object_end(&json);
	ux_out_u8(w->out, '\n');
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as lines of text or JSON. */
#ifndef UX_FRAMES_OUT_H
#define UX_FRAMES_OUT_H

#include "arena.h"
#include "bytes.h"
#include "demangle.h"
#include "map.h"
#include "out.h"
#include "unhex/frame.h"

/* Which text: a function's name, or a file's directory and base name, by their addresses. */
struct ux_text_key {
	const char *a;
	const char *b; /* NULL for a function */
};

static inline uint64_t ux_text_key_hash(struct ux_text_key key)
{
	return ux_hash_mix((uint64_t)(uintptr_t)key.a ^ 0x9e3779b97f4a7c15u,
			   (uint64_t)(uintptr_t)key.b ^ 0xd6e8feb86659fd93u);
}

static inline bool ux_text_key_eq(struct ux_text_key x, struct ux_text_key y)
{
	return x.a == y.a && x.b == y.b;
}

UX_MAP(ux_texts, struct ux_text_key, struct ux_bytes, ux_text_key_hash, ux_text_key_eq);

/*
 * Remembers the finished text of every name, since a profile asks for the same few thousand again
 * and again. So strings of frames must stay where they are until ux_frames_out_forget().
 */
struct ux_frames_out {
	struct ux_out *out;
	bool json;
	bool innermost; /* write only the first frame */
	enum ux_demangle_mode demangle;
	struct ux_arena arena;
	struct ux_texts texts;
	struct ux_out scratch;
};

void ux_frames_out_init(struct ux_frames_out *w, struct ux_out *out);
void ux_frames_out_deinit(struct ux_frames_out *w);
void ux_frames_out_forget(struct ux_frames_out *w);

/* What an address of a process belongs to. */
struct ux_origin {
	const char *kind;     /* "file", "jit", ... */
	const char *module;   /* "": unknown */
	const char *build_id; /* "": unknown */
	uint64_t pc;          /* in the module, with has_pc */
	bool has_pc;
	const char *reason; /* why there are no frames; "": there are */
	const char *lost;   /* why there may be less than there could be; "": nothing is */
};

/* What is said of one address. */
struct ux_answer {
	const struct ux_frame *frames;
	size_t n;
	const char *const *others; /* other names of the outermost frame's function */
	size_t n_others;
	const struct ux_origin *origin; /* of an address of a process; NULL: not told */
	struct ux_bytes place; /* "NAME+OFFSET" instead of an address nobody knows; empty: none */
};

/*
 * One address. JSON: one line, "frames":[] when n is 0. Text: "0x29d90 name at file:line", one line
 * of "    (inlined by) name at file:line" for each further frame, "0x29d90 ??" when n is 0. JSON of
 * a function without a name (UX_NO_NAME) tells its start. Other names: a line of "    (also) name"
 * each, and in JSON "alternatives" when there are any. An origin: in text " [module+0xpc]" or "
 * [kernel]" behind the first line, or " [module+0xpc] (reason)"; in JSON "kind", and as far as they
 * are known "module", "build_id", "pc", "reason", "lost".
 */
void ux_frames_out_write(struct ux_frames_out *w, uint64_t address, struct ux_answer answer);

/* Input that is no address, so that there is an answer to each line: "text ??", or with "error". */
void ux_frames_out_bad(struct ux_frames_out *w, struct ux_bytes text);

#endif

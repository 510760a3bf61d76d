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

/* The key of a rendered text: the pointers to a function's name, or to a file's directory and base
 * name. */
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
 * Caches the rendered text of every name, since a profile repeats the same few thousand names. The
 * cache is keyed by pointers, so strings of frames must stay valid until ux_frames_out_reset().
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
void ux_frames_out_reset(struct ux_frames_out *w);

/* The mapping that an address of a process belongs to. */
struct ux_origin {
	const char *kind;     /* "file", "jit", ... */
	const char *module;   /* "": unknown */
	const char *build_id; /* "": unknown */
	uint64_t pc;          /* in the module, with has_pc */
	bool has_pc;
	const char *reason; /* why there are no frames; "": there are */
	const char *lost;   /* why frames are incomplete; "": they are not */
};

/* The answer for one address. */
struct ux_answer {
	const struct ux_frame *frames;
	size_t n;
	const char *const *others; /* other names of the outermost frame's function */
	size_t n_others;
	const struct ux_origin *origin; /* of an address of a process; NULL: not a process */
	struct ux_bytes symbol; /* "NAME+OFFSET" in place of the address, which only the server
				  knows; empty: none */
};

/*
 * Writes the answer for one address. JSON: one line, "frames":[] when n is 0. Text: "0x29d90 name
 * at file:line", one line of "    (inlined by) name at file:line" for each further frame, "0x29d90
 * ??" when n is 0. In JSON a function without a name (UX_NO_NAME) has its start. Other names: a
 * line of "    (also) name" each, and in JSON "alternatives" if there are any. An origin: in text "
 * [module+0xpc]" or " [kernel]" after the first line, or " [module+0xpc] (reason)"; in JSON "kind"
 * and, if known, "module", "build_id", "pc", "reason", "lost".
 */
void ux_frames_out_write(struct ux_frames_out *w, uint64_t address, struct ux_answer answer);

/* Writes an answer for input that is not an address: "text ??", or JSON with "error". */
void ux_frames_out_bad(struct ux_frames_out *w, struct ux_bytes text);

#endif

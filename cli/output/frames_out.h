/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as lines of text or JSON. */
#ifndef UX_FRAMES_OUT_H
#define UX_FRAMES_OUT_H

#include "arena.h"
#include "bytes.h"
#include "demangle.h"
#include "map.h"
#include "out.h"
#include "terminal.h"
#include "unhex/frame.h"

/* The key of a rendered text in the cache: the pointer to a function's name, or the pointers to
 * a file's directory and base name. */
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
 * Writer of frames. It caches the rendered text of every name, because a profile repeats the same
 * few thousand names. The cache is keyed by pointers, so the strings of frames must stay valid
 * until ux_frames_out_reset() is called.
 */
struct ux_frames_out {
	struct ux_out *out;
	bool json;
	bool innermost; /* write only the first frame */
	enum ux_demangle_mode demangle;
	struct ux_arena arena;
	struct ux_texts texts;
	struct ux_out scratch;
	struct ux_colors colors; /* colors of text on a terminal */
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
	const char *reason; /* why there are no frames; "" if there are some */
	const char *lost;   /* why frames are incomplete; "" if they are complete */
};

/* The answer for one address. */
struct ux_answer {
	const struct ux_frame *frames;
	size_t n;
	const char *const *others; /* other names of the outermost frame's function */
	size_t n_others;
	const struct ux_origin *origin; /* origin of an address of a process; NULL: not a process */
	struct ux_bytes symbol; /* "NAME+OFFSET", shown instead of the address, which only the
				   server knows; or empty */
};

/*
 * Writes the answer for one address. In JSON this is one line, with "frames":[] when n is 0. In
 * text it is "0x29d90 name at file:line", followed for each further frame by a line "(inlined by)
 * name at file:line" that is indented by four spaces, or "0x29d90 ??" when n is 0. In JSON a
 * function without a name (UX_NO_NAME) is identified by its start. Each other name is a line
 * "(also) name", indented likewise; in JSON they are in "alternatives" if there are any. An origin
 * is written in text as "[module+0xpc]", "[kernel]" or "[module+0xpc] (reason)" at the end of the
 * first line, and in JSON as "kind" and, if known, "module", "build_id", "pc", "reason" and "lost".
 */
void ux_frames_out_write(struct ux_frames_out *w, uint64_t address, struct ux_answer answer);

/* Writes the answer for input that is not an address: "text ??" as text, or a JSON object whose
 * "error" is `why`. */
void ux_frames_out_bad(struct ux_frames_out *w, struct ux_bytes text, const char *why);

#endif

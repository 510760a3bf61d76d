/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for the locations of a batch. */
#include "symbolize_batch.h"

/* Returns the index in the profile of a function's name, or of a file's path. */
static enum ux_code symbolize_text(struct ux_symbolize_batch *b, const char *dir, const char *base,
				   uint32_t *ret)
{
	bool fresh = true;
	uint32_t *number = ret;
	if (!b->passing)
		number = ux_symbolize_texts_insert(
			&b->texts, (struct ux_symbolize_text_key){dir, base}, &fresh);
	if (!number)
		return ux_error_nomem(b->err);
	if (fresh) {
		ux_out_reset(&b->path);
		ux_out_path(&b->path, ux_bytes_cstr(dir), ux_bytes_cstr(base));
		UX_TRY(ux_out_status(&b->path, b->err));
		UX_TRY(ux_profile_string(b->profile, ux_out_bytes(&b->path), number, b->err));
	}
	*ret = *number;
	return UX_OK;
}

void ux_symbolize_forget_texts(struct ux_symbolize_batch *b)
{
	ux_symbolize_texts_deinit(&b->texts);
	b->n_last = 0;
}

/* Returns whether frames equal the last received ones. Addresses come in ascending order, so half
 * of them, or more, are of the previous line. */
static bool symbolize_is_last(const struct ux_symbolize_batch *b, const struct ux_frame *frames,
			      size_t n)
{
	if (n == 0 || n != b->n_last)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct ux_frame *x = &frames[i], *y = &b->last[i];
		if (x->line != y->line || x->function != y->function || x->base != y->base ||
		    x->dir != y->dir || x->inlined != y->inlined)
			return false;
	}
	return true;
}

enum ux_code ux_symbolize_name(struct ux_symbolize_batch *b, uint32_t location,
			       const struct ux_frame *frames, size_t n)
{
	struct ux_profile_frame to[UX_FRAMES_MAX];
	n = ux_min(n, (size_t)UX_FRAMES_MAX);
	if (symbolize_is_last(b, frames, n)) {
		ux_profile_name_as(b->profile, location, b->last_location);
		return UX_OK;
	}
	const size_t n_last = b->passing ? 0 : b->n_last;
	for (size_t i = 0; i < n; i++) {
		/* The outermost function is usually the previous location's: reuse its strings. */
		const bool known = n - i <= n_last;
		const size_t same = known ? n_last - (n - i) : 0;
		to[i] = (struct ux_profile_frame){.line = frames[i].line,
						  .inlined = frames[i].inlined};
		if (known && frames[i].function == b->last[same].function)
			to[i].linkage = b->made[same].linkage;
		else
			UX_TRY(symbolize_text(b, NULL, frames[i].function, &to[i].linkage));
		if (known && frames[i].base == b->last[same].base &&
		    frames[i].dir == b->last[same].dir)
			to[i].file = b->made[same].file;
		else if (*frames[i].base)
			UX_TRY(symbolize_text(b, frames[i].dir, frames[i].base, &to[i].file));
	}
	memcpy(b->last, frames, n * sizeof(*frames));
	memcpy(b->made, to, n * sizeof(*to));
	b->n_last = b->passing ? 0 : n;
	b->last_location = location;
	return ux_profile_name(b->profile, location, to, n, b->err);
}

bool ux_symbolize_take(void *ctx, size_t index, const struct ux_frame *frames, size_t n)
{
	enum {
		AHEAD = 16 /* answers; addresses are sorted, their locations are not */
	};
	struct ux_symbolize_batch *b = ctx;
	if (b->n_pcs - index > AHEAD)
		__builtin_prefetch(&b->profile->locations.data[b->owners[index + AHEAD]],
				   /* rw= */ 1);
	if (n == 0 || strcmp(frames[n - 1].function, UX_NO_NAME) == 0)
		return true;
	b->code = ux_symbolize_name(b, b->owners[index], frames, n);
	if (b->code == UX_OK && b->has_starts)
		b->code = ux_profile_keep_start(b->profile, b->owners[index],
						b->pcs[index] - frames[n - 1].offset, b->err);
	return b->code == UX_OK;
}

enum ux_code ux_symbolize_reason(struct ux_symbolize_batch *b, uint32_t module,
				 const struct ux_error *why)
{
	char text[UX_ERROR_TEXT + 256];
	ux_error_format(why, text, sizeof(text));
	return ux_profile_string(b->profile, ux_bytes_cstr(text),
				 &b->profile->modules.data[module].why, b->err);
}

enum ux_code ux_symbolize_reason_add(struct ux_symbolize_batch *b, uint32_t module,
				     const char *text)
{
	uint32_t *why = &b->profile->modules.data[module].why;
	ux_out_reset(&b->path);
	if (*why != 0) {
		struct ux_bytes known = ux_profile_text(b->profile, *why);
		ux_out_put(&b->path, known.data, known.size);
		ux_out_cstr(&b->path, "; ");
	}
	ux_out_cstr(&b->path, text);
	UX_TRY(ux_out_status(&b->path, b->err));
	return ux_profile_string(b->profile, ux_out_bytes(&b->path), why, b->err);
}

void ux_symbolize_add_pc(struct ux_symbolize_batch *b, uint32_t location, uint64_t pc)
{
	const struct ux_profile_location *l = &b->profile->locations.data[location];
	b->pcs[b->n_pcs] = pc - (l->returns && pc > 0);
	b->owners[b->n_pcs++] = location;
}

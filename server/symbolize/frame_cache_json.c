/* SPDX-License-Identifier: Apache-2.0 */
/* Writes frames of a cache as text and as JSON. Nearly all texts are plain, and are copied. */
#include "frame_cache.h"

#include "json_out.h"

enum {
	AROUND = 80 /* bytes of a frame besides its names and its file */
};

#define PUT(p, literal) json_put_bytes((p), "" literal "", sizeof(literal) - 1)

ux_inline uint8_t *json_put_bytes(uint8_t *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}

ux_inline uint8_t *frame_cache_put_text(uint8_t *p, struct ux_cached_text t)
{
	return json_put_bytes(p, t.data, t.size);
}

static uint8_t *json_put_long_line(uint8_t *p, uint32_t line)
{
	char digits[10];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + line % 10);
		line /= 10;
	} while (line != 0);
	return json_put_bytes(p, digits + at, sizeof(digits) - at);
}

/*
 * Writes the text between a path and the end of its frame. A line number of up to four digits is
 * written with leading zeros, and the constant text then overwrites the zeros: so no branch depends
 * on the number of digits, and no byte is read right after a write of another width, which would
 * stall the processor.
 */
static uint8_t *json_put_line(uint8_t *p, uint32_t line)
{
	enum {
		SHORT_MAX = 9999, /* greatest number with four digits */
	};
	static const char key[] = "\",\"line\":";
	const size_t key_size = sizeof(key) - 1;
	if (ux_unlikely(line > SHORT_MAX))
		return json_put_long_line(json_put_bytes(p, key, key_size), line);
	const size_t zeros = (size_t)(line < 1000) + (line < 100) + (line < 10);
	uint8_t *digits = p + key_size - zeros;
	digits[0] = (uint8_t)('0' + line / 1000);
	digits[1] = (uint8_t)('0' + line / 100 % 10);
	digits[2] = (uint8_t)('0' + line / 10 % 10);
	digits[3] = (uint8_t)('0' + line % 10);
	json_put_bytes(p, key, key_size);
	return digits + 4;
}

/* Writes a frame with texts that need escapes or are not UTF-8. */
static void json_put_escaped(const struct ux_cached_frame *f, struct ux_cached_text function,
			     struct ux_bytes dir, struct ux_bytes base, struct ux_out *out)
{
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_str(&j, "function", ux_bytes(function.data, function.size));
	if (f->file != 0) {
		ux_json_key(&j, "file");
		ux_json_path(&j, dir, base);
		ux_json_key_u64(&j, "line", f->line);
	}
	if (f->up != 0)
		ux_json_key_bool(&j, "inlined", true);
	ux_json_object_end(&j);
}

static void json_put_frame(const struct ux_frame_cache *m, uint32_t frame,
			   const struct ux_cached_frame *f, struct ux_out *out)
{
	struct ux_cached_text function = {.data = "", .linkage = "", .plain = true},
			      path = function;
	if (f->function != 0)
		function = *ux_cached_text(m, f->function);
	if (f->file != 0)
		path = *ux_cached_text(m, ux_cached_file(m, f->file)->path);
	if (ux_unlikely(!function.plain || !path.plain)) {
		struct ux_frame_text t = ux_frame_cache_text(m, frame);
		json_put_escaped(f, function, t.dir, t.base, out);
		return;
	}
	size_t max = AROUND + (size_t)function.size + path.size;
	uint8_t *start = ux_out_room(out, max);
	if (!start)
		return;
	uint8_t *p = PUT(start, "{\"function\":\"");
	p = frame_cache_put_text(p, function);
	*p++ = '"';
	if (f->file != 0) {
		p = PUT(p, ",\"file\":\"");
		p = frame_cache_put_text(p, path);
		p = json_put_line(p, f->line);
	}
	if (f->up != 0)
		p = PUT(p, ",\"inlined\":true");
	*p++ = '}';
	out->size -= max - (size_t)(p - start);
}

void ux_frame_cache_prefetch_json(const struct ux_frame_cache *m, const uint32_t *frames, size_t n)
{
	uint32_t at[UX_FRAME_CACHE_GROUP];
	/*
	 * texts of one level; their bytes are prefetched while the frames of the next level are
	 * read
	 */
	const struct ux_cached_text *texts[2][UX_FRAME_CACHE_GROUP];
	size_t n_texts[2] = {0};
	for (size_t i = 0; i < n; i++) {
		at[i] = frames[i];
		ux_frame_cache_prefetch(m, at[i]);
	}
	/* There are few paths, so they need no prefetch. */
	for (size_t left = n, level = 0; left + n_texts[!level] > 0; level = !level) {
		size_t all = left;
		left = n_texts[level] = 0;
		for (size_t i = 0; i < all; i++) {
			if (at[i] == 0)
				continue;
			const struct ux_cached_frame *f = ux_cached_frame(m, at[i]);
			if (f->function != 0) {
				const struct ux_cached_text *text = ux_cached_text(m, f->function);
				__builtin_prefetch(text);
				texts[level][n_texts[level]++] = text;
			}
			ux_frame_cache_prefetch(m, f->up);
			at[left++] = f->up;
		}
		for (size_t i = 0; i < n_texts[!level]; i++)
			ux_cached_text_prefetch(texts[!level][i]);
		n_texts[!level] = 0;
	}
}

void ux_frame_cache_json(const struct ux_frame_cache *m, uint32_t frame, struct ux_out *out)
{
	ux_out_u8(out, '[');
	while (frame != 0) {
		const struct ux_cached_frame *f = ux_cached_frame(m, frame);
		json_put_frame(m, frame, f, out);
		if (f->up != 0)
			ux_out_u8(out, ',');
		frame = f->up;
	}
	ux_out_u8(out, ']');
}

struct ux_frame_text ux_frame_cache_text(const struct ux_frame_cache *m, uint32_t frame)
{
	const struct ux_cached_frame *f = ux_cached_frame(m, frame);
	struct ux_frame_text ret = {.function = UX_STR(""),
				    .dir = UX_STR(""),
				    .base = UX_STR(""),
				    .line = f->line,
				    .inlined = f->up != 0};
	if (f->function != 0)
		ret.function = ux_cached_text_bytes(m, f->function);
	if (f->file == 0)
		return ret;
	const struct ux_cached_file *file = ux_cached_file(m, f->file);
	ret.base = ux_cached_text_bytes(m, file->base);
	if (file->dir != 0)
		ret.dir = ux_cached_text_bytes(m, file->dir);
	return ret;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer. */
#include "out.h"

#include <stdarg.h>

enum {
	FIRST_CAP = 256,
	/*
	 * A buffer that may not double its size grows by a half, a quarter or an eighth of it, and
	 * then by steps: content that fits the quota is never refused because of room that would
	 * stay unused.
	 */
	SMALLER = 3,
	STEP = 64 << 10,
};

void ux_out_deinit(struct ux_out *out)
{
	assert(!out->quota || out->quota->bytes >= out->cap);
	free(out->data);
	if (out->quota)
		out->quota->bytes -= out->cap;
	*out = (struct ux_out){0};
}

void ux_out_reset(struct ux_out *out)
{
	out->size = 0;
	out->failed = false;
}

uint8_t *ux_out_steal(struct ux_out *out, size_t *ret_size)
{
	assert(!out->quota || out->quota->bytes >= out->cap);
	uint8_t *data = out->data;
	*ret_size = out->size;
	if (out->quota)
		out->quota->bytes -= out->cap;
	*out = (struct ux_out){.swap = out->swap, .quota = out->quota};
	return data;
}

enum ux_code ux_out_status(const struct ux_out *out, struct ux_error *err)
{
	if (!out->failed)
		return UX_OK;
	return out->quota && out->quota->code != UX_OK ? out->quota->code : ux_error_nomem(err);
}

/* Takes a larger capacity from the quota. */
static bool out_may_have(struct ux_out *out, size_t cap, bool try)
{
	struct ux_out_quota *q = out->quota;
	enum ux_code code = q ? q->may(q, q->bytes - out->cap + cap, try) : UX_OK;
	if (code != UX_OK && !try)
		q->code = code;
	else if (code == UX_OK && q)
		q->bytes += cap - out->cap;
	return code == UX_OK;
}

/*
 * Doubles the capacity until it is `want`, or takes less when the quota refuses that; 0: the quota
 * refuses all.
 */
static size_t out_take_cap(struct ux_out *out, size_t want)
{
	size_t cap = ux_max(out->cap, (size_t)FIRST_CAP);
	while (cap < want)
		cap = cap > SIZE_MAX / 2 ? want : cap * 2;
	if (!out->quota)
		return cap;
	if (out_may_have(out, cap, /* try= */ true))
		return cap;
	for (unsigned i = 1; i <= SMALLER; i++) {
		cap = out->cap + (out->cap >> i);
		if (cap >= want && out_may_have(out, cap, /* try= */ true))
			return cap;
	}
	cap = want > SIZE_MAX - STEP ? want : want + STEP;
	if (out_may_have(out, cap, /* try= */ true))
		return cap;
	return out_may_have(out, want, /* try= */ false) ? want : 0;
}

bool ux_out_adopt(struct ux_out *out, uint8_t *data, size_t cap)
{
	assert(out->cap == 0 && !out->counting);
	if (!out_may_have(out, cap, /* try= */ true))
		return false;
	out->data = data;
	out->cap = cap;
	return true;
}

/* Sets a capacity that was taken from the quota. */
static bool out_set_cap(struct ux_out *out, size_t cap)
{
	assert(cap >= out->size);
	uint8_t *data = realloc(out->data, cap);
	if (!data) {
		if (out->quota)
			out->quota->bytes -= cap - out->cap;
		return false;
	}
	out->data = data;
	out->cap = cap;
	return true;
}

void ux_out_reserve(struct ux_out *out, size_t n)
{
	size_t want = 0;
	if (out->counting || out->failed || __builtin_add_overflow(out->size, n, &want) ||
	    want <= out->cap || !out_may_have(out, want, /* try= */ true))
		return;
	(void)out_set_cap(
		out,
		want); /* appending the bytes will fail if no memory is available then either */
}

bool ux_out_grow(struct ux_out *out, size_t n)
{
	if (out->counting) {
		out->size += n;
		return false;
	}
	if (out->failed)
		return false;
	size_t want = 0;
	if (__builtin_add_overflow(out->size, n, &want))
		goto fail;
	size_t cap = out_take_cap(out, want);
	if (cap == 0)
		goto fail;
	if (out_set_cap(out, cap))
		return true;
fail:
	out->failed = true;
	out->size = 0;
	return false;
}

void ux_out_uint(struct ux_out *out, uint64_t v, unsigned n)
{
	switch (n) {
	case 1:
		ux_out_u8(out, (uint8_t)v);
		return;
	case 2:
		ux_out_u16(out, (uint16_t)v);
		return;
	case 4:
		ux_out_u32(out, (uint32_t)v);
		return;
	default:
		assert(n == 8);
		ux_out_u64(out, v);
	}
}

void ux_out_cstr(struct ux_out *out, const char *s)
{
	ux_out_put(out, s, strlen(s));
}

void ux_out_path(struct ux_out *out, struct ux_bytes dir, struct ux_bytes base)
{
	ux_out_put(out, dir.data, dir.size);
	if (dir.size > 0 && dir.data[dir.size - 1] != '/')
		ux_out_u8(out, '/');
	ux_out_put(out, base.data, base.size);
}

void ux_out_fmt(struct ux_out *out, const char *fmt, ...)
{
	char small[256];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(small, sizeof(small), fmt, args);
	va_end(args);
	if (n < 0) {
		out->failed = true;
		return;
	}
	if ((size_t)n < sizeof(small)) {
		ux_out_put(out, small, (size_t)n);
		return;
	}
	/* vsnprintf() also writes a NUL: reserve a byte for it, and release that byte. */
	uint8_t *p = ux_out_room(out, (size_t)n + 1);
	if (p) {
		va_start(args, fmt);
		vsnprintf((char *)p, (size_t)n + 1, fmt, args);
		va_end(args);
	}
	if (p || out->counting)
		out->size--;
}

void ux_out_align(struct ux_out *out, size_t n)
{
	assert(n > 0 && (n & (n - 1)) == 0);
	size_t pad = -out->size & (n - 1);
	uint8_t *p = pad > 0 ? ux_out_room(out, pad) : NULL;
	if (p)
		memset(p, 0, pad);
}

void ux_out_patch_u32(struct ux_out *out, size_t off, uint32_t v)
{
	if (out->counting || out->failed)
		return;
	assert(off <= out->size && out->size - off >= sizeof(v));
	v = out->swap ? __builtin_bswap32(v) : v;
	memcpy(out->data + off, &v, sizeof(v));
}

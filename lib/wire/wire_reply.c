/* SPDX-License-Identifier: Apache-2.0 */
/* Replies in the compact form: writing and reading. */
#include "wire.h"

void ux_wire_reply_deinit(struct ux_wire_reply *r)
{
	ux_out_deinit(&r->strings);
	ux_out_deinit(&r->files);
	ux_out_deinit(&r->frames);
	ux_out_deinit(&r->modules);
	ux_out_deinit(&r->addresses);
}

void ux_wire_reply_clear(struct ux_wire_reply *r)
{
	ux_out_reset(&r->strings);
	ux_out_reset(&r->files);
	ux_out_reset(&r->frames);
	ux_out_reset(&r->modules);
	ux_out_reset(&r->addresses);
	r->n_strings = r->n_files = r->n_frames = r->n_modules = 0;
}

void ux_wire_reply_module(struct ux_wire_reply *r, unsigned status, unsigned quality,
			  struct ux_bytes reason, uint32_t retry_after_s, size_t n)
{
	ux_out_u8(&r->modules, (uint8_t)status);
	ux_out_u8(&r->modules, (uint8_t)quality);
	ux_out_uleb(&r->modules, ux_wire_reply_string(r, reason));
	ux_out_uleb(&r->modules, retry_after_s);
	ux_out_uleb(&r->modules, n);
	r->n_modules++;
}

static struct ux_bytes wire_reply_strings(const struct ux_wire_reply *r)
{
	return r->strings.size == 0 ? UX_BYTES_NONE
				    : ux_bytes(r->strings.data + UX_WIRE_REPLY_ROOM,
					       r->strings.size - UX_WIRE_REPLY_ROOM);
}

size_t ux_wire_reply_size(const struct ux_wire_reply *r)
{
	return UX_WIRE_HEAD + wire_reply_strings(r).size + r->files.size + r->frames.size +
	       r->modules.size + r->addresses.size;
}

static void wire_put_table(struct ux_out *out, const struct ux_out *table)
{
	ux_out_put(out, table->data, table->size);
	out->failed |= table->failed;
}

/* Writes the part before the strings; returns its size. */
static size_t wire_reply_head(const struct ux_wire_reply *r, uint8_t head[UX_WIRE_REPLY_ROOM])
{
	uint8_t *p = head;
	memcpy(p, UX_WIRE_REPLY_MAGIC, UX_WIRE_HEAD - 1);
	p[UX_WIRE_HEAD - 1] = UX_WIRE_VERSION;
	p = ux_uleb_put(p + UX_WIRE_HEAD, r->n_strings);
	p = ux_uleb_put(p, wire_reply_strings(r).size);
	return (size_t)(p - head);
}

/* Appends the part after the strings. */
static void wire_reply_put_rest(const struct ux_wire_reply *r, struct ux_out *out)
{
	ux_out_uleb(out, r->n_files);
	wire_put_table(out, &r->files);
	ux_out_uleb(out, r->n_frames);
	wire_put_table(out, &r->frames);
	ux_out_uleb(out, r->n_modules);
	wire_put_table(out, &r->modules);
	wire_put_table(out, &r->addresses);
}

enum {
	HEADS = 5 * 10 /* bytes of all numbers before tables */
};

void ux_wire_reply_write(const struct ux_wire_reply *r, struct ux_out *out)
{
	uint8_t head[UX_WIRE_REPLY_ROOM];
	struct ux_bytes strings = wire_reply_strings(r);
	if (!ux_out_grow(out, ux_wire_reply_size(r) + HEADS))
		return;
	ux_out_put(out, head, wire_reply_head(r, head));
	ux_out_put(out, strings.data, strings.size);
	out->failed |= r->strings.failed;
	wire_reply_put_rest(r, out);
}

struct ux_bytes ux_wire_reply_finish(struct ux_wire_reply *r)
{
	uint8_t head[UX_WIRE_REPLY_ROOM];
	struct ux_out *out = &r->strings;
	if (out->size == 0)
		(void)ux_out_room(out, UX_WIRE_REPLY_ROOM);
	size_t size = wire_reply_head(r, head);
	wire_reply_put_rest(r, out);
	if (out->failed)
		return UX_BYTES_NONE;
	uint8_t *start = out->data + UX_WIRE_REPLY_ROOM - size;
	memcpy(start, head, size);
	return ux_bytes(start, (size_t)(out->data + out->size - start));
}

/* --- reading ---------------------------------------------------------------------------------- */

void ux_wire_read_deinit(struct ux_wire_read *r)
{
	free(r->strings);
	free(r->files);
	free(r->frames);
	free(r->modules);
	free(r->addresses);
	*r = (struct ux_wire_read){0};
}

/*
 * Reads the number of entries, each of at least `each` bytes, and allocates a table for them and
 * for the unused entry 0.
 */
static enum ux_code wire_read_table(struct ux_cur *c, size_t each, size_t size, void *table,
				    size_t *ret_n, struct ux_error *err)
{
	uint64_t n = ux_cur_uleb(c);
	if (n > ux_cur_left(c) / each || n >= UINT32_MAX)
		ux_cur_bad(c, "announced sizes exceed the reply");
	UX_TRY(ux_cur_status(c, err));
	void *list = calloc((size_t)n + 1, size);
	if (!list)
		return ux_error_nomem(err);
	*(void **)table = list;
	*ret_n = (size_t)n;
	return UX_OK;
}

static enum ux_code wire_read_strings(struct ux_wire_read *r, struct ux_cur *c,
				      struct ux_error *err)
{
	UX_TRY(wire_read_table(c, 1, sizeof(*r->strings), &r->strings, &r->n_strings, err));
	uint64_t size = ux_cur_uleb(c);
	struct ux_cur text = ux_cur_sub(c, size);
	UX_TRY(ux_cur_status(c, err));
	if (size > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "the reply has over 4 GiB of strings");
	r->text = ux_bytes(text.pos, ux_cur_left(&text));
	for (size_t i = 1; i <= r->n_strings; i++) {
		r->strings[i] = (uint32_t)(text.pos - text.start);
		(void)ux_cur_str(&text);
	}
	if (ux_cur_more(&text))
		ux_cur_bad(&text, "unexpected bytes after the last string");
	return ux_cur_status(&text, err);
}

/*
 * Reads a reference to an entry of a table with n entries. For an invalid one it returns 0, so that
 * the result is always a valid index.
 */
static uint32_t wire_read_number(struct ux_cur *c, size_t n)
{
	uint64_t v = ux_cur_uleb(c);
	if (ux_likely(v <= n))
		return (uint32_t)v;
	ux_cur_bad(c, "an index is past its table");
	return 0;
}

static uint32_t wire_read_u32(struct ux_cur *c)
{
	return wire_read_number(c, UINT32_MAX);
}

static enum ux_code wire_read_files(struct ux_wire_read *r, struct ux_cur *c, struct ux_error *err)
{
	UX_TRY(wire_read_table(c, 2, sizeof(*r->files), &r->files, &r->n_files, err));
	for (size_t i = 1; i <= r->n_files && !c->failed; i++) {
		r->files[i].dir = wire_read_number(c, r->n_strings);
		r->files[i].base = wire_read_number(c, r->n_strings);
	}
	return ux_cur_status(c, err);
}

static enum ux_code wire_read_frame_table(struct ux_wire_read *r, struct ux_cur *c,
					  struct ux_error *err)
{
	UX_TRY(wire_read_table(c, 4, sizeof(*r->frames), &r->frames, &r->n_frames, err));
	for (size_t i = 1; i <= r->n_frames && !c->failed; i++) {
		struct ux_wire_frame *f = &r->frames[i];
		f->function = wire_read_number(c, r->n_strings);
		f->file = wire_read_number(c, r->n_files);
		f->line = wire_read_u32(c);
		uint32_t up = wire_read_number(c, i - 1);
		f->up = up ? (uint32_t)i - up : 0;
		f->depth = r->frames[f->up].depth + 1;
		if (f->depth > UX_FRAMES_MAX)
			ux_cur_bad(c, "calls are inlined more than 256 deep");
	}
	return ux_cur_status(c, err);
}

static enum ux_code wire_read_modules(struct ux_wire_read *r, struct ux_cur *c,
				      struct ux_error *err)
{
	UX_TRY(wire_read_table(c, 5, sizeof(*r->modules), &r->modules, &r->n_modules, err));
	uint64_t total = 0;
	for (size_t i = 0; i < r->n_modules && !c->failed; i++) {
		struct ux_wire_module *m = &r->modules[i];
		m->status = ux_cur_u8(c);
		m->quality = ux_cur_u8(c);
		if (m->status > UX_MODULE_PENDING || m->quality >= UX_QUALITY_COUNT)
			ux_cur_bad(c, "unknown status or quality");
		m->reason = wire_read_number(c, r->n_strings);
		m->retry_after_s = wire_read_u32(c);
		m->first = (size_t)total;
		m->n = wire_read_u32(c);
		total += m->n;
	}
	if (total > ux_cur_left(c) || total >= UINT32_MAX)
		ux_cur_bad(c, "announced addresses exceed the reply");
	r->n_addresses = (size_t)total;
	return ux_cur_status(c, err);
}

static enum ux_code wire_read_addresses(struct ux_wire_read *r, struct ux_cur *c,
					struct ux_error *err)
{
	r->addresses = calloc(r->n_addresses + 1, sizeof(*r->addresses));
	if (!r->addresses)
		return ux_error_nomem(err);
	for (size_t i = 0; i < r->n_addresses; i++)
		r->addresses[i] = wire_read_number(c, r->n_frames);
	if (ux_cur_more(c))
		ux_cur_bad(c, "unexpected bytes after the end");
	return ux_cur_status(c, err);
}

static enum ux_code wire_read_head(struct ux_cur *c, struct ux_error *err)
{
	if (!ux_bytes_eq(ux_cur_take(c, 3), UX_STR(UX_WIRE_REPLY_MAGIC)))
		ux_cur_bad(c, "it does not begin with " UX_WIRE_REPLY_MAGIC);
	uint8_t version = ux_cur_u8(c);
	UX_TRY(ux_cur_status(c, err));
	if (version == UX_WIRE_VERSION)
		return UX_OK;
	return ux_error_set(err, UX_EUNSUPPORTED, "the reply has version %u; expected version %d",
			    version, UX_WIRE_VERSION);
}

enum ux_code ux_wire_read_open(struct ux_wire_read *r, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, "reply", __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
	*r = (struct ux_wire_read){0};
	UX_TRY(wire_read_head(&c, err));
	UX_TRY(wire_read_strings(r, &c, err));
	UX_TRY(wire_read_files(r, &c, err));
	UX_TRY(wire_read_frame_table(r, &c, err));
	UX_TRY(wire_read_modules(r, &c, err));
	return wire_read_addresses(r, &c, err);
}

const char *ux_wire_read_string(const struct ux_wire_read *r, uint32_t i)
{
	assert(i <= r->n_strings);
	return i == 0 ? "" : (const char *)r->text.data + r->strings[i];
}

size_t ux_wire_read_frames(const struct ux_wire_read *r, size_t i, struct ux_frame *ret, size_t max)
{
	assert(i < r->n_addresses);
	uint32_t at = r->addresses[i];
	size_t depth = r->frames[at].depth, n = 0;
	for (size_t skip = depth > max ? depth - max : 0; skip > 0; skip--)
		at = r->frames[at].up;
	for (; at != 0; at = r->frames[at].up) {
		const struct ux_wire_frame *f = &r->frames[at];
		const struct ux_wire_file *file = &r->files[f->file];
		ret[n++] = (struct ux_frame){
			.function = ux_wire_read_string(r, f->function),
			.dir = ux_wire_read_string(r, file->dir),
			.base = ux_wire_read_string(r, file->base),
			.line = f->line,
			.inlined = f->up != 0,
		};
	}
	return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Replies in the compact form: writing. */
#include "wire_reply.h"

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

size_t ux_wire_reply_size(const struct ux_wire_reply *r)
{
	return UX_WIRE_HEAD + r->strings.size + r->files.size + r->frames.size + r->modules.size +
	       r->addresses.size;
}

static void wire_put_table(struct ux_out *out, const struct ux_out *table)
{
	ux_out_put(out, table->data, table->size);
	out->failed |= table->failed;
}

void ux_wire_reply_write(const struct ux_wire_reply *r, struct ux_out *out)
{
	enum {
		HEADS = 5 * 10
	};
	if (!ux_out_grow(out, ux_wire_reply_size(r) + HEADS))
		return;
	ux_out_cstr(out, UX_WIRE_REPLY_MAGIC);
	ux_out_u8(out, UX_WIRE_VERSION);
	ux_out_uleb(out, r->n_strings);
	ux_out_uleb(out, r->strings.size);
	wire_put_table(out, &r->strings);
	ux_out_uleb(out, r->n_files);
	wire_put_table(out, &r->files);
	ux_out_uleb(out, r->n_frames);
	wire_put_table(out, &r->frames);
	ux_out_uleb(out, r->n_modules);
	wire_put_table(out, &r->modules);
	wire_put_table(out, &r->addresses);
}

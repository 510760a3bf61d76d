/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in the compact form: writing and reading. */
#include "wire.h"

void ux_wire_question_begin(struct ux_out *out, const struct ux_wire_options *options)
{
	ux_out_cstr(out, UX_WIRE_QUESTION_MAGIC);
	ux_out_u8(out, UX_WIRE_VERSION);
	ux_out_uleb(out, options->return_addresses ? UX_WIRE_RETURN_ADDRESSES : 0);
	ux_out_uleb(out, options->demangle);
	ux_out_uleb(out, options->timeout_ms);
}

static int64_t wire_delta(const uint64_t *pcs, size_t i)
{
	return (int64_t)(pcs[i] - (i > 0 ? pcs[i - 1] : 0));
}

static size_t wire_sleb_size(int64_t v)
{
	size_t n = 1;
	for (; v < -64 || v > 63; v >>= 7)
		n++;
	return n;
}

/* Writes the addresses in the shorter of the two forms. */
static void wire_put_pcs(struct ux_out *out, const uint64_t *pcs, size_t n)
{
	size_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes += wire_sleb_size(wire_delta(pcs, i));
	bool fixed = bytes > n * sizeof(*pcs);
	ux_out_u8(out, fixed ? UX_WIRE_FIXED : UX_WIRE_DELTAS);
	ux_out_uleb(out, n);
	ux_out_uleb(out, fixed ? n * sizeof(*pcs) : bytes);
	for (size_t i = 0; i < n; i++) {
		if (!fixed)
			ux_out_sleb(out, wire_delta(pcs, i));
		else
			for (unsigned k = 0; k < 8; k++)
				ux_out_u8(out, (uint8_t)(pcs[i] >> 8 * k));
	}
}

void ux_wire_question_add(struct ux_out *out, const struct ux_id *id, const uint64_t *pcs, size_t n)
{
	ux_out_u8(out, (uint8_t)(id->type + 1));
	ux_out_uleb(out, id->size);
	ux_out_put(out, id->bytes, id->size);
	wire_put_pcs(out, pcs, n);
}

void ux_wire_question_end(struct ux_out *out)
{
	ux_out_u8(out, UX_WIRE_END);
}

static struct ux_cur wire_cur(struct ux_bytes bytes)
{
	return ux_cur_make(bytes, "question", __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
}

static enum ux_code wire_unsupported(const struct ux_cur *c, struct ux_error *err, const char *what,
				     uint64_t found)
{
	UX_TRY(ux_cur_status(c, err));
	return ux_error_set(err, UX_EUNSUPPORTED, "%s has the unknown value 0x%" PRIx64, what,
			    found);
}

enum ux_code ux_wire_question_open(struct ux_wire_question *q, struct ux_bytes bytes,
				   struct ux_error *err)
{
	struct ux_cur c = wire_cur(bytes);
	if (!ux_bytes_eq(ux_cur_take(&c, 3), UX_STR(UX_WIRE_QUESTION_MAGIC)))
		ux_cur_bad(&c, "it does not begin with " UX_WIRE_QUESTION_MAGIC);
	uint8_t version = ux_cur_u8(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (version != UX_WIRE_VERSION)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the request has version %u; expected version %d", version,
				    UX_WIRE_VERSION);
	uint64_t flags = ux_cur_uleb(&c);
	if ((flags & ~(uint64_t)UX_WIRE_RETURN_ADDRESSES) != 0)
		return wire_unsupported(&c, err, "flags", flags);
	uint64_t mode = ux_cur_uleb(&c);
	if (mode > UX_DEMANGLE_ELIDED)
		return wire_unsupported(&c, err, "demangle", mode);
	uint64_t timeout = ux_cur_uleb(&c);
	if (timeout > UINT32_MAX)
		ux_cur_bad(&c, "timeout_ms exceeds 32 bits");
	UX_TRY(ux_cur_status(&c, err));
	q->options = (struct ux_wire_options){
		.return_addresses = (flags & UX_WIRE_RETURN_ADDRESSES) != 0,
		.demangle = (enum ux_demangle_mode)mode,
		.timeout_ms = (uint32_t)timeout,
	};
	q->c = c;
	return UX_OK;
}

static enum ux_code wire_read_id(struct ux_cur *c, uint8_t type, struct ux_id *ret,
				 struct ux_error *err)
{
	uint64_t size = ux_cur_uleb(c);
	struct ux_bytes bytes = ux_cur_take(c, size);
	UX_TRY(ux_cur_status(c, err));
	if (type > UX_ID_CUBIN_CRC)
		return wire_unsupported(c, err, "ID type", (uint64_t)type + 1);
	return ux_id_make((enum ux_id_type)type, bytes, ret, err);
}

enum ux_code ux_wire_question_next(struct ux_wire_question *q, struct ux_wire_question_module *ret,
				   bool *ret_more, struct ux_error *err)
{
	struct ux_cur *c = &q->c;
	uint8_t kind = ux_cur_u8(c);
	if (kind == UX_WIRE_END) {
		if (ux_cur_more(c))
			ux_cur_bad(c, "unexpected bytes after the end");
		*ret_more = false;
		return ux_cur_status(c, err);
	}
	UX_TRY(wire_read_id(c, (uint8_t)(kind - 1), &ret->id, err));
	ret->form = ux_cur_u8(c);
	if (ret->form > UX_WIRE_DELTAS)
		return wire_unsupported(c, err, "address format", ret->form);
	uint64_t n = ux_cur_uleb(c), bytes = ux_cur_uleb(c);
	if (ret->form == UX_WIRE_FIXED ? bytes % 8 != 0 || bytes / 8 != n : n > bytes)
		ux_cur_bad(c, "length of the addresses does not match their count");
	ret->pcs = ux_cur_sub(c, bytes);
	ret->n = (size_t)n;
	*ret_more = true;
	return ux_cur_status(c, err);
}

enum ux_code ux_wire_question_pcs(const struct ux_wire_question_module *m, uint64_t *ret,
				  struct ux_error *err)
{
	struct ux_cur c = m->pcs;
	uint64_t pc = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (m->form == UX_WIRE_FIXED)
			pc = ux_cur_u64(&c);
		else
			pc += (uint64_t)ux_cur_sleb(&c);
		ret[i] = pc;
	}
	if (ux_cur_more(&c))
		ux_cur_bad(&c, "unexpected bytes after the addresses of a module");
	return ux_cur_status(&c, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: questions and replies in the compact form. The first byte tells which; the rest is the
 * message. After reading it is written and read again, and must be the same.
 */
#include "fuzz.h"

#include "wire.h"

static struct ux_bytes text_at(const struct ux_wire_read *r, uint32_t i)
{
	return ux_bytes_cstr(ux_wire_read_string(r, i));
}

static bool same_frames(const struct ux_frame *a, const struct ux_frame *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i].function, b[i].function) != 0 || strcmp(a[i].dir, b[i].dir) != 0 ||
		    strcmp(a[i].base, b[i].base) != 0 || a[i].line != b[i].line ||
		    a[i].inlined != b[i].inlined)
			return false;
	return true;
}

/*
 * Numbers of empty strings become 0, so that tables can be compared by the things that they refer
 * to.
 */
static void write_again(const struct ux_wire_read *r, struct ux_out *out)
{
	struct ux_wire_reply w = {0};
	uint32_t *strings = calloc(r->n_strings + 1, sizeof(*strings));
	fuzz_truth(strings != NULL);
	for (uint32_t i = 1; i <= r->n_strings; i++)
		strings[i] = ux_wire_reply_string(&w, text_at(r, i));
	for (size_t i = 1; i <= r->n_files; i++)
		ux_wire_reply_file(&w, strings[r->files[i].dir], strings[r->files[i].base]);
	for (size_t i = 1; i <= r->n_frames; i++) {
		const struct ux_wire_frame *f = &r->frames[i];
		fuzz_truth(f->up < i && f->depth >= 1 && f->depth <= UX_FRAMES_MAX);
		ux_wire_reply_frame(&w, strings[f->function], f->file, f->line, f->up);
	}
	for (size_t i = 0; i < r->n_modules; i++) {
		const struct ux_wire_module *m = &r->modules[i];
		for (size_t k = 0; k < m->n; k++)
			ux_wire_reply_address(&w, r->addresses[m->first + k]);
		ux_wire_reply_module(&w, m->status, m->quality, text_at(r, m->reason),
				     m->retry_after_s, m->n);
	}
	ux_wire_reply_write(&w, out);
	ux_wire_reply_deinit(&w);
	free(strings);
}

static void reply_truths(struct ux_bytes in)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_wire_read_deinit) struct ux_wire_read r = {0}, again = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_wire_read_open(&r, in, &err);
	fuzz_truths_of_error(code, &err, in.size);
	if (code != UX_OK)
		return;
	write_again(&r, &out);
	fuzz_truth(ux_wire_read_open(&again, ux_out_bytes(&out), NULL) == UX_OK);
	fuzz_truth(again.n_addresses == r.n_addresses && again.n_modules == r.n_modules);
	/* A small reply may name the same deep frame for each address: it suffices to check
	 * some. */
	for (size_t i = 0; i < r.n_addresses && i < 1000; i++) {
		struct ux_frame a[UX_FRAMES_MAX], b[UX_FRAMES_MAX];
		size_t n = ux_wire_read_frames(&r, i, a, UX_FRAMES_MAX);
		fuzz_truth(n == ux_wire_read_frames(&again, i, b, UX_FRAMES_MAX));
		fuzz_truth(same_frames(a, b, n));
	}
}

/* Appends a module as it was read to out; false when its addresses are damaged. */
static bool copy_module(const struct ux_wire_question_module *m, struct ux_out *out,
			struct ux_bytes in)
{
	struct ux_error err = UX_ERROR_INIT;
	fuzz_truth(m->n <= in.size);
	uint64_t *pcs = calloc(m->n + 1, sizeof(*pcs));
	fuzz_truth(pcs != NULL);
	enum ux_code code = ux_wire_question_pcs(m, pcs, &err);
	fuzz_truths_of_error(code, &err, in.size);
	if (code == UX_OK)
		ux_wire_question_add(out, &m->id, pcs, m->n);
	free(pcs);
	return code == UX_OK;
}

/* Reads all modules; false when something is wrong. */
static bool copy_question(struct ux_bytes in, struct ux_out *out)
{
	struct ux_wire_question q;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_wire_question_open(&q, in, &err);
	fuzz_truths_of_error(code, &err, in.size);
	if (code != UX_OK)
		return false;
	ux_wire_question_begin(out, &q.options);
	for (;;) {
		struct ux_wire_question_module m;
		bool more = false;
		code = ux_wire_question_next(&q, &m, &more, &err);
		fuzz_truths_of_error(code, &err, in.size);
		if (code != UX_OK || (more && !copy_module(&m, out, in)))
			return false;
		if (!more)
			break;
	}
	ux_wire_question_end(out);
	return true;
}

/* The output is in its shortest form: written again it gives the same bytes. */
static void question_truths(struct ux_bytes in)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, again = {0};
	if (!copy_question(in, &out))
		return;
	fuzz_truth(copy_question(ux_out_bytes(&out), &again));
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&out), ux_out_bytes(&again)));
}

FUZZ_TARGET(wire)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes in = ux_bytes(data + 1, size - 1);
	if ((data[0] & 1) != 0)
		reply_truths(in);
	else
		question_truths(in);
	return 0;
}

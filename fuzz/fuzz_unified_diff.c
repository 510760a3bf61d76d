/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: unified diffs: a text up to the first zero byte, and a diff after it. The files of the
 * diff follow each other and are inside of it; the patched text contains only bytes of the text or
 * the diff, and undoing a change gives the text again.
 */
#include "fuzz.h"

#include "unified_diff.h"

enum {
	FILES_MAX = 64, /* most files of one diff: each of them is applied to the whole text */
	TEXT_MAX = 4096,
};

/* Writes the hunks with old and new exchanged. */
static void reverse(struct ux_bytes hunks, struct ux_out *out)
{
	while (hunks.size > 0) {
		const uint8_t *end = memchr(hunks.data, '\n', hunks.size);
		size_t n = end ? (size_t)(end + 1 - hunks.data) : hunks.size;
		struct ux_bytes line = ux_bytes(hunks.data, n);
		char head[128], old[32], new[32];
		hunks = ux_bytes(hunks.data + n, hunks.size - n);
		snprintf(head, sizeof(head), "%.*s", (int)ux_min(n, sizeof(head) - 1),
			 (const char *)line.data);
		if (line.data[0] == '@' && sscanf(head, "@@ -%31[0-9,] +%31[0-9,]", old, new) == 2)
			ux_out_fmt(out, "@@ -%s +%s @@\n", new, old);
		else if (line.data[0] == '-' || line.data[0] == '+') {
			ux_out_u8(out, line.data[0] == '-' ? '+' : '-');
			ux_out_put(out, line.data + 1, line.size - 1);
		} else {
			ux_out_put(out, line.data, line.size);
		}
	}
}

static void check_reverse(const struct ux_diff_file *f, struct ux_bytes text, struct ux_bytes made)
{
	ux_cleanup(ux_out_deinit) struct ux_out hunks = {0}, back = {0};
	uint64_t work = 0;
	reverse(f->hunks, &hunks);
	const struct ux_diff_file r = {.hunks = ux_out_bytes(&hunks)};
	/* the lines may also occur in another place: then something else is undone, or nothing */
	if (ux_diff_apply(&r, made, &work, &back, NULL) == UX_OK)
		fuzz_truth(back.size == text.size);
}

static void check_file(const struct ux_diff_file *f, struct ux_bytes diff, struct ux_bytes text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	uint64_t work = 0;
	fuzz_truth(fuzz_inside(f->old_name, diff) && fuzz_inside(f->new_name, diff));
	fuzz_truth(fuzz_inside(f->hunks, diff) && f->hunks.data == diff.data + f->off);
	fuzz_truth(fuzz_inside(ux_diff_strip(f->new_name), f->new_name));
	enum ux_code code = ux_diff_apply(f, text, &work, &out, &err);
	fuzz_truths_of_error(code, &err, diff.size);
	if (code != UX_OK)
		return;
	fuzz_truth(out.size <= text.size + f->hunks.size);
	check_reverse(f, text, ux_out_bytes(&out));
}

FUZZ_TARGET(unified_diff)(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
	if (!zero || zero - data > TEXT_MAX)
		return 0;
	struct ux_bytes text = ux_bytes(data, (size_t)(zero - data));
	struct ux_bytes diff = ux_bytes(zero + 1, size - text.size - 1);
	struct ux_diff d = {.text = diff};
	struct ux_diff_file f;
	size_t before = 0;
	for (unsigned n = 0; n < FILES_MAX && ux_diff_next(&d, &f); n++) {
		fuzz_truth(d.at > before && d.at <= diff.size);
		before = d.at;
		check_file(&f, diff, text);
	}
	return 0;
}

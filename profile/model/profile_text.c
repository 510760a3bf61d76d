/* SPDX-License-Identifier: Apache-2.0 */
/* Writes frames and locations of a profile as text. */
#include "profile_text.h"

void ux_profile_write_name(const struct ux_profile *p, const struct ux_profile_frame *frame,
			   enum ux_demangle_mode mode, struct ux_out *out)
{
	struct ux_bytes name = ux_profile_text(p, frame->name);
	if (frame->name == 0 || (mode == UX_DEMANGLE_NONE && frame->linkage != 0))
		ux_demangle(ux_profile_text(p, frame->linkage), mode, out);
	else
		ux_out_put(out, name.data, name.size);
}

struct ux_bytes ux_profile_base_name(struct ux_bytes path)
{
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	if (!slash || slash + 1 == path.data + path.size)
		return path;
	return ux_bytes(slash + 1, (size_t)(path.data + path.size - slash - 1));
}

/* Returns a name without the brackets of "[kernel.kallsyms]" and "[vdso]". */
static struct ux_bytes profile_bare_name(struct ux_bytes name)
{
	if (name.size > 2 && name.data[0] == '[' && name.data[name.size - 1] == ']')
		return ux_bytes(name.data + 1, name.size - 2);
	return name;
}

void ux_profile_write_place(const struct ux_profile *p, const struct ux_profile_location *location,
			    struct ux_out *out)
{
	const struct ux_profile_module *m = &p->modules.data[location->module];
	struct ux_bytes name = profile_bare_name(ux_profile_base_name(ux_profile_text(p, m->path)));
	if (location->module != 0 && m->kind == UX_PROFILE_JIT)
		name = UX_STR("jit");
	else if (name.size == 0)
		name = location->module != 0 && m->kind == UX_PROFILE_KERNEL ? UX_STR("kernel")
									     : UX_STR("unknown");
	ux_out_put(out, name.data, name.size);
	if (location->kind != UX_PROFILE_NO_ADDRESS)
		ux_out_fmt(out, "%c0x%" PRIx64, location->kind == UX_PROFILE_OFFSET ? '@' : '+',
			   location->address);
}

bool ux_profile_line(struct ux_bytes *text, struct ux_bytes *ret_whole, struct ux_bytes *ret)
{
	if (text->size == 0)
		return false;
	size_t max = ux_min(text->size, (size_t)UX_PROFILE_LINE_MAX + 1);
	const uint8_t *end = memchr(text->data, '\n', max);
	size_t n = end ? (size_t)(end - text->data) : max;
	size_t used = n + (end != NULL);
	*ret_whole = ux_bytes(text->data, used);
	*ret = ux_bytes(text->data, n);
	*text = ux_bytes(text->data + used, text->size - used);
	if (ret->size > 0 && ret->data[ret->size - 1] == '\r')
		ret->size--;
	return true;
}

enum ux_code ux_profile_line_check(struct ux_bytes line, uint64_t number, struct ux_error *err)
{
	if (line.size <= UX_PROFILE_LINE_MAX)
		return UX_OK;
	return ux_error_set(err, UX_ELIMIT, "line %" PRIu64 ": expected at most %d bytes", number,
			    UX_PROFILE_LINE_MAX);
}

void ux_profile_amount(struct ux_bytes unit, int64_t value, char text[UX_PROFILE_AMOUNT])
{
	static const struct {
		const char *unit;
		double step;
		const char *names[5];
	} units[] = {
		{"nanoseconds", 1000, {"ns", "us", "ms", "s", NULL}},
		{"microseconds", 1000, {"us", "ms", "s", NULL, NULL}},
		{"milliseconds", 1000, {"ms", "s", NULL, NULL, NULL}},
		{"bytes", 1024, {"B", "KiB", "MiB", "GiB", "TiB"}},
	};
	for (size_t i = 0; i < ux_countof(units); i++) {
		if (!ux_bytes_eq(unit, ux_bytes_cstr(units[i].unit)))
			continue;
		double v = (double)value;
		size_t k = 0;
		for (; (v >= units[i].step || v <= -units[i].step) && k + 1 < 5 &&
		       units[i].names[k + 1];
		     k++)
			v /= units[i].step;
		snprintf(text, UX_PROFILE_AMOUNT, k > 0 ? "%.2f %s" : "%.0f %s", v,
			 units[i].names[k]);
		return;
	}
	snprintf(text, UX_PROFILE_AMOUNT, "%" PRId64, value);
}

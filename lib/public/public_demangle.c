/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling into a caller's buffer. */
#include "unhex/demangle.h"

#include "demangle.h"

size_t ux_demangle_name(const char *name, enum ux_demangle_mode mode, char *buf, size_t size)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes plain = ux_bytes_cstr(name);
	ux_demangle(plain, mode, &out);
	struct ux_bytes text = out.failed ? plain : ux_out_bytes(&out);
	if (size == 0)
		return text.size;
	size_t n = ux_min(text.size, size - 1);
	if (n > 0)
		memcpy(buf, text.data, n);
	buf[n] = 0;
	return text.size;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files of a kernel's modules are, as depmod lists them in modules.dep. */
#include "modules_dep.h"

struct ux_bytes ux_module_path_plain(struct ux_bytes path)
{
	const struct ux_bytes dot_ko = UX_STR(".ko");
	for (size_t n = path.size; n >= dot_ko.size; n--) {
		if (path.data[n - 1] == '/')
			break;
		bool ends = n == path.size || path.data[n] == '.';
		if (ends && memcmp(path.data + n - dot_ko.size, dot_ko.data, dot_ko.size) == 0)
			return ux_bytes(path.data, n);
	}
	return UX_BYTES_NONE;
}

/* Whether the file's name is the module's, "-" being "_" in the kernel. */
static bool is_of(struct ux_bytes path, struct ux_bytes name)
{
	struct ux_bytes plain = ux_module_path_plain(path);
	size_t suffix = sizeof(".ko") - 1;
	if (plain.size < name.size + suffix)
		return false;
	const uint8_t *at = plain.data + plain.size - suffix - name.size;
	if (at > path.data && at[-1] != '/')
		return false;
	for (size_t i = 0; i < name.size; i++)
		if ((at[i] == '-' ? '_' : at[i]) != name.data[i])
			return false;
	return true;
}

struct ux_bytes ux_modules_dep_find(struct ux_bytes list, const char *name)
{
	struct ux_bytes wanted = ux_bytes_cstr(name);
	while (wanted.size > 0 && list.size > 0) {
		const uint8_t *end = memchr(list.data, '\n', list.size);
		size_t n = end ? (size_t)(end - list.data) : list.size;
		const uint8_t *colon = memchr(list.data, ':', n);
		struct ux_bytes path =
			colon ? ux_bytes(list.data, (size_t)(colon - list.data)) : UX_BYTES_NONE;
		if (path.size > 0 && !memchr(path.data, 0, path.size) && is_of(path, wanted))
			return path;
		n = ux_min(n + 1, list.size);
		list = ux_bytes(list.data + n, list.size - n);
	}
	return UX_BYTES_NONE;
}

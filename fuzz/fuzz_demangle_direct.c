/* SPDX-License-Identifier: Apache-2.0 */
/* Target: C++ names: the text is the same whether they are written directly or through a tree. */
#include "fuzz.h"

#include "demangle_schemes.h"
#include "itanium_direct.h"

FUZZ_TARGET(demangle_direct)(const uint8_t *data, size_t size)
{
	static char at_once[UX_DEMANGLE_TEXT_MAX], as_tree[UX_DEMANGLE_TEXT_MAX];
	struct ux_bytes name = ux_bytes(data, size);
	const struct ux_itanium_style style = {.parameters = true},
				      tree = {.parameters = true, .tree = true};
	if (size > UX_DEMANGLE_NAME_MAX || !ux_bytes_starts(name, UX_STR("_Z")) ||
	    memchr(data, 0, size))
		return 0;
	struct ux_name_text a = ux_name_text_make(at_once, sizeof(at_once)),
			    b = ux_name_text_make(as_tree, sizeof(as_tree));
	const char *end = NULL;
	if (!itanium_direct(name, &a, &end))
		return 0;
	a = ux_name_text_make(at_once, sizeof(at_once));
	bool read = ux_itanium_demangle(name, style, &a);
	fuzz_truth(read == ux_itanium_demangle(name, tree, &b));
	fuzz_truth(!read || (a.pos - a.start == b.pos - b.start &&
			     memcmp(at_once, as_tree, (size_t)(a.pos - a.start)) == 0));
	return 0;
}

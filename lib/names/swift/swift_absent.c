/* SPDX-License-Identifier: Apache-2.0 */
/* Used in a build without the demangler of Swift: names are left unchanged. */
#include "swift.h"

bool ux_swift_marked(struct ux_bytes name)
{
	(void)name;
	return false;
}

bool ux_swift_demangle(struct ux_bytes name, struct ux_swift_style style, struct ux_name_text *text)
{
	(void)name;
	(void)style;
	(void)text;
	return false;
}

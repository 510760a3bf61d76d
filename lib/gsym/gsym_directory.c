/* SPDX-License-Identifier: Apache-2.0 */
/* Walking the directory of version 2. */
#include "gsym_directory.h"

#include "gsym_format.h"

struct gsym_directory gsym_directory_open(struct ux_bytes file, bool swap)
{
	struct gsym_directory d = {.file = file, .c = ux_cur_make(file, NULL, swap)};
	ux_cur_seek(&d.c, GSYM2_HEADER_SIZE);
	return d;
}

bool gsym_directory_next(struct gsym_directory *d, struct gsym_section *ret)
{
	struct ux_cur *c = &d->c;
	ret->type = ux_cur_u32(c);
	ret->off = ux_cur_u64(c);
	uint64_t size = ux_cur_u64(c);
	ret->content = UX_BYTES_NONE;
	if (c->failed)
		return false;
	if (ret->type == GSYM_SECTION_END) {
		if ((ret->off | size) != 0)
			ux_cur_bad(c, "end of the directory is not all zeros");
		return false;
	}
	if (size == 0)
		ux_cur_bad(c, "section is empty");
	else if (!ux_bytes_sub(d->file, ret->off, size, &ret->content))
		ux_cur_bad(c, "section leaves the file");
	else if (++d->n > GSYM_SECTIONS_MOST)
		ux_cur_bad(c, "directory has more than 1024 sections");
	return !c->failed;
}

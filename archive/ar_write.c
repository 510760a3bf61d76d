/* SPDX-License-Identifier: Apache-2.0 */
/* Writes static libraries. */
#include "ar_write.h"

#include "file.h"

enum ux_code ux_ar_write_begin(int fd, struct ux_error *err)
{
	return ux_file_write(fd, UX_STR("!<arch>\n"), err);
}

/* Writes a header of 60 bytes, the content, and a byte of padding to an even size. */
enum ux_code ux_ar_write_member(int fd, uint64_t name, struct ux_bytes content,
				struct ux_error *err)
{
	char header[96];
	int n = snprintf(header, sizeof(header), "%-16" PRIu64 "%-12d%-6d%-6d%-8o%-10zu`\n", name,
			 0, 0, 0, 0600U, content.size);
	UX_TRY(ux_file_write(fd, ux_bytes(header, (size_t)n), err));
	UX_TRY(ux_file_write(fd, content, err));
	return ux_file_write(fd, ux_bytes("\n", content.size & 1), err);
}

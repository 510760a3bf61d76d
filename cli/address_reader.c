/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to addresses. */
#include "address_reader.h"

#include "text.h"

void ux_address_reader_init(struct ux_address_reader *r, int fd, bool hex)
{
	ux_line_reader_init(&r->lines, fd);
	r->hex = hex;
}

bool ux_address_reader_ready(const struct ux_address_reader *r)
{
	return ux_line_reader_ready(&r->lines);
}

static struct ux_bytes trimmed(struct ux_bytes s)
{
	while (s.size > 0 && strchr(" \t\r", s.data[s.size - 1]) && s.data[s.size - 1] != 0)
		s.size--;
	while (s.size > 0 && (*s.data == ' ' || *s.data == '\t'))
		s = ux_bytes(s.data + 1, s.size - 1);
	return s;
}

bool ux_address_reader_next(struct ux_address_reader *r, struct ux_symbolize_request *ret,
			    struct ux_error *err)
{
	struct ux_bytes line = UX_BYTES_NONE;
	do {
		if (!ux_line_reader_next(&r->lines, &line, err))
			return false;
		line.size = ux_min(line.size, (size_t)UX_ADDRESS_LINE_MOST);
		line = trimmed(line);
	} while (line.size == 0);
	*ret = (struct ux_symbolize_request){.line = r->lines.line};
	if (!ux_hex_parse_u64(line, r->hex, &ret->address))
		ret->bad = line;
	return true;
}

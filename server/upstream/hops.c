/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of servers in header lines. */
#include "hops.h"

#include "text.h"

static struct ux_bytes trim(struct ux_bytes s)
{
	while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = ux_bytes(s.data + 1, s.size - 1);
	while (s.size > 0 && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t'))
		s.size--;
	return s;
}

/* The next of a list with commas; false at its end. */
static bool next_of(struct ux_bytes *list, struct ux_bytes *ret)
{
	if (list->size == 0)
		return false;
	const uint8_t *comma = memchr(list->data, ',', list->size);
	size_t n = comma ? (size_t)(comma - list->data) : list->size;
	*ret = trim(ux_bytes(list->data, n));
	*list = comma ? ux_bytes(comma + 1, list->size - n - 1) : UX_BYTES_NONE;
	return true;
}

static bool is_server_id(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++)
		if (ux_hex_digit((char)s.data[i]) < 0)
			return false;
	return s.size == UX_SERVER_ID - 1;
}

static bool read_via(struct ux_bytes list, const char *own, struct ux_hops *ret)
{
	struct ux_bytes one;
	while (next_of(&list, &one)) {
		if (!is_server_id(one) || ret->n == UX_HOPS_MOST - 1 ||
		    ux_bytes_eq(one, ux_bytes_cstr(own)))
			return false;
		memcpy(ret->via[ret->n++], one.data, one.size);
	}
	return true;
}

static bool contains(struct ux_bytes s, const char *word)
{
	return s.size > 0 && memmem(s.data, s.size, word, strlen(word)) != NULL;
}

bool ux_hops_read(const struct ux_hops_lines *lines, const char *own, struct ux_hops *ret)
{
	struct ux_bytes list = lines->forwarded, one;
	*ret = (struct ux_hops){0};
	while (ret->forwarded < UX_HOPS_MOST && next_of(&list, &one))
		ret->forwarded++;
	return ret->forwarded < UX_HOPS_MOST && read_via(lines->via, own, ret) &&
	       !contains(lines->agent, own);
}

static void add(char *text, const char *word)
{
	size_t n = strlen(text);
	snprintf(text + n, UX_HOPS_TEXT - n, "%s", word);
}

void ux_hops_write(const struct ux_hops *hops, const char *own, struct ux_hops_sent *ret)
{
	*ret = (struct ux_hops_sent){.via = UX_HOPS_HEADER ": ", .forwarded = "X-Forwarded-For: "};
	for (unsigned i = 0; i < hops->n; i++) {
		add(ret->via, hops->via[i]);
		add(ret->via, ", ");
	}
	add(ret->via, own);
	for (unsigned i = 0; i < hops->forwarded; i++)
		add(ret->forwarded, "unknown, ");
	add(ret->forwarded, "unknown");
	snprintf(ret->agent, sizeof(ret->agent), "unhex/" UX_VERSION " (via %s)", own);
}

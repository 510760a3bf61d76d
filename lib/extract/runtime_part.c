/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a snapshot of run-time code, and the paths under which servers list them. */
#include "runtime_part.h"

#include "cursor.h"
#include "order.h"
#include "text.h"

#define PATH_PREFIX "/run-time/"

static void runtime_host_clean(const char *host, char ret[UX_RUNTIME_HOST_MAX + 1])
{
	size_t n = strnlen(host, UX_RUNTIME_HOST_MAX);
	for (size_t i = 0; i < n; i++) {
		char c = host[i];
		bool plain = ux_is_digit((uint8_t)c) || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
		ret[i] = plain ? c : '_';
	}
	ret[n] = '\0';
}

void ux_runtime_name_format(const char *host, uint32_t pid, char ret[UX_RUNTIME_PATH_MAX])
{
	char clean[UX_RUNTIME_HOST_MAX + 1];
	runtime_host_clean(host, clean);
	(void)snprintf(ret, UX_RUNTIME_PATH_MAX, "%" PRIu32 "@%s", pid, clean);
}

void ux_runtime_path_format(const struct ux_runtime_span *span, char ret[UX_RUNTIME_PATH_MAX])
{
	char clean[UX_RUNTIME_HOST_MAX + 1];
	runtime_host_clean(span->host, clean);
	(void)snprintf(ret, UX_RUNTIME_PATH_MAX,
		       PATH_PREFIX "%" PRId64 "/%" PRId64 "-%" PRId64 "/%" PRIu32 "@%s",
		       ux_max(span->started_ns, INT64_C(0)), ux_max(span->from_ns, INT64_C(0)),
		       ux_max(span->until_ns, INT64_C(0)), span->pid, clean);
}

/* Takes a decimal number and the character that follows it. */
static bool runtime_take_number(struct ux_bytes *text, char behind, uint64_t max, uint64_t *ret)
{
	const uint8_t *end = text->size > 0 ? memchr(text->data, behind, text->size) : NULL;
	size_t n = end ? (size_t)(end - text->data) : 0;
	if (n == 0 || !ux_decimal_parse(ux_bytes(text->data, n), ret) || *ret > max)
		return false;
	*text = ux_bytes(text->data + n + 1, text->size - n - 1);
	return true;
}

bool ux_runtime_path_parse(struct ux_bytes path, struct ux_runtime_span *ret)
{
	const struct ux_bytes prefix = UX_STR(PATH_PREFIX);
	uint64_t started = 0, from = 0, until = 0, pid = 0;
	if (!ux_bytes_starts(path, prefix))
		return false;
	struct ux_bytes rest = ux_bytes(path.data + prefix.size, path.size - prefix.size);
	if (!runtime_take_number(&rest, '/', INT64_MAX, &started) ||
	    !runtime_take_number(&rest, '-', INT64_MAX, &from) ||
	    !runtime_take_number(&rest, '/', INT64_MAX, &until) ||
	    !runtime_take_number(&rest, '@', INT32_MAX, &pid) || rest.size == 0 ||
	    rest.size > UX_RUNTIME_HOST_MAX || memchr(rest.data, '/', rest.size))
		return false;
	*ret = (struct ux_runtime_span){.pid = (uint32_t)pid,
					.started_ns = (int64_t)started,
					.from_ns = (int64_t)from,
					.until_ns = (int64_t)until};
	memcpy(ret->host, rest.data, rest.size);
	return true;
}

bool ux_runtime_part_next(struct ux_bytes *left, struct ux_runtime_part *ret,
			  struct ux_bytes *ret_gsym, struct ux_error *err)
{
	if (left->size == 0)
		return false;
	struct ux_cur c = ux_cur_make(*left, "run-time code", /* swap= */ false);
	struct ux_bytes head = ux_cur_take(&c, sizeof(*ret));
	/* a bool other than 0 or 1 must not be read as a bool */
	if (!c.failed && head.data[offsetof(struct ux_runtime_part, lines)] > 1)
		ux_cur_bad(&c, "flag is neither 0 nor 1");
	if (!c.failed)
		memcpy(ret, head.data, sizeof(*ret));
	*ret_gsym = ux_cur_take(&c, c.failed ? 0 : ret->size);
	if (ux_cur_status(&c, err) != UX_OK)
		return false;
	*left = ux_bytes(c.pos, ux_cur_left(&c));
	return true;
}

static int runtime_list_compare(const void *a, const void *b)
{
	const struct ux_runtime_symbols *x = a, *y = b;
	UX_ORDER(y->span.started_ns, x->span.started_ns);
	UX_ORDER(y->span.from_ns, x->span.from_ns);
	UX_ORDER(y->span.until_ns, x->span.until_ns);
	return 0;
}

void ux_runtime_list_sort(struct ux_runtime_list *list)
{
	if (list->size > 1)
		qsort(list->data, list->size, sizeof(*list->data), runtime_list_compare);
}

size_t ux_runtime_list_find(const struct ux_runtime_list *list, int64_t time_ns)
{
	size_t i = 0;
	while (i < list->size && list->data[i].span.from_ns > time_ns)
		i++;
	return i;
}

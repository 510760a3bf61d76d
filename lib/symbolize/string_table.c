/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of a GSYM. */
#include "string_table.h"

void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift)
{
	*table = (struct ux_string_table){.limit = ux_min(limit, (uint64_t)UINT32_MAX << shift),
					  .shift = shift};
	ux_out_u8(&table->bytes, 0);
}

void ux_string_table_deinit(struct ux_string_table *table)
{
	ux_out_deinit(&table->bytes);
	ux_string_by_text_deinit(&table->texts);
	ux_string_by_pointer_deinit(&table->pointers);
}

static uint32_t add_text(struct ux_string_table *table, const char *text)
{
	/* No more is looked at than there is room for. */
	uint64_t size = table->bytes.size + ((uint64_t)1 << table->shift) - 1; /* aligned */
	size_t room = table->limit - ux_min(table->limit, size);
	struct ux_bytes bytes = ux_bytes(text, strnlen(text, room));
	if (bytes.size == room) {
		table->too_large = true;
		return 0;
	}
	struct ux_string_key key = {text, ux_hash_bytes(bytes), bytes.size};
	bool fresh = false;
	uint32_t *off = ux_string_by_text_insert(&table->texts, key, &fresh);
	if (!off) {
		table->no_memory = true;
		return 0;
	}
	if (fresh) {
		ux_out_align(&table->bytes, (size_t)1 << table->shift);
		*off = (uint32_t)(table->bytes.size >> table->shift);
		ux_out_put(&table->bytes, text, bytes.size + 1);
	}
	return *off;
}

uint32_t ux_string_table_add(struct ux_string_table *table, const char *text)
{
	if (!text || text[0] == '\0' || table->no_memory || table->too_large)
		return 0;
	bool fresh = false;
	uint32_t *off = ux_string_by_pointer_insert(&table->pointers, (uintptr_t)text, &fresh);
	if (!off) {
		table->no_memory = true;
		return 0;
	}
	if (fresh)
		*off = add_text(table, text);
	return *off;
}

enum ux_code ux_string_table_status(const struct ux_string_table *table, struct ux_error *err)
{
	if (table->no_memory)
		return ux_error_nomem(err);
	UX_TRY(ux_out_status(&table->bytes, err));
	if (table->too_large)
		return ux_error_set(err, UX_ELIMIT,
				    "names and paths add up to over %" PRIu64 " bytes",
				    table->limit);
	return UX_OK;
}

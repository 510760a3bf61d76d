/* SPDX-License-Identifier: Apache-2.0 */
/* The string table of a GSYM. */
#include "numbering.h"

#include "hash.h"

enum {
	FIRST_PLACES = 1 << 12
};

void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift)
{
	*table = (struct ux_string_table){.limit = ux_min(limit, (uint64_t)UINT32_MAX << shift),
					  .shift = shift};
	ux_out_u8(&table->bytes, 0);
}

void ux_string_table_deinit(struct ux_string_table *table)
{
	ux_out_deinit(&table->bytes);
	free(ux_take(&table->slots));
	free(ux_take(&table->known));
}

static struct ux_string_known *find_known(const struct ux_string_table *table, const char *text)
{
	size_t mask = table->known_cap - 1, i = ux_hash_u64((uintptr_t)text) & mask;
	while (table->known[i].text && table->known[i].text != text)
		i = (i + 1) & mask;
	return &table->known[i];
}

static bool grow_known(struct ux_string_table *table)
{
	struct ux_string_known *old = table->known;
	size_t old_cap = table->known_cap, cap = old_cap ? old_cap * 2 : FIRST_PLACES;
	table->known = calloc(cap, sizeof(*table->known));
	if (!table->known) {
		table->known = old;
		return false;
	}
	table->known_cap = cap;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].text)
			*find_known(table, old[i].text) = old[i];
	free(old);
	return true;
}

static bool says(const struct ux_string_table *table, uint32_t off, struct ux_bytes text)
{
	uint64_t at = (uint64_t)off << table->shift;
	return table->bytes.size - at > text.size && table->bytes.data[at + text.size] == '\0' &&
	       memcmp(table->bytes.data + at, text.data, text.size) == 0;
}

/* Returns the slot of the text, or the empty slot where it belongs. */
static struct ux_string_slot *find_slot(const struct ux_string_table *table, uint32_t hash,
					struct ux_bytes text)
{
	size_t mask = table->slots_cap - 1, i = hash & mask;
	while (table->slots[i].off != 0 &&
	       !(table->slots[i].hash == hash && says(table, table->slots[i].off, text)))
		i = (i + 1) & mask;
	return &table->slots[i];
}

static bool grow_slots(struct ux_string_table *table)
{
	size_t cap = table->slots_cap ? table->slots_cap * 2 : FIRST_PLACES, mask = cap - 1;
	struct ux_string_slot *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t k = 0; k < table->slots_cap; k++) {
		if (table->slots[k].off == 0)
			continue;
		size_t i = table->slots[k].hash & mask;
		while (slots[i].off != 0)
			i = (i + 1) & mask;
		slots[i] = table->slots[k];
	}
	free(table->slots);
	table->slots = slots;
	table->slots_cap = cap;
	return true;
}

/* Appends the text to the table's bytes and returns its offset; 0 when memory is short. */
static uint32_t append(struct ux_string_table *table, struct ux_bytes text)
{
	ux_out_align(&table->bytes, (size_t)1 << table->shift);
	uint64_t at = table->bytes.size;
	ux_out_put(&table->bytes, text.data, text.size + 1);
	table->no_memory |= table->bytes.failed;
	return table->bytes.failed ? 0 : (uint32_t)(at >> table->shift);
}

static uint32_t add_text(struct ux_string_table *table, const char *text)
{
	/* The text is read only as far as it could fit behind the aligned end. */
	uint64_t size = table->bytes.size + ((uint64_t)1 << table->shift) - 1;
	size_t room = table->limit - ux_min(table->limit, size);
	struct ux_bytes bytes = ux_bytes(text, strnlen(text, room));
	if (bytes.size == room) {
		table->too_large = true;
		return 0;
	}
	if (table->n_slots >= table->slots_cap / 4 * 3 && !grow_slots(table)) {
		table->no_memory = true;
		return 0;
	}
	uint64_t hash = ux_hash_bytes(bytes);
	struct ux_string_slot *slot = find_slot(table, (uint32_t)hash, bytes);
	if (slot->off == 0) {
		*slot = (struct ux_string_slot){(uint32_t)hash, append(table, bytes)};
		table->n_slots += slot->off != 0;
	}
	return slot->off;
}

uint32_t ux_string_table_add(struct ux_string_table *table, const char *text)
{
	if (!text || text[0] == '\0' || table->no_memory || table->too_large)
		return 0;
	if (table->n_known >= table->known_cap / 4 * 3 && !grow_known(table)) {
		table->no_memory = true;
		return 0;
	}
	struct ux_string_known *known = find_known(table, text);
	if (!known->text) {
		*known = (struct ux_string_known){text, add_text(table, text)};
		table->n_known++;
	}
	return known->off;
}

void ux_string_table_prefetch(const struct ux_string_table *table, const char *text)
{
	__builtin_prefetch(text);
	if (table->known_cap > 0)
		__builtin_prefetch(
			&table->known[ux_hash_u64((uintptr_t)text) & (table->known_cap - 1)]);
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

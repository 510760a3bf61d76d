/* SPDX-License-Identifier: Apache-2.0 */
/* The string table of a GSYM. */
#include "numbering.h"

#include "hash.h"
#include "pool.h"

enum {
	FIRST_PLACES = 1 << 12,
	JOB_ENTRIES = 1 << 12, /* texts that one job copies */
};

/* --- texts ------------------------------------------------------------------------------------ */

static void string_set(struct ux_string *s, size_t size)
{
	s->size = (uint32_t)size;
	s->hash = (uint32_t)ux_hash_bytes(ux_bytes(s->text, size));
}

void ux_strings_measure(struct ux_string *strings, size_t n, uint64_t *left)
{
	for (size_t i = 0; i < n; i++) {
		struct ux_string *s = &strings[i];
		if (i + UX_STRINGS_AHEAD < n)
			__builtin_prefetch(strings[i + UX_STRINGS_AHEAD].text);
		if (!s->text)
			continue;
		size_t max = (size_t)ux_min(*left, (uint64_t)UX_STRING_UNMEASURED);
		size_t size = strnlen(s->text, max);
		*left -= size;
		if (size < max)
			string_set(s, size);
	}
}

/* --- the table -------------------------------------------------------------------------------- */

void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift,
			  size_t expected, struct ux_spill *spill)
{
	assert(shift < 32);
	*table = (struct ux_string_table){
		.spill = spill,
		.entries.spill = spill,
		.limit = ux_min(limit, (uint64_t)UINT32_MAX << shift),
		.shift = shift,
		.size = 1,
		.slots_cap = FIRST_PLACES,
	};
	while (table->slots_cap / 4 * 3 < expected)
		table->slots_cap *= 2;
	table->slots = ux_spill_calloc(spill, table->slots_cap, sizeof(*table->slots));
	table->no_memory = !table->slots || !ux_string_entry_vec_reserve(&table->entries, expected);
}

void ux_string_table_deinit(struct ux_string_table *table)
{
	ux_spill_free(ux_take(&table->slots));
	ux_spill_free(ux_take(&table->data));
	ux_string_entry_vec_deinit(&table->entries);
	ux_string_late_deinit(&table->late);
}

/* Returns true when the text equals one in the table, which ends with a NUL but may be shorter. */
static bool string_equals(const char *have, const struct ux_string *s)
{
	return have == s->text || (strncmp(have, s->text, s->size) == 0 && have[s->size] == '\0');
}

/* Returns the slot of the text, or the empty slot where it belongs. */
static struct ux_string_slot *find_slot(const struct ux_string_table *table,
					const struct ux_string *s)
{
	size_t mask = table->slots_cap - 1, i = s->hash & mask;
	while (table->slots[i].off != 0 &&
	       !(table->slots[i].hash == s->hash && string_equals(table->slots[i].text, s)))
		i = (i + 1) & mask;
	return &table->slots[i];
}

static bool grow_slots(struct ux_string_table *table)
{
	size_t cap = table->slots_cap * 2, mask = cap - 1;
	struct ux_string_slot *slots = ux_spill_calloc(table->spill, cap, sizeof(*slots));
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
	ux_spill_free(table->slots);
	table->slots = slots;
	table->slots_cap = cap;
	return true;
}

/* Appends the text and returns its offset; 0 when it does not fit, or memory is short. */
static uint32_t append(struct ux_string_table *table, const struct ux_string *s)
{
	assert(!table->data);
	uint64_t step = (uint64_t)1 << table->shift;
	uint64_t at = (table->size + step - 1) & ~(step - 1);
	if (at >= table->limit || s->size >= table->limit - at) {
		table->too_large = true;
		return 0;
	}
	struct ux_string_entry entry = {s->text, at, s->size};
	if (!ux_string_entry_vec_append(&table->entries, entry)) {
		table->no_memory = true;
		return 0;
	}
	table->size = at + s->size + 1;
	return (uint32_t)(at >> table->shift);
}

static uint32_t add_measured(struct ux_string_table *table, const struct ux_string *s)
{
	if (table->n_slots >= table->slots_cap / 4 * 3 && !grow_slots(table)) {
		table->no_memory = true;
		return 0;
	}
	struct ux_string_slot *slot = find_slot(table, s);
	if (slot->off == 0) {
		*slot = (struct ux_string_slot){s->text, s->hash, append(table, s)};
		table->n_slots += slot->off != 0;
	}
	return slot->off;
}

/* Adds a text that was not measured. Each pointer is read once, and only as far as it could fit, so
 * that long texts that occur thousands of times do not take forever. */
static uint32_t add_late(struct ux_string_table *table, const char *text)
{
	bool fresh = false;
	uint32_t *known = ux_string_late_insert(&table->late, (uintptr_t)text, &fresh);
	if (!known) {
		table->no_memory = true;
		return 0;
	}
	if (!fresh)
		return *known;
	uint64_t room = table->limit - ux_min(table->limit, table->size);
	struct ux_string s = ux_string_of(text);
	ux_strings_measure(&s, 1, &room);
	if (s.size == UX_STRING_UNMEASURED)
		table->too_large = true;
	else
		*known = add_measured(table, &s);
	return *known;
}

uint32_t ux_string_table_add(struct ux_string_table *table, const struct ux_string *string)
{
	const char *text = string->text;
	if (!text || string->size == 0 || table->no_memory || table->too_large)
		return 0;
	/* A measured text is not read here: if it is new, only its slot has to come from memory. */
	if (string->size != UX_STRING_UNMEASURED)
		return add_measured(table, string);
	return text[0] != '\0' ? add_late(table, text) : 0;
}

void ux_string_table_prefetch(const struct ux_string_table *table, const struct ux_string *string)
{
	if (table->slots)
		__builtin_prefetch(&table->slots[string->hash & (table->slots_cap - 1)]);
}

enum ux_code ux_string_table_status(const struct ux_string_table *table, struct ux_error *err)
{
	if (table->no_memory)
		return ux_error_nomem(err);
	if (table->too_large)
		return ux_error_set(err, UX_ELIMIT, "names and paths exceed %" PRIu64 " bytes",
				    table->limit);
	return UX_OK;
}

/* Copies some of the texts to their places. */
static enum ux_code copy_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct ux_string_table *table = ctx;
	size_t end = ux_min((job + 1) * JOB_ENTRIES, table->entries.size);
	(void)worker;
	(void)err;
	for (size_t i = job * JOB_ENTRIES; i < end; i++) {
		const struct ux_string_entry *e = &table->entries.data[i];
		if (i + UX_STRINGS_AHEAD < end)
			__builtin_prefetch(e[UX_STRINGS_AHEAD].text);
		memcpy(table->data + e->at, e->text, e->size);
	}
	return UX_OK;
}

enum ux_code ux_string_table_make(struct ux_string_table *table, unsigned threads,
				  struct ux_error *err)
{
	assert(!table->data && !table->no_memory && !table->too_large);
	size_t n_jobs = (table->entries.size + JOB_ENTRIES - 1) / JOB_ENTRIES;
	table->data = ux_spill_calloc(table->spill, (size_t)table->size, 1);
	return table->data ? ux_pool_run(threads, n_jobs, copy_job, table, err)
			   : ux_error_nomem(err);
}

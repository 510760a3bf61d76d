/* SPDX-License-Identifier: Apache-2.0 */
/* Open-addressing hash maps, typed by macro. */
#ifndef UX_MAP_H
#define UX_MAP_H

#include "base.h"
#include "hash.h"
#include "table_memory.h"

/*
 * UX_MAP(names, uint64_t, uint32_t, hash_fn, eq_fn) declares struct names, zeroed = empty, with
 *   names_find(m, key)            pointer to the value, or NULL
 *   names_prefetch(m, key)        prefetches the memory that both others read first
 *   names_insert(m, key, &fresh)  pointer to the value of key, made (zeroed) when absent;
 *                                 NULL when memory is short
 *   names_deinit(m)
 * hash_fn(K) gives 64 bits, eq_fn(K, K) a bool. Linear probing, a power of two, at most 3/4 full;
 * an entry's stored hash has its lowest bit set, so that 0 means empty. Entries cannot be deleted;
 * no caller needs it. Pointers to values are invalid after the next insert. The order of entries is
 * random, so output must never depend on it.
 */
#define UX_MAP(name, K, V, hash_fn, eq_fn)                                                         \
	struct name##_entry {                                                                      \
		uint64_t hash;                                                                     \
		K key;                                                                             \
		V value;                                                                           \
	};                                                                                         \
	struct name {                                                                              \
		struct name##_entry *entries;                                                      \
		size_t size;                                                                       \
		size_t cap;                                                                        \
	};                                                                                         \
	__attribute__((unused)) static inline struct name##_entry *name##_slot(                    \
		const struct name *m, K key, uint64_t hash)                                        \
	{                                                                                          \
		size_t i = (size_t)(hash >> 1) & (m->cap - 1);                                     \
		while (m->entries[i].hash != 0 &&                                                  \
		       !(m->entries[i].hash == hash && eq_fn(m->entries[i].key, key)))             \
			i = (i + 1) & (m->cap - 1);                                                \
		return &m->entries[i];                                                             \
	}                                                                                          \
	__attribute__((unused)) static inline V *name##_find(const struct name *m, K key)          \
	{                                                                                          \
		if (m->size == 0)                                                                  \
			return NULL;                                                               \
		struct name##_entry *e = name##_slot(m, key, hash_fn(key) | 1);                    \
		return e->hash != 0 ? &e->value : NULL;                                            \
	}                                                                                          \
	__attribute__((unused)) static inline void name##_prefetch(const struct name *m, K key)    \
	{                                                                                          \
		if (m->cap != 0)                                                                   \
			__builtin_prefetch(                                                        \
				&m->entries[(size_t)(hash_fn(key) >> 1) & (m->cap - 1)]);          \
	}                                                                                          \
	__attribute__((unused)) static inline bool name##_rehash(struct name *m, size_t cap)       \
	{                                                                                          \
		struct name##_entry *entries = ux_table_alloc(cap * sizeof(*entries));             \
		if (!entries)                                                                      \
			return false;                                                              \
		struct name old = *m;                                                              \
		m->entries = entries;                                                              \
		m->cap = cap;                                                                      \
		for (size_t i = 0; i < old.cap; i++)                                               \
			if (old.entries[i].hash != 0)                                              \
				*name##_slot(m, old.entries[i].key, old.entries[i].hash) =         \
					old.entries[i];                                            \
		ux_table_free(old.entries, old.cap * sizeof(*entries));                            \
		return true;                                                                       \
	}                                                                                          \
	__attribute__((unused)) static inline V *name##_insert(struct name *m, K key,              \
							       bool *ret_fresh)                    \
	{                                                                                          \
		if (m->size >= m->cap - m->cap / 4 && !name##_rehash(m, m->cap ? m->cap * 2 : 16)) \
			return NULL;                                                               \
		uint64_t hash = hash_fn(key) | 1;                                                  \
		struct name##_entry *e = name##_slot(m, key, hash);                                \
		*ret_fresh = e->hash == 0;                                                         \
		if (*ret_fresh) {                                                                  \
			e->hash = hash;                                                            \
			e->key = key;                                                              \
			m->size++;                                                                 \
		}                                                                                  \
		return &e->value;                                                                  \
	}                                                                                          \
	__attribute__((unused)) static inline void name##_deinit(struct name *m)                   \
	{                                                                                          \
		ux_table_free(m->entries, m->cap * sizeof(*m->entries));                           \
		*m = (struct name){0};                                                             \
	}                                                                                          \
	struct name

#endif

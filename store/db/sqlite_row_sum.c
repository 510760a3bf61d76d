/* SPDX-License-Identifier: Apache-2.0 */
/* row_sum(): the checksum of a row, as a function that statements and triggers of SQLite call. */
#include "db_engine.h"

#include "text.h"

#include <nettle/sha2.h>
#include <sqlite3.h>

enum {
	/*
	 * bytes of the SHA-256 that are the sum: enough for damage by chance, and in an index of
	 * millions of IDs each byte of a row counts
	 */
	SUM_BYTES = 4,
	NUMBER_TEXT = 24,
	PIECE = 32, /* bytes that are written as digits together: a hash */
	ANY_ARGUMENTS = -1,
};

static void row_sum_update(struct sha256_ctx *ctx, const void *data, size_t size)
{
	sha256_update(ctx, size, data);
}

/*
 * Adds text, with U+FFFD in place of bytes that are not UTF-8: PostgreSQL stores it like that, so a
 * row keeps its sum when it is copied there.
 */
static void row_sum_text(struct sha256_ctx *ctx, struct ux_bytes text)
{
	while (text.size > 0) {
		size_t n = 0;
		while (n < text.size && text.data[n] < 0x80)
			n++;
		row_sum_update(ctx, text.data, n);
		text = ux_bytes(text.data + n, text.size - n);
		if (text.size == 0)
			return;
		struct ux_bytes c = ux_utf8_take(&text);
		row_sum_update(ctx, c.data, c.size);
	}
}

static void row_sum_bytes(struct sha256_ctx *ctx, const uint8_t *data, size_t size)
{
	char hex[2 * PIECE + 1];
	for (size_t i = 0; i < size; i += PIECE) {
		const size_t n = ux_min(size - i, (size_t)PIECE);
		ux_hex_encode(ux_bytes(data + i, n), hex);
		row_sum_update(ctx, hex, 2 * n);
	}
}

static void row_sum_value(struct sha256_ctx *ctx, sqlite3_value *v)
{
	char number[NUMBER_TEXT];
	const uint8_t *data = NULL;
	switch (sqlite3_value_type(v)) {
	case SQLITE_INTEGER:
		row_sum_update(ctx, number,
			       (size_t)snprintf(number, sizeof(number), "%" PRId64,
						(int64_t)sqlite3_value_int64(v)));
		return;
	case SQLITE_NULL:
		row_sum_update(ctx, "-", 1);
		return;
	case SQLITE_BLOB:
		data = sqlite3_value_blob(v);
		row_sum_bytes(ctx, data, data ? (size_t)sqlite3_value_bytes(v) : 0);
		return;
	default:
		data = sqlite3_value_text(v);
		row_sum_text(ctx, ux_bytes(data, data ? (size_t)sqlite3_value_bytes(v) : 0));
	}
}

/*
 * row_sum(VALUE, ...): the first 4 bytes of the SHA-256 of the values as text, with | between them.
 * The function of this name in store/schema/postgres/ returns the same number.
 */
static void row_sum(sqlite3_context *sqlite, int n, sqlite3_value **values)
{
	struct sha256_ctx ctx;
	uint8_t digest[SUM_BYTES];
	uint32_t sum = 0;
	sha256_init(&ctx);
	for (int i = 0; i < n; i++) {
		if (i > 0)
			row_sum_update(&ctx, "|", 1);
		row_sum_value(&ctx, values[i]);
	}
	sha256_digest(&ctx, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		sum = sum << 8 | digest[i];
	sqlite3_result_int(sqlite, (int32_t)sum);
}

bool ux_sqlite_define_row_sum(struct sqlite3 *sqlite)
{
	/* INNOCUOUS: triggers may call it although the schema of a file is not trusted. */
	return sqlite3_create_function_v2(sqlite, "row_sum", ANY_ARGUMENTS,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					  NULL, row_sum, NULL, NULL, NULL) == SQLITE_OK;
}

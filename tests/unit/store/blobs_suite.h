/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of blobs, and a store over it. */
#ifndef BLOBS_SUITE_H
#define BLOBS_SUITE_H

#include "store.h"

#define blobs_uid_a "0123456789abcdef0123456789abcdef"
#define blobs_uid_b "fedcba9876543210fedcba9876543210"

/* Appends a text to an upload, as a request does. */
void blobs_put(struct ux_blobs *b, const char *uid, const char *text);

/* Makes an upload a blob. */
struct ux_blob_hash blobs_commit(struct ux_blobs *b, const char *uid);

void assert_blob(struct ux_blobs *b, const struct ux_blob_hash *hash, const char *text);
unsigned blobs_count(struct ux_blobs *b);
unsigned blobs_count_parts(struct ux_blobs *b);

/* b is empty. */
void blobs_conform(struct ux_blobs *b);

/* Opens an empty store, and sweeps unreferenced blobs. */
void store_conforms(const struct ux_store_place *place);

#endif

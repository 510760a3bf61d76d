/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of modules and small files that were asked for a moment ago. */
#include "recent_modules.h"

enum {
	ROW_ARENA = 16 << 20, /* memory that one module's row may take */
	KEY_MOST = 64 + UX_INDEX_ID_BYTES + 3,
};

/* What a key begins with: what an item is follows from its key. */
static const char module_mark = 'm', file_mark = 'f';

static void destroy_module(struct ux_recent_item *item)
{
	struct ux_recent_module *m = ux_container_of(item, struct ux_recent_module, item);
	ux_arena_deinit(&m->arena);
	free(m);
}

static void destroy_file(struct ux_recent_item *item)
{
	struct ux_recent_file *f = ux_container_of(item, struct ux_recent_file, item);
	ux_file_unmap(&f->mapping);
	free(f);
}

static void drop_module(struct ux_recent_module **m)
{
	if (*m)
		ux_recent_item_drop(&(*m)->item);
}

static enum ux_code read_module(struct ux_store *s, const char *ns, const char *id,
				struct ux_bytes key, struct ux_recent_module **ret,
				struct ux_error *err)
{
	struct ux_index *ix = s->index;
	ux_cleanup(drop_module) struct ux_recent_module *m = calloc(1, sizeof(*m));
	if (!m)
		return ux_error_nomem(err);
	ux_recent_item_init(&m->item, UX_BYTES_NONE, destroy_module);
	ux_arena_init(&m->arena, ROW_ARENA);
	const char *kept = ux_arena_strndup(&m->arena, key.data, key.size);
	if (!kept)
		return ux_arena_fail(&m->arena, err);
	m->item.key = ux_bytes(kept, key.size);
	UX_TRY(ix->modules.find(ix, ns, id, &m->arena, &m->row, err));
	*ret = ux_take(&m);
	return UX_OK;
}

/* Of one that retention has an eye on, each use is told to the index. */
enum ux_code ux_recent_module_find(struct ux_recent *r, struct ux_store *s, const char *ns,
				   const char *id, struct ux_recent_module **ret,
				   struct ux_error *err)
{
	char key[KEY_MOST];
	uint64_t moment = 0;
	int n = snprintf(key, sizeof(key), "%c%s/%s", module_mark, ns, id);
	if (n < 0 || (size_t)n >= sizeof(key))
		return ux_error_set(err, UX_ENOTFOUND, "no module has that ID");
	struct ux_recent_item *item = ux_recent_get(r, ux_bytes(key, (size_t)n), &moment);
	if (item) {
		*ret = ux_container_of(item, struct ux_recent_module, item);
		return UX_OK;
	}
	UX_TRY(read_module(s, ns, id, ux_bytes(key, (size_t)n), ret, err));
	ux_store_used(s, &(*ret)->row);
	if ((*ret)->row.marked == 0)
		ux_recent_put(r, &(*ret)->item, moment);
	return UX_OK;
}

enum ux_code ux_recent_file_map(struct ux_recent *r, struct ux_store *s,
				const struct ux_blob_hash *hash, uint64_t size,
				struct ux_recent_file **ret, struct ux_error *err)
{
	uint64_t moment = 0;
	uint8_t key[1 + UX_BLOB_HASH_SIZE] = {(uint8_t)file_mark};
	memcpy(key + 1, hash->bytes, sizeof(hash->bytes));
	struct ux_recent_item *item = ux_recent_get(r, ux_bytes(key, sizeof(key)), &moment);
	if (item) {
		*ret = ux_container_of(item, struct ux_recent_file, item);
		return UX_OK;
	}
	assert(size <= UX_RECENT_FILE_MOST);
	struct ux_recent_file *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	memcpy(f->key, key, sizeof(key));
	ux_recent_item_init(&f->item, ux_bytes(f->key, sizeof(f->key)), destroy_file);
	enum ux_code code = ux_blobs_map(s->blobs, hash, size, &f->mapping, err);
	if (code != UX_OK) {
		ux_recent_item_drop(&f->item);
		return code;
	}
	ux_recent_put(r, &f->item, moment);
	*ret = f;
	return UX_OK;
}

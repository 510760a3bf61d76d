/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of the symbols of files and of the kernel, which several processes share. */
#include "symbols_cache.h"

#include "cache.h"
#include "debug_file.h"
#include "hash.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

enum {
	ENTRIES_MAX = 512, /* above this number, entries that are not in use are evicted */
};

struct symbols_key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

/* The entry of one file. */
struct symbols_entry {
	pthread_mutex_t loading; /* held while the file is read */
	unsigned users;          /* threads between enter and leave; guarded by the cache's lock */
	/* By enum ux_symbols_depth; each is written with both locks held, and read with either. */
	struct ux_file_symbols *symbols[UX_SYMBOLS_DEPTH_COUNT];
};

struct ux_symbols_cache {
	atomic_uint refs;
	struct ux_symbol_search search; /* its callback is symbols_cache_find_debug() */
	char *debug_dirs;               /* malloc'ed, or NULL */
	char *kernel_root;              /* malloc'ed */
	char *kernel_dirs;              /* malloc'ed */
	ux_process_find_fn
		*find; /* callback of the caller; it and its context are guarded by finding */
	void *find_ctx;
	pthread_mutex_t finding;
	pthread_mutex_t lock;    /* guards the fields below */
	struct ux_cache entries; /* maps struct symbols_key to struct symbols_entry * */
	struct ux_kernel *kernel;
	pthread_mutex_t reading_kernel; /* taken before lock */
};

static void symbols_entry_free(struct symbols_entry *e)
{
	assert(e->users == 0);
	pthread_mutex_destroy(&e->loading);
	for (size_t i = 0; i < UX_SYMBOLS_DEPTH_COUNT; i++)
		ux_file_symbols_drop(e->symbols[i]);
	free(e);
}

static void symbols_entry_evict(void *ctx, void *value)
{
	struct symbols_entry *const *e = value;
	(void)ctx;
	symbols_entry_free(*e);
}

/* Returns whether a thread uses an entry, or its symbols are referenced elsewhere. */
static bool symbols_entry_is_busy(void *ctx, const void *value)
{
	struct symbols_entry *const *e = value;
	(void)ctx;
	for (size_t i = 0; i < UX_SYMBOLS_DEPTH_COUNT; i++)
		if ((*e)->symbols[i] && atomic_load(&(*e)->symbols[i]->refs) > 1)
			return true;
	return (*e)->users > 0;
}

static enum ux_code symbols_cache_find_debug(void *ctx, const char *build_id, char **ret_path,
					     struct ux_error *err)
{
	struct ux_symbols_cache *c = ctx;
	pthread_mutex_lock(&c->finding);
	enum ux_code code = c->find(c->find_ctx, build_id, ret_path, err);
	pthread_mutex_unlock(&c->finding);
	return code;
}

static void symbols_cache_free_strings(struct ux_symbols_cache *c)
{
	free(c->debug_dirs);
	free(c->kernel_root);
	free(c->kernel_dirs);
}

static bool symbols_cache_copy_strings(struct ux_symbols_cache *c,
				       const struct ux_process_cache_opts *opts)
{
	const char *root = opts->kernel_root ? opts->kernel_root : "";
	size_t n = strlen(root);
	while (n > 0 && root[n - 1] == '/')
		n--;
	c->debug_dirs = opts->debug_dirs ? strdup(opts->debug_dirs) : NULL;
	c->kernel_root = strndup(root, n);
	if (opts->debug_dirs)
		c->kernel_dirs = strdup(opts->debug_dirs);
	else if (asprintf(&c->kernel_dirs, "%.*s%s", (int)n, root, UX_DEBUG_DIRS_DEFAULT) < 0)
		c->kernel_dirs = NULL;
	return c->kernel_root && c->kernel_dirs && (c->debug_dirs || !opts->debug_dirs);
}

enum ux_code ux_symbols_cache_create(const struct ux_process_cache_opts *opts,
				     struct ux_symbols_cache **ret, struct ux_error *err)
{
	struct ux_symbols_cache *c = calloc(1, sizeof(*c));
	const struct ux_cache_opts entries = {.value_size = sizeof(struct symbols_entry *),
					      .entries_max = ENTRIES_MAX,
					      .evict = symbols_entry_evict,
					      .is_busy = symbols_entry_is_busy};
	if (!c || !symbols_cache_copy_strings(c, opts) || !ux_cache_init(&c->entries, &entries)) {
		if (c)
			symbols_cache_free_strings(c);
		free(c);
		return ux_error_nomem(err);
	}
	atomic_init(&c->refs, 1);
	c->find = opts->find;
	c->find_ctx = opts->find_ctx;
	c->search = (struct ux_symbol_search){
		.dirs = c->debug_dirs, .find = c->find ? symbols_cache_find_debug : NULL, .ctx = c};
	pthread_mutex_init(&c->finding, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->reading_kernel, NULL);
	*ret = c;
	return UX_OK;
}

const struct ux_symbol_search *ux_symbols_cache_search(const struct ux_symbols_cache *c)
{
	return &c->search;
}

const char *ux_symbols_cache_kernel_root(const struct ux_symbols_cache *c)
{
	return c->kernel_root;
}

const char *ux_symbols_cache_kernel_dirs(const struct ux_symbols_cache *c)
{
	return c->kernel_dirs;
}

struct ux_symbols_cache *ux_symbols_cache_hold(struct ux_symbols_cache *c)
{
	assert(atomic_load_explicit(&c->refs, memory_order_relaxed) > 0);
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void ux_symbols_cache_drop(struct ux_symbols_cache *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	ux_cache_deinit(&c->entries);
	ux_kernel_drop(c->kernel);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->reading_kernel);
	pthread_mutex_destroy(&c->finding);
	symbols_cache_free_strings(c);
	free(c);
}

/* Adds an entry. The caller holds the lock. Returns NULL when memory is short. */
static struct symbols_entry *symbols_cache_add(struct ux_symbols_cache *c, struct ux_bytes key)
{
	struct symbols_entry *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	pthread_mutex_init(&e->loading, NULL);
	struct symbols_entry **slot = ux_cache_insert(&c->entries, key, 0, UX_CACHE_FOREVER, NULL);
	if (!slot) {
		symbols_entry_free(e);
		return NULL;
	}
	*slot = e;
	return e;
}

/* Finds or creates the entry of a key and counts the caller as one of its users. Returns NULL
 * when memory is short. */
static struct symbols_entry *symbols_cache_enter(struct ux_symbols_cache *c,
						 const struct symbols_key *key)
{
	struct ux_bytes bytes = ux_bytes(key, sizeof(*key));
	pthread_mutex_lock(&c->lock);
	struct symbols_entry **slot = ux_cache_find(&c->entries, bytes, 0);
	struct symbols_entry *e = slot ? *slot : symbols_cache_add(c, bytes);
	if (e)
		e->users++;
	pthread_mutex_unlock(&c->lock);
	return e;
}

static void symbols_cache_leave(struct ux_symbols_cache *c, struct symbols_entry *e)
{
	pthread_mutex_lock(&c->lock);
	assert(e->users > 0);
	e->users--;
	pthread_mutex_unlock(&c->lock);
}

struct ux_file_symbols *ux_symbols_cache_find(struct ux_symbols_cache *c, const char *build_id)
{
	struct ux_file_symbols *found = NULL;
	pthread_mutex_lock(&c->lock);
	for (struct symbols_entry **e = NULL; !found && (e = ux_cache_next(&c->entries, e));) {
		struct ux_file_symbols *s = (*e)->symbols[UX_SYMBOLS_ALL];
		if (s && *build_id && !ux_file_symbols_is_empty(s) &&
		    strcmp(s->build_id, build_id) == 0)
			found = ux_file_symbols_hold(s);
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* Extracts the symbols of a file. UX_ENOMEM is the only failure. */
static enum ux_code symbols_cache_load(struct ux_symbols_cache *c, const struct ux_symbol_input *in,
				       enum ux_symbols_depth depth, struct ux_file_symbols **ret,
				       struct ux_error *err)
{
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_symbols_create(in->file, &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		*ret = ux_file_symbols_create_empty(&why);
		return *ret ? UX_OK : ux_error_nomem(err);
	}
	struct ux_file_symbols *known = ux_symbols_cache_find(c, s->build_id);
	if (known) {
		*ret = known;
		return UX_OK;
	}
	if (depth == UX_SYMBOLS_ALL)
		UX_TRY(ux_file_symbols_extract(s, in, &c->search, err));
	*ret = ux_take(&s);
	return UX_OK;
}

/* Where the bytes of an entry are read from. */
struct symbols_origin {
	int fd; /* -1: the bytes are in `in` */
	enum ux_symbols_depth depth;
	struct ux_symbol_input in;
};

static enum ux_code symbols_cache_load_origin(struct ux_symbols_cache *c,
					      const struct symbols_origin *o, uint64_t size,
					      struct ux_file_symbols **ret, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read file = {0};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_symbol_input in = o->in;
	if (o->fd < 0)
		return symbols_cache_load(c, &in, o->depth, ret, err);
	enum ux_code code = o->depth == UX_SYMBOLS_HEAD
				    ? ux_proc_read_head(o->fd, size, &file, &why)
				    : ux_proc_read_file(o->fd, size, &file, &why);
	in.file = file.bytes;
	if (code == UX_OK)
		return symbols_cache_load(c, &in, o->depth, ret, err);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	*ret = ux_file_symbols_create_empty(&why);
	return *ret ? UX_OK : ux_error_nomem(err);
}

static enum ux_code symbols_cache_get(struct ux_symbols_cache *c, const struct symbols_key *key,
				      const struct symbols_origin *o, struct ux_file_symbols **ret,
				      struct ux_error *err)
{
	assert(o->depth < UX_SYMBOLS_DEPTH_COUNT);
	struct ux_file_symbols *fresh = NULL;
	enum ux_code code = UX_OK;
	struct symbols_entry *e = symbols_cache_enter(c, key);
	if (!e)
		return ux_error_nomem(err);
	pthread_mutex_lock(&e->loading);
	struct ux_file_symbols **slot = &e->symbols[o->depth];
	if (o->depth == UX_SYMBOLS_HEAD && e->symbols[UX_SYMBOLS_ALL])
		slot = &e->symbols[UX_SYMBOLS_ALL];
	if (!*slot)
		code = symbols_cache_load_origin(c, o, key->size, &fresh, err);
	if (fresh) {
		pthread_mutex_lock(&c->lock);
		*slot = fresh;
		pthread_mutex_unlock(&c->lock);
	}
	if (code == UX_OK)
		*ret = ux_file_symbols_hold(*slot);
	pthread_mutex_unlock(&e->loading);
	symbols_cache_leave(c, e);
	return code;
}

static int64_t symbols_key_time(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

enum ux_code ux_symbols_cache_file(struct ux_symbols_cache *c, int fd, const char *path,
				   enum ux_symbols_depth depth, struct ux_file_symbols **ret,
				   struct ux_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ux_error_os(err, errno, "cannot stat a mapped file");
	struct symbols_key key = {st.st_dev, st.st_ino, (uint64_t)st.st_size,
				  symbols_key_time(&st.st_mtim), symbols_key_time(&st.st_ctim)};
	struct stat ours;
	if (path &&
	    (stat(path, &ours) != 0 || ours.st_dev != st.st_dev || ours.st_ino != st.st_ino))
		path = NULL; /* the same path leads to another file in our mount namespace */
	return symbols_cache_get(
		c, &key, &(struct symbols_origin){.fd = fd, .depth = depth, .in.path = path}, ret,
		err);
}

enum ux_code ux_symbols_cache_image(struct ux_symbols_cache *c, struct ux_bytes image,
				    enum ux_symbols_depth depth, struct ux_file_symbols **ret,
				    struct ux_error *err)
{
	/* No file has device 0 and this time, so the key cannot equal a file's key. */
	struct symbols_key key = {.ino = ux_hash_bytes(image), .size = image.size, .mtime_ns = -1};
	return symbols_cache_get(
		c, &key, &(struct symbols_origin){.fd = -1, .depth = depth, .in.file = image}, ret,
		err);
}

enum ux_code ux_symbols_cache_input(struct ux_symbols_cache *c, const struct ux_mapping *file,
				    const struct ux_symbol_input *in, struct ux_file_symbols **ret,
				    struct ux_error *err)
{
	struct symbols_key key = {.dev = file->dev,
				  .ino = file->ino,
				  .size = file->bytes.size,
				  .mtime_ns = file->mtime_ns};
	return symbols_cache_get(c, &key, &(struct symbols_origin){.fd = -1, .in = *in}, ret, err);
}

enum ux_code ux_symbols_cache_kernel(struct ux_symbols_cache *c, uint64_t now_ns,
				     uint64_t not_before_ns, struct ux_kernel **ret,
				     struct ux_error *err)
{
	struct ux_kernel *k = NULL;
	pthread_mutex_lock(&c->reading_kernel);
	pthread_mutex_lock(&c->lock);
	if (c->kernel && c->kernel->read_ns >= not_before_ns)
		k = ux_kernel_hold(c->kernel);
	pthread_mutex_unlock(&c->lock);
	if (!k && (k = ux_kernel_read(c->kernel_root, now_ns)) != NULL) {
		pthread_mutex_lock(&c->lock);
		ux_kernel_drop(c->kernel);
		c->kernel = ux_kernel_hold(k);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&c->reading_kernel);
	if (!k)
		return ux_error_nomem(err);
	*ret = k;
	return UX_OK;
}

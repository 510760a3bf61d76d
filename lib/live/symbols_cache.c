/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that processes share: each file once, the kernel's once. */
#include "symbols_cache.h"

#include "debug_file.h"
#include "hash.h"
#include "vec.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

enum {
	ENTRIES_MOST = 512, /* then those that nobody holds go */
};

struct key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

/* A file. */
struct entry {
	struct key key;
	pthread_mutex_t loading;         /* held by whoever reads the file */
	unsigned users;                  /* threads in it; guarded by the cache's lock */
	struct ux_file_symbols *symbols; /* written with both locks held, read with either */
};

UX_VEC(entry_list, struct entry *);

struct ux_symbols_cache {
	atomic_uint refs;
	struct ux_symbol_search search; /* its finder is find_alone() */
	char *debug_dirs;               /* malloc'ed, or NULL */
	char *kernel_root;              /* malloc'ed */
	char *kernel_dirs;              /* malloc'ed */
	ux_process_find_fn *find;       /* the caller's, with its context; guarded by finding */
	void *find_ctx;
	pthread_mutex_t finding;
	pthread_mutex_t lock; /* of all below */
	struct entry_list entries;
	struct ux_kernel_symbols_now *kernel;
	pthread_mutex_t reading_kernel; /* taken before lock */
};

static enum ux_code find_alone(void *ctx, const char *build_id, char **ret_path,
			       struct ux_error *err)
{
	struct ux_symbols_cache *c = ctx;
	pthread_mutex_lock(&c->finding);
	enum ux_code code = c->find(c->find_ctx, build_id, ret_path, err);
	pthread_mutex_unlock(&c->finding);
	return code;
}

static void free_strings(struct ux_symbols_cache *c)
{
	free(c->debug_dirs);
	free(c->kernel_root);
	free(c->kernel_dirs);
}

static bool keep_strings(struct ux_symbols_cache *c, const struct ux_process_cache_opts *opts)
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
	if (!c || !keep_strings(c, opts)) {
		if (c)
			free_strings(c);
		free(c);
		return ux_error_nomem(err);
	}
	atomic_init(&c->refs, 1);
	c->find = opts->find;
	c->find_ctx = opts->find_ctx;
	c->search = (struct ux_symbol_search){
		.dirs = c->debug_dirs, .find = c->find ? find_alone : NULL, .ctx = c};
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
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

static void entry_free(struct entry *e)
{
	pthread_mutex_destroy(&e->loading);
	ux_file_symbols_drop(e->symbols);
	free(e);
}

void ux_symbols_cache_drop(struct ux_symbols_cache *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < c->entries.size; i++)
		entry_free(c->entries.data[i]);
	entry_list_deinit(&c->entries);
	ux_kernel_symbols_drop(c->kernel);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->reading_kernel);
	pthread_mutex_destroy(&c->finding);
	free_strings(c);
	free(c);
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* Frees entries that nobody is in and whose symbols nobody else holds. */
static void evict(struct ux_symbols_cache *c)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->entries.size; i++) {
		struct entry *e = c->entries.data[i];
		if (e->users == 0 && (!e->symbols || atomic_load(&e->symbols->refs) == 1))
			entry_free(e);
		else
			c->entries.data[kept++] = e;
	}
	c->entries.size = kept;
}

/* The entry of a key, made when there is none, entered. NULL: no memory. Takes the lock. */
static struct entry *enter(struct ux_symbols_cache *c, const struct key *key)
{
	struct entry *e = NULL;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->entries.size && !e; i++)
		if (same_key(&c->entries.data[i]->key, key))
			e = c->entries.data[i];
	if (!e && c->entries.size >= ENTRIES_MOST)
		evict(c);
	if (!e && (e = calloc(1, sizeof(*e))) != NULL) {
		e->key = *key;
		pthread_mutex_init(&e->loading, NULL);
		if (!entry_list_append(&c->entries, e)) {
			entry_free(e);
			e = NULL;
		}
	}
	if (e)
		e->users++;
	pthread_mutex_unlock(&c->lock);
	return e;
}

static void leave(struct ux_symbols_cache *c, struct entry *e)
{
	pthread_mutex_lock(&c->lock);
	e->users--;
	pthread_mutex_unlock(&c->lock);
}

struct ux_file_symbols *ux_symbols_cache_known(struct ux_symbols_cache *c, const char *build_id)
{
	struct ux_file_symbols *found = NULL;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->entries.size && !found; i++) {
		struct ux_file_symbols *s = c->entries.data[i]->symbols;
		if (s && *build_id && s->built.size > 0 && strcmp(s->build_id, build_id) == 0)
			found = ux_file_symbols_hold(s);
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

static void drop_guard(struct ux_file_symbols **s)
{
	ux_file_symbols_drop(*s);
}

/* What a file says; only a lack of memory is a failure. */
static enum ux_code load(struct ux_symbols_cache *c, const struct ux_symbol_input *in,
			 struct ux_file_symbols **ret, struct ux_error *err)
{
	ux_cleanup(drop_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_symbols_make(in->file, &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		*ret = ux_file_symbols_none(&why);
		return *ret ? UX_OK : ux_error_nomem(err);
	}
	struct ux_file_symbols *known = ux_symbols_cache_known(c, s->build_id);
	if (known) {
		*ret = known;
		return UX_OK;
	}
	UX_TRY(ux_file_symbols_extract(s, in, &c->search, err));
	*ret = ux_take(&s);
	return UX_OK;
}

/* Where the bytes of an entry come from. */
struct origin {
	int fd; /* -1: they are in the input */
	struct ux_symbol_input in;
};

static enum ux_code load_origin(struct ux_symbols_cache *c, const struct origin *o, uint64_t size,
				struct ux_file_symbols **ret, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read file = {0};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_symbol_input in = o->in;
	if (o->fd < 0)
		return load(c, &in, ret, err);
	enum ux_code code = ux_proc_read_file(o->fd, size, &file, &why);
	in.file = file.bytes;
	if (code == UX_OK)
		return load(c, &in, ret, err);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	*ret = ux_file_symbols_none(&why);
	return *ret ? UX_OK : ux_error_nomem(err);
}

static enum ux_code get(struct ux_symbols_cache *c, const struct key *key, const struct origin *o,
			struct ux_file_symbols **ret, struct ux_error *err)
{
	struct ux_file_symbols *fresh = NULL;
	enum ux_code code = UX_OK;
	struct entry *e = enter(c, key);
	if (!e)
		return ux_error_nomem(err);
	pthread_mutex_lock(&e->loading);
	if (!e->symbols)
		code = load_origin(c, o, key->size, &fresh, err);
	if (fresh) {
		pthread_mutex_lock(&c->lock);
		e->symbols = fresh;
		pthread_mutex_unlock(&c->lock);
	}
	if (code == UX_OK)
		*ret = ux_file_symbols_hold(e->symbols);
	pthread_mutex_unlock(&e->loading);
	leave(c, e);
	return code;
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

enum ux_code ux_symbols_cache_file(struct ux_symbols_cache *c, int fd, const char *path,
				   struct ux_file_symbols **ret, struct ux_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ux_error_os(err, errno, "cannot look at a mapped file");
	struct key key = {st.st_dev, st.st_ino, (uint64_t)st.st_size, ns_of(&st.st_mtim),
			  ns_of(&st.st_ctim)};
	struct stat ours;
	if (path &&
	    (stat(path, &ours) != 0 || ours.st_dev != st.st_dev || ours.st_ino != st.st_ino))
		path = NULL; /* what stands there for us is another file */
	return get(c, &key, &(struct origin){.fd = fd, .in.path = path}, ret, err);
}

enum ux_code ux_symbols_cache_image(struct ux_symbols_cache *c, struct ux_bytes image,
				    struct ux_file_symbols **ret, struct ux_error *err)
{
	/* No file is on device 0 and that old. */
	struct key key = {.ino = ux_hash_bytes(image), .size = image.size, .mtime_ns = -1};
	return get(c, &key, &(struct origin){.fd = -1, .in.file = image}, ret, err);
}

enum ux_code ux_symbols_cache_input(struct ux_symbols_cache *c, const struct ux_mapping *file,
				    const struct ux_symbol_input *in, struct ux_file_symbols **ret,
				    struct ux_error *err)
{
	struct key key = {.dev = file->dev,
			  .ino = file->ino,
			  .size = file->bytes.size,
			  .mtime_ns = file->mtime_ns};
	return get(c, &key, &(struct origin){.fd = -1, .in = *in}, ret, err);
}

enum ux_code ux_symbols_cache_kernel(struct ux_symbols_cache *c, uint64_t now_ns,
				     uint64_t not_before_ns, struct ux_kernel_symbols_now **ret,
				     struct ux_error *err)
{
	struct ux_kernel_symbols_now *k = NULL;
	pthread_mutex_lock(&c->reading_kernel);
	pthread_mutex_lock(&c->lock);
	if (c->kernel && c->kernel->read_ns >= not_before_ns)
		k = ux_kernel_symbols_hold(c->kernel);
	pthread_mutex_unlock(&c->lock);
	if (!k && (k = ux_kernel_symbols_read(c->kernel_root, now_ns)) != NULL) {
		pthread_mutex_lock(&c->lock);
		ux_kernel_symbols_drop(c->kernel);
		c->kernel = ux_kernel_symbols_hold(k);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&c->reading_kernel);
	if (!k)
		return ux_error_nomem(err);
	*ret = k;
	return UX_OK;
}

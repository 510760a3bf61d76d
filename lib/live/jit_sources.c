/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdumps that the run-time compilers of a process have written. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CHUNK = 1 << 20,
	LINE_BYTES_MAX = 16 << 20, /* bytes of a line in a perf map */
};

struct ux_jit_file *ux_jit_file_hold(struct ux_jit_file *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void ux_jit_file_drop(struct ux_jit_file *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (f->is_dump)
		ux_jitdump_deinit(&f->dump);
	else
		ux_perf_map_deinit(&f->map);
	free(f->path);
	free(f);
}

enum ux_code ux_jit_sources_create(struct ux_jit_sources **ret, struct ux_error *err)
{
	struct ux_jit_sources *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	atomic_init(&s->refs, 1);
	pthread_rwlock_init(&s->lock, NULL);
	*ret = s;
	return UX_OK;
}

struct ux_jit_sources *ux_jit_sources_hold(struct ux_jit_sources *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

static void jit_sources_drop_files(struct ux_jit_sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		ux_jit_file_drop(s->files[i]);
	s->n = 0;
}

void ux_jit_sources_drop(struct ux_jit_sources *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	jit_sources_drop_files(s);
	ux_jit_ranges_deinit(&s->ranges);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}

static struct ux_jit_file *jit_file_create(const char *path, bool in_root, bool is_dump)
{
	struct ux_jit_file *f = calloc(1, sizeof(*f));
	char *own = f ? strdup(path) : NULL;
	if (!own) {
		free(f);
		return NULL;
	}
	atomic_init(&f->refs, 1);
	f->path = own;
	f->in_root = in_root;
	f->is_dump = is_dump;
	if (is_dump)
		ux_jitdump_init(&f->dump);
	else
		ux_perf_map_init(&f->map);
	return f;
}

/* A buffer for the bytes of a file from f->used on. */
struct jit_window {
	uint8_t *data; /* malloc'ed */
	size_t cap;
	size_t size;
};

static void jit_window_deinit(struct jit_window *w)
{
	free(w->data);
}

static bool jit_window_read(struct jit_window *w, int fd, uint64_t off, size_t window_size)
{
	if (window_size > w->cap) {
		uint8_t *more = realloc(w->data, window_size);
		if (!more)
			return false;
		w->data = more;
		w->cap = window_size;
	}
	for (w->size = 0; w->size < window_size;) {
		ssize_t n =
			pread(fd, w->data + w->size, window_size - w->size, (off_t)(off + w->size));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		w->size += (size_t)n;
	}
	return true;
}

/* Stores the first and the last bytes that were read. The next update compares them to recognise
 * the file. */
static void jit_file_remember(struct ux_jit_file *f, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n && f->used + i < UX_JIT_SEEN; i++)
		f->head[f->used + i] = data[i];
	size_t fresh = ux_min(n, (size_t)UX_JIT_SEEN);
	memmove(f->tail, f->tail + fresh, UX_JIT_SEEN - fresh);
	memcpy(f->tail + UX_JIT_SEEN - fresh, data + n - fresh, fresh);
	f->used += n;
}

/* Parses the bytes of the window. *ret_need: the size of the window that the parser needs next. */
static enum ux_code jit_file_feed(struct ux_jit_file *f, const struct jit_window *w,
				  size_t *ret_need, struct ux_error *err)
{
	struct ux_bytes bytes = ux_bytes(w->data, w->size);
	size_t used = 0, need = 0;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = f->is_dump ? ux_jitdump_feed(&f->dump, bytes, &used, &need, &why)
				       : ux_perf_map_feed(&f->map, bytes, &used, &why);
	f->failed = f->failed || code != UX_OK;
	if (used > 0)
		jit_file_remember(f, w->data, used);
	if (!f->is_dump && used == 0 && w->size < LINE_BYTES_MAX)
		need = 2 * w->size;
	*ret_need = ux_max(need, (size_t)CHUNK);
	if (used == 0 &&
	    *ret_need <= w->size) /* the parser had all the bytes that it needs but consumed none */
		f->failed = true;
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

/* Reads from f->used to the end of the file. */
static enum ux_code jit_file_read_on(struct ux_jit_file *f, int fd, struct ux_error *err)
{
	ux_cleanup(jit_window_deinit) struct jit_window w = {0};
	size_t window_size = CHUNK;
	uint64_t max = f->is_dump ? UINT64_MAX : (uint64_t)UX_PERF_MAP_MAX;
	while (!f->failed && f->used < max) {
		size_t requested = window_size;
		if (!jit_window_read(&w, fd, f->used, requested))
			return ux_error_nomem(err);
		if (w.size == 0)
			break;
		UX_TRY(jit_file_feed(f, &w, &window_size, err));
		if (w.size < requested)
			break;
	}
	return UX_OK;
}

/* Returns whether the file of fd still has the bytes that were read from f before, so that f can be
 * continued. */
static bool jit_file_continues(const struct ux_jit_file *f, int fd, const struct stat *st)
{
	uint8_t seen[UX_JIT_SEEN];
	size_t n = (size_t)ux_min(f->used, (uint64_t)UX_JIT_SEEN);
	if (f->dev != st->st_dev || f->ino != st->st_ino || (uint64_t)st->st_size < f->size)
		return false;
	return pread(fd, seen, n, 0) == (ssize_t)n && memcmp(seen, f->head, n) == 0 &&
	       pread(fd, seen, n, (off_t)(f->used - n)) == (ssize_t)n &&
	       memcmp(seen, f->tail + UX_JIT_SEEN - n, n) == 0;
}

/* Reads the new bytes of the file of fd into *slot. If the file is not the same one, *slot is
 * replaced. */
static enum ux_code jit_file_update(struct ux_jit_file **slot, int fd, const struct stat *st,
				    struct ux_error *err)
{
	struct ux_jit_file *f = *slot;
	if (f->ino == st->st_ino && f->dev == st->st_dev && f->size == (uint64_t)st->st_size &&
	    f->mtime_ns == ux_jit_file_mtime(st))
		return UX_OK;
	bool rewritten = f->size > 0 && (uint64_t)st->st_size == f->size &&
			 f->mtime_ns != ux_jit_file_mtime(st);
	if (f->size > 0 && (rewritten || !jit_file_continues(f, fd, st))) {
		f = jit_file_create(f->path, f->in_root, f->is_dump);
		if (!f)
			return ux_error_nomem(err);
		ux_jit_file_drop(*slot);
		*slot = f;
	}
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = (uint64_t)st->st_size;
	f->mtime_ns = ux_jit_file_mtime(st);
	return jit_file_read_on(f, fd, err);
}

/* Finds or creates the slot of a file. Returns NULL when there are too many files (*ret_full is
 * then set) or memory is short. */
static struct ux_jit_file **jit_sources_slot(struct ux_jit_sources *s, const char *path,
					     bool in_root, bool is_dump, bool *ret_full)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->files[i]->in_root == in_root && strcmp(s->files[i]->path, path) == 0)
			return &s->files[i];
	*ret_full = s->n == UX_JIT_FILES_MAX;
	struct ux_jit_file *f = *ret_full ? NULL : jit_file_create(path, in_root, is_dump);
	if (!f)
		return NULL;
	size_t at = s->n++;
	for (; is_dump && at > 0 && !s->files[at - 1]->is_dump; at--)
		s->files[at] = s->files[at - 1];
	s->files[at] = f;
	return &s->files[at];
}

static bool jit_sources_has_inode(const struct ux_jit_sources *s, const char *path, bool in_root,
				  const struct stat *st)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->files[i]->dev == st->st_dev && s->files[i]->ino == st->st_ino &&
		    (s->files[i]->in_root != in_root || strcmp(s->files[i]->path, path) != 0))
			return true;
	return false;
}

static enum ux_code jit_sources_update_file(void *ctx, const struct ux_jit_found *found,
					    struct ux_error *err)
{
	struct ux_jit_sources *s = ctx;
	bool full = false;
	if (jit_sources_has_inode(s, found->path, found->in_root, &found->st))
		return UX_OK;
	struct ux_jit_file **slot =
		jit_sources_slot(s, found->path, found->in_root, found->is_dump, &full);
	if (!slot)
		return full ? UX_OK : ux_error_nomem(err);
	return jit_file_update(slot, found->fd, &found->st, err);
}

static enum ux_code jit_sources_update_all(struct ux_jit_sources *s, const struct ux_proc *p,
					   const struct ux_proc_maps *maps, struct ux_error *err)
{
	return ux_jit_files_find(p, maps, jit_sources_update_file, s, err);
}

enum ux_code ux_jit_file_map(const char *path, pid_t pid, struct ux_mapping *ret,
			     struct ux_error *err)
{
	char dir[32];
	struct stat st, process;
	UX_FD(fd);
	UX_TRY(ux_file_open_regular(AT_FDCWD, path, O_NOFOLLOW, &fd, err));
	if (fstat(fd, &st) != 0)
		return ux_error_os(err, errno, "cannot stat");
	(void)snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	bool lives = pid > 0 && stat(dir, &process) == 0;
	if (st.st_uid != 0 && st.st_uid != geteuid() && !(lives && st.st_uid == process.st_uid))
		return ux_error_set(err, UX_EINVAL,
				    "belongs to user %u: expected root, this user, or the user of "
				    "process %d",
				    (unsigned)st.st_uid, (int)pid);
	return ux_file_map_fd(fd, ret, err);
}

/* Collects the anonymous executable mappings that both processes have at the same addresses. */
static enum ux_code jit_sources_find_inherited(struct ux_jit_sources *s,
					       const struct ux_proc_maps *child,
					       const struct ux_proc_maps *parent,
					       struct ux_error *err)
{
	s->ranges.size = 0;
	for (size_t i = 0; i < child->list.size; i++) {
		const struct ux_proc_map *c = &child->list.data[i], *m = parent->list.data;
		size_t at = 0;
		if (!c->exec || c->kind == UX_PROC_MAP_FILE ||
		    !ux_proc_maps_find(parent, c->start, &at) || m[at].start != c->start ||
		    m[at].end != c->end || !m[at].exec || m[at].kind != c->kind)
			continue;
		if (!ux_jit_ranges_append(&s->ranges, (struct ux_jit_range){c->start, c->end}))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Reads the files of the parent, for a process that has no files. A parent that cannot be read
 * is not a failure. */
static enum ux_code jit_sources_update_from_parent(struct ux_jit_sources *s,
						   const struct ux_proc *p,
						   const struct ux_proc_maps *maps,
						   struct ux_error *err)
{
	ux_cleanup(ux_proc_close) struct ux_proc parent = {.dir = -1, .stat = -1};
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps parent_maps = {0};
	if (p->parent == 0 || ux_proc_open(&parent, p->parent, NULL) != UX_OK ||
	    parent.uid != p->uid || parent.started_ns > p->started_ns + UX_JIT_SLACK_NS ||
	    ux_proc_read(parent.dir, "maps", UX_PROC_MAPS_MAX, &text, NULL) != UX_OK)
		return UX_OK;
	if (ux_proc_maps_parse(text.bytes, &parent_maps, NULL) != UX_OK)
		return UX_OK;
	UX_TRY(jit_sources_find_inherited(s, maps, &parent_maps, err));
	s->inherited = true;
	return s->ranges.size > 0 ? jit_sources_update_all(s, &parent, &parent_maps, err) : UX_OK;
}

/* Reads the files of the process, or the files of its parent until the process has some. The lock
 * is held. */
static enum ux_code jit_sources_update_locked(struct ux_jit_sources *s, const struct ux_proc *p,
					      const struct ux_proc_maps *maps, struct ux_error *err)
{
	struct ux_jit_sources own = {0};
	if (!s->inherited) {
		UX_TRY(jit_sources_update_all(s, p, maps, err));
		return s->n > 0 ? UX_OK : jit_sources_update_from_parent(s, p, maps, err);
	}
	enum ux_code code = jit_sources_update_all(&own, p, maps, err);
	if (code != UX_OK || own.n == 0) {
		jit_sources_drop_files(&own);
		return code != UX_OK ? code : jit_sources_update_from_parent(s, p, maps, err);
	}
	jit_sources_drop_files(s);
	memcpy(s->files, own.files, sizeof(own.files));
	s->n = own.n;
	s->inherited = false;
	return UX_OK;
}

static bool jit_sources_is_inherited(const struct ux_jit_sources *s, uint64_t addr)
{
	for (size_t i = 0; i < s->ranges.size; i++)
		if (addr >= s->ranges.data[i].start && addr < s->ranges.data[i].end)
			return true;
	return false;
}

enum ux_code ux_jit_sources_update(struct ux_jit_sources *s, const struct ux_proc *p,
				   const struct ux_proc_maps *maps, struct ux_error *err)
{
	pthread_rwlock_wrlock(&s->lock);
	enum ux_code code = jit_sources_update_locked(s, p, maps, err);
	pthread_rwlock_unlock(&s->lock);
	return code;
}

static bool jit_file_lookup(const struct ux_jit_file *f, uint64_t addr, uint64_t time,
			    struct ux_frame *ret, uint64_t *ret_size)
{
	if (!f->is_dump)
		return ux_perf_map_lookup(&f->map, addr, ret, ret_size);
	return ux_jitdump_lookup(&f->dump, addr, f->dump.other_clock ? UINT64_MAX : time, ret,
				 ret_size);
}

bool ux_jit_sources_lookup(struct ux_jit_sources *s, uint64_t addr, uint64_t time,
			   struct ux_frame *ret, uint64_t *ret_size, struct ux_jit_file **ret_file)
{
	bool found = false;
	pthread_rwlock_rdlock(&s->lock);
	size_t n = s->inherited && !jit_sources_is_inherited(s, addr) ? 0 : s->n;
	for (size_t i = 0; i < n && !found; i++) {
		found = jit_file_lookup(s->files[i], addr, time, ret, ret_size);
		if (found)
			*ret_file = ux_jit_file_hold(s->files[i]);
	}
	pthread_rwlock_unlock(&s->lock);
	return found;
}

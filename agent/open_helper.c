/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and reads the files of other processes in a helper process. */
#include "open_helper.h"

#include "clock.h"
#include "file.h"
#include "hash.h"
#include "proc_files.h"
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ANSWER_MS = 10000,   /* ms without a sign of the helper; a busy machine needs seconds */
	WHOLE_MS = 60000,    /* ms for one file */
	AGAIN_MS = 10000,    /* ms until the first new attempt; doubles... */
	AGAIN_SHIFT_MAX = 6, /* ...up to 11 minutes */
	PLACE_PARTS = 2,     /* components of a path that name a place */
	PIECE = 1 << 20,     /* bytes of a copy between two signs */
	COPY_MAX = 1 << 30,  /* bytes of the largest file that is copied */
};

/* A request to the helper. It is the same program, so that both use the same layout. */
enum open_kind {
	OPEN_MAPPING,
	OPEN_PATH,
	OPEN_KERNEL, /* its path has the folders of debug files */
	OPEN_JIT,    /* answered by a message for each file, and a last one */
};

struct open_request {
	enum open_kind kind;
	bool copy;
	bool no_walk; /* the path is not resolved: it hung */
	enum ux_open_root root;
	pid_t pid;
	struct ux_proc_map map; /* without its path */
	struct ux_opened before;
	char path[PATH_MAX];
	char module[NAME_MAX + 1];
	char release[NAME_MAX + 1];
	char build_id[UX_ID_TEXT];
};

enum open_sign {
	SIGN_ANSWER,
	SIGN_WORKS, /* a piece was copied */
	SIGN_FOUND, /* a file with run-time code: the last four fields of the message */
	SIGN_WALKS, /* from now on a path is resolved: what hangs is no more the mapping's device */
};

struct open_answer {
	enum open_sign sign;
	struct ux_error err;
	struct ux_opened file; /* its descriptor comes with the message... */
	bool passed;           /* ...unless this is false */
	char path[PATH_MAX];   /* of the found file */
	bool in_root;
	bool is_dump;
	struct stat st;
};

/* The descriptor of a message, in the form of the kernel. */
union open_passed {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* --- the helper ------------------------------------------------------------------------------- */

static bool open_send(int talk, const struct open_answer *a)
{
	union open_passed passed = {.bytes = {0}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)a, .iov_len = sizeof(*a)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	if (a->file.fd >= 0) {
		m.msg_control = passed.bytes;
		m.msg_controllen = sizeof(passed.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &a->file.fd, sizeof(int));
	}
	return sendmsg(talk, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*a);
}

static void open_send_sign(int talk, enum open_sign sign)
{
	(void)open_send(talk, &(struct open_answer){.sign = sign, .file.fd = -1});
}

/*
 * Returns whether the files of this file system are on this machine. Only the known
 * ones are: there are too many network file systems to list. An overlay is local, because nearly
 * all of them are, and a copy of each file of each container would cost too much.
 */
static bool open_is_local(int fd)
{
	static const uint32_t local[] = {
		EXT4_SUPER_MAGIC,
		XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC,
		RAMFS_MAGIC,
		HUGETLBFS_MAGIC,
		OVERLAYFS_SUPER_MAGIC,
		SQUASHFS_MAGIC,
		EROFS_SUPER_MAGIC_V1,
		ISOFS_SUPER_MAGIC,
		MSDOS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC,
		UDF_SUPER_MAGIC,
		0x2fc12fc1 /* ZFS */,
		0xca451a4e /* bcachefs */,
		0x2011bab0 /* exFAT */,
		0x7366746e /* NTFS */,
	};
	struct statfs fs;
	if (fstatfs(fd, &fs) != 0)
		return false;
	for (size_t i = 0; i < ux_countof(local); i++)
		if ((uint32_t)fs.f_type == local[i])
			return true;
	return false;
}

/*
 * Returns whether the mount gives no rights by the owner of a file. Users may have such mounts made
 * of images of their own, in which any file is root's.
 */
static bool open_is_nosuid(int fd)
{
	struct statvfs fs;
	return fstatvfs(fd, &fs) != 0 || (fs.f_flag & ST_NOSUID) != 0;
}

/* Opens the file of a mapping, first by links of the process, which resolve no path. */
static enum ux_code open_mapped(int talk, struct open_request *r, int *ret, bool *ret_here,
				struct ux_error *err)
{
	ux_cleanup(ux_proc_close) struct ux_proc proc = {.dir = -1, .stat = -1};
	struct ux_error why = UX_ERROR_INIT;
	struct stat st;
	UX_FD(fd);
	r->map.path = r->path;
	enum ux_code code = ux_proc_open(&proc, r->pid, &why);
	if (code == UX_OK && ux_proc_open_linked(&proc, &r->map, ret))
		return UX_OK;
	if (r->no_walk)
		return ux_error_set(err, UX_EUNAVAILABLE, "a file system does not answer");
	open_send_sign(talk, SIGN_WALKS);
	if (!r->map.deleted && r->map.kind == UX_PROC_MAP_FILE &&
	    ux_file_open_regular(AT_FDCWD, r->path, 0, &fd, NULL) == UX_OK && fstat(fd, &st) == 0 &&
	    st.st_ino == r->map.ino &&
	    (uint64_t)makedev(major(st.st_dev), minor(st.st_dev)) == r->map.dev) {
		*ret = fd;
		*ret_here = true;
		fd = -1;
		return UX_OK;
	}
	if (code == UX_OK)
		return ux_proc_open_mapped(&proc, &r->map, ret, err);
	*err = why;
	return code;
}

static enum ux_code open_path(int talk, const struct open_request *r, int *ret,
			      struct ux_error *err)
{
	ux_cleanup(ux_proc_close) struct ux_proc proc = {.dir = -1, .stat = -1, .pid = getpid()};
	open_send_sign(talk, SIGN_WALKS);
	if (r->root == UX_OPEN_HOST)
		return ux_file_open_regular(AT_FDCWD, r->path, 0, ret, err);
	if (r->root == UX_OPEN_PROCESS)
		UX_TRY(ux_proc_open(&proc, r->pid, err));
	return ux_proc_open_in_root(&proc, r->root == UX_OPEN_PROCESS, r->path, ret, err);
}

/* Replaces *fd, of a far file, by a copy. */
static enum ux_code open_copy(int talk, int *fd, uint64_t size, struct ux_error *err)
{
	static uint8_t piece[PIECE];
	UX_FD(to);
	if (size > COPY_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "has %" PRIu64 " bytes, and is on a file system of another "
				    "machine or program, of which at most %d bytes are copied",
				    size, COPY_MAX);
	UX_TRY(ux_spill_open(ux_spill_folder(), 0, &to, err));
	for (uint64_t done = 0; done < size;) {
		ssize_t n = read(*fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ux_error_os(err, errno, "cannot read");
		if (n == 0)
			break; /* it was truncated: the reader of the copy finds out */
		UX_TRY(ux_file_write(to, ux_bytes(piece, (size_t)n), err));
		done += (uint64_t)n;
		open_send_sign(talk, SIGN_WORKS);
	}
	ux_fd_close(fd);
	*fd = to;
	to = -1;
	return UX_OK;
}

static enum ux_code open_kernel(int talk, const struct open_request *r, char path[PATH_MAX],
				int *ret, struct ux_error *err)
{
	const struct ux_kernel_dirs dirs = {.root = "", .release = r->release, .debug = r->path};
	ux_cleanup(ux_kernel_files_close) struct ux_kernel_files files = {0};
	open_send_sign(talk, SIGN_WALKS);
	UX_TRY(ux_kernel_files_find(&dirs, r->module, r->build_id, &files, err));
	const char *found[] = {files.debug_path, files.path};
	for (size_t i = 0; i < ux_countof(found); i++) {
		if (!found[i] || ux_file_open_regular(AT_FDCWD, found[i], 0, ret, NULL) != UX_OK)
			continue;
		snprintf(path, PATH_MAX, "%s", found[i]);
		return UX_OK;
	}
	return ux_error_set(err, UX_ENOTFOUND, "this host has no file of it");
}

static enum ux_code open_found_jit(void *ctx, const struct ux_jit_found *found,
				   struct ux_error *err)
{
	const int *talk = ctx;
	struct open_answer a = {.sign = SIGN_FOUND,
				.file.fd = found->fd,
				.in_root = found->in_root,
				.is_dump = found->is_dump,
				.st = found->st};
	if (!open_is_local(found->fd))
		return UX_OK;
	snprintf(a.path, sizeof(a.path), "%s", found->path);
	return open_send(*talk, &a) ? UX_OK : ux_error_os(err, errno, "cannot send a file");
}

static enum ux_code open_jit(int talk, const struct open_request *r, struct ux_error *err)
{
	ux_cleanup(ux_proc_close) struct ux_proc proc = {.dir = -1, .stat = -1};
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps maps = {0};
	open_send_sign(talk, SIGN_WALKS);
	if (ux_proc_open(&proc, r->pid, NULL) != UX_OK ||
	    ux_proc_read(proc.dir, "maps", UX_PROC_MAPS_MAX, &text, NULL) != UX_OK ||
	    ux_proc_maps_parse(text.bytes, &maps, NULL) != UX_OK)
		return ux_error_set(err, UX_ENOTFOUND, "process %d has ended", (int)r->pid);
	return ux_jit_files_find(&proc, &maps, open_found_jit, &talk, err);
}

static enum ux_code open_file(int talk, struct open_request *r, char path[PATH_MAX], int *ret,
			      bool *ret_here, struct ux_error *err)
{
	switch (r->kind) {
	case OPEN_PATH:
		return open_path(talk, r, ret, err);
	case OPEN_KERNEL:
		return open_kernel(talk, r, path, ret, err);
	case OPEN_MAPPING:
	case OPEN_JIT:
		break;
	}
	return open_mapped(talk, r, ret, ret_here, err);
}

static enum ux_code open_answer_to(int talk, struct open_request *r, struct open_answer *a,
				   struct ux_error *err)
{
	UX_FD(fd);
	struct stat st;
	struct ux_opened *ret = &a->file;
	if (r->kind == OPEN_JIT)
		return open_jit(talk, r, err);
	UX_TRY(open_file(talk, r, a->path, &fd, &ret->here, err));
	if (fstat(fd, &st) != 0)
		return ux_error_os(err, errno, "cannot stat");
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->size = (uint64_t)st.st_size;
	ret->mtime_ns = (int64_t)st.st_mtim.tv_sec * UX_CLOCK_NS_IN_S + st.st_mtim.tv_nsec;
	ret->owner = st.st_uid;
	ret->mode = st.st_mode;
	ret->same = ret->size == r->before.size && ret->mtime_ns == r->before.mtime_ns;
	ret->far = !open_is_local(fd);
	ret->nosuid = open_is_nosuid(fd);
	if (ret->far ? !r->copy : ret->same && !r->copy)
		return UX_OK;
	if (ret->far)
		UX_TRY(open_copy(talk, &fd, ret->size, err));
	ret->fd = fd;
	fd = -1;
	return UX_OK;
}

/*
 * The helper has nothing of its parent but the socket: it may stay for long after the parent has
 * ended, and would keep files open, and the lock of the agent's folder.
 */
static _Noreturn void open_main(int talk, pid_t parent)
{
	static struct open_request r;
	sigset_t none;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "unhex-open");
	if (getppid() != parent)
		_exit(0);
	if (dup2(talk, 0) != 0)
		_exit(1);
	close_range(1, ~0U, 0);
	for (int i = 1; i < 3; i++)
		if (open("/dev/null", O_RDWR) != i)
			_exit(1);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	while (recv(0, &r, sizeof(r), 0) == (ssize_t)sizeof(r)) {
		struct open_answer a = {.err = UX_ERROR_INIT, .file.fd = -1};
		enum ux_code code = open_answer_to(0, &r, &a, &a.err);
		a.err.code = code;
		a.passed = a.file.fd >= 0;
		bool sent = open_send(0, &a);
		ux_fd_close(&a.file.fd);
		if (!sent)
			break;
	}
	_exit(0);
}

/* --- places ----------------------------------------------------------------------------------- */

static struct ux_open_place *open_place_find(struct ux_open_helper *h, uint64_t key)
{
	for (size_t i = 0; i < h->n_places; i++)
		if (h->places[i].key == key)
			return &h->places[i];
	return NULL;
}

/* Returns how many killed helpers have not ended. */
static size_t open_count_stuck(struct ux_open_helper *h)
{
	size_t n = 0;
	if (h->dying != 0 && waitpid(h->dying, NULL, WNOHANG) != 0)
		h->dying = 0;
	for (size_t i = 0; i < h->n_places; i++) {
		struct ux_open_place *p = &h->places[i];
		if (p->stuck != 0 && waitpid(p->stuck, NULL, WNOHANG) != 0)
			p->stuck = 0;
		n += p->stuck != 0;
	}
	return n;
}

/* Leaves the place alone for a time, longer each time. */
static void open_leave_alone(struct ux_open_place *p)
{
	p->again_ms =
		ux_clock_ms() + ((int64_t)AGAIN_MS << ux_min(p->times, (unsigned)AGAIN_SHIFT_MAX));
	p->times++;
}

/* Returns when the place may be tried again; 0: now. */
static int64_t open_left_alone(struct ux_open_helper *h, uint64_t key)
{
	struct ux_open_place *p = open_place_find(h, key);
	if (!p)
		return 0;
	if (p->again_ms > ux_clock_ms())
		return p->again_ms;
	if (p->stuck == 0)
		return 0;
	open_leave_alone(p);
	return p->again_ms;
}

/* Forgets a place that has answered. */
static void open_place_forget(struct ux_open_helper *h, uint64_t key)
{
	struct ux_open_place *p = open_place_find(h, key);
	if (p && p->stuck == 0)
		*p = h->places[--h->n_places];
}

/* Notes that a place hung. There are more places than helpers that may be stuck. */
static int64_t open_place_hung(struct ux_open_helper *h, uint64_t key, pid_t stuck)
{
	struct ux_open_place *p = open_place_find(h, key);
	if (!p && h->n_places < UX_OPEN_PLACES_MAX) {
		p = &h->places[h->n_places++];
		*p = (struct ux_open_place){.key = key};
	}
	for (size_t i = 0; !p; i++) /* the first one whose helper has ended */
		if (h->places[i].stuck == 0) {
			p = &h->places[i];
			*p = (struct ux_open_place){.key = key};
		}
	p->stuck = stuck;
	open_leave_alone(p);
	h->hung++;
	return p->again_ms;
}

static uint64_t open_place_of_device(uint64_t dev)
{
	return ux_hash_u64(dev);
}

/* A mount is near the root. Its paths in another mount namespace are another place. */
static uint64_t open_place_of_path(const char *path, pid_t pid)
{
	size_t n = 0;
	for (int parts = 0; path[n] != '\0'; n++)
		if (path[n] == '/' && parts++ == PLACE_PARTS)
			break;
	return ux_hash_mix(ux_hash_bytes(ux_bytes((const uint8_t *)path, n)), (uint64_t)pid + 1);
}

/* --- its parent ------------------------------------------------------------------------------- */

/* Kills the helper. Returns its ID; 0: it has ended. Closing a far file may hang, so nobody waits.
 */
static pid_t open_kill(struct ux_open_helper *h)
{
	pid_t pid = h->pid;
	(void)kill(pid, SIGKILL);
	(void)close(h->talk);
	h->pid = 0;
	return waitpid(pid, NULL, WNOHANG) == 0 ? pid : 0;
}

void ux_open_helper_deinit(struct ux_open_helper *h)
{
	if (h->pid > 0)
		(void)open_kill(h);
	(void)open_count_stuck(h);
}

static enum ux_code open_start(struct ux_open_helper *h, struct ux_error *err)
{
	int pair[2];
	const pid_t parent = getpid();
	if (h->pid > 0)
		return UX_OK;
	if (open_count_stuck(h) >= UX_OPEN_STUCK_MAX)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "%d file systems do not answer: no more files are opened",
				    UX_OPEN_STUCK_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "cannot create a socket for opening files: %s",
				    strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		open_main(pair[1], parent);
	int why = errno;
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "cannot start a process for opening files: %s", strerror(why));
	}
	h->talk = pair[0];
	h->pid = pid;
	return UX_OK;
}

/* Receives a message with its descriptor. False: the helper has ended. */
static bool open_receive(struct ux_open_helper *h, struct open_answer *a)
{
	union open_passed passed;
	struct iovec part = {.iov_base = a, .iov_len = sizeof(*a)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = passed.bytes,
			   .msg_controllen = sizeof(passed.bytes)};
	ssize_t n = 0;
	do
		n = recvmsg(h->talk, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	a->file.fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&a->file.fd, CMSG_DATA(c), sizeof(int));
	return n == (ssize_t)sizeof(*a);
}

/* Passes on a file with run-time code, and closes it. */
static void open_found(struct ux_open_helper *h, struct open_answer *a)
{
	a->path[PATH_MAX - 1] = '\0';
	const struct ux_jit_found found = {a->file.fd, a->path, a->in_root, a->is_dump, a->st};
	if (h->found && h->found_code == UX_OK && a->file.fd >= 0)
		h->found_code = h->found(h->found_ctx, &found, NULL);
	ux_fd_close(&a->file.fd);
}

enum open_waited {
	WAITED_ANSWER,
	WAITED_ENDED,
	WAITED_TIME,
};

/* Waits for the answer. *ret_walks: a path was being resolved. */
static enum open_waited open_wait(struct ux_open_helper *h, struct open_answer *a, bool *ret_walks)
{
	const int64_t end = ux_clock_ms() + WHOLE_MS;
	int64_t until = ux_clock_ms() + ANSWER_MS;
	for (;;) {
		struct pollfd p = {.fd = h->talk, .events = POLLIN};
		int64_t left = ux_min(until, end) - ux_clock_ms();
		int r = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return WAITED_TIME;
		if (!open_receive(h, a))
			return WAITED_ENDED;
		if (a->sign == SIGN_ANSWER)
			return WAITED_ANSWER;
		if (a->sign == SIGN_FOUND)
			open_found(h, a);
		*ret_walks = *ret_walks || a->sign == SIGN_WALKS;
		until = ux_clock_ms() + ANSWER_MS;
		if (h->works)
			h->works(h->ctx);
	}
}

/*
 * Asks the helper, which is started again once if it has died. device: the place that hangs unless
 * a path is resolved; 0: none. path: the place that hangs otherwise.
 */
static enum ux_code open_ask(struct ux_open_helper *h, struct open_request *r, uint64_t device,
			     uint64_t path, struct open_answer *ret, int64_t *ret_again_ms,
			     struct ux_error *err)
{
	(void)open_count_stuck(h);
	const int64_t walk = open_left_alone(h, path);
	*ret_again_ms = device != 0 ? open_left_alone(h, device) : walk;
	if (*ret_again_ms != 0)
		return ux_error_set(err, UX_EUNAVAILABLE, "its file system does not answer");
	r->no_walk = walk != 0;
	*ret_again_ms = ux_max(walk, ux_clock_ms() + AGAIN_MS);
	for (int i = 0; i < 2; i++) {
		bool walks = false;
		UX_TRY(open_start(h, err));
		enum open_waited waited =
			send(h->talk, r, sizeof(*r), MSG_NOSIGNAL) == (ssize_t)sizeof(*r)
				? open_wait(h, ret, &walks)
				: WAITED_ENDED;
		if (waited == WAITED_ANSWER) {
			open_place_forget(h, walks ? path : device);
			if (ret->passed && ret->file.fd < 0)
				return ux_error_set(err, UX_EUNAVAILABLE,
						    "there is no free descriptor for it");
			if (ret->err.code != UX_OK && err && err->code == UX_OK)
				*err = ret->err;
			return ret->err.code;
		}
		pid_t pid = open_kill(h);
		if (waited == WAITED_TIME) {
			*ret_again_ms = open_place_hung(h, walks ? path : device, pid);
			return ux_error_set(err, UX_EUNAVAILABLE,
					    "its file system did not answer for %d s",
					    ANSWER_MS / 1000);
		}
		h->dying = pid;
	}
	return ux_error_set(err, UX_EUNAVAILABLE, "the process that opens files has died");
}

static enum ux_code open_text(char *to, size_t size, const char *from, struct ux_error *err)
{
	return snprintf(to, size, "%s", from) < (int)size
		       ? UX_OK
		       : ux_error_set(err, UX_ELIMIT, "path or name has more than %zu bytes",
				      size - 1);
}

enum ux_code ux_open_helper_mapped(struct ux_open_helper *h, pid_t pid,
				   const struct ux_proc_map *map, const struct ux_opened *before,
				   bool copy, struct ux_opened *ret, int64_t *ret_again_ms,
				   struct ux_error *err)
{
	struct open_request r = {
		.kind = OPEN_MAPPING, .copy = copy, .pid = pid, .map = *map, .before = *before};
	struct open_answer a;
	*ret = (struct ux_opened){.fd = -1};
	UX_TRY(open_text(r.path, sizeof(r.path), map->path, err));
	UX_TRY(open_ask(h, &r, open_place_of_device(map->dev), open_place_of_path(r.path, 0), &a,
			ret_again_ms, err));
	*ret = a.file;
	return UX_OK;
}

enum ux_code ux_open_helper_path(struct ux_open_helper *h, enum ux_open_root root, pid_t pid,
				 const char *path, struct ux_opened *ret, struct ux_error *err)
{
	struct open_request r = {.kind = OPEN_PATH, .copy = true, .root = root, .pid = pid};
	struct open_answer a;
	int64_t again_ms = 0;
	*ret = (struct ux_opened){.fd = -1};
	UX_TRY(open_text(r.path, sizeof(r.path), path, err));
	UX_TRY(open_ask(h, &r, 0, open_place_of_path(path, pid), &a, &again_ms, err));
	*ret = a.file;
	return UX_OK;
}

enum ux_code ux_open_helper_kernel(struct ux_open_helper *h, const struct ux_kernel_dirs *dirs,
				   const char *module, const char *build_id, char path[PATH_MAX],
				   struct ux_opened *ret, int64_t *ret_again_ms,
				   struct ux_error *err)
{
	struct open_request r = {.kind = OPEN_KERNEL, .copy = true};
	struct open_answer a;
	*ret = (struct ux_opened){.fd = -1};
	*ret_again_ms = 0;
	UX_TRY(open_text(r.path, sizeof(r.path), dirs->debug, err));
	UX_TRY(open_text(r.module, sizeof(r.module), module, err));
	UX_TRY(open_text(r.release, sizeof(r.release), dirs->release, err));
	UX_TRY(open_text(r.build_id, sizeof(r.build_id), build_id, err));
	UX_TRY(open_ask(h, &r, 0, open_place_of_path("kernel", 0), &a, ret_again_ms, err));
	*ret = a.file;
	memcpy(path, a.path, PATH_MAX);
	path[PATH_MAX - 1] = '\0';
	return UX_OK;
}

enum ux_code ux_open_helper_jit(struct ux_open_helper *h, pid_t pid, ux_jit_found_fn *fn, void *ctx,
				struct ux_error *err)
{
	struct open_request r = {.kind = OPEN_JIT, .pid = pid};
	struct open_answer a;
	char name[64], text[64] = "";
	int64_t again_ms = 0;
	/* Processes of a container hang together. */
	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", (int)pid);
	(void)!readlink(name, text, sizeof(text) - 1);
	h->found = fn;
	h->found_ctx = ctx;
	h->found_code = UX_OK;
	enum ux_code code = open_ask(h, &r, 0, open_place_of_path(text, 0), &a, &again_ms, err);
	h->found = NULL;
	return h->found_code == UX_ENOMEM ? ux_error_nomem(err) : code;
}

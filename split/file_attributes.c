/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of files. */
#include "split_input.h"

#include "vec.h"

#include <errno.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	NAMES_MAX = 64 << 10, /* bytes of all names: the kernel's limit, XATTR_LIST_MAX */
	VALUE_MAX = 64 << 10, /* bytes of one value: XATTR_SIZE_MAX */
};

/* Copies the owner. Only root may give files away; it fails only if the owner would change. */
static enum ux_code attributes_copy_owner(const struct stat *st, int to, struct ux_error *err)
{
	struct stat now;
	if (fstat(to, &now) != 0)
		return ux_error_os(err, errno, "cannot stat");
	if (now.st_uid == st->st_uid && now.st_gid == st->st_gid)
		return UX_OK;
	if (fchown(to, st->st_uid, st->st_gid) != 0)
		return ux_error_os(err, errno, "cannot keep the owner %u:%u", st->st_uid,
				   st->st_gid);
	return UX_OK;
}

static enum ux_code attributes_copy_times(const struct stat *st, int to, struct ux_error *err)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (futimens(to, times) != 0)
		return ux_error_os(err, errno, "cannot keep the times");
	return UX_OK;
}

static enum ux_code attributes_copy_extended(int from, const char *name, char *value, int to,
					     struct ux_error *err)
{
	ssize_t n = fgetxattr(from, name, value, VALUE_MAX);
	if (n < 0)
		return errno == ENODATA || errno == ENOTSUP
			       ? UX_OK
			       : ux_error_os(err, errno, "cannot read the attribute %.64s", name);
	if (fsetxattr(to, name, value, (size_t)n, 0) == 0 || errno == ENOTSUP)
		return UX_OK;
	/* The new file already has this label of the security module. */
	char now[256];
	int os_errno = errno;
	ssize_t m = fgetxattr(to, name, now, sizeof(now));
	if (m == n && memcmp(now, value, (size_t)n) == 0)
		return UX_OK;
	return ux_error_os(err, os_errno, "cannot keep the attribute %.64s", name);
}

static enum ux_code attributes_copy_all_extended(int from, int to, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *names = malloc(NAMES_MAX);
	ux_cleanup(ux_free_ptr) char *value = malloc(VALUE_MAX);
	if (!names || !value)
		return ux_error_nomem(err);
	ssize_t n = flistxattr(from, names, NAMES_MAX);
	if (n < 0)
		return errno == ENOTSUP
			       ? UX_OK
			       : ux_error_os(err, errno, "cannot list the extended attributes");
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1)
		UX_TRY(attributes_copy_extended(from, names + at, value, to, err));
	return UX_OK;
}

enum ux_code ux_file_attributes_copy(int from, const struct stat *st, int to, struct ux_error *err)
{
	/* The owner first: changing it clears capabilities and the set-user-ID bits. Times last. */
	UX_TRY(attributes_copy_owner(st, to, err));
	if (fchmod(to, st->st_mode & 07777) != 0)
		return ux_error_os(err, errno, "cannot keep the mode");
	UX_TRY(attributes_copy_all_extended(from, to, err));
	return attributes_copy_times(st, to, err);
}

enum ux_code ux_file_attributes_copy_plain(const struct stat *st, int to, struct ux_error *err)
{
	UX_TRY(attributes_copy_owner(st, to, err));
	if (fchmod(to, st->st_mode & 0666) != 0)
		return ux_error_os(err, errno, "cannot set the mode");
	return attributes_copy_times(st, to, err);
}

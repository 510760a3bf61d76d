/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the system can take back. */
#include "spill.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some file systems have no O_TMPFILE: there the name lives for a moment. */
static int open_unlinked(const char *folder)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (snprintf(path, sizeof(path), "%s/unhex-XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

enum ux_code ux_spill_map(const char *folder, size_t size, void **ret, struct ux_error *err)
{
	int fd = open_unlinked(folder);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create a file in %s", folder);
	int failed = posix_fallocate(fd, 0, (off_t)size);
	void *region = MAP_FAILED;
	if (failed == 0) {
		region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		failed = region == MAP_FAILED ? errno : 0;
	}
	close(fd);
	if (failed != 0)
		return ux_error_os(err, failed, "cannot reserve %zu bytes in %s", size, folder);
	*ret = region;
	return UX_OK;
}

void ux_spill_unmap(void *region, size_t size)
{
	if (region)
		munmap(region, size);
}

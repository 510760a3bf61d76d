/* SPDX-License-Identifier: Apache-2.0 */
/* The admin key that the first start of a store creates. */
#include "serve.h"

#include "file.h"
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
	FIRST_KEYS_BUDGET = 64 << 20 /* bytes for the list of keys */
};

static void first_key_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/*
 * A file of that name is of an earlier start that was killed before the key was in the index, so it
 * is replaced. The file is on disk when this returns.
 */
static enum ux_code first_key_write(const char *path, const char *token, struct ux_error *err)
{
	if (unlink(path) != 0 && errno != ENOENT)
		return ux_error_os(err, errno, "cannot remove %.200s", path);
	ux_cleanup(first_key_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create %.200s", path);
	UX_TRY(ux_file_write(fd, ux_bytes_cstr(token), err));
	UX_TRY(ux_file_write(fd, UX_STR("\n"), err));
	return fsync(fd) == 0 ? UX_OK : ux_error_os(err, errno, "cannot write %.200s", path);
}

/* The file comes before the row: after a crash there is no valid key whose token is lost. */
static enum ux_code first_key_make(struct ux_store *store, const char *path, char *token,
				   struct ux_error *err)
{
	struct ux_key key = {.scopes = UX_SCOPE_SERVER, .description = "made on the first start"};
	const struct ux_who who = {.key_id = "", .from = "server"};
	struct ux_token_row row;
	UX_TRY(ux_key_prepare(&key, ux_store_key_now(store), token, &row, err));
	if (path)
		UX_TRY(first_key_write(path, token, err));
	return store->index->keys.add(store->index, &key, &row, &who, err);
}

enum ux_code ux_first_key(struct ux_store *store, const char *dir, struct ux_error *err)
{
	struct ux_index *ix = store->index;
	UX_ARENA(arena, FIRST_KEYS_BUDGET);
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_key_list keys;
	char token[UX_TOKEN_SIZE] = "";
	UX_TRY(ix->keys.list(ix, &arena, &keys, err));
	if (keys.n > 0)
		return UX_OK;
	if (!isatty(STDOUT_FILENO) && asprintf(&path, "%s/%s", dir, UX_FIRST_KEY_FILE) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	enum ux_code code = first_key_make(store, path, token, err);
	if (code == UX_OK && path)
		printf("unhex: the admin key is in %s\n", path);
	else if (code == UX_OK)
		printf("unhex: admin key %s (shown only now)\n", token);
	explicit_bzero(token, sizeof(token));
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the admin key at the first start of a store. */
#include "serve.h"

#include "file.h"
#include "keys.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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
 * Writes the token to a file, which is on disk when this returns. An existing file is from an
 * earlier start that was killed before it added the key to the index, so it is replaced.
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

/* Writes the file before the row: so no crash leaves a valid key with a lost token. */
static enum ux_code first_key_make(struct ux_store *store, const char *path, char *token,
				   struct ux_error *err)
{
	struct ux_key key = {.scopes = UX_SCOPE_SERVER,
			     .description = "created on the first start"};
	const struct ux_who who = {.key_id = "", .from = "server"};
	struct ux_token_row row;
	UX_TRY(ux_key_prepare(&key, ux_store_key_now(store), token, &row, err));
	if (path)
		UX_TRY(first_key_write(path, token, err));
	return store->index->keys.add(store->index, &key, &row, &who, err);
}

/* Reads the token from the first line of the file of the setting admin-key. */
static enum ux_code first_key_map(const char *path, struct ux_mapping *ret, struct ux_bytes *token,
				  struct ux_error *err)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return ux_error_os(err, errno, "cannot open admin-key %.200s", path);
	if ((st.st_mode & S_IRWXO) != 0)
		return ux_error_set(
			err, UX_EINVAL,
			"admin-key %.160s: others may read it; expected mode 0600 or 0640", path);
	UX_TRY(ux_file_map(path, ret, err));
	struct ux_bytes text = ret->bytes;
	(void)!ux_text_take_line(&text, token); /* no line: an empty token, which is refused */
	*token = ux_trim(*token);
	return UX_OK;
}

/*
 * Adds the given key. Servers that start at the same moment with one index add the same key: only
 * the first one succeeds, and the others accept that.
 */
static enum ux_code first_key_add_given(struct ux_store *store, struct ux_key *key,
					const struct ux_token_row *row, struct ux_error *err)
{
	struct ux_index *ix = store->index;
	UX_ARENA(arena, FIRST_KEYS_BUDGET);
	const struct ux_who who = {.key_id = "", .from = "server"};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_key there;
	enum ux_code code = ix->keys.add(ix, key, row, &who, &why);
	if (code == UX_OK || ix->keys.get(ix, key->id, &arena, &there, NULL) == UX_OK)
		return UX_OK;
	return ux_error_set(err, code, "%s", why.text);
}

static enum ux_code first_key_take(struct ux_store *store, const char *path, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes token = UX_BYTES_NONE;
	struct ux_key key = {.scopes = UX_SCOPE_SERVER, .description = "given to the first start"};
	struct ux_token_row row;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(first_key_map(path, &file, &token, err));
	if (ux_key_prepare_given(&key, ux_store_key_now(store), token, &row, &why) != UX_OK)
		return ux_error_set(err, UX_EINVAL, "admin-key %.160s: %s", path, why.text);
	UX_TRY(first_key_add_given(store, &key, &row, err));
	printf("unhex: the token of the admin key is in %s\n", path);
	return UX_OK;
}

enum ux_code ux_first_key(struct ux_store *store, const char *dir, const char *given,
			  struct ux_error *err)
{
	struct ux_index *ix = store->index;
	UX_ARENA(arena, FIRST_KEYS_BUDGET);
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_key_list keys;
	char token[UX_TOKEN_SIZE] = "";
	UX_TRY(ix->keys.list(ix, &arena, &keys, err));
	if (keys.n > 0)
		return UX_OK;
	if (given)
		return first_key_take(store, given, err);
	if (!isatty(STDOUT_FILENO) && asprintf(&path, "%s/%s", dir, UX_FIRST_KEY_FILE) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	enum ux_code code = first_key_make(store, path, token, err);
	if (code == UX_OK && path)
		printf("unhex: the admin key is in %s\n", path);
	else if (code == UX_OK)
		printf("unhex: admin key %s (keep it: it is not shown again)\n", token);
	explicit_bzero(token, sizeof(token));
	return code;
}

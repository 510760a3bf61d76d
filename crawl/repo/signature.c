/* SPDX-License-Identifier: Apache-2.0 */
/* Checks OpenPGP signatures with gpgv. */
#include "signature.h"

#include "clock.h"
#include "debian_files.h"
#include "file.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	GPGV_S = 60,            /* s; a signature takes milliseconds */
	STATUS_MAX = 1 << 20,   /* bytes of gpgv's status */
	KEYRING_MAX = 64 << 20, /* bytes of a file of keys */
	STATUS_FD = 3,          /* descriptors of the child */
	TEXT_FD = 4,
	SIGNATURE_FD = 5,
	KEYS_FD = 6,
	PATH_BYTES = 32,
};

#define STATUS_PREFIX "[GNUPG:] "

/* --- the status ------------------------------------------------------------------------------- */

struct verdict {
	unsigned good, valid, plain;
	struct ux_bytes bad;     /* key of a signature that is wrong */
	struct ux_bytes expired; /* key that has expired, or whose signature has */
	struct ux_bytes revoked;
	struct ux_bytes missing; /* key that is not trusted here */
	bool weak;
	bool unexpected;
};

/* Returns whether the hash of a VALIDSIG line is weak: the eighth word after the keyword (RFC 9580,
 * 9.5). */
static bool signature_hash_is_weak(struct ux_bytes words)
{
	struct ux_bytes word = UX_BYTES_NONE;
	uint64_t hash = 0;
	for (size_t i = 0; i < 8; i++)
		if (!ux_deb822_word(&words, &word))
			return true;
	return !ux_decimal_parse(word, &hash) || hash <= 3; /* 1 MD5, 2 SHA-1, 3 RIPEMD-160 */
}

static void signature_take_status(struct verdict *v, struct ux_bytes line)
{
	struct ux_bytes word = UX_BYTES_NONE, key = UX_BYTES_NONE, rest = line;
	if (!ux_deb822_word(&rest, &word))
		return;
	struct ux_bytes words = rest;
	bool has_key = ux_deb822_word(&rest, &key);
	key = has_key ? key : UX_STR("?");
	if (ux_bytes_eq(word, UX_STR("GOODSIG")))
		v->good++;
	else if (ux_bytes_eq(word, UX_STR("VALIDSIG"))) {
		bool weak = signature_hash_is_weak(words);
		v->weak = v->weak || weak;
		v->valid += !weak;
	} else if (ux_bytes_eq(word, UX_STR("PLAINTEXT")))
		v->plain++;
	else if (ux_bytes_eq(word, UX_STR("BADSIG")))
		v->bad = key;
	else if (ux_bytes_eq(word, UX_STR("EXPSIG")) || ux_bytes_eq(word, UX_STR("EXPKEYSIG")))
		v->expired = key;
	else if (ux_bytes_eq(word, UX_STR("REVKEYSIG")))
		v->revoked = key;
	else if (ux_bytes_eq(word, UX_STR("NO_PUBKEY")) || ux_bytes_eq(word, UX_STR("ERRSIG")))
		v->missing = key;
	else if (ux_bytes_eq(word, UX_STR("UNEXPECTED")) || ux_bytes_eq(word, UX_STR("NODATA")) ||
		 ux_bytes_eq(word, UX_STR("BADARMOR")))
		v->unexpected = true;
}

static enum ux_code signature_refuse(const char *what, struct ux_bytes key, struct ux_error *err)
{
	char name[UX_ERROR_TEXT] = "";
	for (size_t i = 0; i < ux_min(key.size, (size_t)40); i++)
		name[i] = (char)(ux_hex_digit((char)key.data[i]) >= 0 ? key.data[i] : '?');
	return ux_error_set(err, UX_EDENIED, "%s %s", what, name);
}

enum ux_code ux_signature_status(struct ux_bytes status, struct ux_error *err)
{
	struct verdict v = {0};
	struct ux_bytes line;
	while (ux_text_take_line(&status, &line))
		if (ux_bytes_starts(line, UX_STR(STATUS_PREFIX)))
			signature_take_status(&v, ux_bytes(line.data + strlen(STATUS_PREFIX),
							   line.size - strlen(STATUS_PREFIX)));
	if (v.bad.size > 0)
		return signature_refuse(
			"bad signature: the text does not match its signature by the key", v.bad,
			err);
	if (v.plain > 1 || v.unexpected)
		return ux_error_set(err, UX_EDENIED,
				    "bad signature: the file is not a single signed text");
	if (v.good > 0 && v.valid > 0)
		return UX_OK;
	if (v.weak)
		return ux_error_set(err, UX_EDENIED,
				    "bad signature: it uses a weak hash (MD5, SHA-1, RIPEMD-160)");
	if (v.revoked.size > 0)
		return signature_refuse("bad signature: by a revoked key", v.revoked, err);
	if (v.expired.size > 0)
		return signature_refuse("bad signature: it, or its key, has expired:", v.expired,
					err);
	if (v.missing.size > 0)
		return signature_refuse("bad signature: key is not in the keyrings:", v.missing,
					err);
	return ux_error_set(err, UX_EDENIED, "bad signature: missing");
}

/* --- keys in ASCII armour --------------------------------------------------------------------- */

enum ux_code ux_armour_decode(struct ux_bytes text, struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out digits = {0};
	struct ux_bytes line;
	enum {
		BEFORE,
		HEADERS,
		BODY,
		BEHIND
	} at = BEFORE;
	while (at != BEHIND && ux_text_take_line(&text, &line)) {
		while (line.size > 0 && ux_is_space(line.data[line.size - 1]))
			line.size--;
		if (ux_bytes_starts(line, UX_STR("-----")))
			at = at == BEFORE ? HEADERS : BEHIND;
		else if (at == HEADERS && line.size == 0)
			at = BODY;
		else if (at == BODY && line.size > 0 && line.data[0] == '=') /* its checksum */
			at = BEHIND;
		else if (at == BODY)
			ux_out_put(&digits, line.data, line.size);
	}
	UX_TRY(ux_out_status(&digits, err));
	size_t n = 0, max = digits.size;
	uint8_t *bytes = at == BEHIND && max > 0 ? ux_out_room(ret, max) : NULL;
	if (!bytes && ret->failed)
		return ux_error_nomem(err);
	if (!bytes || !ux_base64_decode(ux_out_bytes(&digits), bytes, &n) || n == 0)
		return ux_error_set(err, UX_ECORRUPT, "ASCII armour is missing or damaged");
	ret->size -= max - n;
	return UX_OK;
}

/* --- gpgv ------------------------------------------------------------------------------------- */

/* The files of one run. */
struct gpgv {
	int status, text, signature, output; /* output: the signed text; -1: not used */
	int keys[UX_KEYRINGS_MAX];
	size_t n_keys;
};

static void gpgv_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static void gpgv_deinit(struct gpgv *g)
{
	gpgv_close(&g->status);
	gpgv_close(&g->text);
	gpgv_close(&g->signature);
	gpgv_close(&g->output);
	for (size_t i = 0; i < g->n_keys; i++)
		gpgv_close(&g->keys[i]);
}

/* Writes bytes to a file without a name. */
static enum ux_code gpgv_file(int *ret, struct ux_bytes bytes, struct ux_error *err)
{
	UX_TRY(ux_file_temporary(ret, err));
	return bytes.size > 0 ? ux_file_write_at(*ret, 0, bytes, err) : UX_OK;
}

static enum ux_code gpgv_add_keyring(struct gpgv *g, const char *path, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_out_deinit) struct ux_out bytes = {0};
	struct ux_error why = UX_ERROR_INIT;
	if (ux_file_map(path, &file, &why) != UX_OK || file.bytes.size > KEYRING_MAX)
		return ux_error_set(err, UX_EINVAL, "cannot read the keyring %.100s", path);
	struct ux_bytes keys = file.bytes;
	if (ux_bytes_starts(keys, UX_STR("-----"))) {
		if (ux_armour_decode(keys, &bytes, &why) != UX_OK)
			return ux_error_set(err, UX_EINVAL, "the keyring %.100s is damaged", path);
		keys = ux_out_bytes(&bytes);
	}
	g->keys[g->n_keys] = -1;
	return gpgv_file(&g->keys[g->n_keys++], keys, err);
}

static enum ux_code gpgv_set_up(struct gpgv *g, const struct ux_keyrings *keys,
				struct ux_bytes text, struct ux_bytes signature,
				struct ux_error *err)
{
	if (keys->n == 0)
		return ux_error_set(err, UX_EINVAL,
				    "no trusted keys; name a keyring with --keyring");
	if (keys->n > UX_KEYRINGS_MAX)
		return ux_error_set(err, UX_ELIMIT, "%zu keyrings; the limit is %u", keys->n,
				    (unsigned)UX_KEYRINGS_MAX);
	if (text.size > UX_SIGNED_BYTES_MAX || signature.size > UX_SIGNED_BYTES_MAX)
		return ux_error_set(err, UX_ELIMIT, "the signed file exceeds 32 MiB");
	for (size_t i = 0; i < keys->n; i++)
		UX_TRY(gpgv_add_keyring(g, keys->paths[i], err));
	UX_TRY(gpgv_file(&g->status, UX_BYTES_NONE, err));
	UX_TRY(gpgv_file(&g->text, text, err));
	return signature.size > 0 ? gpgv_file(&g->signature, signature, err)
				  : gpgv_file(&g->output, UX_BYTES_NONE, err);
}

/* Moves the descriptors up first, so that none of them has a number that another one needs. */
static int gpgv_actions(posix_spawn_file_actions_t *a, const struct gpgv *g, int *moved,
			size_t *n_moved)
{
	const int from[] = {g->status, g->text, g->signature};
	int r = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = g->output >= 0
			    ? posix_spawn_file_actions_adddup2(a, g->output, 1)
			    : posix_spawn_file_actions_addopen(a, 1, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < ux_countof(from) + g->n_keys && r == 0; i++) {
		int fd = i < ux_countof(from) ? from[i] : g->keys[i - ux_countof(from)];
		if (fd < 0)
			continue;
		moved[*n_moved] = fcntl(fd, F_DUPFD_CLOEXEC, KEYS_FD + UX_KEYRINGS_MAX);
		if (moved[*n_moved] < 0)
			return errno;
		r = posix_spawn_file_actions_adddup2(a, moved[(*n_moved)++], STATUS_FD + (int)i);
	}
	return r == 0 ? posix_spawn_file_actions_addopen(a, 2, "/dev/null", O_WRONLY, 0) : r;
}

static int gpgv_spawn(const struct gpgv *g, pid_t *ret)
{
	static char name[] = "gpgv", status[] = "--status-fd=3", output[] = "--output=-";
	static char lang[] = "LC_ALL=C", path[] = "PATH=/usr/bin:/bin:/usr/local/bin";
	static char keyring[] = "--keyring", text[] = "/proc/self/fd/4", sig[] = "/proc/self/fd/5";
	char paths[UX_KEYRINGS_MAX][PATH_BYTES];
	char *argv[2 * UX_KEYRINGS_MAX + 8], *envp[] = {lang, path, NULL};
	int moved[UX_KEYRINGS_MAX + 3];
	size_t n = 0, n_moved = 0;
	posix_spawn_file_actions_t actions;
	argv[n++] = name;
	argv[n++] = status;
	if (g->output >= 0)
		argv[n++] = output;
	for (size_t i = 0; i < g->n_keys; i++) {
		snprintf(paths[i], PATH_BYTES, "/proc/self/fd/%u", KEYS_FD + (unsigned)i);
		argv[n++] = keyring;
		argv[n++] = paths[i];
	}
	if (g->signature >= 0)
		argv[n++] = sig;
	argv[n++] = text;
	argv[n] = NULL;
	int r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return r;
	r = gpgv_actions(&actions, g, moved, &n_moved);
	if (r == 0)
		r = posix_spawnp(ret, name, &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < n_moved; i++)
		(void)close(moved[i]);
	return r;
}

/* Waits for the child, and kills it if it takes too long. False: it was killed. */
static bool gpgv_wait(pid_t pid)
{
	int handle = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;
	struct pollfd p = {.fd = handle, .events = POLLIN};
	int64_t end = ux_clock_ms() + GPGV_S * INT64_C(1000);
	bool ended = handle < 0;
	while (!ended && ux_clock_ms() < end)
		ended = poll(&p, 1, (int)ux_max(end - ux_clock_ms(), (int64_t)0)) == 1;
	if (!ended)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	gpgv_close(&handle);
	return ended;
}

static enum ux_code gpgv_run(const struct gpgv *g, struct ux_error *err)
{
	pid_t pid = 0;
	ux_cleanup(ux_file_unmap) struct ux_mapping status = {0};
	int r = gpgv_spawn(g, &pid);
	if (r == ENOENT)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "cannot check signatures: gpgv is not installed");
	if (r != 0)
		return ux_error_os(err, r, "cannot start gpgv");
	if (!gpgv_wait(pid))
		return ux_error_set(err, UX_EUNAVAILABLE, "gpgv exceeded its timeout of %d s",
				    GPGV_S);
	UX_TRY(ux_file_map_fd(g->status, &status, err));
	if (status.bytes.size > STATUS_MAX)
		return ux_error_set(err, UX_ELIMIT, "the status output of gpgv exceeds 1 MiB");
	return ux_signature_status(status.bytes, err);
}

#define GPGV_INIT                                                       \
	{                                                               \
		.status = -1, .text = -1, .signature = -1, .output = -1 \
	}

enum ux_code ux_signature_clear(const struct ux_keyrings *keys, struct ux_bytes text,
				struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(gpgv_deinit) struct gpgv g = GPGV_INIT;
	ux_cleanup(ux_file_unmap) struct ux_mapping output = {0};
	if (!ux_bytes_starts(text, UX_STR("-----BEGIN PGP SIGNED MESSAGE-----")))
		return ux_error_set(
			err, UX_ECORRUPT,
			"not a signed text; expected \"-----BEGIN PGP SIGNED MESSAGE-----\"");
	UX_TRY(gpgv_set_up(&g, keys, text, UX_BYTES_NONE, err));
	UX_TRY(gpgv_run(&g, err));
	UX_TRY(ux_file_map_fd(g.output, &output, err));
	ux_out_put(ret, output.bytes.data, output.bytes.size);
	return ux_out_status(ret, err);
}

enum ux_code ux_signature_detached(const struct ux_keyrings *keys, struct ux_bytes text,
				   struct ux_bytes signature, struct ux_error *err)
{
	ux_cleanup(gpgv_deinit) struct gpgv g = GPGV_INIT;
	if (signature.size == 0)
		return ux_error_set(err, UX_EDENIED, "bad signature: missing");
	UX_TRY(gpgv_set_up(&g, keys, text, signature, err));
	return gpgv_run(&g, err);
}

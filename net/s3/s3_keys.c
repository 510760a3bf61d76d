/* SPDX-License-Identifier: Apache-2.0 */
/* Loads access keys. */
#include "s3_keys.h"

#include "file.h"
#include "text.h"

static void s3_key_forget(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(ux_take(text));
}

void ux_s3_keys_deinit(struct ux_s3_keys *keys)
{
	s3_key_forget(&keys->id);
	s3_key_forget(&keys->secret);
	s3_key_forget(&keys->session);
}

/* Sets *to to a copy of the value; an empty value counts as absent. */
static enum ux_code s3_key_keep(char **to, struct ux_bytes value, struct ux_error *err)
{
	for (size_t i = 0; i < value.size; i++)
		if (value.data[i] <= ' ' || value.data[i] >= 0x7f)
			return ux_error_set(err, UX_EINVAL, "an access key has an invalid byte");
	s3_key_forget(to);
	if (value.size == 0)
		return UX_OK;
	*to = strndup((const char *)value.data, value.size);
	return *to ? UX_OK : ux_error_nomem(err);
}

static enum ux_code s3_keys_check(const struct ux_s3_keys *keys, struct ux_error *err)
{
	if (!keys->id != !keys->secret)
		return ux_error_set(err, UX_EINVAL, "the %s of the access key is missing",
				    keys->id ? "secret" : "ID");
	return UX_OK;
}

static enum ux_code s3_keys_of_environment(struct ux_s3_keys *ret, struct ux_error *err)
{
	const char *id = getenv("AWS_ACCESS_KEY_ID");
	const char *secret = getenv("AWS_SECRET_ACCESS_KEY");
	const char *session = getenv("AWS_SESSION_TOKEN");
	UX_TRY(s3_key_keep(&ret->id, ux_bytes_cstr(id ? id : ""), err));
	UX_TRY(s3_key_keep(&ret->secret, ux_bytes_cstr(secret ? secret : ""), err));
	UX_TRY(s3_key_keep(&ret->session, ux_bytes_cstr(session ? session : ""), err));
	return s3_keys_check(ret, err);
}

/* Returns the line without the blanks at its ends. */
static struct ux_bytes s3_keys_trim(struct ux_bytes line)
{
	if (line.size > 0 && line.data[line.size - 1] == '\r')
		line.size--;
	return ux_trim(line);
}

static enum ux_code s3_keys_take(struct ux_s3_keys *to, struct ux_bytes line, struct ux_error *err)
{
	const uint8_t *equals = memchr(line.data, '=', line.size);
	if (!equals)
		return UX_OK;
	size_t n = (size_t)(equals - line.data);
	struct ux_bytes name = ux_trim(ux_bytes(line.data, n));
	struct ux_bytes value = ux_trim(ux_bytes(equals + 1, line.size - n - 1));
	if (ux_bytes_eq(name, ux_bytes_cstr("aws_access_key_id")))
		return s3_key_keep(&to->id, value, err);
	if (ux_bytes_eq(name, ux_bytes_cstr("aws_secret_access_key")))
		return s3_key_keep(&to->secret, value, err);
	if (ux_bytes_eq(name, ux_bytes_cstr("aws_session_token")))
		return s3_key_keep(&to->session, value, err);
	return UX_OK;
}

enum ux_code ux_s3_keys_parse(struct ux_bytes text, struct ux_s3_keys *ret, struct ux_error *err)
{
	ux_cleanup(ux_s3_keys_deinit) struct ux_s3_keys keys = {0};
	bool ours = true;
	struct ux_bytes line;
	while (ux_text_take_line(&text, &line)) {
		line = s3_keys_trim(line);
		if (line.size > 0 && line.data[0] == '[')
			ours = ux_bytes_eq(line, ux_bytes_cstr("[default]"));
		else if (ours && line.size > 0 && line.data[0] != '#' && line.data[0] != ';')
			UX_TRY(s3_keys_take(&keys, line, err));
	}
	UX_TRY(s3_keys_check(&keys, err));
	if (!keys.id)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the section [default] has no aws_access_key_id");
	*ret = keys;
	keys = (struct ux_s3_keys){0};
	return UX_OK;
}

enum ux_code ux_s3_keys_load(const char *file, struct ux_s3_keys *ret, struct ux_error *err)
{
	ux_cleanup(ux_s3_keys_deinit) struct ux_s3_keys keys = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping text = {0};
	if (!file) {
		UX_TRY(s3_keys_of_environment(&keys, err));
	} else {
		UX_TRY(ux_file_map(file, &text, err));
		if (text.bytes.size > UX_S3_KEYS_FILE_MAX)
			return ux_error_set(err, UX_ELIMIT,
					    "%.80s is too large for an access key file", file);
		UX_TRY(ux_s3_keys_parse(text.bytes, &keys, err));
	}
	*ret = keys;
	keys = (struct ux_s3_keys){0};
	return UX_OK;
}

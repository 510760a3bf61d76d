/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the server about files, kept on disk for the next run of the agent. */
#include "agent_state.h"

#include "clock.h"
#include "cursor.h"
#include "file.h"
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <unistd.h>

enum {
	CHECK_SIZE = 4, /* bytes of a record's checksum, at its end */
	CHECKED_SIZE = UX_AGENT_RECORD_SIZE - CHECK_SIZE,
	/* answers expire spread over this part of their lifetime, not all together */
	SPREAD_SHARE = 8,
};

#define NUMBER_END (UINT64_C(1) << UX_AGENT_NUMBER_BITS)

/* The first record of the file. Its last digit is the version of the format. */
static const char state_magic[UX_AGENT_RECORD_SIZE] = "unhex agent: known files, v2\n";
#define MAGIC_NAME "unhex agent: known files, v"

/* On disk: the time as 32 bits, then `known` in the highest byte of 64 bits above the number. */
struct known_value {
	int64_t at_s;
	uint64_t number;
	enum ux_agent_known known;
};
static_assert(UX_AGENT_KEY_SIZE + sizeof(uint32_t) + sizeof(uint64_t) == CHECKED_SIZE,
	      "a record has no room to spare");

/* --- keys ------------------------------------------------------------------------------------- */

static struct ux_agent_key state_key(const struct ux_agent_state *s, const char *kind,
				     struct ux_bytes what)
{
	struct ux_agent_key key;
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, strlen(s->url) + 1, (const uint8_t *)s->url);
	sha256_update(&sha, strlen(kind) + 1, (const uint8_t *)kind);
	sha256_update(&sha, what.size, what.data);
	sha256_digest(&sha, sizeof(digest), digest);
	memcpy(key.bytes, digest, sizeof(key.bytes));
	return key;
}

struct ux_agent_key ux_agent_file_key(const struct ux_agent_state *s,
				      const struct ux_mapped_key *file)
{
	const uint64_t numbers[] = {file->dev, file->ino, file->size, (uint64_t)file->mtime_ns};
	return state_key(s, "file", ux_bytes((const uint8_t *)numbers, sizeof(numbers)));
}

struct ux_agent_key ux_agent_id_key(const struct ux_agent_state *s, const struct ux_id *id,
				    enum ux_trust trust)
{
	char text[UX_ID_TEXT], whole[UX_ID_TEXT + 32];
	snprintf(whole, sizeof(whole), "%s %s", ux_trust_name(trust), ux_id_format(id, text));
	return state_key(s, "id", ux_bytes_cstr(whole));
}

struct ux_agent_key ux_agent_number_key(const struct ux_agent_state *s, const char *kind,
					const uint64_t *numbers, size_t n)
{
	return state_key(s, kind, ux_bytes((const uint8_t *)numbers, n * sizeof(*numbers)));
}

/* --- records ---------------------------------------------------------------------------------- */

static void state_checksum(const uint8_t *record, uint8_t ret[CHECK_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, CHECKED_SIZE, record);
	sha256_digest(&sha, sizeof(digest), digest);
	memcpy(ret, digest, CHECK_SIZE);
}

static void state_write_record(struct ux_out *out, struct ux_bytes key,
			       const struct known_value *value)
{
	uint8_t check[CHECK_SIZE];
	size_t start = out->size;
	ux_out_put(out, key.data, key.size);
	ux_out_u32(out, (uint32_t)value->at_s);
	ux_out_u64(out, (uint64_t)value->known << UX_AGENT_NUMBER_BITS | value->number);
	if (out->failed)
		return;
	state_checksum(out->data + start, check);
	ux_out_put(out, check, sizeof(check));
}

/* False: the record is damaged. */
static bool state_read_record(struct ux_bytes record, struct ux_agent_key *ret_key,
			      struct known_value *ret)
{
	uint8_t check[CHECK_SIZE];
	struct ux_cur c = ux_cur_make(record, "record", false);
	struct ux_bytes key = ux_cur_take(&c, UX_AGENT_KEY_SIZE);
	uint32_t at = ux_cur_u32(&c);
	uint64_t number = ux_cur_u64(&c);
	uint64_t known = number >> UX_AGENT_NUMBER_BITS;
	if (c.failed || known == UX_AGENT_UNKNOWN || known >= UX_AGENT_KNOWN_COUNT)
		return false;
	state_checksum(record.data, check);
	if (memcmp(check, record.data + CHECKED_SIZE, CHECK_SIZE) != 0)
		return false;
	memcpy(ret_key->bytes, key.data, key.size);
	*ret = (struct known_value){.at_s = at,
				    .number = number & (NUMBER_END - 1),
				    .known = (enum ux_agent_known)known};
	return true;
}

static struct known_value *state_value(struct ux_agent_state *s, const struct ux_agent_key *key)
{
	struct ux_bytes bytes = ux_bytes(key->bytes, sizeof(key->bytes));
	return ux_cache_insert(&s->known, bytes, 0, UX_CACHE_FOREVER, NULL);
}

enum ux_code ux_agent_state_parse(struct ux_agent_state *s, struct ux_bytes file,
				  uint64_t *ret_damaged, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(file, "known files", false);
	*ret_damaged = 0;
	if (file.size == 0)
		return UX_OK;
	struct ux_bytes magic = ux_cur_take(&c, UX_AGENT_RECORD_SIZE);
	if (c.failed || !ux_bytes_starts(magic, UX_STR(MAGIC_NAME)))
		return ux_error_set(err, UX_EUNSUPPORTED, "not a list of known files of an agent");
	/* Losing the records of another version costs only queries. */
	bool other = memcmp(magic.data, state_magic, sizeof(state_magic)) != 0;
	*ret_damaged = other;
	while (!other && ux_cur_more(&c)) {
		struct ux_agent_key key;
		struct known_value value;
		size_t some = ux_min(ux_cur_left(&c), (size_t)UX_AGENT_RECORD_SIZE);
		struct ux_bytes record = ux_cur_take(&c, some);
		if (some < UX_AGENT_RECORD_SIZE || !state_read_record(record, &key, &value)) {
			++*ret_damaged;
			continue;
		}
		struct known_value *to = state_value(s, &key);
		if (!to)
			return ux_error_nomem(err);
		*to = value;
		s->records++;
	}
	return UX_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

static uint64_t state_rewrite_at(const struct ux_agent_state *s)
{
	return 2 * (uint64_t)s->known.n + UX_AGENT_STATE_SLACK;
}

/* Rewrites the file with all answers, the least recently used first, so that reading restores their
 * order. */
static enum ux_code state_rewrite(struct ux_agent_state *s, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_file_new_deinit) struct ux_file_new file = UX_FILE_NEW_INIT;
	ux_out_put(&out, state_magic, sizeof(state_magic));
	for (const struct known_value *v = NULL; (v = ux_cache_next(&s->known, v));)
		state_write_record(&out, ux_cache_key(&s->known, v), v);
	UX_TRY(ux_out_status(&out, err));
	UX_TRY(ux_file_new_open(&file, s->path, err));
	UX_TRY(ux_file_write(file.fd, ux_out_bytes(&out), err));
	UX_TRY(ux_file_new_commit(&file, /* sync= */ true, err));
	int fd = open(s->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open %s", s->path);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = fd;
	s->records = s->known.n;
	return UX_OK;
}

/* Appends the record after the last complete one. */
static enum ux_code state_append(struct ux_agent_state *s, const struct ux_agent_key *key,
				 const struct known_value *value, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	state_write_record(&out, ux_bytes(key->bytes, sizeof(key->bytes)), value);
	UX_TRY(ux_out_status(&out, err));
	UX_TRY(ux_file_write_at(s->fd, (s->records + 1) * UX_AGENT_RECORD_SIZE, ux_out_bytes(&out),
				err));
	s->records++;
	return UX_OK;
}

static enum ux_code state_read(struct ux_agent_state *s, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	uint64_t damaged = 0;
	if (access(s->path, F_OK) != 0 && errno == ENOENT)
		return state_rewrite(s, err);
	UX_TRY(ux_file_map(s->path, &file, err));
	UX_TRY(ux_agent_state_parse(s, file.bytes, &damaged, err));
	if (damaged > 0 || file.bytes.size == 0 || s->records > state_rewrite_at(s))
		return state_rewrite(s, err);
	s->fd = open(s->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return s->fd >= 0 ? UX_OK : ux_error_os(err, errno, "cannot open %s", s->path);
}

enum ux_code ux_agent_state_open(struct ux_agent_state *s, const char *path, const char *url,
				 struct ux_error *err)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct known_value),
					   .entries_max = UX_AGENT_KNOWN_MAX,
					   .key_size = UX_AGENT_KEY_SIZE};
	*s = UX_AGENT_STATE_INIT;
	s->url = strdup(url);
	s->path = path ? strdup(path) : NULL;
	if (!s->url || (path && !s->path) || !ux_cache_init(&s->known, &opts)) {
		ux_agent_state_close(s);
		return ux_error_nomem(err);
	}
	enum ux_code code = s->path ? state_read(s, err) : UX_OK;
	if (code != UX_OK)
		ux_agent_state_close(s);
	s->rewrite_at = code == UX_OK ? state_rewrite_at(s) : 0;
	return code;
}

void ux_agent_state_close(struct ux_agent_state *s)
{
	if (s->fd >= 0)
		close(s->fd);
	ux_cache_deinit(&s->known);
	free(s->path);
	free(s->url);
	*s = UX_AGENT_STATE_INIT;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns the value of a key; NULL: it is unknown, or too old. */
static const struct known_value *state_find(struct ux_agent_state *s, struct ux_agent_key key,
					    int64_t now_s)
{
	const int64_t spread = UX_AGENT_KNOWN_S / SPREAD_SHARE * key.bytes[0] / UINT8_MAX;
	struct known_value *v = ux_cache_find(&s->known, ux_bytes(key.bytes, sizeof(key.bytes)), 0);
	if (!v)
		return NULL;
	v->at_s = ux_min(v->at_s, now_s);
	return now_s - v->at_s < UX_AGENT_KNOWN_S - spread ? v : NULL;
}

enum ux_agent_known ux_agent_state_find(struct ux_agent_state *s, struct ux_agent_key key,
					int64_t now_s)
{
	const struct known_value *v = state_find(s, key, now_s);
	return v ? v->known : UX_AGENT_UNKNOWN;
}

bool ux_agent_state_find_number(struct ux_agent_state *s, struct ux_agent_key key, int64_t now_s,
				uint64_t *ret, int64_t *ret_at_s)
{
	const struct known_value *v = state_find(s, key, now_s);
	if (!v || v->known != UX_AGENT_NUMBER)
		return false;
	*ret = v->number;
	*ret_at_s = v->at_s;
	return true;
}

static void state_put(struct ux_agent_state *s, struct ux_agent_key key, struct known_value value)
{
	value.at_s = ux_min(ux_max(value.at_s, INT64_C(0)), (int64_t)UINT32_MAX);
	struct known_value *to = state_value(s, &key);
	assert(to); /* memory for all answers is reserved */
	*to = value;
	if (s->fd < 0)
		return;
	if (state_append(s, &key, &value, NULL) != UX_OK) {
		s->not_written++;
		return;
	}
	if (s->records > s->rewrite_at) {
		(void)!state_rewrite(s, NULL); /* if it fails, the file stays unchanged */
		s->rewrite_at = ux_max(state_rewrite_at(s), s->records + UX_AGENT_STATE_SLACK);
	}
}

void ux_agent_state_put(struct ux_agent_state *s, struct ux_agent_key key,
			enum ux_agent_known known, int64_t now_s)
{
	state_put(s, key, (struct known_value){.at_s = now_s, .known = known});
}

void ux_agent_state_put_number(struct ux_agent_state *s, struct ux_agent_key key, uint64_t number,
			       int64_t now_s)
{
	if (number < NUMBER_END)
		state_put(s, key,
			  (struct known_value){
				  .at_s = now_s, .number = number, .known = UX_AGENT_NUMBER});
}

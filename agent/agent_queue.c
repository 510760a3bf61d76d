/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of messages: a magic number with the version, the size and checksum of the head, then
 * the head with the quality, the IDs, the path and the origin. The symbols follow unchanged, so
 * that they are sent from the file's pages without a copy in memory. Only this machine reads them,
 * so integers have its byte order.
 */
#include "agent_queue.h"

#include "cursor.h"

#include <nettle/sha2.h>

enum {
	MAGIC_FIRST = 0x31716875, /* "uhq1": without the origin */
	MAGIC = 0x32716875,       /* "uhq2" */
	CHECK_SIZE = 8,
	HEAD_MAX = UX_AGENT_PATH_MAX + UX_ID_SET_MAX * (UX_ID_BYTES_MAX + 2) + 48,
};

static void message_checksum(struct ux_bytes head, uint8_t ret[CHECK_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	sha256_init(&sha);
	sha256_update(&sha, head.size, head.data);
	sha256_digest(&sha, sizeof(digest), digest);
	memcpy(ret, digest, CHECK_SIZE);
}

void ux_agent_message_write_head(struct ux_out *out, const struct ux_agent_message *m)
{
	ux_cleanup(ux_out_deinit) struct ux_out head = {0};
	uint8_t check[CHECK_SIZE];
	size_t path = ux_min(m->path.size, (size_t)UX_AGENT_PATH_MAX);
	ux_out_u8(&head, (uint8_t)m->quality);
	ux_out_u8(&head, (uint8_t)m->ids.size);
	for (size_t i = 0; i < m->ids.size; i++) {
		ux_out_u8(&head, m->ids.ids[i].type);
		ux_out_u8(&head, m->ids.ids[i].size);
		ux_out_put(&head, m->ids.ids[i].bytes, m->ids.ids[i].size);
	}
	ux_out_u16(&head, (uint16_t)path);
	ux_out_put(&head, m->path.data, path);
	ux_out_u8(&head, (uint8_t)m->origin.trust);
	ux_out_u32(&head, m->origin.file_owner);
	ux_out_u32(&head, m->origin.process_owner);
	ux_out_u64(&head, m->origin.mount_namespace);
	message_checksum(ux_out_bytes(&head), check);
	ux_out_u32(out, MAGIC);
	ux_out_u32(out, (uint32_t)head.size);
	ux_out_put(out, check, sizeof(check));
	ux_out_put(out, head.data, head.size);
	out->failed = out->failed || head.failed;
}

static enum ux_code message_parse_ids(struct ux_cur *c, struct ux_id_set *ret, struct ux_error *err)
{
	uint8_t n = ux_cur_u8(c);
	if (n == 0 || n > UX_ID_SET_MAX)
		ux_cur_bad(c, "the number of IDs is 0 or too large");
	for (uint8_t i = 0; i < n && !c->failed; i++) {
		struct ux_id id;
		uint8_t type = ux_cur_u8(c);
		uint8_t size = ux_cur_u8(c);
		struct ux_bytes bytes = ux_cur_take(c, size);
		UX_TRY(ux_cur_status(c, err));
		UX_TRY(ux_id_make((enum ux_id_type)type, bytes, &id, err));
		UX_TRY(ux_id_set_add(ret, &id, err));
	}
	return ux_cur_status(c, err);
}

static void message_parse_origin(struct ux_cur *c, bool first, struct ux_push_origin *ret)
{
	*ret = (struct ux_push_origin){
		.trust = UX_TRUST_USER, .file_owner = UINT32_MAX, .process_owner = UINT32_MAX};
	if (first)
		return;
	uint8_t trust = ux_cur_u8(c);
	if (trust >= UX_TRUST_COUNT)
		ux_cur_bad(c, "unknown level of trust");
	ret->trust = (enum ux_trust)trust;
	ret->file_owner = ux_cur_u32(c);
	ret->process_owner = ux_cur_u32(c);
	ret->mount_namespace = ux_cur_u64(c);
}

enum ux_code ux_agent_message_parse(struct ux_bytes bytes, struct ux_agent_message *ret,
				    struct ux_error *err)
{
	uint8_t check[CHECK_SIZE];
	struct ux_cur c = ux_cur_make(bytes, "queued symbols", false);
	*ret = (struct ux_agent_message){0};
	uint32_t magic = ux_cur_u32(&c);
	uint32_t size = ux_cur_u32(&c);
	struct ux_bytes stored = ux_cur_take(&c, CHECK_SIZE);
	UX_TRY(ux_cur_status(&c, err));
	if (magic != MAGIC && magic != MAGIC_FIRST)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "queued symbols begin with %08" PRIx32 "; expected %08x", magic,
				    MAGIC);
	if (size > HEAD_MAX)
		return ux_error_set(err, UX_ECORRUPT,
				    "the head of queued symbols has %" PRIu32 " bytes", size);
	struct ux_bytes head = ux_cur_take(&c, size);
	UX_TRY(ux_cur_status(&c, err));
	message_checksum(head, check);
	if (memcmp(check, stored.data, CHECK_SIZE) != 0)
		return ux_error_set(err, UX_ECORRUPT, "the head of queued symbols is damaged");
	struct ux_cur h = ux_cur_make(head, "head of queued symbols", false);
	uint8_t quality = ux_cur_u8(&h);
	if (quality >= UX_QUALITY_COUNT)
		ux_cur_bad(&h, "unknown quality");
	UX_TRY(message_parse_ids(&h, &ret->ids, err));
	ret->path = ux_cur_take(&h, ux_cur_u16(&h));
	message_parse_origin(&h, magic == MAGIC_FIRST, &ret->origin);
	if (ux_cur_more(&h))
		ux_cur_bad(&h, "unexpected bytes after the path");
	UX_TRY(ux_cur_status(&h, err));
	ret->quality = (enum ux_quality)quality;
	ret->gsym = ux_cur_take(&c, ux_cur_left(&c));
	return ux_cur_status(&c, err);
}

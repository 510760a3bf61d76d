/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own files: its list of known files, and waiting messages. Both have checksums, which
 * the fuzzer cannot guess; so a message is also read with the correct one.
 */
#include "fuzz.h"

#include "agent_queue.h"
#include "agent_state.h"

#include <nettle/sha2.h>

static void check_message(struct ux_bytes bytes)
{
	struct ux_agent_message m;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (ux_agent_message_parse(bytes, &m, NULL) != UX_OK)
		return;
	fuzz_truth(m.ids.size > 0 && m.quality < UX_QUALITY_COUNT);
	fuzz_truth(m.path.size + m.gsym.size < bytes.size);
	ux_agent_message_write_head(&out, &m);
	struct ux_agent_message again;
	fuzz_truth(ux_agent_message_parse(ux_out_bytes(&out), &again, NULL) == UX_OK);
	fuzz_truth(again.ids.size == m.ids.size && again.quality == m.quality);
}

/* The head begins after 16 bytes: magic number, size, checksum. */
static void check_signed_message(const uint8_t *data, size_t size)
{
	enum {
		BEFORE = 16,
		CHECK = 8
	};
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	uint32_t head = 0;
	if (size < BEFORE)
		return;
	memcpy(&head, data + sizeof(head), sizeof(head));
	if (head > size - BEFORE)
		return;
	uint8_t *copy = malloc(size);
	if (!copy)
		return;
	memcpy(copy, data, size);
	sha256_init(&sha);
	sha256_update(&sha, head, copy + BEFORE);
	sha256_digest(&sha, sizeof(digest), digest);
	memcpy(copy + BEFORE - CHECK, digest, CHECK);
	check_message(ux_bytes(copy, size));
	free(copy);
}

static void check_state(struct ux_bytes bytes)
{
	struct ux_agent_state s;
	uint64_t damaged = 0;
	if (ux_agent_state_open(&s, NULL, "http://server", NULL) != UX_OK)
		return;
	if (ux_agent_state_parse(&s, bytes, &damaged, NULL) == UX_OK)
		fuzz_truth((s.records + damaged) * UX_AGENT_RECORD_SIZE <=
			   bytes.size + UX_AGENT_RECORD_SIZE);
	ux_agent_state_close(&s);
}

FUZZ_TARGET(agent_files)(const uint8_t *data, size_t size)
{
	check_state(ux_bytes(data, size));
	check_message(ux_bytes(data, size));
	check_signed_message(data, size);
	return 0;
}

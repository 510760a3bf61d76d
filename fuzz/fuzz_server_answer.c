/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a server's answer to a push and to a lookup. The first two bytes are the status, low byte
 * first; the rest is the body.
 */
#include "fuzz.h"

#include "http_client.h"
#include "remote.h"
#include "server_answer.h"

enum {
	FRAMES = 4,
	ADDRESSES = 4,
};

static void truths_of_frames(const struct ux_remote *remote)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct ux_frame frames[FRAMES];
		size_t n = ux_remote_frames(remote, i, frames, FRAMES);
		fuzz_truth(n <= FRAMES);
		for (size_t k = 0; k < n; k++)
			fuzz_truth(frames[k].function && frames[k].dir && frames[k].base);
	}
}

FUZZ_TARGET(server_answer)(const uint8_t *data, size_t size)
{
	char word[64];
	if (size < 2)
		return 0;
	struct ux_http_answer answer = {.status = data[0] | (unsigned)data[1] << 8};
	ux_out_put(&answer.body, data + 2, size - 2);
	struct ux_error err = UX_ERROR_INIT;
	json_t *doc = NULL;
	enum ux_code code = ux_server_answer(&answer, &doc, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth((code == UX_OK) == (doc != NULL));
	ux_server_error_word(&answer, word, sizeof(word));
	fuzz_truth(strlen(word) < sizeof(word));
	struct ux_remote remote = {.answer = doc};
	if (doc)
		truths_of_frames(&remote);
	ux_remote_close(&remote);
	struct ux_remote compact = {0};
	ux_out_put(&compact.bytes, data + 2, size - 2);
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_remote_read(&compact, ADDRESSES, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		truths_of_frames(&compact);
	ux_remote_close(&compact);
	ux_http_answer_deinit(&answer);
	return 0;
}

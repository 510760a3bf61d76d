/* SPDX-License-Identifier: Apache-2.0 */
/* Target: XML answers of S3, and files of access keys, chosen by the first byte. */
#include "fuzz.h"

#include "s3_answer.h"
#include "s3_keys.h"

static enum ux_code check_object(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	(void)err;
	++*(unsigned *)ctx;
	fuzz_truth(object->key[0] != '\0' && strlen(object->key) <= UX_S3_KEY_MAX);
	fuzz_truth(strlen(object->upload) <= UX_S3_KEY_MAX);
	return *(unsigned *)ctx == 1000 ? UX_ELIMIT : UX_OK;
}

static void check_answer(struct ux_bytes text)
{
	static struct ux_s3_answer answer;
	struct ux_error err = UX_ERROR_INIT;
	unsigned n = 0;
	enum ux_code code = ux_s3_answer_read(text, &answer, check_object, &n, &err);
	fuzz_truth(code == UX_OK || code == UX_ECORRUPT || code == UX_ELIMIT);
	fuzz_truth(code != UX_ELIMIT || n == 1000);
	fuzz_truth(err.off == UX_ERROR_NO_OFF || err.off <= text.size);
}

static void check_keys(struct ux_bytes text)
{
	struct ux_s3_keys keys = {0};
	if (ux_s3_keys_parse(text, &keys, NULL) != UX_OK)
		return;
	fuzz_truth(keys.id && keys.secret && !strpbrk(keys.id, " \r\n") &&
		   !strpbrk(keys.secret, " \r\n"));
	ux_s3_keys_deinit(&keys);
}

FUZZ_TARGET(s3_answer)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes text = ux_bytes(data + 1, size - 1);
	if (data[0] == 'K')
		check_keys(text);
	else
		check_answer(text);
	return 0;
}

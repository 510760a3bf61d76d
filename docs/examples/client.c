/* SPDX-License-Identifier: Apache-2.0 */
/* client URL ID ADDRESS...: the frames at hexadecimal addresses of a module that a server knows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unhex/client.h>

static int fail(const char *what, const struct ux_error *err)
{
	char text[512];
	fprintf(stderr, "%s: %s\n", what, ux_error_format(err, text, sizeof(text)));
	return 1;
}

static void print(const struct ux_reply *reply, size_t address, const char *text)
{
	struct ux_frame f[UX_FRAMES_MAX];
	size_t n = ux_reply_frames(reply, 0, address, f, UX_FRAMES_MAX);
	if (n == 0)
		printf("%s nothing known\n", text);
	for (size_t k = 0; k < n; k++)
		printf("%s %s %s/%s:%" PRIu32 "%s\n", text, f[k].function, f[k].dir, f[k].base,
		       f[k].line, f[k].inlined ? " inlined" : "");
}

int main(int argc, char **argv)
{
	static const char *const words[] = {"found", "missing", "failed", "pending"};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_client_opts server;
	struct ux_question_opts how;
	struct ux_client *client = NULL;
	struct ux_question *question = NULL;
	struct ux_reply *reply = NULL;
	uint64_t pcs[64];
	size_t n = 0;
	for (; n < 64 && (int)n + 3 < argc; n++)
		pcs[n] = strtoull(argv[n + 3], NULL, 16);
	memset(&server, 0, sizeof(server));
	server.size = sizeof(server);
	server.url = argc > 1 ? argv[1] : "";
	server.token = getenv("UNHEX_TOKEN");
	memset(&how, 0, sizeof(how));
	how.size = sizeof(how);
	how.demangle = UX_DEMANGLE_SHORT;
	if (ux_client_open(&server, &client, &err) != UX_OK)
		return fail(server.url, &err);
	if (ux_question_create(&how, &question, &err) != UX_OK ||
	    ux_question_add(question, argc > 2 ? argv[2] : "", pcs, n, &err) != UX_OK ||
	    ux_client_ask(client, question, &reply, NULL, &err) != UX_OK)
		return fail(argc > 2 ? argv[2] : "", &err);
	struct ux_reply_module module = ux_reply_module_at(reply, 0);
	if (module.status != UX_MODULE_FOUND)
		printf("%s %s %s\n", argv[2], words[module.status], module.reason);
	for (size_t i = 0; i < module.n; i++)
		print(reply, i, argv[i + 3]);
	ux_reply_close(reply);
	ux_question_destroy(question);
	ux_client_close(client);
	return 0;
}

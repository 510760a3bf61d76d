/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server that sends the test's bytes. */
#include "scripted_server.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void script_must(bool ok)
{
	if (!ok)
		abort();
}

static void script_send(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
		text += sent;
		n -= (size_t)sent;
	}
}

/* Reads a request with its body; false at the end of the connection. */
static bool script_read(int fd, char *ret)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	size_t n = 0;
	bool continued = false;
	for (;;) {
		ssize_t got = recv(fd, ret + n, SCRIPT_REQUEST_MAX - 1 - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
		ret[n] = '\0';
		const char *end = strstr(ret, "\r\n\r\n");
		if (!end)
			continue;
		if (!continued && strcasestr(ret, "\r\nExpect: 100-continue\r\n"))
			script_send(fd, go_on, strlen(go_on));
		continued = true;
		const char *length = strcasestr(ret, "\r\nContent-Length: ");
		size_t body = length ? strtoul(length + 18, NULL, 10) : 0;
		if (n >= (size_t)(end + 4 - ret) + body)
			return true;
	}
}

static void script_answer(const struct script_step *step, int fd)
{
	if (!step->answer)
		return;
	usleep(step->delay_ms * 1000);
	script_send(fd, step->answer, strlen(step->answer));
	for (const char *p = step->more ? step->more : ""; *p; p++) {
		usleep(400000);
		script_send(fd, p, 1);
	}
}

static void *script_serve(void *ctx)
{
	struct script *s = ctx;
	while (s->n_done < s->n_steps) {
		int fd = accept(s->listener, NULL, NULL);
		bool open = fd >= 0;
		if (!open)
			return NULL;
		while (open && s->n_done < s->n_steps && script_read(fd, s->requests[s->n_done])) {
			const struct script_step *step = &s->steps[s->n_done++];
			char byte;
			script_answer(step, fd);
			if (step->stall)
				(void)!read(s->stop[0], &byte, 1);
			open = step->answer && !step->close && !step->stall;
		}
		close(fd);
	}
	return NULL;
}

void script_open_at(struct script *s, const struct script_step *steps, size_t n, uint16_t first,
		    uint16_t last)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	memset(s, 0, sizeof(*s));
	s->steps = steps;
	s->n_steps = n;
	script_must(n > 0 && n <= SCRIPT_STEPS_MAX && pipe(s->stop) == 0);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool bound = false;
	for (unsigned port = first; port <= last && !bound; port++) {
		at.sin_port = htons((uint16_t)port);
		bound = bind(s->listener, (struct sockaddr *)&at, size) == 0;
	}
	script_must(bound);
	script_must(listen(s->listener, 8) == 0);
	script_must(getsockname(s->listener, (struct sockaddr *)&at, &size) == 0);
	s->port = ntohs(at.sin_port);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", s->port);
	script_must(pthread_create(&s->thread, NULL, script_serve, s) == 0);
}

void script_open(struct script *s, const struct script_step *steps, size_t n)
{
	script_open_at(s, steps, n, 0, 0);
}

size_t script_close(struct script *s)
{
	shutdown(s->listener, SHUT_RDWR);
	close(s->stop[1]);
	pthread_join(s->thread, NULL);
	close(s->stop[0]);
	close(s->listener);
	return s->n_done;
}

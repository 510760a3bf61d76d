/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the two files that use libmicrohttpd: http_server.c, which runs the daemon, and
 * conversation.c, which handles its requests.
 */
#ifndef UX_CONVERSATION_H
#define UX_CONVERSATION_H

#include "http_server.h"
#include "microhttpd_calls.h"
#include "timer.h"

#include <pthread.h>
#include <stdatomic.h>

struct conversation;

struct ux_http_server {
	const struct ux_http_app *app;
	struct MHD_Daemon *daemon;
	struct ux_acceptor *acceptor; /* NULL: the listening socket is closed */
	struct ux_timers *timers;
	struct ux_connections *connections;
	struct ux_work_queue *work;
	char address[UX_LISTEN_TEXT];
	atomic_bool stopping; /* a hint to add "Connection: close": no memory order needed */
	atomic_bool ending;   /* handlers have to end: no memory order needed */
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t idle;
	/* requests with a received request line and an answer that is not sent yet */
	unsigned in_flight;
	unsigned n_queued; /* suspended requests that wait in the queue */
	struct conversation *suspended;
};

/* The callbacks of the library; ctx is the server. */

/* Called first, with the raw target. If it returns NULL, the next callback refuses the request. */
void *ux_conversation_on_target(void *ctx, const char *target, struct MHD_Connection *connection);

/*
 * Called when the head is complete, for each piece of the body, and after the body until an answer
 * exists.
 */
enum MHD_Result ux_conversation_on_request(void *ctx, struct MHD_Connection *connection,
					   const char *url, const char *method, const char *version,
					   const char *data, size_t *size, void **state);

/* Called after the answer was sent, or the connection has ended. */
void ux_conversation_on_done(void *ctx, struct MHD_Connection *connection, void **state,
			     enum MHD_RequestTerminationCode how);

/* Wakes all waiting requests; they then answer. */
void ux_conversations_resume(struct ux_http_server *s);

/* Tests whether the library passes on heads that it has not read strictly. Version 0.9 does. */
bool ux_mhd_is_lenient(void);

/*
 * Return the socket of a connection, -1: unknown; and the address of its peer. Copies, because the
 * library may reuse the memory for its next answer.
 */
int ux_mhd_socket(struct MHD_Connection *connection);
struct ux_address ux_mhd_peer(struct MHD_Connection *connection);

#endif

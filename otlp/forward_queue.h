/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait in a folder until they were passed on. */
#ifndef UX_FORWARD_QUEUE_H
#define UX_FORWARD_QUEUE_H

#include "file.h"

enum {
	UX_FORWARD_LANES_MOST = 16,
	UX_FORWARD_MESSAGES_MOST = 1 << 20, /* in one folder */
};

/*
 * Each message is a file of the folder, NUMBER-SENDER.pb.gz: a number in the order in which the
 * messages were taken, and a hash of the sender, both in hexadecimal. Messages of one sender are in
 * one lane, whose order is kept. A message that was added is on disk, and stays there until it is
 * removed: whatever ends the process, the next one goes on with it. Any thread.
 */
struct ux_forward_queue;

/* A message at the front of a lane. Zeroed = none. */
struct ux_forward_message {
	uint64_t number;
	struct ux_mapping file; /* a gzip member; unmapped by ux_forward_message_close() */
};

void ux_forward_message_close(struct ux_forward_message *m);

/*
 * Opens a folder, which is created (mode 0700) if it is missing, with the messages that are there.
 * Incomplete files are removed, others stay. bytes_most: of all messages; lanes: 1 to
 * UX_FORWARD_LANES_MOST. UX_ECONFLICT: another process uses the folder. UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_forward_queue_open(struct ux_forward_queue **ret, const char *dir,
				   uint64_t bytes_most, unsigned lanes, struct ux_error *err)
	ux_must;

/* Every thread that waits in ux_forward_queue_front() must have returned. NULL is allowed. */
void ux_forward_queue_close(struct ux_forward_queue *q);

/*
 * Compresses a message and adds it to the lane of its sender. It is durable when this returns.
 * UX_ELIMIT: the queue is full. UX_EIO: it cannot be written. UX_ENOMEM.
 */
enum ux_code ux_forward_queue_add(struct ux_forward_queue *q, uint64_t sender,
				  struct ux_bytes message, struct ux_error *err) ux_must;

/* Is there room for more? A hint, so that work is not done for a message that is refused then. */
bool ux_forward_queue_has_room(struct ux_forward_queue *q);

/*
 * Waits for a message at the front of a lane, and opens it. A file that is gone or cannot be read
 * is left out and counted as lost. UX_EUNAVAILABLE: the queue is stopping.
 */
enum ux_code ux_forward_queue_front(struct ux_forward_queue *q, unsigned lane,
				    struct ux_forward_message *ret, struct ux_error *err) ux_must;

/* Removes the message at the front of a lane, which ux_forward_queue_front() has returned. */
void ux_forward_queue_remove(struct ux_forward_queue *q, unsigned lane);

/* Waits at most that long; false: the queue is stopping. */
bool ux_forward_queue_pause(struct ux_forward_queue *q, int64_t ms);

/* Ends all waiting. Messages can still be added. */
void ux_forward_queue_stop(struct ux_forward_queue *q);
bool ux_forward_queue_is_stopping(struct ux_forward_queue *q);

struct ux_forward_state {
	uint64_t messages;
	uint64_t bytes; /* compressed, in blocks of the file system */
	uint64_t bytes_most;
	uint64_t oldest_s; /* how long the oldest message has been in the queue, in seconds */
	uint64_t lost;     /* files that vanished, or could not be read */
};
struct ux_forward_state ux_forward_queue_state(struct ux_forward_queue *q);

#endif

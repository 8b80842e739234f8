/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - tells the service manager how we are: systemd's datagrams, when NOTIFY_SOCKET says
 * where to. Without it nothing is sent. */
#ifndef QUEUED_NOTIFY_H
#define QUEUED_NOTIFY_H

/* "READY=1", with further lines as sd_notify(3) knows them. */
void notify_state(const char *text);
/* The configuration is being read; READY=1 ends it. */
void notify_reloading(void);

#endif

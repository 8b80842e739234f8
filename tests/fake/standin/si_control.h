/* SPDX-License-Identifier: Apache-2.0 */
/* si_control.h - /_standin/...: what a test may ask of the stand-in beside the Kubernetes API. */
#ifndef QUEUED_STANDIN_CONTROL_H
#define QUEUED_STANDIN_CONTROL_H

#include "standin.h"

/* Serve a path below /_standin/ (req->name). */
void control_serve(struct standin *s, struct request *req);

#endif

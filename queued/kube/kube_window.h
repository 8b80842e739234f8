/* SPDX-License-Identifier: Apache-2.0 */
/* kube_window.h - how many calls may be in flight at a time: as many as the server lets in.
 *
 * Plain arithmetic. A server that says "too many requests" is asked by so many fewer at once, and
 * then, slowly, by more again: what is refused has to wait for a second and more, so that a full
 * window against a small limit would leave the server idle most of the time.
 */
#ifndef QUEUED_KUBE_KUBE_WINDOW_H
#define QUEUED_KUBE_KUBE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

struct kube_window {
    size_t max;      /* never more than this */
    size_t size;     /* 1..max: calls that may be in flight */
    size_t answered; /* since size was changed */
};

void kube_window_init(struct kube_window *w, size_t max);
bool kube_window_has_room(const struct kube_window *w, size_t flying);
/* An answer with this HTTP status came (0: none did) while so many others are in flight. */
void kube_window_note(struct kube_window *w, int status, size_t flying);

#endif

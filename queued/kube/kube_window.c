/* SPDX-License-Identifier: Apache-2.0 */
/* kube_window.c - narrower at each 429, wider after some answers without one. */
#include "kube/kube_window.h"

enum { TOO_MANY_REQUESTS = 429, ANSWERS_PER_CALL = 4 };

void kube_window_init(struct kube_window *w, size_t max)
{
    *w = (struct kube_window){.max = max, .size = max};
}

bool kube_window_has_room(const struct kube_window *w, size_t flying)
{
    return flying < w->size;
}

void kube_window_note(struct kube_window *w, int status, size_t flying)
{
    if (status == TOO_MANY_REQUESTS) {
        /* refusals come first: what is still in flight was let in */
        if (flying < w->size)
            w->size = flying ? flying : 1;
        w->answered = 0;
    } else if (status && w->size < w->max && ++w->answered >= w->size * ANSWERS_PER_CALL) {
        w->size++;
        w->answered = 0;
    }
}

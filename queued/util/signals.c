/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - signals by their names. */
#include "util/signals.h"

#include <signal.h>
#include <string.h>

#include "util/mem.h"

int signal_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},   {"SIGHUP", SIGHUP},
                   {"SIGQUIT", SIGQUIT}, {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};

    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 0;
}

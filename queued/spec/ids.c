/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c - the text form of job ids: base 32 with the digits 0-9a-v, 65 bits wide. */
#include "spec/ids.h"

#include <string.h>

const char *job_id_format(char buf[JOB_ID_TEXT + 1], struct job_id id)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuv";

    for (int i = JOB_ID_TEXT - 1; i >= 0; i--) {
        buf[i] = digits[id.v & 31];
        id.v >>= 5;
    }
    buf[JOB_ID_TEXT] = '\0';
    return buf;
}

int job_id_parse(const char *text, struct job_id *ret)
{
    uint64_t v = 0;

    if (strlen(text) != JOB_ID_TEXT || text[0] < '0' || text[0] > 'f')
        return -1;
    for (int i = 0; i < JOB_ID_TEXT; i++) {
        unsigned digit;

        if (text[i] >= '0' && text[i] <= '9')
            digit = (unsigned)(text[i] - '0');
        else if (text[i] >= 'a' && text[i] <= 'v')
            digit = (unsigned)(text[i] - 'a') + 10;
        else
            return -1;
        v = v << 5 | digit;
    }
    ret->v = v;
    return 0;
}

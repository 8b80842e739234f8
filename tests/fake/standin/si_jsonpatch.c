/* SPDX-License-Identifier: Apache-2.0 */
/* si_jsonpatch.c - JSON patch (RFC 6902): test, add, replace and remove.
 *
 * move and copy are left out: nobody sends them here.
 */
#include "si_jsonpatch.h"

#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_util.h"

/* Next part of a pointer without its escapes, "" at the end. Moves *at. */
static void next_part(const char **at, char out[256])
{
    size_t len = 0;
    const char *p = **at == '/' ? *at + 1 : *at;
    for (; *p != '\0' && *p != '/' && len < 255; p++) {
        if (p[0] == '~' && (p[1] == '0' || p[1] == '1')) {
            out[len++] = p[1] == '0' ? '~' : '/';
            p++;
        } else {
            out[len++] = *p;
        }
    }
    out[len] = '\0';
    *at = p;
}

static cJSON *member(cJSON *parent, const char *part)
{
    if (cJSON_IsArray(parent)) {
        uint64_t index = 0;
        return number_parse(part, &index) == 0 ? cJSON_GetArrayItem(parent, (int)index) : NULL;
    }
    return cJSON_GetObjectItemCaseSensitive(parent, part);
}

static int add(cJSON *parent, const char *part, const cJSON *value)
{
    uint64_t index = 0;
    if (value == NULL || parent == NULL) {
        return -1;
    }
    if (cJSON_IsObject(parent)) {
        json_set_item(parent, part, cJSON_Duplicate(value, true));
    } else if (strcmp(part, "-") == 0) {
        cJSON_AddItemToArray(parent, cJSON_Duplicate(value, true));
    } else if (number_parse(part, &index) == 0) {
        cJSON_InsertItemInArray(parent, (int)index, cJSON_Duplicate(value, true));
    } else {
        return -1;
    }
    return 0;
}

static int apply_one(cJSON *json, const cJSON *operation)
{
    const char *op = json_string(operation, "op");
    const char *at = json_string(operation, "path");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(operation, "value");
    char part[256];
    cJSON *parent = json;
    next_part(&at, part);
    while (*at != '\0') {
        parent = member(parent, part);
        next_part(&at, part);
    }
    cJSON *target = parent != NULL ? member(parent, part) : NULL;
    if (strcmp(op, "add") == 0) {
        return add(parent, part, value);
    }
    if (target == NULL) {
        return -1;
    }
    if (strcmp(op, "test") == 0) {
        return cJSON_Compare(target, value, true) ? 0 : -1;
    }
    if (strcmp(op, "remove") == 0) {
        cJSON_Delete(cJSON_DetachItemViaPointer(parent, target));
        return 0;
    }
    if (strcmp(op, "replace") == 0 && value != NULL) {
        if (cJSON_IsObject(parent)) {
            return add(parent, part, value);
        }
        cJSON_ReplaceItemViaPointer(parent, target, cJSON_Duplicate(value, true));
        return 0;
    }
    return -1;
}

int jsonpatch_apply(cJSON *json, const cJSON *operations)
{
    const cJSON *operation = NULL;
    cJSON_ArrayForEach(operation, operations)
    {
        if (apply_one(json, operation) != 0) {
            return -1;
        }
    }
    return 0;
}

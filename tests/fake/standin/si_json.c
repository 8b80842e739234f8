/* SPDX-License-Identifier: Apache-2.0 */
/* si_json.c - short ways to read and change cJSON objects, for the stand-in API server.
 *
 * Plain wrappers of cJSON with case-sensitive keys throughout.
 */
#include "si_json.h"

#include <stddef.h>

#include "si_util.h"

cJSON *json_at(const cJSON *json, const char *a, const char *b)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, a), b);
}

const char *json_text(const cJSON *json, const char *a, const char *b)
{
    const cJSON *item = json_at(json, a, b);
    return cJSON_IsString(item) ? item->valuestring : "";
}

const char *json_string(const cJSON *json, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

double json_number(const cJSON *json, const char *key, double other)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNumber(item) ? item->valuedouble : other;
}

void json_set_item(cJSON *json, const char *key, cJSON *item)
{
    if (cJSON_GetObjectItemCaseSensitive(json, key) != NULL) {
        cJSON_ReplaceItemInObjectCaseSensitive(json, key, item);
    } else {
        cJSON_AddItemToObject(json, key, item);
    }
}

void json_set(cJSON *json, const char *key, const char *value)
{
    json_set_item(json, key, cJSON_CreateString(value));
}

void json_set_number(cJSON *json, const char *key, double value)
{
    json_set_item(json, key, cJSON_CreateNumber(value));
}

void json_default(cJSON *json, const char *key, const char *value)
{
    if (cJSON_GetObjectItemCaseSensitive(json, key) == NULL) {
        json_set(json, key, value);
    }
}

void json_default_item(cJSON *json, const char *key, cJSON *item)
{
    if (cJSON_GetObjectItemCaseSensitive(json, key) == NULL) {
        cJSON_AddItemToObject(json, key, item);
    } else {
        cJSON_Delete(item);
    }
}

cJSON *json_object(cJSON *json, const char *key)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsObject(item)) {
        item = cJSON_CreateObject();
        json_set_item(json, key, item);
    }
    return item;
}

cJSON *json_array(cJSON *json, const char *key)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsArray(item)) {
        item = cJSON_CreateArray();
        json_set_item(json, key, item);
    }
    return item;
}

uint32_t json_gpus(const cJSON *resources)
{
    uint64_t value = 0;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(resources, "nvidia.com/gpu");
    if (cJSON_IsString(item) && number_parse(item->valuestring, &value) == 0) {
        return (uint32_t)value;
    }
    return cJSON_IsNumber(item) && item->valueint > 0 ? (uint32_t)item->valueint : 0;
}

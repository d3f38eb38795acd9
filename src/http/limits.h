#ifndef BRIG_HTTP_LIMITS_H
#define BRIG_HTTP_LIMITS_H

#include "http/http.h"

/* Sets those that are 0. */
void limits_complete(struct http_limits *limits);
#endif

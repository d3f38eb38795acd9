/* The first gate of a head: see head_guard.h. */
#include "http/head_guard.h"

#include "http/characters.h"

static enum head_guard_step wrong(const char **why, const char *text)
{
	*why = text;
	return HEAD_GUARD_WRONG;
}

static enum head_guard_step go(struct head_guard *guard, enum head_guard_place place)
{
	guard->place = place;
	return HEAD_GUARD_MORE;
}

static enum head_guard_step take_request(struct head_guard *guard, unsigned char c,
					 const char **why)
{
	if (c == '\r') {
		return go(guard, HEAD_GUARD_LINE_END);
	}
	if (c == '\n') {
		return wrong(why, "a line of the head does not end with CR LF");
	}
	if (c < 0x20 || c >= 0x7f) {
		return wrong(why, "the request line has a character that is not allowed there");
	}
	return HEAD_GUARD_MORE;
}

static enum head_guard_step take_line(struct head_guard *guard, unsigned char c, const char **why)
{
	if (c == '\r') {
		return go(guard, HEAD_GUARD_HEAD_END);
	}
	if (character_is_space(c)) {
		return wrong(why, "a header is continued on a second line");
	}
	if (!character_is_token(c)) {
		return wrong(why, "a header's name is not a token");
	}
	return go(guard, HEAD_GUARD_NAME);
}

static enum head_guard_step take_name(struct head_guard *guard, unsigned char c, const char **why)
{
	if (c == ':') {
		return go(guard, HEAD_GUARD_VALUE);
	}
	if (character_is_space(c)) {
		return wrong(why, "there is a space before the colon of a header");
	}
	if (!character_is_token(c)) {
		return wrong(why, "a header's name is not a token");
	}
	return HEAD_GUARD_MORE;
}

static enum head_guard_step take_value(struct head_guard *guard, unsigned char c, const char **why)
{
	if (c == '\r') {
		return go(guard, HEAD_GUARD_LINE_END);
	}
	if (c == '\n') {
		return wrong(why, "a line of the head does not end with CR LF");
	}
	if (!character_is_value(c)) {
		return wrong(why, "a header's value has a control character");
	}
	return HEAD_GUARD_MORE;
}

enum head_guard_step head_guard_take(struct head_guard *guard, unsigned char c, const char **why)
{
	switch (guard->place) {
	case HEAD_GUARD_REQUEST:
		return take_request(guard, c, why);
	case HEAD_GUARD_LINE:
		return take_line(guard, c, why);
	case HEAD_GUARD_NAME:
		return take_name(guard, c, why);
	case HEAD_GUARD_VALUE:
		return take_value(guard, c, why);
	case HEAD_GUARD_LINE_END:
	case HEAD_GUARD_HEAD_END:
		break;
	}
	if (c != '\n') {
		return wrong(why, "a CR in the head is not followed by LF");
	}
	if (guard->place == HEAD_GUARD_HEAD_END) {
		return HEAD_GUARD_DONE;
	}
	guard->place = HEAD_GUARD_LINE;
	guard->lines++;
	return HEAD_GUARD_LINE_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing the rounds of the loop: see turns.h. */
#include "front/execution/turns.h"

static void arm(struct turns *turns)
{
	/* Without memory for a timer, the next stream that spends something sets it. */
	if (!turns->timer.place) {
		(void)loop_timer_set(turns->loop, &turns->timer, 0);
	}
}

static void round_over(void *user)
{
	struct turns *turns = user;

	turns->used = 0;
	while (turns->first && turns_left(turns)) {
		struct turn *turn = turns->first;

		turn_leave(turn);
		turn->due(turn->user);
	}
	if (turns->used || turns->first) {
		arm(turns);
	}
}

void turns_init(struct turns *turns, struct loop *loop)
{
	*turns = (struct turns){ .loop = loop };
	turns->timer.due = round_over;
	turns->timer.user = turns;
	turns->last = &turns->first;
}

void turns_done(struct turns *turns)
{
	loop_timer_clear(&turns->timer);
}

bool turns_left(const struct turns *turns)
{
	return turns->used < TURN_BYTES;
}

/* Every action has a minimum cost, however short it is. */
void turns_spend(struct turns *turns, size_t bytes)
{
	turns->used += bytes + 256;
	arm(turns);
}

void turn_join(struct turns *turns, struct turn *turn)
{
	if (turn->link) {
		return;
	}
	turn->turns = turns;
	turn->next = NULL;
	turn->link = turns->last;
	*turns->last = turn;
	turns->last = &turn->next;
	arm(turns);
}

void turn_leave(struct turn *turn)
{
	if (!turn->link) {
		return;
	}
	*turn->link = turn->next;
	if (turn->next) {
		turn->next->link = turn->link;
	} else {
		turn->turns->last = turn->link;
	}
	turn->link = NULL;
}

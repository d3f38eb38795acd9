/* SPDX-License-Identifier: Apache-2.0 */
/* brig's own terminal: see screen.h. */
#include "cli/run/screen.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

int screen_check(struct brig_request *request, struct brig_error *err)
{
	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
		int r = error_set(err, BRIG_E_INPUT, ENOTTY,
				  "-it: stdin and stdout are not a terminal");
		error_remedy(err, "leave out -it: streams pass through without it");
		return r;
	}
	request->terminal = true;
	screen_size(&request->terminal_rows, &request->terminal_columns);
	return 0;
}

void screen_size(uint16_t *ret_rows, uint16_t *ret_columns)
{
	struct winsize window = { 0 };

	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &window);
	*ret_rows = window.ws_row;
	*ret_columns = window.ws_col;
}

int screen_take(struct screen *screen, struct brig_error *err)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &screen->before) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot read the terminal's modes");
	}
	raw = screen->before;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot set the terminal's modes");
	}
	screen->raw = true;
	return 0;
}

void screen_give_back(struct screen *screen)
{
	if (screen->raw) {
		/* Flushed: answers and keys that were for the program must not reach the shell. */
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
		screen->raw = false;
	}
}

# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person at a terminal of 24 lines and 80 columns sees: enough of ECMA-48 for firmware's consoles."""

import re

ROWS, COLUMNS = 24, 80

_token = re.compile(r"\x1b\[([0-9;?=]*)([A-Za-z])|\x1b[()].|\x1b[^\[()]|\x1b\[?[0-9;?=]*$|\x1b[()]?$|[\s\S]")


class Screen:
    def __init__(self):
        self.cells = [[" "] * COLUMNS for _ in range(ROWS)]
        self.reverse = [[False] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self.reversed = False
        self.background = self.foreground = None
        self.rest = ""
        self.sent = 0  # characters so far, to tell what an action costs
        self.replies = []

    def feed(self, text):
        self.sent += len(text)
        text, self.rest = self.rest + text, ""
        for token in _token.finditer(text):
            t = token.group()
            if t[0] == "\x1b" and (t in ("\x1b", "\x1b(", "\x1b)") or t.startswith("\x1b[") and not token.group(2)):
                self.rest = t
            elif token.group(2):
                self._control(token.group(1), token.group(2))
            elif t[0] != "\x1b":
                self._put(t)

    def _control(self, arguments, final):
        if arguments[:1] in ("?", "="):
            return
        numbers = [int(a) if a else 0 for a in arguments.split(";")]
        first = numbers[0]
        if final in "Hf":
            self.row = min(max(first, 1), ROWS) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), COLUMNS) - 1
        elif final == "J" and first == 2:
            self._erase(0, 0, ROWS, 0)
        elif final == "J" and first == 0:
            self._erase(self.row, self.column, ROWS, 0)
        elif final == "K":
            self._erase(self.row, self.column if first == 0 else 0, self.row + 1, 0)
        elif final in "ABCD":
            n = max(first, 1)
            self.row = min(max(self.row + {"A": -n, "B": n}.get(final, 0), 0), ROWS - 1)
            self.column = min(max(self.column + {"C": n, "D": -n}.get(final, 0), 0), COLUMNS - 1)
        elif final == "n" and first == 6:
            self.replies.append(f"\x1b[{self.row + 1};{self.column + 1}R")
        elif final == "m":
            for n in numbers:
                if n == 0:
                    self.reversed, self.foreground, self.background = False, None, None
                elif n in (7, 27):
                    self.reversed = n == 7
                elif 30 <= n <= 37:
                    self.foreground = n - 30
                elif 40 <= n <= 47:
                    self.background = n - 40

    def _erase(self, row, column, to_row, to_column):
        while (row, column) < (to_row, to_column):
            self.cells[row][column], self.reverse[row][column] = " ", False
            row, column = (row, column + 1) if column + 1 < COLUMNS else (row + 1, 0)

    def _put(self, c):
        if c == "\r":
            self.column = 0
        elif c == "\n":
            self._line_feed()
        elif c == "\b":
            self.column = max(self.column - 1, 0)
        elif c >= " ":
            if self.column == COLUMNS:
                self.column = 0
                self._line_feed()
            self.cells[self.row][self.column] = c
            # Firmware says reverse video as a dark colour on a bright one.
            self.reverse[self.row][self.column] = self.reversed or self.background not in (None, 0)
            self.column += 1

    def _line_feed(self):
        if self.row + 1 < ROWS:
            self.row += 1
        else:
            self.cells = self.cells[1:] + [[" "] * COLUMNS]
            self.reverse = self.reverse[1:] + [[False] * COLUMNS]

    def line(self, row):
        return "".join(self.cells[row]).rstrip()

    @property
    def text(self):
        return "\n".join(self.line(row) for row in range(ROWS))

    def in_reverse(self):
        """Rows that are shown in reverse video, as texts."""
        return ["".join(c for c, r in zip(self.cells[i], self.reverse[i]) if r) for i in range(ROWS)
                if any(self.reverse[i])]

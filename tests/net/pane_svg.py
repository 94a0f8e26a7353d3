#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A terminal's pane as a picture: `tmux capture-pane -e -p` on stdin, SVG on stdout.

Each run of characters of one colour stands at its own column, and blocks are drawn as
rectangles, so that the picture does not depend on the font.
"""
import re
import sys
from html import escape

WIDTH, HEIGHT, MARGIN = 8, 17, 8
INK, PAPER = "#d0d0d0", "#15181c"
COLORS = ["#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", INK]
BLOCKS = "▁▂▃▄▅▆▇█"


class Pen:
    def __init__(self):
        self.reset()

    def reset(self):
        self.ink, self.bold, self.dim, self.line, self.reverse = INK, False, False, False, False

    def take(self, codes):
        for code in [int(c or 0) for c in codes.split(";")]:
            if code == 0:
                self.reset()
            elif code in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "line", 7: "reverse"}[code], True)
            elif 30 <= code <= 37:
                self.ink = COLORS[code - 30]
            elif code == 39:
                self.ink = INK

    def style(self):
        return (self.ink, self.bold, self.dim, self.line, self.reverse)


def runs(line, pen):
    """(column, text, style) of each run; a block is a run of its own."""
    column = 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if code:
            pen.take(code.group(1))
            continue
        for text in re.findall(f"[{BLOCKS}]|[^{BLOCKS}]+", part):
            yield column, text, pen.style()
            column += len(text)


def draw(column, row, text, style):
    ink, bold, dim, line, reverse = style
    x, y = MARGIN + column * WIDTH, MARGIN + row * HEIGHT
    if text in BLOCKS:
        high = HEIGHT * (BLOCKS.index(text) + 1) / 8
        yield f'<rect x="{x}" y="{y + HEIGHT - high:g}" width="{WIDTH}" height="{high:g}" fill="{ink}"/>'
        return
    if reverse:
        yield f'<rect x="{x}" y="{y}" width="{len(text) * WIDTH}" height="{HEIGHT}" fill="{ink}"/>'
        ink = PAPER
    if line:
        yield f'<rect x="{x}" y="{y + HEIGHT - 1}" width="{len(text) * WIDTH}" height="1" fill="{ink}"/>'
    for word in re.finditer(r"\S+(?: \S+)*", text):
        more = ' font-weight="bold"' if bold else ""
        more += ' opacity="0.6"' if dim else ""
        yield (f'<text x="{x + word.start() * WIDTH}" y="{y + 13}" fill="{ink}"{more} '
               f'textLength="{len(word.group()) * WIDTH}">{escape(word.group())}</text>')


def main():
    lines, pen, shapes = sys.stdin.read().split("\n"), Pen(), []
    while lines and not lines[-1]:
        lines.pop()
    wide = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    for row, line in enumerate(lines):
        for column, text, style in runs(line, pen):
            shapes.extend(draw(column, row, text, style))
    width, height = 2 * MARGIN + wide * WIDTH, 2 * MARGIN + len(lines) * HEIGHT
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
          f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="13" '
          'xml:space="preserve">')
    print(f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>')
    print("\n".join(shapes))
    print("</svg>")


main()

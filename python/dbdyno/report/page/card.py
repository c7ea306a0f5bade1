"""The card that links to a published study show: 1200 × 630 pixels, with question, answer, picture,
machine and date."""

from __future__ import annotations

import re
import textwrap
from html import escape

import vl_convert

WIDTH, HEIGHT = 1200, 630
_MARGIN = 40
_INNER = WIDTH - 2 * _MARGIN
_LEAST_PICTURE = 60
"""Pixels; a lower picture shows nothing."""
_LETTER = 0.52
"""Width of a letter in font sizes, about."""


def card_svg(question: str, answer: str, picture: str, measured: str) -> str:
    """The card as SVG; `picture` is one, or empty."""
    parts, y = _words(question, answer)
    width, height = picture_room(question, answer)
    if picture and height > _LEAST_PICTURE:
        parts.append(_placed(picture, _MARGIN, y, width, height))
    foot = _lines(measured, int(_INNER / (20 * _LETTER)), 1)
    parts.append(
        f'<text x="{_MARGIN}" y="{HEIGHT - 36}" font-size="20" fill="#444">'
        f"{escape(foot[0] if foot else '')}</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Liberation Sans, Arial, sans-serif">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{"".join(parts)}</svg>'
    )


def picture_room(question: str, answer: str) -> tuple[int, int]:
    """Width and height that a card with these words has for its picture, in pixels."""
    _, y = _words(question, answer)
    return _INNER, max(HEIGHT - _MARGIN - 30 - y, 1)


def _words(question: str, answer: str) -> tuple[list[str], int]:
    """Question and answer as elements, and where they end."""
    parts, y = [], _MARGIN
    for text, size, weight, most in ((question, 44, "bold", 2), (answer, 28, "normal", 4)):
        for line in _lines(text, int(_INNER / (size * _LETTER)), most):
            y += round(size * 1.25)
            parts.append(
                f'<text x="{_MARGIN}" y="{y}" font-size="{size}" font-weight="{weight}" '
                f'fill="#111">{escape(line)}</text>'
            )
        y += 14
    return parts, y


def card_png(svg: str) -> bytes:
    """The card as PNG."""
    return bytes(vl_convert.svg_to_png(svg, scale=1))


def _lines(text: str, columns: int, most: int) -> list[str]:
    return textwrap.wrap(text, columns, max_lines=most, placeholder=" …")


def _placed(picture: str, x: int, y: int, width: int, height: int) -> str:
    """A picture within these bounds, its proportions kept."""
    place = f'x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="xMidYMin meet"'
    head = re.match(r"<svg[^>]*>", picture)
    assert head is not None, "a picture of ours is an SVG"
    kept = re.sub(r'\s(?:width|height)="[^"]*"', "", head[0])
    return kept.replace("<svg", f"<svg {place}", 1) + picture[head.end() :]

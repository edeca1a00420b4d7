"""What is painted on a page, in order, with the clips, masks and groups it is painted through."""

from __future__ import annotations

from typing import Any, NamedTuple

from corpus_assets.pdf.mupdf import load_pymupdf

MIN_OPACITY = 0.95
MIN_COVER_SIDE = 2.0  # points
MIN_SHAPE_WIDTH = 20.0  # points, of what is no rectangle: smaller shapes are the marks of a plot
MAX_COVERS = 2_000  # the largest are kept
_NORMAL_BLENDING = 0  # mupdf's FZ_BLEND_NORMAL

Box = tuple[float, float, float, float]
EVERYWHERE: Box = (float("-inf"), float("-inf"), float("inf"), float("inf"))


class Cover(NamedTuple):
    """An opaque thing, painted as the page's ``number``-th; one that is not ``is_exact`` may fill its box in part."""

    number: int
    box: Box
    is_exact: bool
    is_picture: bool


class _Layer(NamedTuple):
    """What everything painted now is cut to, and whether all of it is opaque."""

    box: Box
    is_exact: bool
    is_opaque: bool


def list_covers(page: Any) -> list[Cover]:
    """Return what of a page could hide what was drawn before it, in drawing order; unturned, from the top left.

    Numbers count as ``get_texttrace()`` does. Patterns and shadings count as inexact. Strokes are left out.
    """
    pymupdf = load_pymupdf()
    mupdf = pymupdf.mupdf

    class Log(mupdf.FzDevice2):  # type: ignore[misc, name-defined]
        """A device that draws nothing; its methods are called by the library in drawing order."""

        def __init__(self) -> None:
            super().__init__()
            self.covers: list[Cover] = []
            self.number = 0
            self.layers = [_Layer(EVERYWHERE, True, True)]
            for name in _CALLBACKS:
                getattr(self, f"use_virtual_{name}")()

        def add(self, rect: Any, alpha: float, *, is_exact: bool, is_picture: bool = False) -> None:
            number, self.number = self.number, self.number + 1
            layer = self.layers[-1]
            if alpha < MIN_OPACITY or not layer.is_opaque:
                return
            box = _cut(_as_box(rect), layer.box)
            cover = Cover(number, box, is_exact and layer.is_exact, is_picture)
            if is_large_enough(box, cover.is_exact):
                self.covers.append(cover)

        def push(self, rect: Any = None, *, is_exact: bool = True, is_opaque: bool = True) -> None:
            layer = self.layers[-1]
            box = layer.box if rect is None else _cut(_as_box(rect), layer.box)
            self.layers.append(_Layer(box, layer.is_exact and is_exact, layer.is_opaque and is_opaque))

        def pop(self) -> None:
            if len(self.layers) > 1:
                self.layers.pop()

        def count(self) -> None:
            self.number += 1

        def fill_path(
            self, _c: Any, path: Any, _rule: int, ctm: Any, _cs: Any, _color: Any, alpha: float, _p: Any
        ) -> None:
            box = mupdf.ll_fz_bound_path(path, None, ctm)
            self.add(box, alpha, is_exact=bool(mupdf.ll_fz_path_is_rect(path, ctm)))

        def stroke_path(self, *_: Any) -> None:
            self.count()

        def fill_text(self, *_: Any) -> None:
            self.count()

        def stroke_text(self, *_: Any) -> None:
            self.count()

        def ignore_text(self, *_: Any) -> None:
            self.count()

        def fill_shade(self, _c: Any, shade: Any, ctm: Any, alpha: float, _p: Any) -> None:
            self.add(mupdf.ll_fz_bound_shade(shade, ctm), alpha, is_exact=False)

        def fill_image(self, _c: Any, image: Any, ctm: Any, alpha: float, _p: Any) -> None:
            box = mupdf.ll_fz_transform_rect(mupdf.fz_unit_rect, ctm)
            self.add(box, 0.0 if image.mask else alpha, is_exact=_is_upright(ctm), is_picture=True)

        def fill_image_mask(self, _c: Any, _image: Any, ctm: Any, _cs: Any, _color: Any, alpha: float, _p: Any) -> None:
            self.add(mupdf.ll_fz_transform_rect(mupdf.fz_unit_rect, ctm), alpha, is_exact=False, is_picture=True)

        def clip_path(self, _c: Any, path: Any, _rule: int, ctm: Any, _scissor: Any) -> None:
            is_rect = bool(mupdf.ll_fz_path_is_rect(path, ctm))
            self.push(mupdf.ll_fz_bound_path(path, None, ctm), is_exact=is_rect)

        def clip_stroke_path(self, *_: Any) -> None:
            self.push(is_opaque=False)

        def clip_text(self, *_: Any) -> None:
            self.push(is_opaque=False)

        def clip_stroke_text(self, *_: Any) -> None:
            self.push(is_opaque=False)

        def clip_image_mask(self, *_: Any) -> None:
            self.push(is_opaque=False)

        def pop_clip(self, *_: Any) -> None:
            self.pop()

        def begin_mask(self, *_: Any) -> None:  # what follows is the mask; what it is for comes after its end
            self.push(is_opaque=False)

        def end_mask(self, *_: Any) -> None:
            return

        def begin_group(
            self, _c: Any, _area: Any, _cs: Any, _isolated: int, _knockout: int, blending: int, alpha: float
        ) -> None:
            self.push(is_opaque=blending == _NORMAL_BLENDING and alpha >= MIN_OPACITY)

        def end_group(self, *_: Any) -> None:
            self.pop()

        def begin_tile(self, *_: Any) -> int:
            self.push(is_opaque=False)
            return 0

        def end_tile(self, *_: Any) -> None:
            self.pop()

    old_rotation = page.rotation
    if old_rotation:
        page.set_rotation(0)
    try:
        log = Log()
        mupdf.fz_run_page(page.this, log, mupdf.FzMatrix(), mupdf.FzCookie())
        mupdf.fz_close_device(log)
    finally:
        if old_rotation:
            page.set_rotation(old_rotation)
    if len(log.covers) > MAX_COVERS:
        return sorted(sorted(log.covers, key=_measure_area)[-MAX_COVERS:])
    return log.covers


def is_large_enough(box: Box, is_rectangle: bool) -> bool:
    """Return whether a thing can hide letters that are worth being looked for."""
    width = box[2] - box[0]
    return box[3] - box[1] >= MIN_COVER_SIDE and width >= (MIN_COVER_SIDE if is_rectangle else MIN_SHAPE_WIDTH)


def _measure_area(cover: Cover) -> float:
    x0, y0, x1, y1 = cover.box
    return (x1 - x0) * (y1 - y0)


_CALLBACKS = (
    "fill_path", "stroke_path", "fill_text", "stroke_text", "ignore_text", "fill_shade", "fill_image",
    "fill_image_mask", "clip_path", "clip_stroke_path", "clip_text", "clip_stroke_text", "clip_image_mask", "pop_clip",
    "begin_mask", "end_mask", "begin_group", "end_group", "begin_tile", "end_tile",
)  # fmt: skip


def _is_upright(ctm: Any) -> bool:
    return bool((abs(ctm.b) < 0.01 and abs(ctm.c) < 0.01) or (abs(ctm.a) < 0.01 and abs(ctm.d) < 0.01))


def _as_box(rect: Any) -> Box:
    return rect.x0, rect.y0, rect.x1, rect.y1


def _cut(box: Box, clip: Box) -> Box:
    return max(box[0], clip[0]), max(box[1], clip[1]), min(box[2], clip[2]), min(box[3], clip[3])

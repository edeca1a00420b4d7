"""Loads PyMuPDF without its layout models."""

from __future__ import annotations

import sys
from types import ModuleType


def load_pymupdf() -> ModuleType:
    """Return the pymupdf module, quiet on stderr.

    Since 2.0, importing it also loads ``pymupdf.layout`` with three ONNX models: five seconds and 55 MB a process that
    nothing here uses. The import is kept from finding it; who wants it can still import it afterwards.
    """
    if "pymupdf" not in sys.modules and "pymupdf.layout" not in sys.modules:
        sys.modules["pymupdf.layout"] = None  # type: ignore[assignment]  # makes its import raise ImportError
        try:
            import pymupdf
        finally:
            del sys.modules["pymupdf.layout"]
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    module: ModuleType = pymupdf
    return module

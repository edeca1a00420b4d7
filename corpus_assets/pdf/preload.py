"""Loaded once by the fork server that parse workers come from; what is imported here they need not import."""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_THREAD_LIMIT="1")  # the last is tesseract's

import pymupdf  # noqa: F401 - after the limits, which libraries read when they are loaded

import corpus_assets.pdf.reader
import corpus_assets.pdf.worker
import corpus_assets.text_reader  # noqa: F401

"""Loaded once by the fork server that parse workers come from; what is imported here they need not import."""

import os

# Before the libraries that read them when they are loaded; the last one is tesseract's.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_THREAD_LIMIT="1")

import corpus_assets.pdf.reader
import corpus_assets.pdf.worker
import corpus_assets.text_reader  # noqa: F401
from corpus_assets.pdf.mupdf import load_pymupdf

load_pymupdf()  # without its models: they start threads, and a process with threads had better not be forked

"""What all tests share: no network, quiet threads, one exported model for every home."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Exporting the default model takes seconds; it is verified when made, and the same for every home.
os.environ.setdefault(
    "RESEARCH_COPILOT_MODELS_DIR", str(Path(tempfile.gettempdir()) / f"research-copilot-models-{os.getuid()}")
)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # `make test &` in a script starts us deaf to Ctrl-C, and with us every program a test means to interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

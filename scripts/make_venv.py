"""Make the project's virtual environment: ``python scripts/make_venv.py .venv``. Standard library only.

Plain ``pip install torch`` on Linux takes a CUDA build of several gigabytes that this project has no use for, so the
CPU build is chosen where one can be had: from PyTorch's own CPU index, else from the configured package sources.
What was chosen is printed.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def main(target: Path) -> int:
    """Create the environment and install the project with its development tools into it."""
    if sys.version_info < (3, 11):  # noqa: UP036 (this script is what an older interpreter meets first)
        print(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    venv.EnvBuilder(with_pip=True, clear=False, upgrade_deps=False).create(target)
    python = target / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    if not install_torch(pip):
        print("Installing torch as the package index offers it (on Linux this may be the large CUDA build).")
    command = [*pip, "install", "-q", "-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[dev]"]
    return subprocess.run(command, check=False).returncode


def install_torch(pip: list[str]) -> bool:
    """Install a CPU build of torch if one can be had; return whether it could."""
    if sys.platform != "linux":
        return False  # elsewhere the plain build is the CPU build
    pinned = next(
        line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")
    )
    quiet = [*pip, "install", "-q", "--no-deps"]
    for label, extra in (
        ("the CPU index of PyTorch", ["--index-url", CPU_INDEX, "--retries", "0", "--timeout", "10"]),
        ("the configured package sources", ["--only-binary", ":all:"]),
    ):
        if subprocess.run([*quiet, *extra, pinned], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            print(f"{pinned} from {label}.")
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".venv")))

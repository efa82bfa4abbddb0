"""An environment with the fake veRL."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from fusesearch.training.engines.verl_files import CONFIGS, ENVIRONMENT, VERSION

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).with_name("verl_package")


def fake_verl(project: Path, version: str = VERSION) -> None:
    """Make the fake veRL's environment in ``project``, which gets the configurations, too."""
    metadata = project / "packages" / f"verl-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: verl\nVersion: {version}\n")
    python = project / ENVIRONMENT
    python.parent.mkdir(parents=True)
    path = os.pathsep.join(map(str, (PACKAGE, metadata.parents[1], ROOT)))
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IEXEC)
    (project / CONFIGS).parent.mkdir(parents=True, exist_ok=True)
    (project / CONFIGS).symlink_to(ROOT / CONFIGS)

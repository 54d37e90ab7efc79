"""Nobody is told what Scrubjay runs: the library below the bundled model would, and is kept from it."""

import os
import subprocess
import sys

EMBEDDING = "import asyncio; from scrubjay.models.minilm import MiniLM; asyncio.run(MiniLM().embed(['hello']))"


def test_the_model_leaves_nothing_in_the_home_folder(tmp_path):
    # Nothing of this environment: a variable that CI sets may keep the library quiet, too.
    alone = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", EMBEDDING], env=alone, check=True, timeout=120)
    assert list(tmp_path.rglob("*")) == []

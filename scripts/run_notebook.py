"""Run a notebook from its first cell to its last and keep what it shows: `run_notebook.py NOTEBOOK [TARGET]`.

Jupyter is not part of the development install: it is fetched into a folder of its own on first use. Without a target
the notebook itself gets the new outputs.
"""

import os
import sys
from pathlib import Path

import fetch

SECONDS = 120


def main(source: Path, target: Path) -> None:
    """Run the source in a new kernel, in the folder that it lies in, and write it with its outputs to the target."""
    packages = fetch.packages_apart("notebook")
    sys.path.append(str(packages))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(packages))))
    os.environ["JUPYTER_PATH"] = str(packages.parents[2] / "share" / "jupyter")
    # Found only now.
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(source, as_version=4)
    where = {"metadata": {"path": str(source.parent)}}
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", record_timing=False, resources=where).execute()
    # What the kernel says of itself differs from machine to machine.
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    nbformat.write(notebook, target)


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    main(given[0], given[-1])

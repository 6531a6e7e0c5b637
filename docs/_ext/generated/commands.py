"""What `strata --help` says, of the command itself and of every verb."""

import os
import subprocess
import sys

from strata import cli

from .markdown import fence


def verbs():
    p = cli.parser()
    return list(p._subparsers._group_actions[0].choices)


def help_text(*verb):
    run = subprocess.run(
        [sys.executable, "-m", "strata", *verb, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "100", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    return run.stdout


def text():
    out = [fence(help_text())]
    for verb in verbs():
        out += [f"## strata {verb}\n", fence(help_text(verb))]
    return "\n".join(out)

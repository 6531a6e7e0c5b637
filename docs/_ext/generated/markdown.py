"""Pieces of Markdown."""


def fence(text, language="text"):
    return f"```{language}\n{text.rstrip()}\n```\n"


def cell(text):
    return str(text).replace("|", "\\|")


def table(header, rows):
    lines = ["| " + " | ".join(map(cell, header)) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]) + "\n"

"""Text that shows itself as it is, also at the prompt of an interpreter."""


class Text(str):
    """A str whose repr is the text."""

    __slots__ = ()

    def __new__(cls, text):
        return super().__new__(cls, text.rstrip("\n"))

    def __repr__(self):
        return str(self)


class Drawing(Text):
    """A picture as text. `save(path)` writes it to a file."""

    __slots__ = ()

    def save(self, path):
        """Writes the text to a file (UTF-8)."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(str(self) + "\n")

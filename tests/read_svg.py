"""SVG pictures read back: what stands in which cell, and which lines go where. Shared by the tests of pictures."""

import re
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


class Read:
    """A picture's SVG, parsed."""

    def __init__(self, picture):
        self.text = picture if isinstance(picture, str) else picture.svg
        self.root = ET.fromstring(self.text)

    def words(self):
        """All texts that are seen."""
        return ["".join(t.itertext()) for t in self.root.iter(SVG + "text")]

    def groups(self, attribute, value=None, under=None):
        for g in (self.root if under is None else under).iter(SVG + "g"):
            if attribute in g.attrib and (value is None or g.get(attribute) == str(value)):
                yield g

    def cells(self, under):
        """(title, text, box, slot) of each cell of a group."""
        out = []
        for g in under.iter(SVG + "g"):
            rect = g.find(SVG + "rect")
            if g is under or rect is None:
                continue
            title, text = g.find(SVG + "title"), g.find(SVG + "text")
            box = tuple(float(rect.get(k)) for k in ("x", "y", "width", "height"))
            out.append((title.text, text.text if text is not None else "", box, g.get("data-slot")))
        return out

    def array(self, name, level=None, under=None):
        """The texts of an array of a level, in order."""
        found = []
        for g in self.groups("data-array", name, under):
            if level is None or g.get("data-level") == str(level):
                found += [c[1] for c in self.cells(g)]
        return found

    def edges(self, level):
        """(parent, child) of the lines into a level."""
        return [
            (int(p.get("data-parent")), int(p.get("data-child")))
            for g in self.groups("data-edges", level)
            for p in g.iter(SVG + "path")
        ]

    def elements(self):
        """{coordinates: (value text, slot)} of the cells of draw()."""
        found = {}
        for g in self.groups("data-slice"):
            for title, text, _, slot in self.cells(g):
                at = re.match(r"\(([\d, ]*)\) = ", title)[1]
                found[tuple(int(c) for c in at.split(",") if c.strip())] = (text, slot)
        return found

    def dots(self):
        """{(row, column): shade} of draw_raw()."""
        (group,) = self.groups("data-bins")
        found = {}
        for path in group.iter(SVG + "path"):
            shade = int(re.search(r"\bd(\d)\b", path.get("class"))[1])
            x = y = 0
            for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", path.get("d")):
                n = [float(v) for v in numbers.split()]
                if command == "M":
                    x, y = n
                elif command == "m":
                    x, y = x + n[0], y + n[1]
                else:
                    for c in range(int(n[0])):
                        assert (int(y), int(x) + c) not in found
                        found[int(y), int(x) + c] = shade
                    x += n[0]
        return found

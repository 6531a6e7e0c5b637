"""check_links.py SITE LIST: follows every link inside the built site, to its page and to the place in it; writes those to
elsewhere into LIST, with the pages that have them."""

import collections
import html.parser
import pathlib
import sys
import urllib.parse


class _Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.places |= {a[k] for k in ("id", "name") if a.get(k)}
        self.links += [a[k] for k in ("href", "src") if a.get(k)]


def check(site):
    """(broken links, {link to elsewhere: pages})."""
    site = pathlib.Path(site).resolve()
    pages = {p: _Page(p.read_text(encoding="utf-8")) for p in sorted(site.rglob("*.html"))}
    broken, elsewhere = [], collections.defaultdict(set)
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            name = str(path.relative_to(site))
            if url.scheme or url.netloc:
                if url.scheme != "data":
                    elsewhere[link].add(name)
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                broken.append(f"{name}: {link}: no such file")
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].places:
                broken.append(f"{name}: {link}: no such place in the page")
    return broken, elsewhere


def main(site, listing):
    broken, elsewhere = check(site)
    lines = [f"{link}  {' '.join(sorted(pages))}\n" for link, pages in sorted(elsewhere.items())]
    pathlib.Path(listing).write_text("".join(lines))
    for line in sorted(set(broken)):
        print(f"strata: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

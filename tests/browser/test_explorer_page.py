"""The format explorer in a real browser: Debian's chromium, driven by Selenium. Run by `scripts/nightly browser`.

STRATA_SCREENSHOTS names a folder for pictures of the page, to be looked at.
"""

import json
import os
import pathlib
import re
import threading
import time

import pytest

selenium = pytest.importorskip("selenium")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from strata._explore import page, record, run, server  # noqa: E402


@pytest.fixture(scope="module")
def url():
    with server.Explorer() as s:
        threading.Thread(target=s.serve_forever, daemon=True).start()
        yield s.url
        s.shutdown()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "recorded.html"
    formats, given = ["CSR", "BSR(2, 2)", record.MISTAKE], [run.matrix("blog"), run.matrix("banded")]
    path.write_bytes(record.file(formats, given))
    return path.as_uri()


@pytest.fixture(scope="module")
def chromium():
    options = webdriver.ChromeOptions()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


class Page:
    """What a person does with the page."""

    def __init__(self, driver, url, size=(1440, 1000), dark=False):
        self.driver = driver
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get("about:blank")
        driver.get(url)
        self.until(lambda: self("document.body.dataset.shown"))

    def __call__(self, script):
        return self.driver.execute_script("return " + script)

    def until(self, done, seconds=20):
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, self.text("body")[:2000]
            time.sleep(0.02)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def after(self, act):
        """Does something, and waits for what is shown then."""
        before = self("document.body.dataset.shown")
        act()
        self.until(lambda: self("document.body.dataset.shown") != before)
        time.sleep(0.2)  # for a second answer, where letters came slowly
        return self

    def type(self, text):
        def act():
            self.find("#format").clear()
            self.find("#format").send_keys(text)

        return self.after(act)

    def press(self, name):
        return self.after(lambda: self.driver.find_element(By.XPATH, f'//button[.="{name}"]').click())

    def cell(self, i, j):
        return self.find(f'#grid input[data-at="{i},{j}"]')

    def colour(self, selector, property="background-color"):
        return self(f"getComputedStyle(document.querySelector({json.dumps(selector)}))['{property}']")

    def shot(self, name):
        if os.environ.get("STRATA_SCREENSHOTS"):
            folder = pathlib.Path(os.environ["STRATA_SCREENSHOTS"])
            folder.mkdir(parents=True, exist_ok=True)
            height = self("document.documentElement.scrollHeight")
            width = self("innerWidth")
            self.driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
            )
            self.driver.save_screenshot(str(folder / f"{name}.png"))


def brightness(colour):
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


@pytest.fixture(autouse=True)
def no_complaints(chromium):
    """No error of a script, nothing that the page's own policy refused, nothing asked of elsewhere."""
    yield
    entries = chromium.get_log("browser")
    assert not [
        e for e in entries if e["level"] in ("SEVERE", "WARNING") and "ERR_CONNECTION_REFUSED" not in e["message"]
    ], entries
    for entry in chromium.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            assert re.match(r"(http://127\.0\.0\.1:|file:|about:|data:|blob:)", message["params"]["request"]["url"])


def test_a_wrong_format_is_told_as_it_is_typed(chromium, url):
    p = Page(chromium, url)
    assert "compressed" in p.text("#format-says") and not p.driver.find_elements(By.CSS_SELECTOR, ".wrong")
    p.type("(i, j) -> (i: dense, j: compresed)")
    says = p.text("#format-says")
    assert "no level type 'compresed'" in says and "^~~~~~~~~" in says
    assert p.find("#format").get_attribute("aria-invalid") == "true"
    assert p("document.querySelector('#marks mark').textContent") == "compresed"
    assert "stale" in p.find("#storage").get_attribute("class")
    p.shot("wrong")
    p.press("write 'compressed'")
    assert p.find("#format").get_attribute("value") == "(i, j) -> (i: dense, j: compressed)"
    assert "CSR" in p.text("#format-says") and "stale" not in p.find("#storage").get_attribute("class")
    assert p.find("#format").get_attribute("aria-invalid") == "false"
    p.type("(i, j) -> (i: dense")  # the place is the end of the text
    assert "too early" in p.text("#format-says") and p.find("#marks mark.end")


def test_a_cell_is_edited(chromium, url):
    p = Page(chromium, url)
    p.press("CSR")
    before = p("document.querySelector('#storage').innerHTML")
    assert p("document.querySelector('#elements svg title').textContent").endswith("9 stored · 136 bytes")
    p.after(lambda: p.cell(3, 3).send_keys("42"))
    assert "10 stored" in p("document.querySelector('#elements svg title').textContent")
    assert "42" in p.find("#storage").text and p("document.querySelector('#storage').innerHTML") != before
    assert "148" in p.text("#bytes")
    # A typed 0 is stored, an emptied cell absent.
    p.after(lambda: p.cell(3, 3).send_keys(Keys.CONTROL, "a", Keys.NULL, "0"))
    assert "10 stored" in p("document.querySelector('#elements svg title').textContent")
    assert "zero" in p.cell(3, 3).get_attribute("class")
    p.after(lambda: p.cell(3, 3).send_keys(Keys.BACKSPACE))
    assert "9 stored" in p("document.querySelector('#elements svg title').textContent")
    p.after(lambda: p.cell(0, 1).send_keys("x"))
    assert "(0, 1)" in p.text("#tensor-says") and "bad" in p.cell(0, 1).get_attribute("class")


def test_the_grid_is_used_without_a_mouse(chromium, url):
    p = Page(chromium, url)
    at = lambda: p("document.activeElement.dataset.at")
    p.cell(0, 0).click()
    active = lambda: p.driver.switch_to.active_element
    for key, expected in (
        (Keys.ARROW_RIGHT, "0,1"),
        (Keys.ARROW_DOWN, "1,1"),
        (Keys.ENTER, "2,1"),
        (Keys.ARROW_LEFT, "2,0"),
        (Keys.ARROW_UP, "1,0"),
        (Keys.END, "1,7"),
        (Keys.HOME, "1,0"),
    ):
        active().send_keys(key)
        assert at() == expected, (key, at())
    p.after(lambda: active().send_keys(Keys.SPACE))
    assert p.cell(1, 0).get_attribute("value") == "1" and "10 stored" in p(
        "document.querySelector('#elements svg title').textContent"
    )
    p.after(lambda: active().send_keys(Keys.SPACE))
    assert p.cell(1, 0).get_attribute("value") == ""
    assert len(p.driver.find_elements(By.CSS_SELECTOR, '#grid input[tabindex="0"]')) == 1
    active().send_keys(Keys.TAB)  # leaves the grid
    assert at() is None
    # Every control has a name.
    unnamed = p(
        "[...document.querySelectorAll('button, input, select, textarea')].filter(e => !(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label'))).map(e => e.outerHTML)"
    )
    assert not unnamed


def test_presets_sizes_and_what_an_element_is(chromium, url):
    p = Page(chromium, url)
    p.press("banded")
    assert p.cell(2, 3).get_attribute("value") and not p.cell(2, 5).get_attribute("value")
    p.press("random")
    first = p("[...document.querySelectorAll('#grid input')].map(e => e.value).join()")
    p.press("random")
    assert p("[...document.querySelectorAll('#grid input')].map(e => e.value).join()") != first

    def resize():
        p.find("#rows").clear()
        p.find("#rows").send_keys("3", Keys.TAB)

    p.after(resize)
    assert len(p.driver.find_elements(By.CSS_SELECTOR, "#grid tbody tr")) == 3
    p.press("empty")
    p.after(lambda: p.cell(1, 2).send_keys("5"))
    p.driver.execute_script("document.activeElement.blur()")
    p.driver.execute_script(
        "document.querySelector('#storage [data-at=\"1,2\"]').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert p("[...document.querySelectorAll('.lit')].map(e => e.closest('section').id).sort()") == [
        "in-matrix",
        "out-elements",
        "out-storage",
    ]


def test_code_of_an_expression(chromium, url):
    p = Page(chromium, url)
    p.press("BSR(2, 2)")
    assert "function kernel" in p.text("#text")
    p.find("#tab-c").click()
    assert "restrict" in p.text("#text") and p.find("#tab-c").get_attribute("aria-selected") == "true"
    before = p.text("#text")
    p.after(lambda: p.driver.find_element(By.XPATH, "//option[contains(., 'SDDMM')]").click())
    assert p.text("#text") != before and "SDDMM" not in p.text("#text")
    p.find("#tab-c").send_keys(Keys.ARROW_RIGHT)
    assert p("document.activeElement.id") == "tab-schedule"
    p.find("#tab-python").click()
    assert 'st.from_coo((rows, columns), values, (6, 8), "BSR(2, 2)")' in p.text("#text")
    assert "crd[1]" in p.text("#arrays")


def test_dark_and_light(chromium, url):
    light, dark = [], []
    for found, scheme in ((light, False), (dark, True)):
        p = Page(chromium, url, dark=scheme)
        p.press("BSR(2, 2)")
        found += [
            p.colour("body"),
            p.colour("section"),
            p.colour("#elements .value", "fill"),
            p.colour("body", "color"),
        ]
        p.shot("dark" if scheme else "light")
    assert all(brightness(c) > 200 for c in light[:3]) and brightness(light[3]) < 60
    assert all(brightness(c) < 90 for c in dark[:3]) and brightness(dark[3]) > 200


@pytest.mark.parametrize("size", [(360, 780), (820, 1100), (1440, 900)])
def test_nothing_is_wider_than_the_window(chromium, url, size):
    for dark in (False, True):
        p = Page(chromium, url, size=size, dark=dark)
        for act in (
            lambda: p.press("TiledCSR(4, 4)"),
            lambda: p.press("blog"),
            lambda: p.type("(i, j) -> (i : dense, j : cmpressed(nonunique)) + BSR(2, 2) + COO"),
        ):
            act()
            assert p("document.documentElement.scrollWidth") <= size[0]
        p.shot(f"narrow-wrong-{size[0]}{'-dark' if dark else ''}")
        p.press("(i, j) -> (i : dense, j : delta(2))")
        p.shot(f"size-{size[0]}{'-dark' if dark else ''}")


def test_an_address_comes_back_to_the_same(chromium, url):
    p = Page(chromium, url)
    p.press("DIAI")
    p.after(lambda: p.cell(5, 7).send_keys("2.5"))
    address = p("location.href")
    again = Page(chromium, address)
    assert again.find("#format").get_attribute("value") == "DIAI" and again.cell(5, 7).get_attribute("value") == "2.5"
    for wrong in ("#cells=99x99;0,0,1", "#cells=<script>", "#format=%F0%9F&expression=none&matrix=none&dtype=x"):
        Page(chromium, url + wrong)  # (no_complaints)


def test_a_recording(chromium, recorded):
    p = Page(chromium, recorded)
    assert p.find("#format").get_attribute("value") == "CSR" and "5 stored" in p(
        "document.querySelector('#elements svg title').textContent"
    )
    assert p.find("#format").get_property("readOnly") and p.cell(0, 0).get_property("readOnly")
    p.press("BSR(2, 2)").press("banded")
    assert "8 × 8" in p("document.querySelector('#storage svg title').textContent") and "function kernel" in p.text(
        "#text"
    )
    p.press(record.MISTAKE)
    assert "no level type 'compresed'" in p.text("#format-says")
    p.shot("recorded")
    p = Page(chromium, recorded + "#format=BSR%282%2C+2%29&matrix=banded")
    assert p.find("#format").get_attribute("value") == "BSR(2, 2)" and "8 × 8" in p(
        "document.querySelector('#storage svg title').textContent"
    )


def test_the_end_of_the_server_is_told(chromium):
    with server.Explorer(0, page.start()) as s:
        threading.Thread(target=s.serve_forever, daemon=True).start()
        p = Page(chromium, s.url)
        s.shutdown()

    def told():  # a connection that the browser made beforehand may still be answered
        p.find("#format").send_keys(" ")
        time.sleep(0.3)
        return "Start it again" in p.text("#trouble")

    p.until(told)

"""The workbench in a real browser, at the size of a desk and of a phone.

Needs Debian's chromium, or BTG_TEST_CHROMIUM with the path of another one.
"""

import json
import os
import re
import shutil
from urllib.parse import quote

import pytest
from live_servers import listening
from tiny_servers import HOUSE, served

from btg_seq2seq import Rule
from btg_seq2seq.translation.glossaries.glossary import parse_glossary, write_glossary

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
CHROMIUM = os.environ.get("BTG_TEST_CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium: install it, or name it in BTG_TEST_CHROMIUM"
)
SIZES = {"desk": (1200, 900), "phone": (390, 844)}
HOSTILE = "<img src=x onerror=window.hurt=1> \"'&lt; {x} <b>"


@pytest.fixture(scope="module")
def address():
    with listening() as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def is_bad(line):
    """An error in the console, but for the answers with a status 400 that the page shows."""
    return line.type == "error" and "status of 400" not in line.text


@pytest.fixture(params=SIZES)
def page(request, browser, address):
    """An empty page; an error in it fails the test, one of the security policy too."""
    width, height = SIZES[request.param]
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=request.param == "phone"
    )
    page = context.new_page()
    page.is_phone = request.param == "phone"
    page.set_default_timeout(20_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if is_bad(line) else None)
    page.goto(address)
    yield page
    assert errors == []
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def wait(page):
    # Not with wait_for_function, whose code the security policy of the page would refuse.
    playwright.expect(page.locator("#status")).to_have_text(re.compile(r"\d s$"))
    playwright.expect(page.locator("article[aria-busy=true]")).to_have_count(0)


def translate(page, text):
    page.get_by_role("textbox", name="Text").fill(text)
    page.get_by_role("button", name="Translate").click()
    wait(page)


def select(page, first, last):
    """Select words as a person would: with the mouse, or by touching one after the other."""
    words = page.locator("article").first.locator(".word")
    if page.is_phone:
        for rank in range(first, last + 1):
            words.nth(rank).tap()
        return
    start, stop = (words.nth(rank).bounding_box() for rank in (first, last))
    page.mouse.move(start["x"] + 3, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(stop["x"] + 3, stop["y"] + stop["height"] / 2, steps=5)
    page.mouse.up()


def marked(page):
    return page.locator("article .cky > .text mark").all_text_contents()


def rules(page):
    return page.locator("#rules li .rule-text").all_inner_texts()


def test_a_sentence_is_translated_in_both_modes(page):
    translate(page, f"{HOUSE}\n\nthe dog")
    cards = page.locator("article")
    assert cards.count() == 2
    assert "".join(cards.first.locator(".word").all_text_contents()) == HOUSE.replace(" ", "")
    for mode in (".answer:not(.cky)", ".answer.cky"):
        assert cards.first.locator(f"{mode} > .text").inner_text().strip()
        assert cards.first.locator(f"{mode} .alternatives li").count() >= 1
    assert cards.first.locator(".picture svg text").count() >= 2
    assert "phrase" in cards.first.locator(".posterior").inner_text()
    page.get_by_label("Picture", exact=False).first.select_option("matrix")
    wait(page)
    assert cards.first.locator(".picture svg").count() == 1


def test_a_rule_is_added_obeyed_changed_and_deleted(page):
    translate(page, HOUSE)
    select(page, 0, 1)
    form = page.get_by_role("form", name="New rule")
    assert "das Haus" in form.inner_text()
    page.keyboard.type("xyzzy plugh")
    page.keyboard.press("Enter")
    page.wait_for_selector(".cky mark")
    assert marked(page) == ["xyzzy plugh"]
    assert page.locator("article .picture").inner_text().count("xyzzy plugh") >= 1
    assert [text.split() for text in rules(page)] == [
        ["das", "Haus", "→", "xyzzy", "plugh", "force"]
    ]

    page.get_by_role("button", name="Edit the rule").click()
    form = page.get_by_role("form", name="Change the rule")
    form.get_by_label("Translation").fill("foo | bar")
    form.get_by_label("case").select_option("follow")
    form.get_by_role("button", name="Save").click()
    playwright.expect(page.locator(".cky > .text mark")).to_have_text(re.compile("^(foo|bar)$"))

    page.get_by_role("button", name="Delete the rule").click()
    playwright.expect(page.locator(".cky mark")).to_have_count(0)
    wait(page)
    assert rules(page) == []
    assert page.get_by_role("button", name="New rule").evaluate(
        "button => button === document.activeElement"
    )


def test_words_can_be_kept_and_a_rule_needs_a_target(page):
    translate(page, HOUSE)
    select(page, 1, 1)
    form = page.get_by_role("form", name="New rule")
    form.get_by_role("button", name="Add rule").click()
    assert form.get_by_role("alert").inner_text() == "Write a translation, or choose keep."
    form.get_by_text("keep", exact=True).click()
    assert not form.get_by_label("Translation").is_visible()
    form.get_by_role("button", name="Add rule").click()
    page.wait_for_selector(".cky mark")
    assert marked(page) == ["Haus"]


def test_the_keyboard_is_enough(page):
    page.get_by_role("textbox", name="Text").focus()
    page.keyboard.type(HOUSE)
    page.keyboard.press("Control+Enter")
    wait(page)
    page.locator(".word").first.focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.keyboard.type("abc")
    page.keyboard.press("Escape")
    assert page.locator(".editor form").count() == 0
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "ist"
    for key in ("Home", "ArrowRight", "Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.keyboard.type("abc")
    page.keyboard.press("Enter")
    page.wait_for_selector(".cky mark")
    assert " ".join(rules(page)[0].split()) == "Haus ist → abc force"
    assert page.evaluate(focused) == "ist"
    playwright.expect(page.locator("#announcer")).to_contain_text("added")


def test_a_glossary_is_imported_and_exported(page, tmp_path):
    given = [Rule("HAUS", "xyzzy", case="insensitive"), Rule("klein", ["a", "b"], mode="prefer")]
    path = tmp_path / "terms.tmx"
    path.write_bytes(write_glossary(given, "tmx", "de", "en"))
    translate(page, HOUSE)
    page.locator("#import-file").set_input_files(path)
    page.wait_for_selector(".cky mark")
    assert "xyzzy" in marked(page)
    assert len(rules(page)) == 2
    for form in ("tsv", "csv", "tbx", "tmx"):
        page.get_by_label("Format to export").select_option(form)
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        content = download.value.path().read_bytes()
        found = [rule.to_json() | {"place": ""} for rule in parse_glossary(content, form)]
        assert found == [rule.to_json() for rule in given]
    (tmp_path / "bad.tbx").write_text("<!DOCTYPE r [<!ENTITY a 'b'>]><r/>")
    with page.expect_response("**/v1/rules/import**"):
        page.locator("#import-file").set_input_files(tmp_path / "bad.tbx")
    problem = page.locator("#problem")
    problem.wait_for()
    assert "entities" in problem.inner_text()
    page.get_by_role("button", name="Delete all").click()
    playwright.expect(page.locator(".cky mark")).to_have_count(0)


def test_a_permalink_brings_everything_back(page):
    translate(page, HOUSE)
    select(page, 0, 1)
    page.keyboard.type("xyzzy")
    page.keyboard.press("Enter")
    page.wait_for_selector(".cky mark")
    text, link = page.locator(".cky > .text").inner_text(), page.url
    page.goto("about:blank")
    page.goto(link)
    wait(page)
    assert page.get_by_role("textbox", name="Text").input_value() == HOUSE
    assert page.locator(".cky > .text").inner_text() == text
    assert len(rules(page)) == 1
    page.reload()
    wait(page)
    assert marked(page) == ["xyzzy"]


def test_downloads(page):
    translate(page, HOUSE)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download both translations as JSON").click()
    values = json.loads(download.value.path().read_text())
    assert values["flat"]["source"] == values["cky"]["source"] == HOUSE
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the picture as SVG").click()
    assert download.value.path().read_text().startswith("<svg")


def test_what_the_server_refuses_is_shown(page):
    page.get_by_role("textbox", name="Text").fill(f"{HOUSE}\n" + "wort " * 2000)
    page.get_by_role("button", name="Translate").click()
    problem = page.get_by_role("alert").filter(has_text="Sentence 2: it has")
    problem.wait_for()
    translate(page, HOUSE)
    assert not problem.is_visible()


def test_hostile_text_is_text(page, address):
    link = {"texts": [HOSTILE], "rules": [{"source": "x", "target": HOSTILE}, {"source": 3}, None]}
    page.goto("about:blank")
    page.goto(f"{address}#{quote(json.dumps(link))}")
    wait(page)
    assert page.get_by_role("textbox", name="Text").input_value() == HOSTILE
    assert len(rules(page)) == 1
    assert HOSTILE in page.locator(".cky").inner_text()
    assert page.locator("article img").count() == 0
    for wrong in ("#%", "#[1]", "#null", '#{"texts":3}'):
        page.goto("about:blank")
        page.goto(address + wrong)
        page.locator("#nbest option").first.wait_for(state="attached")


def test_everything_has_a_name_and_every_id_is_there_once(page):
    translate(page, f"{HOUSE}\n{HOUSE}")
    select(page, 0, 0)
    page.get_by_role("button", name="New rule").click()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea')].filter(one =>
             one.checkVisibility() && !one.textContent.trim() && !one.labels?.length
             && !one.ariaLabel).map(one => one.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate("document.querySelectorAll('[role=option]').length") > 10


def test_examples_are_offered_until_there_is_a_text(browser):
    with listening(served(examples=[HOUSE, "the dog"])) as address:
        for width, height in SIZES.values():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(20_000)
            page.goto(address)
            page.get_by_role("button", name=HOUSE).click()
            wait(page)
            assert page.get_by_role("textbox", name="Text").input_value() == HOUSE
            assert not page.locator("#examples").is_visible()
            page.get_by_role("textbox", name="Text").fill("")
            playwright.expect(page.get_by_role("button", name="the dog")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.close()


def test_what_is_typed_before_the_models_are_known_is_translated(page, address):
    def late(route):
        page.wait_for_timeout(700)  # longer than the page waits after a key
        route.continue_()

    page.goto("about:blank")
    page.route("**/v1/models", late)
    page.goto(address)
    page.get_by_role("textbox", name="Text").fill(HOUSE)
    page.get_by_role("button", name="Translate").click()
    wait(page)
    assert page.locator("article").count() == 1


def test_a_picture_fits_a_phone_or_is_scrolled_at_a_size_to_read(browser, address):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(20_000)
    page.goto(address)
    sizes = """box => ({here: box.clientWidth, drawn: box.firstChild.getBoundingClientRect().width,
        full: Number(box.firstChild.getAttribute("width"))})"""
    for text in ("the dog", HOUSE, " ".join([HOUSE] * 3)):
        translate(page, text)
        size = page.locator(".picture").evaluate(sizes)
        if size["full"] <= 2 * size["here"]:
            assert size["drawn"] <= size["here"] + 1
        else:
            assert size["drawn"] == pytest.approx(0.7 * size["full"], abs=1)
    page.close()


def test_a_server_with_keys_and_two_models(browser):
    with listening(served(), served("other", ("en", "de"), "word"), keys=["secret"]) as address:
        page = browser.new_page()
        page.set_default_timeout(20_000)
        page.goto(f"{address}#{quote(json.dumps({'texts': ['the dog'], 'model': 'other'}))}")
        page.get_by_label("This server needs a key").fill("secret")
        page.get_by_role("button", name="Use it").click()
        wait(page)
        assert page.get_by_label("Model").input_value() == "other"
        assert page.locator("#languages").inner_text() == "en → de"
        page.get_by_label("Model").select_option("tiny")
        wait(page)
        assert page.locator("#languages").inner_text() == "de → en"
        page.close()
